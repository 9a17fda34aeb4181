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

    /// Returns the remaining backoff of an address.
    pub(super) fn backoff(&self, address: Option<IpAddr>) -> Option<Duration> {
        self.failures.backoff(address?)
    }

    /// Returns the digest by which the credentials of a request are recorded.
    pub(super) fn digest<'c>(
        &self,
        credentials: impl IntoIterator<Item = &'c RequestCredential>,
    ) -> Option<[u8; 32]> {
        self.hasher.digest(credentials).ok()
    }

    /// Returns whether credentials have been verified within the last hour.
    pub(super) fn was_verified(&self, digest: &[u8; 32]) -> bool {
        self.verified.get(digest).is_some()
    }

    /// Records that credentials have been verified.
    pub(super) fn record_verified(&self, digest: [u8; 32]) {
        self.verified.insert(digest, (), CACHE_LIFETIME);
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
        !self.subjects.renew(subject, CACHE_LIFETIME)
            && self.subjects.insert(subject.into(), (), CACHE_LIFETIME)
    }
}
