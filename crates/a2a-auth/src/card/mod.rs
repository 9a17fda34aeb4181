//! Agent cards that are signed (spec §8.4).
//!
//! A [`Signer`] puts a signature into a card, a [`Verifier`] with a [`TrustStore`] says whether
//! one in a card it received is by a key that is trusted. What a signature is over is the
//! [`Form`].
//!
//! ```
//! use a2a_auth::{
//!     card::{Signer, TrustStore, Verification, Verifier},
//!     jose::{Algorithm, SigningKey},
//! };
//! use a2a_core::AgentCard;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let key = SigningKey::generate(Algorithm::Es256)?;
//! let trusted = TrustStore::new().with_key(key.public().clone());
//! let signed = Signer::new(key).sign(AgentCard::new("Echo", "Says what it hears"))?;
//!
//! let received = serde_json::to_vec(&signed)?;
//! let verification = Verifier::new(trusted).verify(&received).await;
//! assert!(matches!(verification, Verification::Verified(_)));
//! # Ok(())
//! # }
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(example()).unwrap();
//! ```

mod document;
mod form;
mod header;
mod remote;
mod schema;
mod signer;
mod trust;
mod verification;
mod verifier;

pub use document::NotACard;
pub use form::Form;
pub use header::MalformedHeader;
pub use signer::{SignError, Signer};
pub use trust::{TrustError, TrustStore};
pub use verification::{Reason, Rejected, Verification, Verified};
pub use verifier::Verifier;
