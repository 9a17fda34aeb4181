//! The parts of JOSE that A2A needs: keys, key sets and signed tokens (RFC 7515, 7517, 7518, 8037).
//!
//! Signatures are verified with ES256, ES384, `EdDSA` (Ed25519), RS256, RS384, RS512, PS256, PS384
//! and PS512, and created with ES256, `EdDSA` and RS256. `none` and symmetric algorithms are not
//! supported.

mod algorithm;
mod jwk;
mod jwk_set;
mod key_source;
mod private_jwk;
mod remote_keys;
mod signing_key;
mod token;

pub use algorithm::Algorithm;
pub use jwk::Jwk;
pub use jwk_set::{JWKS_PATH, JwkSet};
pub use remote_keys::RemoteKeys;
pub use signing_key::{KeyError, SigningKey};
/// For verifiers.
#[doc(hidden)]
pub use {
    key_source::{KeySource, MissingKey},
    token::{SignedToken, TokenError, TokenHeader},
};
