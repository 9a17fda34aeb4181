//! Cached usage of owners.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use a2a_kit_operations::store::Usage;
use parking_lot::Mutex;
use tokio::sync::Mutex as AsyncMutex;

/// Minimum and maximum lifetime of a measurement.
const AGE: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(10));
/// The lifetime of a measurement as a multiple of its duration.
const SHARE: u32 = 20;
/// Maximum number of cached owners.
const MAX_OWNERS: usize = 10_000;

/// Measured usage of owners, plus the writes of this node since.
#[derive(Debug, Default)]
pub(super) struct Usages(Mutex<HashMap<Arc<str>, Measured>>);

#[derive(Debug)]
struct Measured {
    usage: Usage,
    until: Instant,
    /// The latest count of open tasks on demand; locked while one runs.
    counter: Counter,
}

type Counter = Arc<AsyncMutex<Option<Counted>>>;

/// A count of open tasks.
#[derive(Debug)]
pub(super) struct Counted {
    pub(super) begun: Instant,
    pub(super) open_tasks: usize,
}

impl Usages {
    /// The cached usage of an owner. When it expires, one caller measures again while the others
    /// keep using it.
    pub(super) fn known(&self, owner: &str) -> Option<Usage> {
        let mut owners = self.0.lock();
        let measured = owners.get_mut(owner)?;
        let now = Instant::now();
        if measured.until <= now {
            measured.until = now + AGE.1;
            return None;
        }
        Some(measured.usage)
    }

    pub(super) fn put(&self, owner: &str, usage: Usage, took: Duration) {
        let mut owners = self.0.lock();
        let now = Instant::now();
        if owners.len() >= MAX_OWNERS && !owners.contains_key(owner) {
            owners.retain(|_, measured| measured.until > now);
            if owners.len() >= MAX_OWNERS {
                return;
            }
        }
        let until = now + (took * SHARE).clamp(AGE.0, AGE.1);
        match owners.get_mut(owner) {
            Some(measured) => (measured.usage, measured.until) = (usage, until),
            None => {
                let counter = Counter::default();
                owners.insert(owner.into(), Measured { usage, until, counter });
            }
        }
    }

    pub(super) fn counter(&self, owner: &str) -> Option<Counter> {
        Some(Arc::clone(&self.0.lock().get(owner)?.counter))
    }

    pub(super) fn recount(&self, owner: &str, open_tasks: usize) {
        if let Some(measured) = self.0.lock().get_mut(owner) {
            measured.usage.open_tasks = open_tasks;
        }
    }

    /// Ends the lifetime of all measurements.
    pub(super) fn expire(&self) {
        let now = Instant::now();
        self.0.lock().values_mut().for_each(|measured| measured.until = now);
    }

    pub(super) fn forget(&self, owner: &str) {
        self.0.lock().remove(owner);
    }

    /// Adds the writes of this node.
    pub(super) fn add(&self, owner: &str, opened: i32, bytes: usize) {
        if let Some(measured) = self.0.lock().get_mut(owner) {
            let opened = isize::try_from(opened).unwrap_or_default();
            let usage = &mut measured.usage;
            usage.open_tasks = usage.open_tasks.saturating_add_signed(opened);
            usage.stored_bytes += u64::try_from(bytes).unwrap_or(u64::MAX);
        }
    }
}
