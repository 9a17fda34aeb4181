//! What each host and each caller may have of the deliveries.
//!
//! Neither a slow host nor a caller with many webhooks may keep the deliveries of others waiting,
//! and a host that fails is not called by every webhook that somebody has pointed at it.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use crate::{EngineConfig, Scope};

/// How long it takes until a host that fails may be tried again once more.
const RETRY_REFILL: Duration = Duration::from_secs(60);

/// The shortest and the longest wait of a delivery that has no place.
const WAIT: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(30));

/// The most hosts that are remembered while nothing is on its way to them.
const MAX_HOSTS: usize = 65_536;

/// The deliveries that are on their way, by host and by caller.
#[derive(Debug)]
pub(super) struct Shares {
    per_host: usize,
    per_caller: usize,
    retries: f64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    hosts: HashMap<String, Host>,
    callers: HashMap<Scope, Lane>,
}

/// Deliveries that go on beside each other.
#[derive(Clone, Copy, Debug)]
struct Lane {
    active: usize,
    /// How long one takes, by the latest of them.
    usual: Duration,
    /// When the last of those that wait comes back.
    horizon: Instant,
}

#[derive(Clone, Copy, Debug)]
struct Host {
    lane: Lane,
    /// How many retries it may get, as of a time.
    retries: (f64, Instant),
}

/// The place of one delivery, given back when it is dropped.
#[derive(Debug)]
pub(super) struct Place<'a> {
    shares: &'a Shares,
    host: String,
    scope: Scope,
    since: Instant,
}

impl Shares {
    pub(super) fn new(config: &EngineConfig) -> Self {
        Self {
            per_host: config.push_concurrency_per_host.max(1),
            per_caller: config.push_concurrency_per_caller.max(1),
            retries: config.push_retries_per_host.into(),
            state: Mutex::default(),
        }
    }

    /// Gives a delivery its place.
    ///
    /// # Errors
    ///
    /// How long to wait, where the host or the caller has its share already.
    pub(super) fn enter(&self, host: String, scope: &Scope) -> Result<Place<'_>, Duration> {
        let now = Instant::now();
        let mut state = self.lock();
        let State { hosts, callers } = &mut *state;
        let of_host = hosts.entry(host.clone()).or_insert_with(|| self.new_host(now));
        let of_caller = callers.entry(scope.clone()).or_insert_with(|| Lane::new(now));
        if of_host.lane.active >= self.per_host {
            return Err(of_host.lane.wait(now, self.per_host));
        }
        if of_caller.active >= self.per_caller {
            return Err(of_caller.wait(now, self.per_caller));
        }
        of_host.lane.active += 1;
        of_caller.active += 1;
        Ok(Place { shares: self, host, scope: scope.clone(), since: now })
    }

    /// Forgets hosts and callers of whom nothing is to be remembered.
    pub(super) fn sweep(&self) {
        let now = Instant::now();
        let mut state = self.lock();
        let is_crowded = state.hosts.len() > MAX_HOSTS;
        state.callers.retain(|_, lane| lane.is_used(now));
        state.hosts.retain(|_, host| {
            let is_failing = self.retries_left(host, now) < self.retries && !is_crowded;
            host.lane.is_used(now) || is_failing
        });
    }

    fn new_host(&self, now: Instant) -> Host {
        Host { lane: Lane::new(now), retries: (self.retries, now) }
    }

    fn retries_left(&self, host: &Host, now: Instant) -> f64 {
        let (left, since) = host.retries;
        let more = now.saturating_duration_since(since).div_duration_f64(RETRY_REFILL);
        (left + more).min(self.retries)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lane {
    fn new(now: Instant) -> Self {
        Self { active: 0, usual: WAIT.0, horizon: now }
    }

    /// Has one more come back when those that wait already have had their turn.
    fn wait(&mut self, now: Instant, limit: usize) -> Duration {
        let turn = self.usual / u32::try_from(limit).unwrap_or(u32::MAX);
        let earliest = now + self.usual.clamp(WAIT.0, WAIT.1);
        self.horizon = (self.horizon + turn).clamp(earliest, now + WAIT.1);
        self.horizon - now
    }

    fn leave(&mut self, took: Duration) {
        self.active = self.active.saturating_sub(1);
        self.usual = (self.usual * 3 + took) / 4;
    }

    fn is_used(&self, now: Instant) -> bool {
        self.active > 0 || self.horizon > now
    }
}

impl Place<'_> {
    /// Takes one of the host's retries; `false` where it has none left.
    pub(super) fn may_retry(&self) -> bool {
        let now = Instant::now();
        let mut state = self.shares.lock();
        let Some(host) = state.hosts.get_mut(&self.host) else { return true };
        let left = self.shares.retries_left(host, now);
        let may = left >= 1.0;
        host.retries = (if may { left - 1.0 } else { left }, now);
        may
    }

    /// Notes that the host took a delivery, so that it may be tried again freely.
    pub(super) fn delivered(&self) {
        if let Some(host) = self.shares.lock().hosts.get_mut(&self.host) {
            host.retries.0 = self.shares.retries;
        }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let took = self.since.elapsed();
        let mut state = self.shares.lock();
        if let Some(host) = state.hosts.get_mut(&self.host) {
            host.lane.leave(took);
        }
        if let Some(caller) = state.callers.get_mut(&self.scope) {
            caller.leave(took);
        }
    }
}
