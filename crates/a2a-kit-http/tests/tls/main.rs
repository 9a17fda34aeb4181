//! The server and the HTTP client over TLS, on real sockets.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a failed setup fails the test"
)]

mod certificates;
mod clients;
mod handshakes;
mod support;
