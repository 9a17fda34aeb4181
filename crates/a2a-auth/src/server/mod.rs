//! The server's half: no one gets in but by the card's own rules.
//!
//! A card says how callers authenticate (`securitySchemes`), and what they need for the agent and
//! for each skill (`securityRequirements`, spec §4.5). A [`Guard`] has a [`Verifier`] for each of
//! the schemes and enforces what the card says: on every binding, in every revision, for every
//! operation. A card that says what no verifier stands behind does not start.
//!
//! ```
//! use a2a_auth::server::{ApiKeys, Guard};
//! use a2a_core::{
//!     AgentCard,
//!     v1::{
//!         ApiKeySecurityScheme, SecurityRequirement, SecurityScheme, StringList,
//!         security_scheme::Scheme,
//!     },
//! };
//! use a2a_operations::Caller;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut card = AgentCard::new("Echo", "Says what it hears");
//! let key = ApiKeySecurityScheme {
//!     location: "header".into(),
//!     name: "X-API-Key".into(),
//!     ..ApiKeySecurityScheme::default()
//! };
//! let scheme = SecurityScheme { scheme: Some(Scheme::ApiKeySecurityScheme(key)) };
//! card.security_schemes.insert("key".into(), scheme);
//! let needed = [("key".into(), StringList::default())].into();
//! card.security_requirements.push(SecurityRequirement { schemes: needed });
//!
//! let keys = ApiKeys::new().with_key("a long secret", Caller::authenticated("ann"));
//! let guard = Guard::new().with_verifier("key", keys);
//! let enforcement = guard.enforce(&card)?;
//! # drop(enforcement);
//! # Ok(())
//! # }
//! ```
//!
//! Two halves do the work. A layer over HTTP looks at what a request authenticates with, before
//! anything reads its body, and a wrapper around the agent refuses, so that each binding and
//! revision writes the refusal in its own form.

mod admit;
mod audit;
mod basic;
mod cache;
mod certificate;
mod challenge;
mod discovery;
mod enforcement;
mod expiry;
mod guard;
mod identify;
mod introspection;
mod jwt;
mod memory;
mod presented;
mod refusal;
mod requirement;
mod scheme;
mod secrets;
mod throttle;
mod verifier;

pub use basic::{BasicUsers, InvalidHash};
pub use certificate::Certificates;
pub use discovery::AddressError;
pub use enforcement::Enforcement;
pub use guard::{Guard, GuardError};
pub use introspection::Introspection;
pub use jwt::{Claims, Jwt};
pub use presented::Presented;
pub use secrets::{ApiKeys, BearerTokens, InvalidDigest};
pub use throttle::Throttle;
pub use verifier::{Rejection, Verifier};

pub use a2a_http::{InvalidNetwork, TrustedProxy};
