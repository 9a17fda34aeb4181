//! Servers and clients for the older revisions of A2A: 0.1, 0.2, 0.3 and the draft of 1.0.
//!
//! A revision is implemented as a pair of total conversions from and to [`a2a_core::v1`]; an
//! [`Agent`](a2a_kit_operations::Agent) only sees the types of 1.0. Lossy conversions are listed in
//! `docs/revisions.md`.
//!
//! ```
//! use a2a_core::AgentCard;
//! use a2a_kit_compat::{Revisions, ServerOptions, server};
//! use a2a_kit_operations::{Engine, agent_fn};
//!
//! let card = AgentCard::new("Echo", "Repeats its input");
//! let engine = Engine::new(card, agent_fn(async |text: String| text));
//! // The JSON-RPC binding of the older revisions.
//! let router = server::jsonrpc(engine, ServerOptions::default());
//! # let _ = router;
//! assert!(Revisions::all().contains(a2a_core::ProtocolVersion::V0_3));
//! ```
//!
//! | To | see |
//! |---|---|
//! | serve older revisions | [`server`], [`grpc`] |
//! | call agents of older revisions | [`client`] |
//! | read and write the webhook deliveries of any revision | [`webhook`] |
//!
//! # Features
//!
//! All are enabled by default.
//!
//! - `client`: call agents of older revisions.
//! - `server`: serve older revisions.
//! - `grpc`: both over gRPC as well.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    not(all(feature = "client", feature = "server")),
    allow(dead_code, unused_imports, reason = "clients and servers share modules")
)]

/// Messages of `a2a.v1` with their ProtoJSON, for tools that check what is on the wire.
#[doc(hidden)]
pub mod a2a_v1 {
    pub use crate::proto::{
        GetTaskRequest, SendMessageRequest, SendMessageResponse, StreamResponse, Task,
    };
}
#[cfg(test)]
mod arbitrary;
#[doc(hidden)]
pub mod card;
#[cfg(feature = "client")]
pub mod client;
mod common;
mod detect;
mod dialect;
#[cfg(feature = "grpc")]
pub mod grpc;
mod operation;
mod proto;
mod revision;
#[cfg(feature = "server")]
pub mod server;
mod task_revision;
#[doc(hidden)]
pub mod v0_1;
#[doc(hidden)]
pub mod v0_3;
#[doc(hidden)]
pub mod v1_draft;
#[cfg(feature = "server")]
pub mod webhook;

#[doc(hidden)]
pub use dialect::{Dialect, ErrorObject};
#[doc(hidden)]
pub use operation::{AnyOutput, AnyRequest, AnyResponse, call};
pub use revision::Revisions;
#[cfg(feature = "server")]
pub use server::options::ServerOptions;
#[cfg(feature = "server")]
#[doc(hidden)]
pub use task_revision::TaskRevision;
pub use task_revision::TaskRevisions;

/// Compiles the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
