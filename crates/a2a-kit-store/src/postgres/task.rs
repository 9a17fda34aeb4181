//! Tasks, their logs, idempotency keys, and the usage of owners.

use std::{sync::Arc, time::Instant};

use a2a_kit_operations::{
    EventId, Scope,
    store::{
        Claim, Committed, NewTask, Replay, StoreError, StoredTask, Sweep, TaskPage, TaskQuery,
        TaskStore, Transition, Usage,
    },
};
use async_trait::async_trait;
use tokio_postgres::Row;

use super::{
    PostgresStore,
    commit::CommitRow,
    insert::InsertRow,
    link::Params,
    row::{
        IMPOSSIBLE, StoredRow, get, is_possible, is_possible_owner, key, natural, number, stored,
        unpack,
    },
    usage_cache::Counted,
    writer::WriteRow,
};
use crate::Result;

/// A task, and its events after a position.
const LOAD: &str = concat!(
    "SELECT ",
    stored!("least(b.position, $4)"),
    "FROM tasks t JOIN bodies b ON b.task = t.key WHERE t.id = $1 AND t.tenant = $2 AND t.owner = $3"
);

const REPLAY: &str = "SELECT e.first, e.body FROM tasks t \
    LEFT JOIN events e ON e.task = t.key AND e.last > $4 \
    WHERE t.id = $1 AND t.tenant = $2 AND t.owner = $3 ORDER BY e.last";

const CLAIM: &str = "
WITH n AS (
    INSERT INTO claims (tenant, owner, key, fingerprint, task_id) VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (tenant, owner, key) DO NOTHING RETURNING task_id, fingerprint
)
SELECT true AS is_new, task_id, fingerprint FROM n
UNION ALL
SELECT false, task_id, fingerprint FROM claims
WHERE tenant = $1 AND owner = $2 AND key = $3 AND NOT EXISTS (SELECT FROM n)";

// An insert with the key locks the row until it is committed, so a later takeover sees the task.
const LOCK: &str = "SELECT 1 FROM claims WHERE tenant = $1 AND owner = $2 AND key = $3 FOR UPDATE";

const RECLAIM: &str = "
UPDATE claims SET task_id = $5, fingerprint = $6
WHERE tenant = $1 AND owner = $2 AND key = $3 AND task_id = $4 AND NOT EXISTS (
    SELECT FROM tasks WHERE id = $4 AND tasks.tenant = $1 AND tasks.owner = $2)
RETURNING 1";

const UNCLAIM: &str =
    "DELETE FROM claims WHERE tenant = $1 AND owner = $2 AND key = $3 AND task_id = $4";

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

#[async_trait]
impl TaskStore for PostgresStore {
    async fn insert(&self, scope: &Scope, new: NewTask) -> Result<Committed> {
        let write = InsertRow::encode(scope, new, &self.keys)?;
        self.writers.write(write.map(WriteRow::Insert)).await
    }

    async fn commit(&self, scope: &Scope, transition: Transition) -> Result<Committed> {
        let write = CommitRow::encode(scope, transition)?;
        self.writers.write(write.map(WriteRow::Commit)).await
    }

    async fn get(&self, scope: &Scope, task_id: &str) -> Result<Option<StoredTask>> {
        Ok(self.row(scope, task_id, i64::MAX).await?.map(|row| row.stored))
    }

    async fn load(
        &self,
        scope: &Scope,
        task_id: &str,
        after: EventId,
    ) -> Result<Option<(StoredTask, Replay)>> {
        let Some(row) = self.row(scope, task_id, number(after.get())).await? else {
            return Ok(None);
        };
        let replay = row.replay(after)?;
        Ok(Some((row.stored, replay)))
    }

    async fn replay(&self, scope: &Scope, task_id: &str, after: EventId) -> Result<Option<Replay>> {
        if !is_possible(scope, task_id) {
            return Ok(None);
        }
        let (tenant, owner, place) = (&*scope.tenant, &*scope.owner, number(after.get()));
        let rows = self.pool.read(REPLAY, &[&task_id, &tenant, &owner, &place]).await?;
        if rows.is_empty() {
            return Ok(None);
        }
        let mut events = Vec::new();
        for row in &rows {
            // A task without events after the position is one row of nulls.
            let first: Option<i64> = get(row, "first")?;
            if let Some(first) = first {
                unpack(first, get(row, "body")?, natural(place), false, &mut events)?;
            }
        }
        Ok(Some(Replay::Events(events)))
    }

