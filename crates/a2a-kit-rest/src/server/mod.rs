//! The server: the routes of the descriptor.

mod query;
mod request;
mod response;
mod route;
mod router;
mod serve;

pub use router::{router, router_with};
pub use serve::serve;
