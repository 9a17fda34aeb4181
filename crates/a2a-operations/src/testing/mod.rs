//! Suites of tests that every implementation of our traits has to pass.
//!
//! A suite is a set of async functions that are given a fresh implementation and panic where it
//! breaks a law, and a macro that makes a test of each.
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
