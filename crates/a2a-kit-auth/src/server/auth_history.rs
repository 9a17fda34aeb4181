//! State of authentication across requests.

use std::{net::IpAddr, sync::Arc, time::Duration};

use super::{
    RequestCredential, Throttle,
    audit::{self, AuditContext},
    credential_digest::CredentialHasher,
    expiring_cache::ExpiringCache,
    failure_log::FailureLog,
};

/// Capacity of the cache of verified credentials, and of the cache of subjects.
const CACHE_CAPACITY: usize = 16_384;
const CACHE_LIFETIME: Duration = Duration::from_secs(3_600);

/// Recent failures, verified credentials and authenticated subjects.
#[derive(Debug)]
pub(super) struct AuthHistory {
    failures: FailureLog,
    /// Digests of verified credentials.
    verified: ExpiringCache<[u8; 32], ()>,
    /// Subjects that have been authorized.
    subjects: ExpiringCache<Arc<str>, ()>,
    hasher: CredentialHasher,
}

impl AuthHistory {
    pub(super) fn new(throttle: Throttle) -> Self {
        Self {
            failures: FailureLog::new(throttle),
            verified: ExpiringCache::new(CACHE_CAPACITY),
            subjects: ExpiringCache::new(CACHE_CAPACITY),
            hasher: CredentialHasher::new(),
        }
    }

    /// Returns the remaining backoff of an address, unless these credentials have been verified
    /// before.
    pub(super) fn backoff<'c>(
        &self,
        address: Option<IpAddr>,
        credentials: impl IntoIterator<Item = &'c RequestCredential>,
    ) -> Option<Duration> {
        let backoff = self.failures.backoff(address?)?;
        let digest = self.hasher.digest(credentials);
        let was_verified = digest.is_some_and(|digest| self.verified.get(&digest).is_some());
        (!was_verified).then_some(backoff)
    }

    /// Records that all of these credentials have been verified.
    pub(super) fn record_verified<'c>(
        &self,
        credentials: impl IntoIterator<Item = &'c RequestCredential>,
    ) {
        if let Some(digest) = self.hasher.digest(credentials) {
            self.verified.insert(digest, (), CACHE_LIFETIME);
        }
    }

    /// Records a failure, and logs when the address becomes throttled.
    pub(super) fn record_failure(&self, address: Option<IpAddr>) {
        let Some(address) = address else { return };
        let was_free = self.failures.backoff(address).is_none();
        self.failures.record(address);
        if was_free && self.failures.backoff(address).is_some() {
            audit::throttled(AuditContext { address: Some(address), ..AuditContext::default() });
        }
    }

    /// Records that a subject was authorized, and returns whether it is the first time within an
    /// hour.
    pub(super) fn record_subject(&self, subject: &str) -> bool {
        self.subjects.insert(subject.into(), (), CACHE_LIFETIME)
    }
}
