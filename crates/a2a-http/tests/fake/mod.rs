//! Scenery for the tests of the HTTP bindings: an agent that remembers what it was asked, a
//! server that answers with prepared bytes, and a client that shows what came.
//!
//! The tests of `a2a-jsonrpc` and `a2a-rest` include this folder by its path.

#![allow(
    dead_code,
    unused_imports,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::missing_panics_doc,
    clippy::panic,
    reason = "scenery: each test takes a part of it, and fails where it can't be set up"
)]

mod agent;
mod canned;
mod fixture;
mod operations;
mod wire;

pub use agent::{Fake, Seen, artifact, completed, message, opening, status, task};
pub use canned::{Canned, answer, json, sse};
pub use fixture::same_as_file;
pub use operations::every_operation_arrives_as_it_was_sent;
pub use wire::{Connection, Got, hide_error_id, serve};
