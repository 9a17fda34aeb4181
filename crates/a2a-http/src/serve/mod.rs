//! The one place that accepts connections.

mod connection;
mod drain;
mod handshake;
mod server;
mod share;

pub use drain::Drain;
pub use server::{ServeError, Server, bind};
