//! Usage of owners: measured periodically, and open tasks counted on demand.

use std::time::Instant;

use a2a_kit_operations::store::{StoreError, Usage};
use tokio_postgres::Row;

use super::{
    PostgresStore,
    row::{get, is_possible_owner, natural},
    usage_cache::Counted,
};

/// The open tasks of an owner, in all tenants.
macro_rules! open_tasks {
    () => {
        "SELECT coalesce(sum(s0 + s1 + s2 + s6 + s8), 0)::int8 AS open FROM totals \
            WHERE owner = $1 AND whole"
    };
}

/// Sums over the tasks of an owner, in all tenants.
const USAGE: &str = concat!(
    "SELECT (",
    open_tasks!(),
    ") AS open, \
    (SELECT coalesce(sum(t.event_bytes + t.snapshot_bytes), 0)::int8 \
        FROM (SELECT DISTINCT tenant FROM totals WHERE owner = $1 AND whole) x \
        JOIN tasks t ON t.tenant = x.tenant AND t.owner = $1) AS bytes"
);

impl PostgresStore {
    pub(super) async fn measured(&self, owner: &str) -> Result<Usage, StoreError> {
        if !is_possible_owner(owner) {
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
        let usage = Usage::new(open(row)?, natural(get(row, "bytes")?));
        self.usages.put(owner, usage, begun.elapsed());
        Ok(usage)
    }

    /// Counts open tasks. One query at a time runs for a cached owner, for everybody who asked
    /// before it began: a caller at its limit costs no more than that.
    pub(super) async fn count_open_tasks(&self, owner: &str) -> Result<usize, StoreError> {
        if !is_possible_owner(owner) {
            return Ok(0);
        }
        let asked = Instant::now();
        let Some(counter) = self.usages.counter(owner) else {
            return self.query_open_tasks(owner).await;
        };
        let mut latest = counter.lock().await;
        if let Some(counted) = latest.as_ref().filter(|counted| counted.begun >= asked) {
            return Ok(counted.open_tasks);
        }
        let begun = Instant::now();
        let open_tasks = self.query_open_tasks(owner).await?;
        *latest = Some(Counted { begun, open_tasks });
        self.usages.recount(owner, open_tasks);
        Ok(open_tasks)
    }

    async fn query_open_tasks(&self, owner: &str) -> Result<usize, StoreError> {
        let rows = self.pool.read(open_tasks!(), &[&owner]).await?;
        rows.first().map_or(Ok(0), open)
    }
}

fn open(row: &Row) -> Result<usize, StoreError> {
    Ok(usize::try_from(get::<i64>(row, "open")?).unwrap_or_default())
}
