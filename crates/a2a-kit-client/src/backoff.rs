//! Exponential backoff with jitter.

use std::{
    hash::{BuildHasher as _, RandomState},
    time::Duration,
};

use a2a_core::Error;
use tokio::time::Instant;

use crate::RetryPolicy;

/// A stream that ends earlier is short: reopening it at once would call the agent without a pause.
pub(crate) const SHORT_STREAM: Duration = Duration::from_secs(5);

/// The retries of one request or of one stream.
#[derive(Debug)]
pub(crate) struct Backoff {
    policy: RetryPolicy,
    /// The retries since the last progress.
    attempts: u32,
    /// When the first of them was due.
    since: Option<Instant>,
    /// The delays since the last stream that lasted; each doubles the next one.
    delays: u32,
    /// The streams in a row that were short.
    short_streams: u32,
    /// The minimum delay that the peer has requested for its streams.
    minimum: Duration,
}

impl Backoff {
    pub(crate) fn new(policy: RetryPolicy) -> Self {
        Self {
            policy,
            attempts: 0,
            since: None,
            delays: 0,
            short_streams: 0,
            minimum: Duration::ZERO,
        }
    }

    /// Resets the number of attempts after progress. The delays go on growing: an agent that ends
    /// each stream after one event must not be called without a pause.
    pub(crate) fn record_progress(&mut self) {
        self.attempts = 0;
        self.since = None;
    }

    /// Records the end of a stream: how long it was open, and the delay that the peer requested.
    pub(crate) fn record_stream(&mut self, uptime: Duration, requested: Option<Duration>) {
        if uptime >= SHORT_STREAM {
            self.record_progress();
            self.delays = 0;
            self.short_streams = 0;
        } else {
            self.short_streams = self.short_streams.saturating_add(1);
        }
        self.minimum = requested.unwrap_or(self.minimum);
    }

    /// Returns whether as many streams in a row were short as the policy allows.
    pub(crate) fn gives_up_on_streams(&self) -> bool {
        self.short_streams >= self.policy.short_streams
    }

    /// Waits before the next retry, after reporting its number, the delay and the error. Returns the
    /// error if no retry is left, or if the peer's `Retry-After` exceeds the time limit.
    pub(crate) async fn wait(
        &mut self,
        error: Error,
        report: impl FnOnce(u32, Duration, Error),
    ) -> Result<(), Error> {
        let since = *self.since.get_or_insert_with(Instant::now);
        let is_excluded = self.policy.only_if_requested && error.retry_after().is_none();
        if self.attempts >= self.policy.attempts || is_excluded {
            return Err(error);
        }
        let doubled = 2_u32.saturating_pow(self.delays);
        let max = self.policy.first_delay.saturating_mul(doubled).min(self.policy.max_delay);
        let delay = if self.policy.jitter { jittered(max) } else { max };
        let delay = error.retry_after().unwrap_or_default().max(delay).max(self.minimum);
        if since.elapsed().saturating_add(delay) > self.policy.within {
            return Err(error);
        }
        self.attempts += 1;
        self.delays = self.delays.saturating_add(1);
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
        for (delay, max) in delays.iter().zip([500, 1000, 2000, 4000, 8000]) {
            assert!((max / 2..=max + 1).contains(delay), "{delays:?}");
        }
        backoff.record_progress();
        backoff.wait(Error::unavailable("connection lost"), |_, _, _| {}).await.unwrap();
    }

    /// The delay before the next attempt, without jitter.
    async fn next_delay(backoff: &mut Backoff) -> Duration {
        let before = Instant::now();
        backoff.wait(Error::unavailable("connection lost"), |_, _, _| {}).await.unwrap();
        before.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn delays_are_reset_only_by_a_stream_that_lasted() {
        let mut backoff = Backoff::new(RetryPolicy::STREAMS.with_jitter(false));
        let mut delays = Vec::new();
        for uptime in [0, 4, 1, 5, 0].map(Duration::from_secs) {
            backoff.record_progress();
            backoff.record_stream(uptime, None);
            delays.push(next_delay(&mut backoff).await.as_millis());
        }
        assert_eq!(delays, [500, 1000, 2000, 500, 1000]);
        assert!(!backoff.gives_up_on_streams());
        for _ in 0..2 {
            backoff.record_stream(Duration::ZERO, None);
        }
        assert!(backoff.gives_up_on_streams());
    }

    #[tokio::test(start_paused = true)]
    async fn delay_requested_by_a_stream_is_the_minimum_of_all_further_delays() {
        let mut backoff = Backoff::new(RetryPolicy::STREAMS.with_jitter(false));
        backoff.record_stream(Duration::ZERO, Some(Duration::from_secs(3)));
        let first = next_delay(&mut backoff).await;
        backoff.record_stream(Duration::ZERO, None);
        assert_eq!((first, next_delay(&mut backoff).await), {
            let three = Duration::from_secs(3);
            (three, three)
        });
        backoff.record_stream(Duration::ZERO, Some(Duration::from_secs(3600)));
        let lost = Error::unavailable("connection lost");
        backoff.wait(lost, |_, _, _| {}).await.unwrap_err();
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
        let delays = [500, 1000, 1000, 1000, 1000].map(Duration::from_millis);
        assert_eq!(reported, (1..).zip(delays).collect::<Vec<_>>());
    }
}
