//! The server: the service, health and reflection.

pub(crate) mod codec;
pub(crate) mod deadline;
pub(crate) mod events;
mod guard;
mod router;
pub(crate) mod service;
#[cfg(feature = "health")]
mod watch_limit;

pub use guard::FrameGuard;
pub use router::{GrpcOptions, fallback, operations_router, router, router_with, serve};
