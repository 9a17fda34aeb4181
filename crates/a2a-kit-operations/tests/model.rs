//! Model tests: engines and stores against trivial references.
//!
//! Tokio's clock is paused and the store is in memory, so a case that takes minutes for its nodes
//! takes milliseconds. `PROPTEST_CASES` sets the number of cases.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test says what it expects, and panics where it does not get it"
)]

mod model {
    mod call;
    mod engine;
    mod journal;
    mod link;
    mod script;
    mod step;
    mod world;
}
