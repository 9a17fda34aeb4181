//! Tests of the binding over sockets, with a fake agent.
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "this is a test")]

mod errors;
mod fake;
mod mounting;
mod operations;
mod parameters;
mod raw;
mod service;
mod streams;
