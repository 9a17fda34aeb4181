//! Authentication for A2A: security schemes, OAuth, JWTs, signed cards and signed webhooks.
//!
//! # Features
//!
//! All are enabled by default.
//!
//! - `client`: credentials for calls.
//! - `card`: signatures of agent cards.
//! - `server`: enforcement of the card, and signed webhooks.
//!
//! # Modules
//!
//! - [`server`]: a [`Guard`](server::Guard) enforces the security requirements of an agent's card.
//! - [`client`]: [`Credentials`](client::Credentials) provides what a card requires.
//! - [`card`]: signs agent cards, and verifies their signatures.
//! - [`webhook`]: a [`WebhookSigner`](webhook::WebhookSigner) signs deliveries, a
//!   [`Receiver`](webhook::Receiver) verifies them.
//! - [`jose`]: the parts of the JOSE standards that the others need.
//!
//! ```
//! use a2a_kit_auth::{jose::{Algorithm, SigningKey}, webhook::WebhookSigner};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let key = SigningKey::generate(Algorithm::EdDsa)?;
//! let signer = WebhookSigner::new("https://agent.example", key);
//! let published = signer.jwks();
//! assert_eq!(published.keys().len(), 1);
//! # Ok(())
//! # }
//! ```

#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    not(all(feature = "card", feature = "client", feature = "server")),
    allow(dead_code, unreachable_pub, reason = "the features share modules")
)]

#[cfg(feature = "card")]
pub mod card;
#[cfg(feature = "client")]
pub mod client;
mod fetch;
#[cfg(feature = "jose")]
pub mod jose;
#[cfg(feature = "server")]
pub mod server;
#[cfg(any(feature = "card", feature = "server"))]
mod unique_names;
#[cfg(feature = "server")]
pub mod webhook;

pub use fetch::SetupError;

/// Compiles the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
