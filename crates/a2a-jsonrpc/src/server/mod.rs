//! The server's half: one route that answers every operation.

mod answer;
mod envelope;
mod router;
mod serve;

pub use envelope::{Opened, check_id};
pub use router::{Endpoint, router, router_with};
pub use serve::serve;
