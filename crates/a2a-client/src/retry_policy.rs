//! How often a client retries, and for how long.

use std::time::Duration;

/// How often something is retried, and within what time.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct RetryPolicy {
    /// Maximum number of retries after the first attempt. 0 disables retries.
    pub attempts: u32,
    /// Delay before the first retry; doubled for each further retry.
    pub first_delay: Duration,
    /// Maximum delay.
    pub max_delay: Duration,
    /// Time limit within which every retry starts.
    pub within: Duration,
    /// Whether each delay is a random part of its value, between half and all of it, so that many
    /// clients do not retry at the same time.
    pub jitter: bool,
}

impl RetryPolicy {
    /// Default for requests that can be retried: 3 retries within 30 s.
    pub const REQUESTS: Self = Self {
        attempts: 3,
        first_delay: Duration::from_millis(200),
        max_delay: Duration::from_secs(5),
        within: Duration::from_secs(30),
        jitter: true,
    };

    /// Default for resuming streams: 5 retries within 60 s, reset by an event or by a connection that
    /// lasted 15 s.
    pub const STREAMS: Self = Self {
        attempts: 5,
        first_delay: Duration::from_millis(200),
        max_delay: Duration::from_secs(15),
        within: Duration::from_secs(60),
        jitter: true,
    };

    /// No retries.
    pub const NEVER: Self = Self { attempts: 0, ..Self::REQUESTS };

    /// Sets the maximum number of retries.
    #[must_use]
    pub fn with_attempts(mut self, attempts: u32) -> Self {
        self.attempts = attempts;
        self
    }

    /// Sets the delay before the first retry.
    #[must_use]
    pub fn with_first_delay(mut self, first_delay: Duration) -> Self {
        self.first_delay = first_delay;
        self
    }

    /// Sets the maximum delay.
    #[must_use]
    pub fn with_max_delay(mut self, max_delay: Duration) -> Self {
        self.max_delay = max_delay;
        self
    }

    /// Sets the time limit within which every retry starts.
    #[must_use]
    pub fn with_within(mut self, within: Duration) -> Self {
        self.within = within;
        self
    }

    /// Sets whether delays have jitter.
    #[must_use]
    pub fn with_jitter(mut self, jitter: bool) -> Self {
        self.jitter = jitter;
        self
    }
}
