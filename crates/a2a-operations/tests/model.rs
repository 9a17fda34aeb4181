//! Engines and stores against references that are too simple to be wrong.
//!
//! Time is tokio's and paused, and the store is in memory, so a case that takes minutes for its
//! nodes takes milliseconds here. `PROPTEST_CASES` sets how many cases are tried.
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
