//! Webhook delivery (spec §4.3.3).

mod address;
mod policy;
pub(crate) mod resolver;
mod sender;

pub use address::{Allowed, UnknownAddress};
pub use policy::WebhookPolicy;
pub use sender::{Payload, Webhooks};
