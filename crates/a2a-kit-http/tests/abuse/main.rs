//! Malicious peers on real sockets: they are limited, and others are served.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a failed setup fails the test"
)]

mod bodies;
mod flood;
mod frames;
mod headers;
mod http2;
mod rates;
mod responses;
mod slow;
mod support;
