use std::{
    fmt,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use super::Fault;

/// Number of faults of each kind with details.
const MAX_DETAILS: u64 = 8;
/// Longest detail, in bytes.
const MAX_DETAIL: usize = 600;

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
    /// Answers that were compared with the events.
    pub answers: AtomicU64,
    /// Events due to webhooks.
    pub pushed: AtomicU64,
    /// Deliveries to webhooks, including deliberately rejected ones.
    pub deliveries: AtomicU64,
    /// Side effects in the journal of the executors.
    pub effects: AtomicU64,
    /// Side effects of programs whose server was stopped while another one took their task over.
    /// Not a fault: nothing can end them while the server is stopped.
    pub ran_on: AtomicU64,
    faults: [AtomicU64; Fault::ALL.len()],
    detail: Mutex<Vec<String>>,
}

impl Tally {
    /// Counts faults of one kind, with details.
    pub fn fault(&self, kind: Fault, count: usize, detail: impl Into<String>) {
        if count == 0 {
            return;
        }
        let counter = &self.faults[kind as usize];
        let before = counter.fetch_add(u64::try_from(count).unwrap_or(u64::MAX), Relaxed);
        if before < MAX_DETAILS {
            let mut detail: String = detail.into();
            if detail.len() > MAX_DETAIL {
                let end = (0..=MAX_DETAIL).rev().find(|end| detail.is_char_boundary(*end));
                detail.truncate(end.unwrap_or_default());
                detail.push('…');
            }
            let mut all = self.detail.lock().expect("no panic while locked");
            all.push(format!("{}: {detail}", kind.words()));
        }
    }

    /// The number of faults of one kind.
    pub fn count(&self, kind: Fault) -> u64 {
        self.faults[kind as usize].load(Relaxed)
    }

    /// The details since the last call.
    pub fn take_details(&self) -> Vec<String> {
        std::mem::take(&mut self.detail.lock().expect("no panic while locked"))
    }

    /// Whether there are no faults.
    pub fn is_clean(&self) -> bool {
        Fault::ALL.into_iter().all(|kind| self.count(kind) == 0)
    }

    /// One line of progress.
    pub fn progress(&self) -> String {
        format!(
            "{} tasks started, {} ended; {} events, {} answers, {} streams resumed; \
             {} webhook deliveries",
            self.begun.load(Relaxed),
            self.ended.load(Relaxed),
            self.events.load(Relaxed),
            self.answers.load(Relaxed),
            self.resumed.load(Relaxed),
            self.deliveries.load(Relaxed),
        )
    }
}

/// The figures, one a line, and what they are about.
impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for kind in Fault::ALL {
            writeln!(f, "{:>8}  {}", self.count(kind), kind.words())?;
        }
        write!(
            f,
            "in {} tasks, {} events, {} answers, {} webhook events and {} side effects; \
             apart from {} side effects of programs that ran on while their server was stopped",
            self.ended.load(Relaxed),
            self.events.load(Relaxed),
            self.answers.load(Relaxed),
            self.pushed.load(Relaxed),
            self.effects.load(Relaxed),
            self.ran_on.load(Relaxed),
        )
    }
}
