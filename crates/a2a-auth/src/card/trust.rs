//! The keys that are trusted to sign cards.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::SystemTime,
};

use a2a_http::tls::ClientTls;

use super::{
    header::Header,
    remote::{Address, Remote},
    verification::Reason,
};
use crate::jose::{Jwk, JwkSet, KeySource, MissingKey, SetupError};

/// Whose signatures are believed: keys at hand, keys that are published at an address, and hosts
/// that signatures may name as the place of their keys.
///
/// Nothing is trusted that is not put in. Keys that have expired, and those that are revoked here,
/// are refused wherever they come from (spec §8.4.3).
#[derive(Clone, Debug, Default)]
pub struct TrustStore {
    keys: BTreeMap<String, Jwk>,
    sources: Vec<Arc<dyn KeySource>>,
    hosts: BTreeSet<String>,
    remote: Option<Arc<Remote>>,
    tls: ClientTls,
    revoked: BTreeSet<String>,
}

/// Why a host can't be trusted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrustError {
    /// It is no host.
    #[error("{0:?} is not a host, as keys.example or keys.example:8443")]
    Host(String),
    /// Nothing can be fetched from it.
    #[error(transparent)]
    Setup(#[from] SetupError),
}

impl TrustStore {
    /// Trusts nobody.
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

    /// Trusts the keys that are published somewhere, for example those of
    /// [`RemoteKeys::at`](crate::jose::RemoteKeys::at) an address that is known beforehand.
    #[must_use]
    pub fn with_source(mut self, source: impl KeySource) -> Self {
        self.sources.push(Arc::new(source));
        self
    }

    /// Trusts the keys at any address of a host, which signatures name in their `jku`: over HTTPS,
    /// and over HTTP where the host is the loopback. The host comes with its port where that is
    /// another than the usual one.
    ///
    /// Whoever can publish a file on the host can then sign cards.
    ///
    /// # Errors
    ///
    /// [`TrustError`].
    pub fn with_host(mut self, host: &str) -> Result<Self, TrustError> {
        let known = Address::host(host).ok_or_else(|| TrustError::Host(host.to_owned()))?;
        if self.remote.is_none() {
            self.remote = Some(Arc::new(Remote::new(self.tls.clone())?));
        }
        self.hosts.insert(known);
        Ok(self)
    }

    /// Sets whose certificates are believed where hosts publish keys, and the certificate to show
    /// there. Default: what the platform trusts, and none.
    ///
    /// # Errors
    ///
    /// [`TrustError::Setup`].
    pub fn with_tls(mut self, tls: ClientTls) -> Result<Self, TrustError> {
        if self.remote.is_some() {
            self.remote = Some(Arc::new(Remote::new(tls.clone())?));
        }
        self.tls = tls;
        Ok(self)
    }

    /// Refuses a key from now on: by its id, or by its thumbprint, which also refuses it under
    /// other ids.
    #[must_use]
    pub fn revoke(mut self, id_or_thumbprint: impl Into<String>) -> Self {
        self.revoked.insert(id_or_thumbprint.into());
        self
    }

    /// Returns the key that a signature names, if it is to be believed now.
    pub(super) async fn key(&self, header: &Header, now: SystemTime) -> Result<Jwk, Reason> {
        if self.revoked.contains(&header.key_id) {
            return Err(Reason::Revoked);
        }
        let key = self.find(header).await?;
        if self.revoked.contains(&key.thumbprint()) {
            return Err(Reason::Revoked);
        }
        if key.not_before().is_some_and(|start| now < start) {
            return Err(Reason::NotYetValid);
        }
        if key.not_after().is_some_and(|end| now >= end) {
            return Err(Reason::Expired);
        }
        Ok(key)
    }

    async fn find(&self, header: &Header) -> Result<Jwk, Reason> {
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
                // Keys that could not be read are the better reason: they may have had this one.
                let untrusted = || Reason::UntrustedAddress(url.clone());
                return Err(unavailable.map_or_else(untrusted, Reason::Keys));
            };
            if let Some(remote) = &self.remote {
                match remote.key(&address, id).await {
                    Ok(key) => return Ok(key),
                    Err(MissingKey::Unknown) => {}
                    Err(error) => unavailable = Some(error),
                }
            }
        }
        Err(unavailable.map_or(Reason::UnknownKey, Reason::Keys))
    }
}
