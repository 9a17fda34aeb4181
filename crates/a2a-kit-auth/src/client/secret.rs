//! Secrets and their lifetime.

use std::{sync::Arc, time::Duration};

use derive_setters::Setters;
use tokio::time::Instant;

use super::Origin;

/// A secret for a security scheme: a key, a token, or the credentials in `Authorization`. `Debug`
/// omits it.
#[derive(Clone, Setters)]
#[setters(prefix = "with_", generate = false)]
pub struct Secret {
    pub(super) value: Arc<str>,
    /// Sets the refresh token (RFC 6749 §6).
    #[setters(generate, into, strip_option)]
    refresh_token: Option<Arc<str>>,
    lifetime: Option<Lifetime>,
    /// The authorization server that issued it.
    pub(super) issuer: Option<Origin>,
}

#[derive(Clone, Copy)]
struct Lifetime {
    /// When to renew it, ahead of its expiry.
    renewal: Instant,
    expiry: Instant,
}

/// How long before its expiry a secret is renewed, at most.
const RENEWAL_MARGIN: Duration = Duration::from_secs(60);
/// 400 days.
const MAX_LIFETIME: Duration = Duration::from_secs(400 * 24 * 3600);

impl Secret {
    /// Creates a secret that is valid until it is rejected.
    pub fn new(value: impl Into<Arc<str>>) -> Self {
        Self { value: value.into(), refresh_token: None, lifetime: None, issuer: None }
    }

    /// Sets its lifetime from now. It is renewed a minute before the end, or a quarter of the
    /// lifetime if that is less.
    #[must_use]
    pub fn valid_for(mut self, time: Duration) -> Self {
        let time = time.min(MAX_LIFETIME);
        let now = Instant::now();
        let renewal = now + (time - RENEWAL_MARGIN.min(time / 4));
        self.lifetime = Some(Lifetime { renewal, expiry: now + time });
        self
    }

    /// The secret itself.
    pub fn expose(&self) -> &str {
        &self.value
    }

    /// The refresh token, if there is one.
    pub fn refresh_token(&self) -> Option<&str> {
        self.refresh_token.as_deref()
    }

    /// The time until it expires; `None` if it is valid until it is rejected.
    pub fn expires_in(&self) -> Option<Duration> {
        let left = |lifetime: Lifetime| lifetime.expiry.saturating_duration_since(Instant::now());
        self.lifetime.map(left)
    }

    /// Returns whether it has expired.
    pub fn is_expired(&self) -> bool {
        self.lifetime.is_some_and(|lifetime| lifetime.expiry <= Instant::now())
    }

    /// Returns whether it is due for renewal.
    pub fn is_due(&self) -> bool {
        self.lifetime.is_some_and(|lifetime| lifetime.renewal <= Instant::now())
    }

    /// Keeps the previous refresh token if the renewal returned none.
    pub(super) fn or_refresh_token(mut self, token: &str) -> Self {
        self.refresh_token.get_or_insert_with(|| token.into());
        self
    }
}

impl From<&str> for Secret {
    fn from(value: &str) -> Self {
        Self::new(value)
    }
}

impl From<String> for Secret {
    fn from(value: String) -> Self {
        Self::new(value)
    }
}

a2a_core::debug_fields!(Secret(..));

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn secret_is_due_for_renewal_before_it_expires() {
        for (seconds, due) in [(3600, 3540), (100, 75), (4, 3)] {
            let secret = Secret::new("s").valid_for(Duration::from_secs(seconds));
            advance(Duration::from_secs(due - 1)).await;
            assert!(!secret.is_due(), "{seconds}");
            advance(Duration::from_secs(1)).await;
            assert!(secret.is_due() && !secret.is_expired(), "{seconds}");
            assert_eq!(secret.expires_in(), Some(Duration::from_secs(seconds - due)), "{seconds}");
            advance(Duration::from_secs(seconds - due)).await;
            assert!(secret.is_expired(), "{seconds}");
        }
        assert!(Secret::new("s").valid_for(Duration::ZERO).is_expired());
        assert!(!Secret::new("s").valid_for(Duration::MAX).is_expired());
        assert!(!Secret::new("s").is_due());
        assert_eq!(Secret::new("s").expires_in(), None);
    }

    #[test]
    fn debug_output_omits_the_secret() {
        let secret = Secret::new("planted").with_refresh_token("planted too");
        assert_eq!(format!("{secret:?}"), "Secret(..)");
    }
}
