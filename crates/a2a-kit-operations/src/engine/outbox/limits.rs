//! Concurrency limits and retry budgets of deliveries.
//!
//! Neither a slow host nor a caller with many webhooks may delay the deliveries of others, and a
//! failing host is not called by every webhook that points at it.

use std::{collections::HashMap, time::Duration};

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::{EngineConfig, Scope};

/// Refill interval of a retry budget.
const RETRY_REFILL: Duration = Duration::from_secs(60);

/// Minimum and maximum delay of a delivery without a permit.
const WAIT: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(30));

/// Maximum number of idle hosts to remember.
const MAX_HOSTS: usize = 65_536;

/// Deliveries in progress, by host and by caller.
#[derive(Debug)]
pub(super) struct DeliveryLimits {
    per_host: usize,
    per_caller: usize,
    retries: f64,
    /// Maximum delay of a delivery that waits for a retry.
    max_retry_wait: Duration,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    hosts: HashMap<String, Host>,
    callers: HashMap<Scope, InFlight>,
}

/// Concurrent deliveries.
#[derive(Clone, Copy, Debug)]
struct InFlight {
    active: usize,
    /// Moving average of the duration.
    usual: Duration,
    /// When the last of the postponed deliveries is due.
    horizon: Instant,
}

#[derive(Clone, Copy, Debug)]
struct Host {
    in_flight: InFlight,
    /// The remaining retries at a point in time.
    retries: (f64, Instant),
    /// When the budget has a retry for the last delivery that waits for one.
    next_retry: Instant,
}

/// The permit of one delivery, released when dropped.
#[derive(Debug)]
pub(super) struct DeliveryPermit<'a> {
    limits: &'a DeliveryLimits,
    host: String,
    scope: Scope,
    since: Instant,
}

impl DeliveryLimits {
    pub(super) fn new(config: &EngineConfig) -> Self {
        Self {
            per_host: config.push.concurrency_per_host.max(1),
            per_caller: config.push.concurrency_per_caller.max(1),
            retries: config.push.retries_per_host.into(),
            max_retry_wait: config.push.backoff_max,
            state: Mutex::default(),
        }
    }

    /// Acquires a permit for a delivery.
    ///
    /// # Errors
    ///
    /// The delay after which to try again, if the host or the caller is at its limit.
    pub(super) fn acquire(
        &self,
        host: String,
        scope: &Scope,
    ) -> Result<DeliveryPermit<'_>, Duration> {
        let now = Instant::now();
        let mut state = self.state.lock();
        let State { hosts, callers } = &mut *state;
        let host_state = hosts.entry(host.clone()).or_insert_with(|| self.new_host(now));
        let caller_state = callers.entry(scope.clone()).or_insert_with(|| InFlight::new(now));
        if host_state.in_flight.active >= self.per_host {
            return Err(host_state.in_flight.wait(now, self.per_host));
        }
        if caller_state.active >= self.per_caller {
            return Err(caller_state.wait(now, self.per_caller));
        }
        host_state.in_flight.active += 1;
        caller_state.active += 1;
        Ok(DeliveryPermit { limits: self, host, scope: scope.clone(), since: now })
    }

    /// Removes idle hosts and callers.
    pub(super) fn sweep(&self) {
        let now = Instant::now();
        let mut state = self.state.lock();
        let is_crowded = state.hosts.len() > MAX_HOSTS;
        state.callers.retain(|_, in_flight| in_flight.is_used(now));
        state.hosts.retain(|_, host| {
            let is_failing = self.retries_left(host, now) < self.retries && !is_crowded;
            host.in_flight.is_used(now) || is_failing
        });
    }

    fn new_host(&self, now: Instant) -> Host {
        Host { in_flight: InFlight::new(now), retries: (self.retries, now), next_retry: now }
    }

    fn retries_left(&self, host: &Host, now: Instant) -> f64 {
        let (left, since) = host.retries;
        let more = now.saturating_duration_since(since).div_duration_f64(RETRY_REFILL);
        (left + more).min(self.retries)
    }
}

impl InFlight {
    fn new(now: Instant) -> Self {
        Self { active: 0, usual: WAIT.0, horizon: now }
    }

    /// The delay of one more postponed delivery, queued behind the others.
    fn wait(&mut self, now: Instant, limit: usize) -> Duration {
        let turn = self.usual / u32::try_from(limit).unwrap_or(u32::MAX);
        let earliest = now + self.usual.clamp(WAIT.0, WAIT.1);
        self.horizon = (self.horizon + turn).clamp(earliest, now + WAIT.1);
        self.horizon - now
    }

    fn finish(&mut self, took: Duration) {
        self.active = self.active.saturating_sub(1);
        self.usual = (self.usual * 3 + took) / 4;
    }

    fn is_used(&self, now: Instant) -> bool {
        self.active > 0 || self.horizon > now
    }
}

impl DeliveryPermit<'_> {
    /// Consumes a retry of the host.
    ///
    /// # Errors
    ///
    /// The delay until one is left for this delivery, behind the others that wait.
    pub(super) fn take_retry(&self) -> Result<(), Duration> {
        let now = Instant::now();
        let mut state = self.limits.state.lock();
        let Some(host) = state.hosts.get_mut(&self.host) else { return Ok(()) };
        let left = self.limits.retries_left(host, now);
        if left >= 1.0 {
            host.retries = (left - 1.0, now);
            return Ok(());
        }
        host.retries = (left, now);
        let first = now + RETRY_REFILL.mul_f64(1.0 - left);
        let last = now + self.limits.max_retry_wait;
        host.next_retry = (host.next_retry + RETRY_REFILL).max(first).min(last);
        Err(host.next_retry - now)
    }

    /// Restores the retry budget after a successful delivery.
    pub(super) fn delivered(&self) {
        if let Some(host) = self.limits.state.lock().hosts.get_mut(&self.host) {
            host.retries.0 = self.limits.retries;
            host.next_retry = Instant::now();
        }
    }
}

impl Drop for DeliveryPermit<'_> {
    fn drop(&mut self) {
        let took = self.since.elapsed();
        let mut state = self.limits.state.lock();
        if let Some(host) = state.hosts.get_mut(&self.host) {
            host.in_flight.finish(took);
        }
        if let Some(caller) = state.callers.get_mut(&self.scope) {
            caller.finish(took);
        }
    }
}
