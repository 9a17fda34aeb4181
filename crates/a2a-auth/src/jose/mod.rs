//! Keys, key sets and signed tokens (RFC 7515, 7517, 7518, 8037), as far as A2A needs them.
//!
//! Signatures are ES256, `EdDSA` with Ed25519, and RS256. There are no others: `none` and
//! symmetric algorithms are refused by having no name here.

mod algorithm;
mod jwk;
mod jwk_set;
mod private_jwk;
mod remote;
mod signing_key;
mod token;

pub use crate::fetch::SetupError;
pub use algorithm::{Algorithm, RefusedAlgorithm};
pub use jwk::{InvalidKey, Jwk};
pub use jwk_set::{JWKS_PATH, JwkSet};
pub use remote::{KeySource, MissingKey, RemoteKeys};
pub use signing_key::{KeyError, SigningKey};
pub use token::{Header, Token, TokenError};
