//! Who speaks A2A: keys and signatures, and webhooks whose receivers can tell who calls.
//!
//! An agent that calls webhooks signs what it sends with a [`webhook::Signer`] and publishes the
//! keys; whoever runs the webhook checks it with a [`webhook::Receiver`]. Both stand on [`jose`],
//! the part of the JOSE standards that A2A needs. Whoever calls agents authenticates with
//! [`client::Credentials`], by the schemes of their cards; an agent lets in those who may with a
//! [`server::Guard`], which enforces what its card says.
//!
//! ```
//! use a2a_auth::{jose::{Algorithm, SigningKey}, webhook::Signer};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let key = SigningKey::generate(Algorithm::EdDsa)?;
//! let signer = Signer::new("https://agent.example", key);
//! let published = signer.jwks();
//! assert_eq!(published.keys().len(), 1);
//! # Ok(())
//! # }
//! ```

pub mod card;
pub mod client;
mod fetch;
pub mod jose;
pub mod server;
pub mod webhook;
