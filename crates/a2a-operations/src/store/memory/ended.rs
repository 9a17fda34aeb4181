//! The tasks that have ended, oldest end first: the first to go when room is needed.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::time::Instant;

use super::{entry::Entry, lock, log::Weight};

/// Ended tasks, and what the logs of the newest of them weigh.
#[derive(Debug)]
pub(super) struct Ended {
    queues: Mutex<Queues>,
    bound: Weight,
    /// When the store began; ends are counted from here.
    begin: Instant,
}

#[derive(Debug, Default)]
struct Queues {
    tasks: VecDeque<(Arc<Entry>, Millis)>,
    /// The weights of the logs that are kept; they belong to the last of `tasks`.
    logs: VecDeque<Weight>,
    /// What `logs` weigh together.
    kept: Weight,
}

/// A time in milliseconds after the begin of the store: half of what an [`Instant`] takes.
type Millis = u64;

impl Ended {
    pub(super) fn new(bound: Weight) -> Self {
        Self { queues: Mutex::default(), bound, begin: Instant::now() }
    }

    fn now(&self) -> Millis {
        millis(self.begin.elapsed())
    }

    /// Adds a task, and returns those whose logs must be dropped for it.
    pub(super) fn push(&self, entry: &Arc<Entry>, log: Weight) -> Vec<Arc<Entry>> {
        let now = self.now();
        let mut queues = lock(&self.queues);
        queues.tasks.push_back((Arc::clone(entry), now));
        queues.logs.push_back(log);
        queues.kept.add(log);
        let mut dropped = Vec::new();
        // Most tasks end in their first write, and have no log to weigh.
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

    /// Takes out the task that ended first.
    pub(super) fn pop(&self) -> Option<Arc<Entry>> {
        lock(&self.queues).pop()
    }

    /// Takes out the task that ended first, if that is so long ago.
    pub(super) fn pop_older(&self, age: Duration) -> Option<Arc<Entry>> {
        let latest = self.now().checked_sub(millis(age))?;
        let mut queues = lock(&self.queues);
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
