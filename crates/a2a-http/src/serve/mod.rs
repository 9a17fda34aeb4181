//! The one place that accepts connections.

mod activity;
mod answer;
mod connection;
mod drain;
mod executor;
mod frames;
mod handshake;
mod host;
mod meter;
mod patience;
mod request;
mod response_budget;
mod room;
mod server;
mod share;
mod version;

pub use drain::Drain;
pub(crate) use response_budget::UNCOUNTED;
pub(crate) use room::Place;
pub use server::{ServeError, Server, bind};
pub use share::{Share, Shares};
