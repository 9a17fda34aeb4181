//! How a client waits for a task.

use std::time::Duration;

use a2a_core::TaskState;
use derive_setters::Setters;

/// How to wait for a task: see [`Client::wait`](crate::Client::wait) and
/// [`Client::watch`](crate::Client::watch).
///
/// ```
/// use std::time::Duration;
///
/// use a2a_kit_client::{UpdateDelivery, PollPolicy, WaitOptions};
/// use a2a_core::TaskState;
///
/// // Polls every 2 s for at most 5 min, and keeps waiting while the task awaits authorization.
/// let options = WaitOptions::default()
///     .with_delivery(UpdateDelivery::Polling)
///     .with_poll(PollPolicy::every(Duration::from_secs(2)))
///     .with_timeout(Duration::from_secs(300))
///     .with_stop_at([TaskState::InputRequired]);
/// assert!(options.stops_at(TaskState::Completed) && !options.stops_at(TaskState::AuthRequired));
/// ```
#[derive(Clone, Debug, Setters)]
#[non_exhaustive]
#[setters(prefix = "with_")]
pub struct WaitOptions {
    /// How updates are obtained. Default: [`UpdateDelivery::Any`].
    pub delivery: UpdateDelivery,
    /// The states that end the wait, besides the terminal ones. Default: INPUT_REQUIRED and
    /// AUTH_REQUIRED, in which the task waits for its client.
    #[setters(skip)]
    pub stop_at: Vec<TaskState>,
    /// How often the task is polled. Default: [`PollPolicy::default`].
    pub poll: PollPolicy,
    /// Whether artifacts are kept for the outcome. Without them, a reader that processes each event
    /// can follow a task of any size. Default: true.
    pub artifacts: bool,
    /// Maximum total time, after which waiting fails with `DeadlineExceeded`. Default: none.
    #[setters(into)]
    pub timeout: Option<Duration>,
}

/// How updates of a task are obtained (spec §3.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum UpdateDelivery {
    /// From a stream; by polling if the agent does not stream or the stream can't be resumed.
    #[default]
    Any,
    /// Only from streams. Waiting fails if the stream can't be opened or resumed.
    Streaming,
    /// Only by polling.
    Polling,
}

/// How often a task is polled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Setters)]
#[non_exhaustive]
#[setters(prefix = "with_")]
pub struct PollPolicy {
    /// The first interval; doubled after each poll. Default: 100 ms.
    #[setters(skip)]
    pub interval: Duration,
    /// The maximum interval. Default: 30 s.
    pub max_interval: Duration,
    /// How many transient errors in a row end the wait. A failed poll is followed by the next one
    /// after twice the maximum interval but at most 4 s, or twice the first interval if that is
    /// longer; doubled for each further failure up to 30 s; or after `Retry-After`, at most 5 min.
    /// The retries of the client do not apply. Default: 5.
    pub max_failures: u32,
}

/// The longest pause after a failure or a lost stream before it is doubled, unless the first interval
/// is longer: intervals that begin short are for an agent that answers.
const MAX_FIRST_PAUSE: Duration = Duration::from_secs(2);

/// The maximum delay after a failed poll.
const MAX_FAILURE_DELAY: Duration = Duration::from_secs(30);
/// The maximum delay that an agent can request.
const MAX_REQUESTED_DELAY: Duration = Duration::from_secs(300);

impl Default for WaitOptions {
    fn default() -> Self {
        Self {
            delivery: UpdateDelivery::default(),
            stop_at: vec![TaskState::InputRequired, TaskState::AuthRequired],
            poll: PollPolicy::default(),
            artifacts: true,
            timeout: None,
        }
    }
}

impl WaitOptions {
    /// Sets the states that end the wait, besides the terminal ones.
    #[must_use]
    pub fn with_stop_at(mut self, states: impl IntoIterator<Item = TaskState>) -> Self {
        self.stop_at = states.into_iter().collect();
        self
    }

    /// Returns whether a state ends the wait.
    pub fn stops_at(&self, state: TaskState) -> bool {
        state.is_terminal() || self.stop_at.contains(&state)
    }
}

impl Default for PollPolicy {
    fn default() -> Self {
        Self {
            interval: Duration::from_millis(100),
            max_interval: Duration::from_secs(30),
            max_failures: 5,
        }
    }
}

impl PollPolicy {
    /// Polls at a constant interval.
    pub fn every(interval: Duration) -> Self {
        Self { interval, max_interval: interval, ..Self::default() }
    }

    /// The pause from which those after failures and ended streams are doubled.
    pub(crate) fn pause(self) -> Duration {
        self.max_interval.min(MAX_FIRST_PAUSE).max(self.interval)
    }

    /// The delay after a number of failures in a row.
    pub(crate) fn failure_delay(self, failures: u32, retry_after: Option<Duration>) -> Duration {
        let doubled = self.pause().saturating_mul(2_u32.saturating_pow(failures));
        match retry_after {
            Some(requested) => requested.max(self.interval).min(MAX_REQUESTED_DELAY),
            None => doubled.min(MAX_FAILURE_DELAY),
        }
    }
}
