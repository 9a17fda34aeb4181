//! What happened, added up while a load runs.

use std::{
    collections::BTreeMap,
    future::Future,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use hdrhistogram::Histogram;
use tokio::time::Instant;

use crate::summary::{Summary, histogram};

/// Number of shards. Their histograms are the memory of a run, whatever its length and the number
/// of workers.
const SHARDS: usize = 16;

/// The measurements of a run. Workers that share a shard rarely meet at its lock.
#[derive(Debug)]
pub(crate) struct Shards([Mutex<Measurement>; SHARDS]);

impl Default for Shards {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Mutex::new(Measurement::new())))
    }
}

#[derive(Debug)]
struct Measurement {
    latency: Histogram<u64>,
    first_event: Histogram<u64>,
    errors: BTreeMap<&'static str, u64>,
    requests: u64,
    unsent: u64,
}

impl Measurement {
    fn new() -> Self {
        Self {
            latency: histogram(),
            first_event: histogram(),
            errors: BTreeMap::new(),
            requests: 0,
            unsent: 0,
        }
    }
}

impl Shards {
    /// Records a request that was due at a time and has ended now.
    pub(super) fn record(&self, worker: usize, due: Instant, outcome: &Outcome) {
        let now = Instant::now();
        self.with(worker, |measurement| {
            measurement.requests += 1;
            if let Some(code) = outcome.error {
                *measurement.errors.entry(code).or_default() += 1;
                return;
            }
            measurement.latency.saturating_record(micros(now.duration_since(due)));
            if let Some(first) = outcome.first_event {
                measurement.first_event.saturating_record(micros(first.duration_since(due)));
            }
        });
    }

    pub(super) fn add_unsent(&self, worker: usize, count: u64) {
        self.with(worker, |measurement| measurement.unsent += count);
    }

    /// The number of requests and of errors so far.
    pub(super) fn counts(&self) -> (u64, u64) {
        self.0.iter().fold((0, 0), |(requests, errors), shard| {
            let shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            (requests + shard.requests, errors + shard.errors.values().sum::<u64>())
        })
    }

    /// Adds up all shards.
    pub(crate) fn summary(&self, elapsed: Duration) -> Summary {
        let mut summary = Summary::new(elapsed);
        for shard in &self.0 {
            let shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            summary.requests += shard.requests;
            summary.unsent += shard.unsent;
            // Both have the same bounds.
            let _same_bounds = summary.latency.add(&shard.latency);
            let _same_bounds = summary.first_event.add(&shard.first_event);
            for (code, count) in &shard.errors {
                *summary.errors_by_code.entry(*code).or_default() += count;
                summary.errors += count;
            }
        }
        summary
    }

    fn with(&self, worker: usize, change: impl FnOnce(&mut Measurement)) {
        let shard = &self.0[worker % SHARDS];
        change(&mut shard.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

/// What is called.
pub(crate) trait Exchange: Send + Sync + 'static {
    /// Makes one request on behalf of a worker.
    fn perform(&self, worker: usize) -> impl Future<Output = Outcome> + Send;
}

/// The outcome of a request.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// The code of the error, if it failed.
    pub(crate) error: Option<&'static str>,
    /// When the first event of a stream arrived.
    pub(crate) first_event: Option<Instant>,
}
