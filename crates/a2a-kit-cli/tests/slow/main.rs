//! Attacks and crashes, briefly; `cargo xtask attack` and `cargo xtask chaos` have all of them.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "only tests, and clippy looks for the attribute on their own functions"
)]

mod attack;
mod chaos;
