//! The server's half: the routes of the descriptor.

mod answer;
mod query;
mod request;
mod route;
mod router;
mod serve;

pub use router::{router, router_with};
pub use serve::serve;
