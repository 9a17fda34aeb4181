//! How long a client waits and how often it tries.

use std::{
    hash::{BuildHasher as _, RandomState},
    time::Duration,
};

use a2a_core::Error;
use tokio::time::Instant;

/// How long a client waits for what. A stream that is open may stay open for ever.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Timeouts {
    /// Until a connection stands. Default: 10 s.
    pub connect: Duration,
    /// Until a request has its whole answer, for every operation but the sends. Default: 30 s.
    pub request: Duration,
    /// Until a send has its answer, or its stream opens: the agent works meanwhile. Default:
    /// 10 min.
    pub send: Duration,
    /// Silence on an open stream after which it counts as cut and is taken up again. Our servers
    /// write every 4 s, others may never. Default: 5 min.
    pub idle: Option<Duration>,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            request: Duration::from_secs(30),
            send: Duration::from_secs(600),
            idle: Some(Duration::from_secs(300)),
        }
    }
}

impl Timeouts {
    /// Sets how long to wait for a connection.
    #[must_use]
    pub fn with_connect(mut self, connect: Duration) -> Self {
        self.connect = connect;
        self
    }

    /// Sets how long to wait for an answer.
    #[must_use]
    pub fn with_request(mut self, request: Duration) -> Self {
        self.request = request;
        self
    }

    /// Sets how long to wait for the answer to a send.
    #[must_use]
    pub fn with_send(mut self, send: Duration) -> Self {
        self.send = send;
        self
    }

    /// Sets after how much silence a stream counts as cut.
    #[must_use]
    pub fn with_idle(mut self, idle: impl Into<Option<Duration>>) -> Self {
        self.idle = idle.into();
        self
    }
}

/// How often something is tried again, and how long in all.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct RetryPolicy {
    /// The most tries after the first one. 0 switches them off.
    pub attempts: u32,
    /// The pause before the first of them; each pause is twice the one before.
    pub first_delay: Duration,
    /// The longest pause.
    pub max_delay: Duration,
    /// The time within which all tries begin.
    pub within: Duration,
}

impl RetryPolicy {
    /// How requests are tried again that can be: 3 times within 30 s.
    pub const REQUESTS: Self = Self {
        attempts: 3,
        first_delay: Duration::from_millis(200),
        max_delay: Duration::from_secs(5),
        within: Duration::from_secs(30),
    };

    /// How a cut stream is taken up again: 5 times within 60 s in which no event came, and no
    /// connection stood for 15 s.
    pub const STREAMS: Self = Self {
        attempts: 5,
        first_delay: Duration::from_millis(200),
        max_delay: Duration::from_secs(15),
        within: Duration::from_secs(60),
    };

    /// Nothing is tried again.
    pub const NEVER: Self = Self { attempts: 0, ..Self::REQUESTS };

    /// Sets the most tries after the first one.
    #[must_use]
    pub fn with_attempts(mut self, attempts: u32) -> Self {
        self.attempts = attempts;
        self
    }

    /// Sets the pause before the first further try.
    #[must_use]
    pub fn with_first_delay(mut self, first_delay: Duration) -> Self {
        self.first_delay = first_delay;
        self
    }

    /// Sets the longest pause.
    #[must_use]
    pub fn with_max_delay(mut self, max_delay: Duration) -> Self {
        self.max_delay = max_delay;
        self
    }

    /// Sets the time within which all tries begin.
    #[must_use]
    pub fn with_within(mut self, within: Duration) -> Self {
        self.within = within;
        self
    }
}

/// The tries of one request, or of one stream since it last got further.
#[derive(Debug)]
pub(crate) struct Tries {
    policy: RetryPolicy,
    made: u32,
    since: Option<Instant>,
}

impl Tries {
    pub(crate) fn new(policy: RetryPolicy) -> Self {
        Self { policy, made: 0, since: None }
    }

    /// Starts counting again, as something was gained.
    pub(crate) fn reset(&mut self) {
        self.made = 0;
        self.since = None;
    }

    /// Notes that something held for a time. What holds longer than the longest pause was no
    /// failure to begin with.
    pub(crate) fn held(&mut self, time: Duration) {
        if time >= self.policy.max_delay {
            self.reset();
        }
    }

    /// Waits for the next try. Returns the error instead where there is none left, or where the
    /// peer asks for a longer pause than there is time.
    pub(crate) async fn pause(&mut self, error: Error) -> Result<(), Error> {
        let since = *self.since.get_or_insert_with(Instant::now);
        if self.made >= self.policy.attempts {
            return Err(error);
        }
        let doubled = 2_u32.saturating_pow(self.made);
        let most = self.policy.first_delay.saturating_mul(doubled).min(self.policy.max_delay);
        let delay = error.retry_after().unwrap_or_default().max(jittered(most));
        if since.elapsed().saturating_add(delay) > self.policy.within {
            return Err(error);
        }
        self.made += 1;
        tracing::debug!(attempt = self.made, ?delay, %error, "trying again");
        tokio::time::sleep(delay).await;
        Ok(())
    }
}

/// Returns between half of a delay and all of it, so that clients cut together don't come back
/// together.
fn jittered(delay: Duration) -> Duration {
    // Each state has a random key, which is all the randomness that this needs.
    let random = RandomState::new().hash_one(0_u8) & 0xffff;
    let percent = u32::try_from(random * 50 / 0xffff).unwrap_or_default();
    delay.saturating_mul(50 + percent) / 100
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn pauses_double_up_to_a_bound_and_end_with_the_last_error() {
        let mut tries = Tries::new(RetryPolicy::STREAMS);
        let mut pauses = Vec::new();
        loop {
            let before = Instant::now();
            if let Err(error) = tries.pause(Error::unavailable("cut")).await {
                assert_eq!(error.message(), "cut");
                break;
            }
            pauses.push(before.elapsed().as_millis());
        }
        assert_eq!(pauses.len(), 5);
        for (pause, most) in pauses.iter().zip([200, 400, 800, 1600, 3200]) {
            assert!((most / 2..=most + 1).contains(pause), "{pauses:?}");
        }
        tries.reset();
        tries.pause(Error::unavailable("cut")).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn the_pause_that_a_peer_asks_for_is_kept_or_the_error_returned() {
        let mut tries = Tries::new(RetryPolicy::REQUESTS);
        let before = Instant::now();
        let busy =
            |seconds| Error::unavailable("busy").with_retry_after(Duration::from_secs(seconds));
        tries.pause(busy(7)).await.unwrap();
        assert!(before.elapsed() >= Duration::from_secs(7));
        assert!(tries.pause(busy(60)).await.is_err());
    }
}
