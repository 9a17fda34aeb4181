use std::{
    fmt,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

/// Number of faults with details.
const MAX_DETAILS: usize = 40;

/// Counters of operations and faults.
#[derive(Debug, Default)]
pub struct Tally {
    /// Started tasks.
    pub begun: AtomicU64,
    /// Tasks that were followed to their end.
    pub ended: AtomicU64,
    /// Events seen by readers.
    pub events: AtomicU64,
    /// Resumed streams.
    pub resumed: AtomicU64,
    /// Events due to webhooks.
    pub pushed: AtomicU64,
    /// Deliveries to webhooks, including deliberately rejected ones.
    pub deliveries: AtomicU64,
    /// Stale reads from a node that lagged behind another. Not a fault: reads of other nodes are
    /// not synchronized.
    pub stale: AtomicU64,
    /// Tasks that are missing, or failed although the agent did not fail them.
    pub lost: AtomicU64,
    /// Tasks that did not end in time.
    pub stuck: AtomicU64,
    /// Events that a reader missed.
    pub missing: AtomicU64,
    /// Events that a reader saw twice.
    pub repeated: AtomicU64,
    /// Events that a reader saw after a later one.
    pub reordered: AtomicU64,
    /// Unexpected events and artifacts.
    pub wrong: AtomicU64,
    /// Events that a webhook missed.
    pub undelivered: AtomicU64,
    /// Events first delivered to a webhook after a later one.
    pub disordered: AtomicU64,
    detail: Mutex<Vec<String>>,
}

impl Tally {
    /// Counts faults of one kind, with details.
    pub fn fault(&self, kind: &AtomicU64, count: usize, detail: impl Into<String>) {
        if count == 0 {
            return;
        }
        kind.fetch_add(u64::try_from(count).unwrap_or(u64::MAX), Relaxed);
        let mut all = self.detail.lock().expect("no panic while locked");
        if all.len() < MAX_DETAILS {
            all.push(detail.into());
        }
    }

    /// The details since the last call.
    pub fn take_details(&self) -> Vec<String> {
        std::mem::take(&mut self.detail.lock().expect("no panic while locked"))
    }

    /// Whether there are no faults.
    pub fn is_clean(&self) -> bool {
        [
            &self.lost,
            &self.stuck,
            &self.missing,
            &self.repeated,
            &self.reordered,
            &self.wrong,
            &self.undelivered,
            &self.disordered,
        ]
        .into_iter()
        .all(|kind| kind.load(Relaxed) == 0)
    }

    /// One line of progress.
    pub fn progress(&self) -> String {
        format!(
            "{} tasks started, {} ended; {} events seen, {} streams resumed, {} stale reads; \
             {} webhook deliveries",
            self.begun.load(Relaxed),
            self.ended.load(Relaxed),
            self.events.load(Relaxed),
            self.resumed.load(Relaxed),
            self.stale.load(Relaxed),
            self.deliveries.load(Relaxed),
        )
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} tasks lost, {} stuck, {} events missing, {} repeated, {} reordered, {} wrong, \
             {} webhook events missing, {} reordered, {} tasks, {} events, {} webhook events",
            self.lost.load(Relaxed),
            self.stuck.load(Relaxed),
            self.missing.load(Relaxed),
            self.repeated.load(Relaxed),
            self.reordered.load(Relaxed),
            self.wrong.load(Relaxed),
            self.undelivered.load(Relaxed),
            self.disordered.load(Relaxed),
            self.ended.load(Relaxed),
            self.events.load(Relaxed),
            self.pushed.load(Relaxed),
        )
    }
}
