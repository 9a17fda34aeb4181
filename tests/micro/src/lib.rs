//! Small pieces of work with fixed inputs, of which `benches/micro.rs` counts the instructions.

#![expect(
    clippy::expect_used,
    clippy::missing_panics_doc,
    clippy::panic,
    reason = "a benchmark stops where something does not work"
)]

pub mod engine;
pub mod live;
pub mod message;
pub mod store;

use tokio::runtime::{Builder, Runtime};

/// A runtime of one thread, so that all work is done in the same order each time.
fn runtime() -> Runtime {
    Builder::new_current_thread().enable_time().build().expect("a runtime can be made")
}
