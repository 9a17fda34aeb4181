//! A gateway for A2A agents.
//!
//! A gateway serves an upstream agent over another binding or protocol version, adds credentials
//! that callers don't have, or records traffic. [`Forward`] forwards every operation and derives
//! the gateway's agent card, [`Recorder`] records calls and events, and [`Replay`] answers from such a
//! recording.
//!
//! ```no_run
//! use a2a_kit_gateway::Forward;
//!
//! # fn example(upstream_card: a2a_core::AgentCard) -> Result<axum::Router, a2a_core::Error> {
//! let upstream = a2a_kit_jsonrpc::Client::new("https://agent.example")?;
//! let gateway = Forward::new(upstream);
//! let card = gateway.front_card(&upstream_card);
//! let card = card.with_interface(a2a_core::card::GRPC, "localhost:8080");
//! Ok(a2a_kit_grpc::router(gateway).merge(a2a_kit_http::card::router(card)?))
//! # }
//! ```
//!
//! # Callers
//!
//! The upstream agent sees one caller: the gateway, with the credentials of its client. So the
//! gateway keeps its own callers apart, as an [`Isolation`] says. By default it has an index of the
//! tasks and contexts of each owner in memory; pass an [`OwnerIndex`] in a store that survives
//! restarts. Authenticate callers at the gateway: all anonymous callers are one.
//!
//! # Memory
//!
//! The answers of the upstream agent are in memory while they are read, for all callers at a time.
//! Set [`ClientSettings::read_budget`](a2a_kit_http::client::ClientSettings::read_budget) of the
//! upstream client to bound them; the budget of the server counts them only once they are answered.
//!
//! # Webhooks
//!
//! The upstream agent calls webhooks directly, not through the gateway, and in the protocol version
//! with which the gateway registered them: the gateway's, not the caller's.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod card;
mod detached;
mod forward;
mod isolation;
mod loop_detection;
mod owned;
mod owner_index;
mod passage;
mod recorder;
mod recording;
mod redact;
mod replay;
mod request_key;
mod upstream_error;

pub use forward::Forward;
pub use isolation::{Isolation, Tenants};
pub use owner_index::OwnerIndex;
pub use recorder::Recorder;
/// What a recorder passes on, to be written as a line of JSON.
#[doc(hidden)]
pub use recorder::{Entry, Step};
pub use recording::Recording;
#[doc(hidden)]
pub use recording::RecordingError;
pub use replay::Replay;

/// Compiles the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
