//! Server-side authentication and authorization, as declared by the agent card.
//!
//! A card declares how callers authenticate (`securitySchemes`), and which schemes and scopes the
//! agent and each skill require (`securityRequirements`, spec §4.5). A [`Guard`] has a
//! [`SchemeVerifier`] for each scheme and enforces the requirements on every binding, in every
//! revision, for every operation. A card that declares a scheme without a verifier is an error at
//! startup.
//!
//! ```
//! use a2a_kit_auth::server::{ApiKeys, Guard};
//! use a2a_core::{AgentCard, v1::SecurityScheme};
//! use a2a_kit_operations::Caller;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let card = AgentCard::new("Echo", "Says what it hears")
//!     .with_security_scheme("key", SecurityScheme::api_key_header("X-API-Key"))
//!     .requiring("key");
//!
//! let keys = ApiKeys::new().with_key("a long secret", Caller::authenticated("ann"));
//! let guard = Guard::new().with_verifier("key", keys);
//! let enforcement = guard.enforce(&card)?;
//! # drop(enforcement);
//! # Ok(())
//! # }
//! ```
//!
//! An HTTP layer authenticates requests before their body is read; a wrapper around the agent
//! authorizes the calls, so that each binding and revision encodes the error in its own form.

mod access_token;
mod audit;
mod auth_failure;
mod auth_history;
mod authenticate;
mod authorize;
mod basic;
mod certificate;
mod challenge;
mod claims;
mod credential_digest;
mod enforced_card;
mod enforcement;
mod expiring_cache;
mod expiry;
mod failure_log;
mod guard;
mod introspection;
mod jwt;
mod oidc_discovery;
mod pending_verifications;
mod refused_token;
mod request_credentials;
mod requirement;
mod secrets;
mod throttle;
mod verification_queue;
mod verifier;

pub use basic::BasicUsers;
pub use certificate::Certificates;
pub use claims::TokenClaims;
#[doc(hidden)]
pub use enforcement::Enforcement;
pub use guard::{Guard, GuardError};
pub use introspection::Introspection;
pub use jwt::JwtVerifier;
pub use request_credentials::RequestCredential;
pub use secrets::{ApiKeys, BearerTokens};
pub use throttle::Throttle;
pub use verifier::{Attempt, Rejection, SchemeVerifier};

pub use a2a_kit_http::TrustedProxy;
