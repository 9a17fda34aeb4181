//! The gRPC binding of A2A: server and client of `lf.a2a.v1.A2AService`.
//!
//! [`serve`] serves an agent on its own port; [`router`] can be mounted in an application.
//! [`Client`] is a remote [`Agent`](operations::Agent). This crate and `a2a-core` are sufficient
//! for an agent:
//!
//! ```no_run
//! use a2a_core::AgentCard;
//! use a2a_kit_grpc::operations::{Engine, agent_fn};
//!
//! #[tokio::main]
//! async fn main() -> Result<(), a2a_kit_grpc::BindError> {
//!     let card = AgentCard::new("Echo", "Repeats messages");
//!     let engine = Engine::new(card, agent_fn(async |text: String| format!("You said: {text}")));
//!     a2a_kit_grpc::serve(engine, "127.0.0.1:50051").await
//! }
//! ```
//!
//! # Features
//!
//! All are enabled by default.
//!
//! - `client`: call agents.
//! - `server`: serve agents, with the engine of `a2a-kit-operations`.
//! - `health`: `grpc.health.v1`.
//! - `reflection`: `grpc.reflection.v1` and `v1alpha`.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    not(all(feature = "client", feature = "server")),
    allow(dead_code, unused_imports, reason = "clients and servers share modules")
)]

#[cfg(feature = "client")]
mod client;
mod metadata;
#[cfg(feature = "server")]
mod server;
mod status;
#[doc(hidden)]
pub mod wire;

#[cfg(feature = "server")]
pub use a2a_kit_http::BindError;
#[cfg(feature = "client")]
pub use a2a_kit_http::client::ClientSettings;
pub use a2a_kit_operations as operations;
#[cfg(feature = "client")]
pub use client::{AddressError, Client};
#[cfg(feature = "server")]
#[doc(hidden)]
pub use server::handlers;
#[cfg(feature = "server")]
pub use server::{GrpcOptions, fallback, operations_router, router, router_with, serve};

/// Compiles the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
