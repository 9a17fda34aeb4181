//! The one place that accepts connections.

mod connection;
mod drain;
mod server;

pub use drain::Drain;
pub use server::{ServeError, Server, bind};
