//! A secret, and for how long it is good.

use std::{fmt, sync::Arc, time::Duration};

use tokio::time::Instant;

/// What meets a security scheme: a key, a token, or what stands behind the name of a scheme in
/// `Authorization`. Nothing prints it.
#[derive(Clone)]
pub struct Secret {
    value: Arc<str>,
    refresh_token: Option<Arc<str>>,
    term: Option<Term>,
}

#[derive(Clone, Copy)]
struct Term {
    /// When it should be renewed, so that no request has to wait for that.
    due: Instant,
    /// When it is of no use any more.
    end: Instant,
}

/// How long before its end a secret is renewed, where it is good for much longer.
const AHEAD: Duration = Duration::from_secs(60);
/// Nothing is believed to be good for longer: 400 days.
const LONGEST: Duration = Duration::from_secs(400 * 24 * 3600);

impl Secret {
    /// Creates a secret that is good until it is refused.
    pub fn new(value: impl Into<Arc<str>>) -> Self {
        Self { value: value.into(), refresh_token: None, term: None }
    }

    /// Says how long it is good from now on. It is renewed a minute before that, or when a
    /// quarter of the time is left if that is less.
    #[must_use]
    pub fn valid_for(mut self, time: Duration) -> Self {
        let time = time.min(LONGEST);
        let now = Instant::now();
        let due = now + (time - AHEAD.min(time / 4));
        self.term = Some(Term { due, end: now + time });
        self
    }

    /// Keeps what a fresh one is obtained with (RFC 6749 §6).
    #[must_use]
    pub fn with_refresh_token(mut self, token: impl Into<Arc<str>>) -> Self {
        self.refresh_token = Some(token.into());
        self
    }

    /// The secret itself.
    pub fn expose(&self) -> &str {
        &self.value
    }

    /// What a fresh one is obtained with, if it came with such a thing.
    pub fn refresh_token(&self) -> Option<&str> {
        self.refresh_token.as_deref()
    }

    /// Returns whether it is of no use any more.
    pub fn is_expired(&self) -> bool {
        self.term.is_some_and(|term| term.end <= Instant::now())
    }

    /// Returns whether it is time to renew it.
    pub fn is_due(&self) -> bool {
        self.term.is_some_and(|term| term.due <= Instant::now())
    }

    pub(super) fn value(&self) -> Arc<str> {
        Arc::clone(&self.value)
    }

    /// Takes over the refresh token of the one before, where a renewal came without one.
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

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_secret_is_renewed_before_it_ends() {
        for (seconds, due) in [(3600, 3540), (100, 75), (4, 3)] {
            let secret = Secret::new("s").valid_for(Duration::from_secs(seconds));
            advance(Duration::from_secs(due - 1)).await;
            assert!(!secret.is_due(), "{seconds}");
            advance(Duration::from_secs(1)).await;
            assert!(secret.is_due() && !secret.is_expired(), "{seconds}");
            advance(Duration::from_secs(seconds - due)).await;
            assert!(secret.is_expired(), "{seconds}");
        }
        assert!(Secret::new("s").valid_for(Duration::ZERO).is_expired());
        assert!(!Secret::new("s").valid_for(Duration::MAX).is_expired());
        assert!(!Secret::new("s").is_due());
    }

    #[test]
    fn a_secret_is_not_printed() {
        let secret = Secret::new("planted").with_refresh_token("planted too");
        assert_eq!(format!("{secret:?}"), "Secret(..)");
    }
}
