//! Agents that let in only those who may, over real sockets: every binding, every operation,
//! older revisions too.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests fail by panicking"
)]

mod certificates;
mod issuers;
mod keys;
mod refusals;
mod scene;
#[path = "../support/tls.rs"]
mod tls;
mod tokens;
