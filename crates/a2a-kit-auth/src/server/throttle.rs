//! Throttling of failed authentication.

use derive_setters::Setters;
use std::time::Duration;

/// Throttling of addresses whose requests fail to authenticate, by IPv4 address or IPv6 /64.
///
/// An address with too many failures is rejected (429, `RESOURCE_EXHAUSTED`) until its backoff has
/// elapsed; each further failure doubles the backoff. Requests with credentials that have been
/// verified within the last hour are not rejected, nor are those with credentials that can't be
/// guessed: signed tokens and certificates.
///
/// Behind a proxy all callers have the address of the proxy, unless
/// [`Guard::with_trusted_proxy`](super::Guard::with_trusted_proxy) names it.
#[derive(Clone, Debug, PartialEq, Eq, Setters)]
#[non_exhaustive]
#[setters(prefix = "with_")]
pub struct Throttle {
    /// Failures allowed before an address is throttled. Default: 10.
    pub failures_allowed: u32,
    /// Backoff after the first failure beyond that. Default: 1 s.
    #[setters(skip)]
    pub backoff_min: Duration,
    /// Upper bound of the backoff. Default: 5 min.
    #[setters(skip)]
    pub backoff_max: Duration,
    /// Time without failures after which an address starts over. Default: 15 min.
    pub reset_after: Duration,
    /// Maximum number of tracked addresses; beyond it, those whose last failure is the oldest are
    /// evicted. Default: 65,536.
    pub max_addresses: usize,
}

impl Default for Throttle {
    fn default() -> Self {
        Self {
            failures_allowed: 10,
            backoff_min: Duration::from_secs(1),
            backoff_max: Duration::from_secs(300),
            reset_after: Duration::from_secs(900),
            max_addresses: 65_536,
        }
    }
}

impl Throttle {
    /// Sets the minimum and the maximum of the backoff.
    #[must_use]
    pub fn with_backoff(mut self, min: Duration, max: Duration) -> Self {
        self.backoff_min = min;
        self.backoff_max = max;
        self
    }
}
