//! The server: the routes of the descriptor.

mod query;
mod request;
mod response;
mod route;
mod router;

pub use router::{router, router_with, serve};
