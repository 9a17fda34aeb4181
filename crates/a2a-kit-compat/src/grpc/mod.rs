//! The service `a2a.v1.A2AService` of 0.2, 0.3 and the draft of 1.0, and a client for it.

mod client;
mod code;
mod revision;
mod router;
mod service;
mod stream;
#[cfg(test)]
mod tests;

pub use crate::proto::DESCRIPTOR;
pub use client::GrpcClient;
pub use router::router;

/// The name of the service.
pub const SERVICE: &str = "a2a.v1.A2AService";
