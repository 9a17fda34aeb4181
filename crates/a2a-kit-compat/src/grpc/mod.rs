//! The service `a2a.v1.A2AService` of 0.2, 0.3 and the draft of 1.0, and a client for it.

#[cfg(feature = "client")]
mod client;
mod code;
mod revision;
#[cfg(feature = "server")]
mod service;
#[cfg(test)]
mod tests;

pub use crate::proto::DESCRIPTOR;
#[cfg(feature = "client")]
pub use client::GrpcClient;
#[cfg(feature = "server")]
pub use service::router;

/// The name of the service.
pub const SERVICE: &str = "a2a.v1.A2AService";
