//! Closed- and open-loop schedule.
//!
//! Closed loop: each worker starts a request when its last one has ended. Open loop (`--rate`):
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

use super::{Shards, measurement::Exchange};

/// Maximum number of requests in flight.
pub(crate) const MAX_CONCURRENCY: usize = 10_000;

/// A timer fires up to a millisecond late. A request that starts within this time is on time, and
/// its latency counts from the actual start.
const TIMER_RESOLUTION: Duration = Duration::from_millis(2);

/// How many requests are made, and when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub(crate) amount: Amount,
    /// Maximum number of requests in flight.
    pub(crate) concurrency: usize,
    /// Requests per second of the open loop; `None` for a closed loop.
    pub(crate) rate: Option<f64>,
    /// How long requests that are due at the end of the duration may still be started.
    pub(crate) drain: Duration,
}

/// When a load ends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Amount {
    Requests(u64),
    Duration(Duration),
}

impl Load {
    /// Makes the requests. Returns when all have ended, or soon after `stop`; requests in flight
    /// are then abandoned and not counted.
    pub(crate) async fn run<E: Exchange>(
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

    use super::{
        super::{Summary, measurement::Outcome},
        *,
    };

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
        Load { amount, concurrency: 1, rate, drain: Duration::from_secs(5) }
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
        let (_, ()) = tokio::join!(load.run(&server, &shards, &stop), release);
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
        let running = load.run(&server, &shards, &stop);
        let stopping = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            stop.cancel();
        };
        tokio::join!(running, stopping);
        assert_eq!(shards.summary(Duration::from_secs(1)).requests, 10);
    }
}
