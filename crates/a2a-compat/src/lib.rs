//! The older revisions of A2A, served and called: 0.1, 0.2, 0.3 and the draft of 1.0.
//!
//! A revision is a pair of total conversions between its shapes and those of
//! [`a2a_core::v1`], which is all that an [`Agent`](a2a_operations::Agent) ever sees. What a
//! conversion loses is listed in `docs/revisions.md`.

mod any;
#[cfg(test)]
mod arbitrary;
pub mod back;
pub mod card;
mod common;
pub mod detect;
mod dialect;
pub mod front;
pub mod grpc;
mod origin;
mod proto;
mod revision;
pub mod v0_1;
pub mod v0_3;
pub mod v1_draft;
pub mod webhook;

pub use any::{AnyAnswer, AnyRequest, AnyResponse, call};
pub use dialect::{Dialect, ErrorObject};
pub use front::FrontOptions;
pub use origin::{Origin, Origins};
pub use revision::{Revisions, UnknownRevision};
