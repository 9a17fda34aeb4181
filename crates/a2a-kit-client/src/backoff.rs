//! Exponential backoff with jitter.

use std::{
    hash::{BuildHasher as _, RandomState},
    time::Duration,
};

use a2a_core::Error;
use tokio::time::Instant;

use crate::RetryPolicy;

/// The retries of one request, or of one stream since its last progress.
#[derive(Debug)]
pub(crate) struct Backoff {
    policy: RetryPolicy,
    attempts: u32,
    since: Option<Instant>,
}

impl Backoff {
    pub(crate) fn new(policy: RetryPolicy) -> Self {
        Self { policy, attempts: 0, since: None }
    }

    /// Resets the count after progress.
    pub(crate) fn reset(&mut self) {
        self.attempts = 0;
        self.since = None;
    }

    /// Records how long a connection lasted. One that lasted for the maximum delay was not a failed
    /// attempt.
    pub(crate) fn record_uptime(&mut self, uptime: Duration) {
        if uptime >= self.policy.max_delay {
            self.reset();
        }
    }

    /// Waits before the next retry, after reporting its number, the delay and the error. Returns the
    /// error if no retry is left, or if the peer's `Retry-After` exceeds the time limit.
    pub(crate) async fn wait(
        &mut self,
        error: Error,
        report: impl FnOnce(u32, Duration, Error),
    ) -> Result<(), Error> {
        let since = *self.since.get_or_insert_with(Instant::now);
        if self.attempts >= self.policy.attempts {
            return Err(error);
        }
        let doubled = 2_u32.saturating_pow(self.attempts);
        let max = self.policy.first_delay.saturating_mul(doubled).min(self.policy.max_delay);
        let delay = if self.policy.jitter { jittered(max) } else { max };
        let delay = error.retry_after().unwrap_or_default().max(delay);
        if since.elapsed().saturating_add(delay) > self.policy.within {
            return Err(error);
        }
        self.attempts += 1;
        tracing::debug!(attempt = self.attempts, ?delay, %error, "retrying");
        report(self.attempts, delay, error);
        tokio::time::sleep(delay).await;
        Ok(())
    }
}

/// Returns a random delay between 50 % and 100 % of `delay`, so that clients that were disconnected
/// together don't reconnect together.
fn jittered(delay: Duration) -> Duration {
    // Each state has a random key, which is random enough here.
    let random = RandomState::new().hash_one(0_u8) & 0xffff;
    let percent = u32::try_from(random * 50 / 0xffff).unwrap_or_default();
    delay.saturating_mul(50 + percent) / 100
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn delays_double_until_retries_are_exhausted() {
        let mut backoff = Backoff::new(RetryPolicy::STREAMS);
        let mut delays = Vec::new();
        loop {
            let before = Instant::now();
            if let Err(error) =
                backoff.wait(Error::unavailable("connection lost"), |_, _, _| {}).await
            {
                assert_eq!(error.message(), "connection lost");
                break;
            }
            delays.push(before.elapsed().as_millis());
        }
        assert_eq!(delays.len(), 5);
        for (delay, max) in delays.iter().zip([200, 400, 800, 1600, 3200]) {
            assert!((max / 2..=max + 1).contains(delay), "{delays:?}");
        }
        backoff.reset();
        backoff.wait(Error::unavailable("connection lost"), |_, _, _| {}).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn retry_after_is_respected_within_the_time_limit() {
        let mut backoff = Backoff::new(RetryPolicy::REQUESTS);
        let before = Instant::now();
        let busy =
            |seconds| Error::unavailable("busy").with_retry_after(Duration::from_secs(seconds));
        backoff.wait(busy(7), |_, _, _| {}).await.unwrap();
        assert!(before.elapsed() >= Duration::from_secs(7));
        assert!(backoff.wait(busy(60), |_, _, _| {}).await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn delays_without_jitter_are_exact() {
        let policy = RetryPolicy::STREAMS.with_jitter(false).with_max_delay(Duration::from_secs(1));
        let mut backoff = Backoff::new(policy);
        let mut reported = Vec::new();
        let lost = || Error::unavailable("connection lost");
        while backoff.wait(lost(), |number, delay, _| reported.push((number, delay))).await.is_ok()
        {
        }
        let delays = [200, 400, 800, 1000, 1000].map(Duration::from_millis);
        assert_eq!(reported, (1..).zip(delays).collect::<Vec<_>>());
    }
}
