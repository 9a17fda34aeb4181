//! Servers and clients for the older revisions of A2A: 0.1, 0.2, 0.3 and the draft of 1.0.
//!
//! A revision is implemented as a pair of total conversions from and to [`a2a_core::v1`]; an
//! [`Agent`](a2a_kit_operations::Agent) only sees the types of 1.0. Lossy conversions are listed in
//! `docs/revisions.md`.

#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(test)]
mod arbitrary;
pub mod card;
pub mod client;
mod common;
pub mod detect;
mod dialect;
pub mod grpc;
mod operation;
mod proto;
mod revision;
pub mod server;
mod task_origin;
pub mod v0_1;
pub mod v0_3;
pub mod v1_draft;
pub mod webhook;

pub use dialect::{Dialect, ErrorObject};
pub use operation::{AnyOutput, AnyRequest, AnyResponse, call};
pub use revision::{Revisions, UnknownRevision};
pub use server::ServerOptions;
pub use task_origin::{TaskOrigin, TaskOrigins};

/// Compiles the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
