//! Attacks, briefly; `cargo xtask attack` has all of them.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "only tests, and clippy looks for the attribute on their own functions"
)]

mod attack;
