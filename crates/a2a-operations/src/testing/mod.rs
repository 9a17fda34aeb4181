//! Test suites for implementations of this crate's traits.
//!
//! A suite is a set of async functions, each of which gets a fresh implementation and panics if a
//! law is violated, and a macro that generates a test for each.
//!
//! [`LiveTask`] and [`EventLog`] are the pure parts of the engine, for benchmarks.

#![expect(
    clippy::expect_used,
    clippy::missing_panics_doc,
    clippy::panic,
    reason = "a test fails by panicking"
)]

pub mod cluster;
pub mod store;

pub use crate::engine::testing::{EventLog, LiveTask};
