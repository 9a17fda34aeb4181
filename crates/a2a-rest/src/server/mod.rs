//! The server: the routes of the descriptor.

mod response;
mod query;
mod request;
mod route;
mod router;
mod serve;

pub use router::{router, router_with};
pub use serve::serve;
