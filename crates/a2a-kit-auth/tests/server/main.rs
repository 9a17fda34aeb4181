//! Enforcement over real sockets, on every binding, for every operation and revision.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests fail by panicking"
)]

mod agents;
mod certificates;
mod errors;
mod fixture;
mod issuers;
mod keys;
mod queues;
#[path = "../support/tls.rs"]
mod tls;
mod tokens;
