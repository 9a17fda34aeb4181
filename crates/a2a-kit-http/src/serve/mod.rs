//! The server: accepts connections and serves HTTP on them.

mod activity;
mod body_budget;
mod connection;
mod direct;
mod drain;
mod frame_limit;
mod frames;
mod h2_executor;
mod half_close;
mod handshake;
mod head_timeout;
mod host;
mod per_ip;
mod request;
mod response;
mod response_budget;
mod server;
mod signal;
mod version;
mod write_batch;
mod write_timeout;

pub(crate) use body_budget::Reservation;
pub use direct::{DirectHandler, DirectRoutes};
pub use drain::Drain;
pub(crate) use host::plain_host;
pub use per_ip::{PerIpLimit, PerIpPermit};
pub use server::{BindError, HttpServer, bind, serve_binding};
pub use signal::shutdown_signal;
