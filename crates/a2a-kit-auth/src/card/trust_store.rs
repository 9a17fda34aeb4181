//! The trusted keys of card signatures.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::SystemTime,
};

use a2a_kit_http::tls::ClientTls;

use super::{
    header::Header,
    jku::{Address, JkuKeys},
    verification::SignatureError,
};
use crate::{
    SetupError,
    jose::{Jwk, JwkSet, KeySource, MissingKey},
};

/// The trusted keys: static keys, keys published at known URLs, and hosts on which signatures may
/// name key URLs.
///
/// Nothing is trusted by default. Expired and revoked keys are rejected from any source
/// (spec §8.4.3).
#[derive(Clone, Debug, Default)]
pub struct TrustStore {
    keys: BTreeMap<String, Jwk>,
    sources: Vec<Arc<dyn KeySource>>,
    hosts: BTreeSet<String>,
    remote: Option<Arc<JkuKeys>>,
    tls: ClientTls,
    revoked: BTreeSet<String>,
}

impl TrustStore {
    /// Creates a store that trusts nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Trusts a key under its id, until it expires ([`Jwk::with_not_after`]).
    #[must_use]
    pub fn with_key(mut self, key: Jwk) -> Self {
        self.keys.insert(key.id().to_owned(), key);
        self
    }

    /// Trusts all keys of a set.
    #[must_use]
    pub fn with_keys(self, keys: &JwkSet) -> Self {
        keys.keys().iter().cloned().fold(self, Self::with_key)
    }

    /// Trusts published keys, for example [`RemoteKeys::at`](crate::jose::RemoteKeys::at) a known
    /// URL.
    #[must_use]
    pub fn with_source(mut self, source: impl KeySource) -> Self {
        self.sources.push(Arc::new(source));
        self
    }

    /// Trusts the keys at any URL of a host that signatures name in their `jku`: over HTTPS, or
    /// over HTTP for a loopback host. The host includes the port unless it is the default.
    ///
    /// Anyone who can publish a file on the host can then sign cards.
    ///
    /// # Errors
    ///
    /// [`SetupError`].
    pub fn with_host(mut self, host: &str) -> Result<Self, SetupError> {
        let known = Address::host(host).ok_or_else(|| SetupError::Host(host.to_owned()))?;
        if self.remote.is_none() {
            self.remote = Some(Arc::new(JkuKeys::new(self.tls.clone())?));
        }
        self.hosts.insert(known);
        Ok(self)
    }

    /// Sets the TLS configuration for fetching keys: trust anchors and client certificate. Default:
    /// the platform's trust store, no client certificate.
    ///
    /// # Errors
    ///
    /// [`SetupError::Tls`].
    pub fn with_tls(mut self, tls: ClientTls) -> Result<Self, SetupError> {
        if self.remote.is_some() {
            self.remote = Some(Arc::new(JkuKeys::new(tls.clone())?));
        }
        self.tls = tls;
        Ok(self)
    }

    /// Revokes a key by its id, or by its thumbprint, which also revokes it under other ids.
    #[must_use]
    pub fn revoke(mut self, id_or_thumbprint: impl Into<String>) -> Self {
        self.revoked.insert(id_or_thumbprint.into());
        self
    }

    /// Returns the key that a signature names, if it is trusted and valid now.
    pub(super) async fn key(
        &self,
        header: &Header,
        now: SystemTime,
    ) -> Result<Jwk, SignatureError> {
        if self.revoked.contains(&header.key_id) {
            return Err(SignatureError::Revoked);
        }
        let key = self.find(header).await?;
        if self.revoked.contains(&key.thumbprint()) {
            return Err(SignatureError::Revoked);
        }
        if key.not_before().is_some_and(|start| now < start) {
            return Err(SignatureError::NotYetValid);
        }
        if key.not_after().is_some_and(|end| now >= end) {
            return Err(SignatureError::Expired);
        }
        Ok(key)
    }

    async fn find(&self, header: &Header) -> Result<Jwk, SignatureError> {
        let id = &header.key_id;
        if let Some(key) = self.keys.get(id) {
            return Ok(key.clone());
        }
        let mut unavailable = None;
        for source in &self.sources {
            match source.key(id).await {
                Ok(key) => return Ok(key),
                Err(MissingKey::Unknown) => {}
                Err(error) => unavailable = Some(error),
            }
        }
        if let Some(url) = &header.url {
            let Some(address) = Address::read(url, &self.hosts) else {
                // Unavailable keys take precedence: they may include this one.
                let untrusted = || SignatureError::UntrustedAddress(url.clone());
                return Err(unavailable.map_or_else(untrusted, SignatureError::Keys));
            };
            if let Some(remote) = &self.remote {
                match remote.key(&address, id).await {
                    Ok(key) => return Ok(key),
                    Err(MissingKey::Unknown) => {}
                    Err(error) => unavailable = Some(error),
                }
            }
        }
        Err(unavailable.map_or(SignatureError::UnknownKey, SignatureError::Keys))
    }
}
