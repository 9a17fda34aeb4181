//! What agents of the field send, read by the clients of all bindings and through a gateway.
//!
//! Each behaviour is a row of a table and runs over every wire that can express it, once directly
//! and once through a gateway to a client of 1.0.
#![allow(clippy::expect_used, clippy::panic, reason = "tests panic on unexpected results")]

mod answer;
mod budget;
mod document;
mod grpc;
mod seat;
mod stream;
