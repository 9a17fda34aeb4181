//! Webhook delivery (spec §4.3.3).

mod address;
mod policy;
pub(crate) mod resolver;
#[cfg(feature = "webhook")]
mod sender;

pub use address::Allowed;
pub use policy::WebhookPolicy;
#[cfg(feature = "webhook")]
pub use sender::{Payload, Webhooks};
