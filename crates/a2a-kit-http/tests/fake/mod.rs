//! Test support for the HTTP bindings: an agent that records its calls, a server with canned
//! responses, a client that shows raw responses, and cases that clients and servers share.
//!
//! The tests of `a2a-kit-jsonrpc`, `a2a-kit-rest` and `a2a-kit-compat` include this folder by its path.

#![allow(
    dead_code,
    unused_imports,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::missing_panics_doc,
    clippy::panic,
    reason = "test support: each test uses a part of it, and a failed setup fails the test"
)]

mod agent;
mod canned;
mod endpoint;
mod fixture;
mod operations;
mod remote;
mod wire;

pub use agent::{Fake, Seen, artifact, completed, message, opening, status, task};
pub use canned::{Canned, answer, json, sse};
pub use endpoint::Endpoint;
pub use fixture::same_as_file;
pub use operations::every_operation_arrives_as_it_was_sent;
pub use remote::{DONE, Remote, collect, get_task, send, subscribe};
pub use wire::{Connection, Got, hide_error_id, serve};
