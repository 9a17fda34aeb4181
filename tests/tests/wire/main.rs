//! The bytes of each binding, on real sockets.
//!
//! What one request and one answer look like is in the files of `tests/wire/`; what needs time,
//! several connections or HTTP/2 is in the modules here.
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it expects, and panics where it does not get it"
)]

mod card;
mod client;
mod descriptor;
mod fixture;
mod grpc;
mod jsonrpc;
mod live;
mod pattern;
mod promises;
mod recorder;
mod rest;
mod socket;
mod webhook;

/// Makes a test of each fixture, and `FIXTURES`, the list of them.
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
fn every_fixture_is_played() {
    let mut played = [jsonrpc::FIXTURES, rest::FIXTURES, card::FIXTURES].concat();
    played.sort_unstable();
    assert_eq!(played, fixture::all());
}
