//! Retention of ended tasks, in the order in which they ended.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::time::Instant;

use super::{entry::Entry, log::Weight};

/// Ended tasks, and the weights of the newest logs among them.
#[derive(Debug)]
pub(super) struct Retention {
    queues: Mutex<Queues>,
    bound: Weight,
    /// The reference for [`Millis`].
    begin: Instant,
}

#[derive(Debug, Default)]
struct Queues {
    tasks: VecDeque<(Arc<Entry>, Millis)>,
    /// The weights of the retained logs, which belong to the last of `tasks`.
    logs: VecDeque<Weight>,
    /// The sum of `logs`.
    kept: Weight,
}

/// Milliseconds since [`EARLIEST`] before the creation of the store: half the size of an
/// [`Instant`].
type Millis = u64;

/// How long before the creation of the store a restored task can have ended: ten years.
const EARLIEST: Millis = 10 * 365 * 24 * 60 * 60 * 1000;

impl Retention {
    pub(super) fn new(bound: Weight) -> Self {
        Self { queues: Mutex::default(), bound, begin: Instant::now() }
    }

    fn now(&self) -> Millis {
        EARLIEST + millis(self.begin.elapsed())
    }

    /// Adds a task that ended some time ago, and returns those whose logs have to be dropped in
    /// turn.
    pub(super) fn push(&self, entry: &Arc<Entry>, log: Weight, age: Duration) -> Vec<Arc<Entry>> {
        let end = self.now().saturating_sub(millis(age));
        let mut queues = self.queues.lock();
        queues.tasks.push_back((Arc::clone(entry), end));
        queues.logs.push_back(log);
        queues.kept.add(log);
        let mut dropped = Vec::new();
        // Most tasks end with their first write, and have no log.
        let is_empty = |log: Option<&Weight>| log.is_some_and(|log| *log == Weight::default());
        while !queues.kept.fits(self.bound) || is_empty(queues.logs.front()) {
            let oldest_log = queues.tasks.len() - queues.logs.len();
            let Some(log) = queues.logs.pop_front() else { break };
            queues.kept.subtract(log);
            if log != Weight::default() {
                dropped.push(Arc::clone(&queues.tasks[oldest_log].0));
            }
        }
        dropped
    }

    /// Removes the task that ended first.
    pub(super) fn pop(&self) -> Option<Arc<Entry>> {
        self.queues.lock().pop()
    }

    /// Removes the task that ended first, if that was at least `age` ago.
    pub(super) fn pop_older(&self, age: Duration) -> Option<Arc<Entry>> {
        let latest = self.now().checked_sub(millis(age))?;
        let mut queues = self.queues.lock();
        let (_, end) = queues.tasks.front()?;
        if *end <= latest { queues.pop() } else { None }
    }
}

impl Queues {
    fn pop(&mut self) -> Option<Arc<Entry>> {
        if self.tasks.len() == self.logs.len()
            && let Some(log) = self.logs.pop_front()
        {
            self.kept.subtract(log);
        }
        self.tasks.pop_front().map(|(entry, _)| entry)
    }
}

fn millis(duration: Duration) -> Millis {
    duration.as_millis().try_into().unwrap_or(Millis::MAX)
}
