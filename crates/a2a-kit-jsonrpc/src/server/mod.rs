//! The server: one route for all operations.

mod envelope;
pub mod response;
mod router;
mod skim;

pub use envelope::{Envelope, Opened, check_id};
pub use router::{Endpoint, handler, router, router_with, serve};
