//! The fuzz targets: functions of bytes from a peer.
//!
//! Each function returns for every input, in bounded time and memory, and panics if a property is
//! violated. The executables of `fuzz/` pass generated inputs; the tests of this package pass the
//! [`seeds`] and all inputs of earlier findings.
#![allow(
    clippy::expect_used,
    clippy::missing_panics_doc,
    clippy::panic,
    clippy::unwrap_used,
    reason = "violated properties panic"
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

/// A fuzz target.
pub type Target = fn(&[u8]);

/// All targets by name. The executables of `fuzz/` have the same names.
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
/// If there is no such target, or a property is violated.
pub fn run(name: &str, input: &[u8]) {
    let target = TARGETS.iter().find(|(of, _)| *of == name).expect("a target of that name").1;
    target(input);
}
