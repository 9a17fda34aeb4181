//! Closed- and open-loop schedule.
//!
//! Closed loop: each worker starts a request when its last one has ended. Open loop ([`Load::with_rate`]):
//! requests have intended start times at equal intervals, and their latencies count from these. A
//! server that stalls then delays every request that was due meanwhile, as it would delay callers;
//! measured from the actual start, only the requests in flight would show it (coordinated
//! omission).

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{task::JoinSet, time::Instant};
use tokio_util::sync::CancellationToken;

use crate::{
    Summary, Target,
    measurement::{Exchange, Shards},
};

/// The maximum number of requests in flight.
pub const MAX_CONCURRENCY: usize = 10_000;

/// A timer fires up to a millisecond late. A request that starts within this time is on time, and
/// its latency counts from the actual start.
const TIMER_RESOLUTION: Duration = Duration::from_millis(2);

/// The interval at which progress is reported.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(500);

/// How many requests are made, and when.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    pub(crate) amount: Amount,
    pub(crate) concurrency: usize,
    pub(crate) rate: Option<f64>,
    pub(crate) warmup: u64,
    drain: Duration,
}

/// When a load ends.
#[derive(Clone, Copy, Debug)]
pub enum Amount {
    /// After this number of requests.
    Requests(u64),
    /// After this time, in which requests are started.
    Duration(Duration),
}

/// Ends runs before their time. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Stop(CancellationToken);

impl Stop {
    /// Ends the runs that were started with this, and those that will be.
    pub fn stop(&self) {
        self.0.cancel();
    }

    /// Returns whether [`stop`](Self::stop) was called.
    pub fn is_stopped(&self) -> bool {
        self.0.is_cancelled()
    }
}

impl Load {
    /// Creates a load in a closed loop, with 16 requests in flight and no warm-up.
    pub fn new(amount: Amount) -> Self {
        Self { amount, concurrency: 16, rate: None, warmup: 0, drain: Duration::from_secs(30) }
    }

    /// Sets the maximum number of requests in flight, from 1 to [`MAX_CONCURRENCY`].
    #[must_use]
    pub fn with_concurrency(self, concurrency: usize) -> Self {
        Self { concurrency: concurrency.clamp(1, MAX_CONCURRENCY), ..self }
    }

    /// Starts this many requests per second, in an open loop: latencies count from the intended
    /// starts.
    #[must_use]
    pub fn with_rate(self, per_second: impl Into<Option<f64>>) -> Self {
        Self { rate: per_second.into(), ..self }
    }

    /// Sets the number of requests before the measurement. Default: 0.
    #[must_use]
    pub fn with_warmup(self, requests: u64) -> Self {
        Self { warmup: requests, ..self }
    }

    /// Sets how long requests that are due at the end of the duration may still be started.
    /// Default: 30 s.
    #[must_use]
    pub fn with_drain(self, drain: Duration) -> Self {
        Self { drain, ..self }
    }

    /// Makes the requests, and returns when all have ended, or soon after `stop`; requests in flight
    /// are then abandoned and not counted.
    pub async fn run(self, target: Target, stop: &Stop) -> Summary {
        self.run_with_progress(target, stop, |_elapsed, _requests, _errors| {}).await
    }

    /// As [`run`](Self::run); calls `progress` twice a second with the time so far, the number of
    /// requests that have ended, and how many of them failed.
    pub async fn run_with_progress(
        self,
        target: Target,
        stop: &Stop,
        progress: impl Fn(Duration, u64, u64),
    ) -> Summary {
        let target = Arc::new(target);
        let warmup = Self { amount: Amount::Requests(self.warmup), rate: None, ..self };
        warmup.load(&target, &Arc::default(), &stop.0).await;
        target.reset();
        let shards: Arc<Shards> = Arc::default();
        let begin = Instant::now();
        let mut ticks = tokio::time::interval(PROGRESS_INTERVAL);
        let mut run = std::pin::pin!(self.load(&target, &shards, &stop.0));
        loop {
            tokio::select! {
                () = &mut run => break,
                _ = ticks.tick() => {
                    let (requests, errors) = shards.counts();
                    progress(begin.elapsed(), requests, errors);
                }
            }
        }
        let mut summary = shards.summary(begin.elapsed());
        target.complete(&mut summary);
        summary
    }

    async fn load<E: Exchange>(
        self,
        exchange: &Arc<E>,
        shards: &Arc<Shards>,
        stop: &CancellationToken,
    ) {
        let schedule = Arc::new(Schedule::new(self));
        let mut workers = JoinSet::new();
        for worker in 0..self.concurrency {
            let (exchange, shards) = (Arc::clone(exchange), Arc::clone(shards));
            let (schedule, stop) = (Arc::clone(&schedule), stop.clone());
            workers.spawn(async move {
                let work = async {
                    while let Some(due) = schedule.next(&shards, worker).await {
                        let outcome = exchange.perform(worker).await;
                        shards.record(worker, due, &outcome);
                    }
                };
                stop.run_until_cancelled(work).await;
            });
        }
        while workers.join_next().await.is_some() {}
    }
}

/// Hands out requests to workers.
#[derive(Debug)]
struct Schedule {
    load: Load,
    begin: Instant,
    next: AtomicU64,
}

