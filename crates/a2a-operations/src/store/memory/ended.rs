//! The tasks that have ended, oldest end first: the first to go when room is needed.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use super::{entry::Entry, lock, log::Weight};

/// Ended tasks, and what the logs of the newest of them weigh.
#[derive(Debug)]
pub(super) struct Ended {
    queues: Mutex<Queues>,
    bound: Weight,
}

#[derive(Debug, Default)]
struct Queues {
    tasks: VecDeque<Arc<Entry>>,
    /// The weights of the logs that are kept; they belong to the last of `tasks`.
    logs: VecDeque<Weight>,
    /// What `logs` weigh together.
    kept: Weight,
}

impl Ended {
    pub(super) fn new(bound: Weight) -> Self {
        Self { queues: Mutex::default(), bound }
    }

    /// Adds a task, and returns those whose logs must be dropped for it.
    pub(super) fn push(&self, entry: &Arc<Entry>, log: Weight) -> Vec<Arc<Entry>> {
        let mut queues = lock(&self.queues);
        queues.tasks.push_back(Arc::clone(entry));
        queues.logs.push_back(log);
        queues.kept.add(log);
        let mut dropped = Vec::new();
        while !queues.kept.fits(self.bound) {
            let oldest_log = queues.tasks.len() - queues.logs.len();
            let Some(log) = queues.logs.pop_front() else { break };
            queues.kept.subtract(log);
            dropped.push(Arc::clone(&queues.tasks[oldest_log]));
        }
        dropped
    }

    /// Takes out the task that ended first.
    pub(super) fn pop(&self) -> Option<Arc<Entry>> {
        let mut queues = lock(&self.queues);
        if queues.tasks.len() == queues.logs.len()
            && let Some(log) = queues.logs.pop_front()
        {
            queues.kept.subtract(log);
        }
        queues.tasks.pop_front()
    }
}
