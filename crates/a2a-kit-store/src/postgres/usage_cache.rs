//! Cached usage of owners.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use a2a_kit_operations::store::Usage;
use parking_lot::Mutex;

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
        owners.insert(owner.into(), Measured { usage, until });
    }

    pub(super) fn forget(&self, owner: &str) {
        self.0.lock().remove(owner);
    }

    /// Adds the writes of this node.
    pub(super) fn add(&self, owner: &str, tasks: usize, bytes: usize) {
        if let Some(measured) = self.0.lock().get_mut(owner) {
            measured.usage.open_tasks += tasks;
            measured.usage.stored_bytes += u64::try_from(bytes).unwrap_or(u64::MAX);
        }
    }
}
