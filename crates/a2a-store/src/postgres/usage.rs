//! Usage of owners, measured periodically.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use a2a_operations::store::{StoreError, Usage};

use super::{
    PostgresStore,
    row::{get, is_name, natural},
};

/// Sums over the tasks of an owner, in all tenants.
const USAGE: &str = "\
    SELECT (SELECT coalesce(sum(s0 + s1 + s2 + s6 + s8), 0)::int8 FROM totals \
        WHERE owner = $1 AND whole) AS open, \
    (SELECT coalesce(sum(t.event_bytes + t.snapshot_bytes), 0)::int8 \
        FROM (SELECT DISTINCT tenant FROM totals WHERE owner = $1 AND whole) x \
        JOIN tasks t ON t.tenant = x.tenant AND t.owner = $1) AS bytes";

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
    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, Measured>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The cached usage of an owner. When it expires, one caller measures again while the others
    /// keep using it.
    fn known(&self, owner: &str) -> Option<Usage> {
        let mut owners = self.lock();
        let measured = owners.get_mut(owner)?;
        let now = Instant::now();
        if measured.until <= now {
            measured.until = now + AGE.1;
            return None;
        }
        Some(measured.usage)
    }

    fn put(&self, owner: &str, usage: Usage, took: Duration) {
        let mut owners = self.lock();
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

    fn forget(&self, owner: &str) {
        self.lock().remove(owner);
    }

    /// Adds the writes of this node.
    pub(super) fn add(&self, owner: &str, tasks: usize, bytes: usize) {
        if let Some(measured) = self.lock().get_mut(owner) {
            measured.usage.open_tasks += tasks;
            measured.usage.stored_bytes += u64::try_from(bytes).unwrap_or(u64::MAX);
        }
    }
}

impl PostgresStore {
    pub(super) async fn measured(&self, owner: &str) -> Result<Usage, StoreError> {
        if !is_name(owner) {
            return Ok(Usage::default());
        }
        if let Some(usage) = self.usages.known(owner) {
            return Ok(usage);
        }
        let begun = Instant::now();
        let rows = self.pool.read(USAGE, &[&owner]).await;
        if rows.is_err() {
            self.usages.forget(owner);
        }
        let rows = rows?;
        let Some(row) = rows.first() else { return Ok(Usage::default()) };
        let open = usize::try_from(get::<i64>(row, "open")?).unwrap_or_default();
        let usage = Usage::new(open, natural(get(row, "bytes")?));
        self.usages.put(owner, usage, begun.elapsed());
        Ok(usage)
    }
}
