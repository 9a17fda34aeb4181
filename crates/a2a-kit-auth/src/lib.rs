//! Authentication for A2A: security schemes, OAuth, JWTs, signed cards and signed webhooks.
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

pub mod card;
pub mod client;
mod fetch;
pub mod jose;
pub mod server;
pub mod webhook;

/// Compiles the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
