//! Peers that mean harm, on real sockets: what they do is bounded, and others are served.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "scenery that can't be set up fails the test"
)]

mod bodies;
mod flood;
mod frames;
mod heads;
mod http2;
mod rates;
mod responses;
mod running;
mod slow;
