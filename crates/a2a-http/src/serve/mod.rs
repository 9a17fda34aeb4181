//! The one place that accepts connections.

mod activity;
mod answer;
mod connection;
mod drain;
mod executor;
mod frames;
mod handshake;
mod meter;
mod patience;
mod request;
mod room;
mod server;
mod share;

pub use drain::Drain;
pub use server::{ServeError, Server, bind};
