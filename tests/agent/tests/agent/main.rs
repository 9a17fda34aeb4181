//! The agents for conformance suites and measurements.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "only tests, and clippy looks for the attribute on their own functions"
)]

#[path = "../../../../crates/a2a-kit-cli/tests/common/mod.rs"]
mod common;

mod demo_message_id;
mod demo_text;
mod profiles;
