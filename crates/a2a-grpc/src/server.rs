//! The server: an agent behind the service, beside health and reflection.

mod deadline;
mod events;
mod guard;
mod router;
mod serve;
mod service;

pub use router::{Options, fallback, router, router_with};
pub use serve::serve;
