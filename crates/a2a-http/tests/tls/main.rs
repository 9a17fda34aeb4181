//! The server loop and the HTTP client over TLS, on real sockets.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "scenery that can't be set up fails the test"
)]

mod clients;
mod handshakes;
mod material;
mod running;
