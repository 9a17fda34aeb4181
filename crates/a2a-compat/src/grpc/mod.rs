//! The older revisions over gRPC: the service `a2a.v1.A2AService`, which 0.2, 0.3 and the draft
//! of 1.0 share, and a client of it.

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
