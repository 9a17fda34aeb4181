//! What is fuzzed: functions of bytes that come from a peer.
//!
//! Each function returns for every input, in bounded time and memory, and panics where a promise
//! is broken. The executables of `fuzz/` hand them what a fuzzer makes up; the tests of this
//! package hand them the [`seeds`] and every input that ever broke one.
#![allow(
    clippy::expect_used,
    clippy::missing_panics_doc,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a broken promise is told to the fuzzer by a panic"
)]

mod agent;
mod card;
mod dialect;
mod grpc;
mod http;
mod message;
mod page_token;
pub mod seeds;
mod signature;
mod sse;
mod token;

/// A function that is fuzzed.
pub type Target = fn(&[u8]);

/// Everything that is fuzzed, by name. The executables of `fuzz/` have the same names.
pub const TARGETS: &[(&str, Target)] = &[
    ("card", card::read),
    ("dialect", dialect::round_trip),
    ("grpc", grpc::call),
    ("jsonrpc", http::jsonrpc),
    ("message", message::round_trip),
    ("page_token", page_token::list),
    ("rest", http::rest),
    ("signature", signature::verify),
    ("sse", sse::decode),
    ("token", token::believe),
];

/// Runs the target of this name.
///
/// # Panics
///
/// Where there is none, and where a promise is broken.
pub fn run(name: &str, input: &[u8]) {
    let target = TARGETS.iter().find(|(of, _)| *of == name).expect("a target of that name").1;
    target(input);
}
