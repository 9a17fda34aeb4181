//! How often a client retries, and for how long.

use std::time::Duration;

use derive_setters::Setters;

/// How often something is retried, and within what time.
#[derive(Clone, Copy, Debug, Setters)]
#[non_exhaustive]
#[setters(prefix = "with_")]
pub struct RetryPolicy {
    /// Maximum number of retries after the first attempt. 0 disables retries.
    pub attempts: u32,
    /// Delay before the first retry; doubled for each further retry.
    pub first_delay: Duration,
    /// Maximum delay. One that the agent requests, by `Retry-After` or by the `retry:` of an event
    /// stream, may be longer.
    pub max_delay: Duration,
    /// Time limit within which every retry starts.
    pub within: Duration,
    /// Whether each delay is a random part of its value, between half and all of it, so that many
    /// clients do not retry at the same time.
    pub jitter: bool,
    /// Of watches that may poll: after how many streams in a row that ended within 5 s, although
    /// the task had not settled, the client polls. Other streams are reopened with growing delays.
    /// No effect on requests.
    pub short_streams: u32,
    /// Whether only errors are retried for which the agent requests it, by `Retry-After` or its
    /// equivalent in gRPC.
    pub only_if_requested: bool,
}

impl RetryPolicy {
    /// Default for requests that can be retried: 3 retries within 30 s.
    pub const REQUESTS: Self = Self {
        attempts: 3,
        first_delay: Duration::from_millis(200),
        max_delay: Duration::from_secs(5),
        within: Duration::from_secs(30),
        jitter: true,
        short_streams: 3,
        only_if_requested: false,
    };

    /// Default for resuming streams: 5 retries within 60 s, counted anew after an event. Delays
    /// start again at their first value only after a stream that lasted 5 s.
    pub const STREAMS: Self = Self {
        attempts: 5,
        first_delay: Duration::from_millis(500),
        max_delay: Duration::from_secs(15),
        within: Duration::from_secs(60),
        ..Self::REQUESTS
    };

    /// No retries.
    pub const NEVER: Self = Self { attempts: 0, ..Self::REQUESTS };
}
