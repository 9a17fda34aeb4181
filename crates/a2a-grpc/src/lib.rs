//! The gRPC binding of A2A: the service and the client of `lf.a2a.v1.A2AService`.
//!
//! To put an agent on the wire, [`serve`] it on a port of its own, or mount its [`router`] in an
//! application; to call one, [`Client`] is an [`Agent`](operations::Agent) at the other end.
//! This crate and `a2a-core` are all that an agent needs:
//!
//! ```no_run
//! use a2a_core::AgentCard;
//! use a2a_grpc::operations::{Engine, agent_fn};
//!
//! #[tokio::main]
//! async fn main() -> Result<(), a2a_grpc::ServeError> {
//!     let card = AgentCard::new("Echo", "Says what it hears");
//!     let engine = Engine::new(card, agent_fn(async |text: String| format!("You said: {text}")));
//!     a2a_grpc::serve(engine, "127.0.0.1:50051").await
//! }
//! ```

mod client;
mod codec;
mod generated;
mod metadata;
mod server;
mod status;
pub mod wire;

pub use a2a_http::{ServeError, client::ClientSettings};
pub use a2a_operations as operations;
pub use client::{AddressError, Client};
pub use server::{Options, fallback, operations_router, router, router_with, serve};
