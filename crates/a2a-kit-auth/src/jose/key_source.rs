//! Sources of an issuer's public keys.

use std::fmt;

use async_trait::async_trait;

use super::{Algorithm, Jwk};

/// A source of an issuer's public keys.
#[async_trait]
pub trait KeySource: fmt::Debug + Send + Sync + 'static {
    /// Returns the key with an id.
    async fn key(&self, id: &str) -> Result<Jwk, MissingKey>;

    /// Returns the keys that support an algorithm, for tokens without a key id.
    async fn keys_for(&self, algorithm: Algorithm) -> Result<Vec<Jwk>, MissingKey>;

    /// Returns whether [`key`](Self::key) would return this key for its id; `None`, which is the
    /// default, if that is not known without waiting.
    fn has(&self, _key: &Jwk) -> Option<bool> {
        None
    }
}

/// Why a key was not found.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum MissingKey {
    /// There is no key with this id.
    #[error("unknown key")]
    Unknown,
    /// The keys are unavailable. Without a source, the fetch is rate-limited.
    #[error("failed to fetch keys")]
    Unavailable(#[source] Option<Box<dyn std::error::Error + Send + Sync>>),
}

a2a_core::debug_as_chain!(MissingKey);
