//! A client for A2A agents: discovery, interface selection, retries, resumable streams.
//!
//! [`Client::connect`] fetches an agent's card, selects an interface and uses its protocol binding.
//! The methods of [`Client`] are the operations of the protocol.
//!
//! ```no_run
//! use a2a_kit_client::Client;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::connect("localhost:8080").await?;
//! let reply = client.send_text("Hello!").await?;
//! assert_eq!(reply, "You said: Hello!");
//!
//! let mut events = client.stream("stream 5").await?;
//! while let Some(event) = events.next().await {
//!     if let Some(state) = event?.state() {
//!         eprintln!("{state:?}");
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Features
//!
//! All are enabled by default.
//!
//! - `jsonrpc`, `rest`, `grpc`: the bindings; interfaces with others are not selected.
//! - `compat`: agents of older revisions.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod authenticated;
mod backoff;
mod binding;
mod builder;
mod candidate;
mod candidate_selection;
mod card_cache;
mod card_cache_directory;
mod card_document;
mod card_fetch;
mod card_reference;
mod catalog;
mod catalog_location;
mod client;
mod client_event;
mod credential_guard;
mod discovery;
mod discovery_error;
mod events;
mod failover;
mod interface_selection;
mod listing;
mod message_request;
mod older;
mod outcome;
mod preflight;
mod resumable_stream;
mod resume;
mod retry;
mod retry_policy;
mod signature_policy;
mod snapshot;
mod tenant;
#[cfg(test)]
mod test_agent;
mod timeouts;
mod traced;
mod transport;
mod unknown_state;
mod wait;
mod wait_options;
mod watch;

pub use a2a_kit_auth::client as credentials;
pub use a2a_kit_http::client::ClientSettings;
pub use a2a_kit_operations::extension::IDEMPOTENCY_KEY;
pub use builder::ClientBuilder;
pub use card_cache::CardCache;
pub use card_document::Document;
pub use card_reference::CardReference;
#[doc(hidden)]
pub use catalog_location::CatalogLocation;
pub use client::Client;
pub use client_event::ClientEvent;
pub use discovery::{Discovery, discover};
pub use discovery_error::DiscoveryError;
pub use events::Events;
pub use interface_selection::{Preference, SelectedInterface};
pub use listing::Listing;
pub use message_request::MessageRequest;
pub use outcome::SendOutcome;
pub use retry_policy::RetryPolicy;
pub use signature_policy::SignaturePolicy;
pub use snapshot::Snapshot;
pub use timeouts::Timeouts;
pub use transport::Transport;
pub use wait_options::{PollPolicy, UpdateDelivery, WaitOptions};
pub use watch::Watch;

/// Compiles the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
