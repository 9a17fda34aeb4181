//! One A2A agent offered as another.
//!
//! For whoever puts a server in front of an agent: to speak a binding or a revision that it does
//! not, to add credentials that callers don't have, or to see what is said. [`Forward`] passes
//! everything on and says of the front what is true of it, and [`Record`] keeps the traffic.
//!
//! ```no_run
//! use a2a_gateway::Forward;
//!
//! # fn example(upstream_card: a2a_core::AgentCard) -> Result<axum::Router, a2a_core::Error> {
//! let upstream = a2a_jsonrpc::Client::new("https://agent.example")?;
//! let gateway = Forward::new(upstream);
//! let card = gateway.front_card(&upstream_card);
//! let card = card.with_interface(a2a_core::card::GRPC, "localhost:8080");
//! Ok(a2a_grpc::router(gateway).merge(a2a_http::card::router(card)?))
//! # }
//! ```
//!
//! # Who calls
//!
//! The agent behind a gateway sees one caller: the gateway, with the credentials of the client
//! that it was made with. So it can't keep the tasks of one caller from another. Where that
//! matters, authenticate callers in front and give each a tenant of its own, with
//! [`Forward::with_tenants`], or let them authenticate at the agent themselves, with
//! [`Forward::with_callers_credentials`].
//!
//! # Webhooks
//!
//! The agent behind calls webhooks itself, not through the gateway, and in the revision in which
//! the gateway registered them: its own, not that of the caller.

mod card;
mod forward;
mod hop;
mod origin;
mod record;
mod redact;
mod wrap;

pub use forward::Forward;
pub use record::{Entry, Record, Step};
