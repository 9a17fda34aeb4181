//! The server: the service, health and reflection.

pub(crate) mod deadline;
pub(crate) mod events;
pub(crate) mod message;
pub(crate) mod method;
mod router;
pub(crate) mod service;
#[cfg(feature = "health")]
mod watch_limit;

pub use router::{GrpcOptions, fallback, handlers, operations_router, router, router_with, serve};
