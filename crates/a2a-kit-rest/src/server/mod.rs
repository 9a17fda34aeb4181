//! The server: the routes of the descriptor.

mod query;
mod request;
mod response;
mod route;
mod router;

pub use router::{handler, router, router_with, serve};