    async fn list(&self, scope: &Scope, query: &TaskQuery) -> Result<TaskPage> {
        self.page(scope, query).await
    }

    async fn usage(&self, owner: &str) -> Result<Usage> {
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
    async fn open_tasks(&self, owner: &str) -> Result<usize> {
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

    async fn claim_key(
        &self,
        scope: &Scope,
        name: &str,
        fingerprint: u64,
        task_id: &str,
    ) -> Result<Claim> {
        if !is_possible(scope, task_id) {
            return Err(StoreError::rejected(IMPOSSIBLE));
        }
        let (tenant, owner, name) = (&*scope.tenant, &*scope.owner, &*key(name));
        let mark = fingerprint.cast_signed();
        // A concurrent claim is neither new nor visible to this statement; retry to see it.
        for _ in 0..8 {
            let params: Params<'_> = &[&tenant, &owner, &name, &mark, &task_id];
            let rows = self.pool.write(CLAIM, params).await?;
            let Some(row) = rows.first() else { continue };
            if get(row, "is_new")? {
                return Ok(Claim::New);
            }
            let fingerprint: i64 = get(row, "fingerprint")?;
            return Ok(Claim::Known {
                task_id: get(row, "task_id")?,
                fingerprint: fingerprint.cast_unsigned(),
            });
        }
        Err(StoreError::failed("too many concurrent changes to an idempotency key"))
    }

    async fn take_over_key(
        &self,
        scope: &Scope,
        name: &str,
        fingerprint: u64,
        gone: &str,
        task_id: &str,
    ) -> Result<Claim> {
        if is_possible(scope, gone) && is_possible(scope, task_id) {
            let (tenant, owner, name) = (&*scope.tenant, &*scope.owner, &*key(name));
            let mark = fingerprint.cast_signed();
            let lock: Params<'_> = &[&tenant, &owner, &name];
            let params: Params<'_> = &[&tenant, &owner, &name, &gone, &task_id, &mark];
            if !self.pool.write_locked((LOCK, lock), (RECLAIM, params)).await?.is_empty() {
                return Ok(Claim::New);
            }
        }
        self.claim_key(scope, name, fingerprint, task_id).await
    }

    async fn release_key(&self, scope: &Scope, name: &str, task_id: &str) -> Result<()> {
        if is_possible(scope, task_id) {
            let (tenant, owner, name) = (&*scope.tenant, &*scope.owner, &*key(name));
            self.pool.write_idempotent(UNCLAIM, &[&tenant, &owner, &name, &task_id]).await?;
        }
        Ok(())
    }

    async fn sweep(&self, sweep: Sweep) -> Result<Vec<Arc<str>>> {
        self.forget(sweep).await
    }

    async fn probe(&self) -> Result<()> {
        let Some(bytes) = self.pool.writability().failing() else {
            return self.pool.read("SELECT 1", &[]).await.map(|_rows| ());
        };
        let pool = Arc::clone(&self.pool);
        let write = async move { pool.probe_write(bytes).await };
        self.pool.writability().probe(write).await
    }

    /// Does nothing: a write that returned is committed, and connections end with the store.
    async fn close(&self) {}
}

impl PostgresStore {
    /// Reads a task with its events after a position.
    async fn row(&self, scope: &Scope, task_id: &str, after: i64) -> Result<Option<StoredRow>> {
        if !is_possible(scope, task_id) {
            return Ok(None);
        }
        let (tenant, owner) = (&*scope.tenant, &*scope.owner);
        let rows = self.pool.read(LOAD, &[&task_id, &tenant, &owner, &after]).await?;
        rows.first().map(StoredRow::read).transpose()
    }

    async fn query_open_tasks(&self, owner: &str) -> Result<usize> {
        let rows = self.pool.read(open_tasks!(), &[&owner]).await?;
        rows.first().map_or(Ok(0), open)
    }
}

fn open(row: &Row) -> Result<usize> {
    Ok(usize::try_from(get::<i64>(row, "open")?).unwrap_or_default())
}
