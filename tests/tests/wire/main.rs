//! The bytes of each binding, on real sockets.
//!
//! Single exchanges are files in `tests/wire/`; tests with timing, several connections or HTTP/2 are
//! in the modules here.
#![allow(clippy::expect_used, clippy::panic, reason = "tests panic on unexpected results")]

mod capabilities;
mod card;
mod client;
mod descriptor;
mod fixture;
mod grpc;
mod jsonrpc;
mod live;
mod pattern;
mod recorder;
mod rest;
mod socket;
mod webhook;

/// Generates a test for each fixture, and `FIXTURES`, the list of them.
macro_rules! fixtures {
    ($(#[test] fn $name:ident: $path:literal;)*) => {
        pub(crate) const FIXTURES: &[&str] = &[$($path),*];
        $(
            #[tokio::test]
            async fn $name() {
                crate::fixture::play($path).await;
            }
        )*
    };
}
pub(crate) use fixtures;

#[test]
fn every_fixture_has_a_test() {
    let mut played = [jsonrpc::FIXTURES, rest::FIXTURES, card::FIXTURES].concat();
    played.sort_unstable();
    assert_eq!(played, fixture::all());
}
