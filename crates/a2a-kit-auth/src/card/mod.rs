//! Signed agent cards (spec §8.4).
//!
//! A [`JwsCardSigner`] adds a signature to a card. A [`JwsCardVerifier`] checks the signatures of a
//! card against the keys of a [`TrustStore`]. A signature covers a [`CanonicalForm`] of the card.
//!
//! ```
//! use a2a_kit_auth::{
//!     card::{CardVerification, JwsCardSigner, JwsCardVerifier, TrustStore},
//!     jose::{Algorithm, SigningKey},
//! };
//! use a2a_core::AgentCard;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let key = SigningKey::generate(Algorithm::Es256)?;
//! let trusted = TrustStore::new().with_key(key.public().clone());
//! let signed = JwsCardSigner::new(key).sign(AgentCard::new("Echo", "Says what it hears"))?;
//!
//! let received = serde_json::to_vec(&signed)?;
//! let verification = JwsCardVerifier::new(trusted).verify(&received).await;
//! assert!(matches!(verification, CardVerification::Verified(_)));
//! # Ok(())
//! # }
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(example()).unwrap();
//! ```

mod canonical;
mod header;
mod jku;
mod schema;
mod signer;
mod trust_store;
mod verification;
mod verifier;

pub use canonical::CanonicalForm;
pub use signer::{JwsCardSigner, SignError};
pub use trust_store::TrustStore;
pub use verification::{CardVerification, RejectedSignature, SignatureError, VerifiedSignature};
pub use verifier::JwsCardVerifier;
