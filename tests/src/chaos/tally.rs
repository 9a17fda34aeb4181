use std::{
    fmt,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

/// How many faults are told in words.
const WORDS: usize = 40;

/// What was done, and what went wrong.
#[derive(Debug, Default)]
pub struct Tally {
    /// Tasks that were begun.
    pub begun: AtomicU64,
    /// Tasks that were followed to their end.
    pub ended: AtomicU64,
    /// Events that readers saw.
    pub events: AtomicU64,
    /// Streams that were taken up again after a cut.
    pub resumed: AtomicU64,
    /// Events that webhooks had to get.
    pub pushed: AtomicU64,
    /// Deliveries to webhooks, those that were refused on purpose included.
    pub deliveries: AtomicU64,
    /// Answers of a node that had not heard yet what another one had said. Not a fault: no node
    /// promises to be as far as another.
    pub stale: AtomicU64,
    /// Tasks that are gone, or failed though the agent did not fail them.
    pub lost: AtomicU64,
    /// Tasks that did not end in time.
    pub stuck: AtomicU64,
    /// Events that a reader should have seen and did not.
    pub missing: AtomicU64,
    /// Events that a reader saw twice.
    pub repeated: AtomicU64,
    /// Events that a reader saw after a later one.
    pub reordered: AtomicU64,
    /// Events and artifacts that are not what the agent said.
    pub wrong: AtomicU64,
    /// Events that never reached a webhook.
    pub undelivered: AtomicU64,
    /// Events that reached a webhook for the first time after a later one.
    pub disordered: AtomicU64,
    words: Mutex<Vec<String>>,
}

impl Tally {
    /// Counts faults of one kind, and keeps what there is to say of them.
    pub fn fault(&self, kind: &AtomicU64, count: usize, words: impl Into<String>) {
        if count == 0 {
            return;
        }
        kind.fetch_add(u64::try_from(count).unwrap_or(u64::MAX), Relaxed);
        let mut all = self.words.lock().expect("nobody panics here");
        if all.len() < WORDS {
            all.push(words.into());
        }
    }

    /// What there is to say of faults since this was asked last.
    pub fn take_words(&self) -> Vec<String> {
        std::mem::take(&mut self.words.lock().expect("nobody panics here"))
    }

    /// Whether nothing went wrong.
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

    /// One line on how far things are.
    pub fn progress(&self) -> String {
        format!(
            "{} tasks begun, {} ended; {} events seen, {} streams resumed, {} stale reads; \
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