impl Schedule {
    fn new(load: Load) -> Self {
        Self { load, begin: Instant::now(), next: AtomicU64::new(0) }
    }

    /// Waits for the next request, and returns the time that its latency counts from; `None` at
    /// the end.
    async fn next(&self, shards: &Shards, worker: usize) -> Option<Instant> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        if let Amount::Requests(total) = self.load.amount
            && number >= total
        {
            return None;
        }
        let Some(rate) = self.load.rate else {
            let now = Instant::now();
            return match self.load.amount {
                Amount::Duration(duration) if now >= self.begin + duration => None,
                _ => Some(now),
            };
        };
        #[expect(clippy::cast_precision_loss, reason = "exact below 2^53 requests")]
        let offset = Duration::try_from_secs_f64(number as f64 / rate).ok()?;
        let due = self.begin.checked_add(offset)?;
        if let Amount::Duration(duration) = self.load.amount {
            if offset >= duration {
                return None;
            }
            if Instant::now() > self.begin + duration + self.load.drain {
                self.count_unsent(shards, worker, number, rate, duration);
                return None;
            }
        }
        if Instant::now() < due {
            tokio::time::sleep_until(due).await;
        }
        let now = Instant::now();
        Some(if now.duration_since(due) <= TIMER_RESOLUTION { now } else { due })
    }

    /// Counts the requests that are due and are not started any more, from `number` on.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the number of requests is positive and below 2^53"
    )]
    fn count_unsent(
        &self,
        shards: &Shards,
        worker: usize,
        number: u64,
        rate: f64,
        duration: Duration,
    ) {
        let total = (duration.as_secs_f64() * rate).ceil() as u64;
        // Workers that come later find nothing left.
        self.next.fetch_max(total, Ordering::Relaxed);
        shards.add_unsent(worker, total.saturating_sub(number));
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::Notify;

    use super::*;
    use crate::measurement::Outcome;

    /// A server that answers at once, except that it stalls for some time after some requests.
    struct Stalling {
        requests: AtomicU64,
        after: u64,
        released: Notify,
    }

    impl Stalling {
        fn after(after: u64) -> Arc<Self> {
            let (requests, released) = (AtomicU64::new(0), Notify::new());
            Arc::new(Self { requests, after, released })
        }
    }

    impl Exchange for Stalling {
        async fn perform(&self, _worker: usize) -> Outcome {
            if self.requests.fetch_add(1, Ordering::Relaxed) == self.after {
                self.released.notified().await;
            }
            Outcome { error: None, first_event: None }
        }
    }

    fn load(amount: Amount, rate: Option<f64>) -> Load {
        Load::new(amount).with_concurrency(1).with_rate(rate).with_drain(Duration::from_secs(5))
    }

    /// Runs a load against a server that stalls for `stall`, in virtual time.
    async fn run(load: Load, stall: Duration) -> Summary {
        let (server, shards) = (Stalling::after(10), Arc::new(Shards::default()));
        let release = async {
            tokio::time::sleep(stall).await;
            server.released.notify_one();
        };
        let stop = CancellationToken::new();
        let begin = Instant::now();
        let (_, ()) = tokio::join!(load.load(&server, &shards, &stop), release);
        shards.summary(begin.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn open_loop_counts_a_stall_for_every_request_that_was_due() {
        let stall = Duration::from_secs(10);
        let open = run(load(Amount::Requests(100), Some(100.0)), stall).await;
        assert_eq!((open.requests, open.errors), (100, 0));
        // The requests 10 to 99 were due in the first second, and waited for its end.
        assert!(open.latency.value_at_quantile(0.2) >= 8_900_000, "{:?}", open.latency);
        assert!(open.latency.value_at_quantile(0.05) < 10_000);
        let closed = run(load(Amount::Requests(100), None), stall).await;
        assert_eq!(closed.requests, 100);
        // Here, only the one in flight shows it.
        assert!(closed.latency.value_at_quantile(0.98) < 10_000);
        assert!(closed.latency.max() >= 9_900_000);
    }

    #[tokio::test(start_paused = true)]
    async fn requests_that_were_due_and_never_started_are_counted() {
        let amount = Amount::Duration(Duration::from_secs(1));
        let summary = run(load(amount, Some(100.0)), Duration::from_secs(60)).await;
        assert_eq!((summary.requests, summary.unsent), (11, 89));
    }

    #[tokio::test(start_paused = true)]
    async fn on_time_requests_of_an_open_loop_have_the_latency_of_the_server() {
        let summary = run(load(Amount::Requests(10), Some(100.0)), Duration::ZERO).await;
        assert_eq!(summary.requests, 10);
        assert!(summary.latency.max() <= 2_000, "{:?}", summary.latency);
    }

    #[tokio::test(start_paused = true)]
    async fn stop_ends_a_run_and_keeps_what_was_measured() {
        let (server, shards) = (Stalling::after(10), Arc::new(Shards::default()));
        let stop = CancellationToken::new();
        let load = load(Amount::Requests(u64::MAX), None);
        let running = load.load(&server, &shards, &stop);
        let stopping = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            stop.cancel();
        };
        tokio::join!(running, stopping);
        assert_eq!(shards.summary(Duration::from_secs(1)).requests, 10);
    }
}
