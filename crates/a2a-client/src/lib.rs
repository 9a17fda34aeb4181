//! The client of A2A agents: discovery, choice of interface, streams that resume.
//!
//! For anyone who calls agents. [`Client::connect`] reads an agent's card, chooses an interface
//! of it and speaks that binding; [`Client`] has the operations of the protocol as methods.
//!
//! ```no_run
//! use a2a_client::Client;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::connect("localhost:8080").await?;
//! let answer = client.send_text("Hello!").await?;
//! assert_eq!(answer, "You said: Hello!");
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

mod authenticated;
mod builder;
mod cache;
mod client;
mod discovery;
mod events;
mod failover;
mod kept_back;
mod outcome;
mod outgoing;
mod policy;
mod prepared;
mod reference;
mod resume;
mod resuming;
mod retry;
#[cfg(test)]
mod script;
mod selection;
mod signature;
mod snapshot;
mod traced;
mod transport;
mod wait;
mod way;
mod wrap;

pub use a2a_auth::client as credentials;
pub use a2a_http::client::ClientSettings;
pub use a2a_operations::extension::IDEMPOTENCY_KEY;
pub use builder::ClientBuilder;
pub use cache::CardCache;
pub use client::Client;
pub use discovery::{Discovery, DiscoveryError, Document, discover};
pub use events::Events;
pub use outcome::SendOutcome;
pub use outgoing::Outgoing;
pub use policy::{RetryPolicy, Timeouts};
pub use reference::CardReference;
pub use selection::{Preference, Selected};
pub use signature::SignaturePolicy;
pub use snapshot::Snapshot;
pub use transport::{Transport, UnknownTransport};
