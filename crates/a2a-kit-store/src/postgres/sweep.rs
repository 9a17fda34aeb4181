//! Retention sweeps.

use std::sync::Arc;

use a2a_kit_operations::{metrics, store::Sweep};

use super::{
    PostgresStore,
    row::{self, get},
    writer::millis,
};
use crate::Result;

/// Maximum number of dead letters.
const MAX_LETTERS: i64 = 10_000;

/// Deletes tasks with everything that belongs to them, in a given order.
macro_rules! tasks {
    ($which:literal, $order:literal) => { concat!("
WITH gone AS MATERIALIZED (
    SELECT key, id, tenant, owner, context_id, state FROM tasks
    WHERE ", $which, "
    ORDER BY ", $order, " LIMIT $2 FOR UPDATE SKIP LOCKED
), t AS (
    DELETE FROM tasks USING gone WHERE tasks.key = gone.key
), b AS (
    DELETE FROM bodies USING gone WHERE task = gone.key
), j AS (
    DELETE FROM journal_parts USING gone WHERE task = gone.key
), e AS (
    DELETE FROM events USING gone WHERE task = gone.key
), h AS (
    DELETE FROM webhooks USING gone WHERE task_id = gone.id
), c AS (
    DELETE FROM commands USING gone WHERE task_id = gone.id AND answer IS NULL
), counted AS (
    INSERT INTO totals (tenant, owner, whole, context_id, slot, s0, s1, s2, s3, s4, s5, s6, s7, s8)
    SELECT tenant, owner, whole, CASE WHEN whole THEN '' ELSE context_id END AS context, 0,
        -count(*) FILTER (WHERE state = 0), -count(*) FILTER (WHERE state = 1),
        -count(*) FILTER (WHERE state = 2), -count(*) FILTER (WHERE state = 3),
        -count(*) FILTER (WHERE state = 4), -count(*) FILTER (WHERE state = 5),
        -count(*) FILTER (WHERE state = 6), -count(*) FILTER (WHERE state = 7),
        -count(*) FILTER (WHERE state = 8)
    FROM gone, (VALUES (true), (false)) AS k(whole)
    GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
    ON CONFLICT (tenant, owner, whole, context_id, slot) DO UPDATE
    SET s0 = totals.s0 + excluded.s0, s1 = totals.s1 + excluded.s1,
        s2 = totals.s2 + excluded.s2, s3 = totals.s3 + excluded.s3,
        s4 = totals.s4 + excluded.s4, s5 = totals.s5 + excluded.s5,
        s6 = totals.s6 + excluded.s6, s7 = totals.s7 + excluded.s7,
        s8 = totals.s8 + excluded.s8
)
SELECT id, tenant, owner, context_id FROM gone ORDER BY 2, 3, 4") };
}
/// Ended tasks.
const TASKS: &str = tasks!("ended <= now() - $1::int8 * interval '1 ms' AND node IS NULL", "ended");

/// Tasks waiting for user input or authorization.
const PARKED: &str = tasks!(
    "parked <= now() - $1::int8 * interval '1 ms' AND node IS NULL AND commands = 0",
    "parked"
);

/// Totals that are zero, of these contexts.
const EMPTY: &str = "
DELETE FROM totals USING unnest($1::text[], $2::text[], $3::text[]) AS x(tenant, owner, context_id)
WHERE totals.tenant = x.tenant AND totals.owner = x.owner AND NOT whole
    AND totals.context_id = x.context_id
    AND s0 = 0 AND s1 = 0 AND s2 = 0 AND s3 = 0 AND s4 = 0
    AND s5 = 0 AND s6 = 0 AND s7 = 0 AND s8 = 0";

/// Merges the totals of writers: restarts leave many slots.
const MERGE: &str = "
WITH old AS MATERIALIZED (
    SELECT tenant, owner, slot FROM totals WHERE slot <> 0 AND whole
    LIMIT 1000 FOR UPDATE SKIP LOCKED
), gone AS (
    DELETE FROM totals t USING old
    WHERE t.tenant = old.tenant AND t.owner = old.owner AND t.whole AND t.slot = old.slot
    RETURNING t.*
)
INSERT INTO totals (tenant, owner, whole, context_id, slot, s0, s1, s2, s3, s4, s5, s6, s7, s8)
SELECT tenant, owner, true, '', 0, sum(s0), sum(s1), sum(s2), sum(s3), sum(s4), sum(s5),
    sum(s6), sum(s7), sum(s8)
FROM gone GROUP BY 1, 2 ORDER BY 1, 2
ON CONFLICT (tenant, owner, whole, context_id, slot) DO UPDATE
SET s0 = totals.s0 + excluded.s0, s1 = totals.s1 + excluded.s1,
    s2 = totals.s2 + excluded.s2, s3 = totals.s3 + excluded.s3,
    s4 = totals.s4 + excluded.s4, s5 = totals.s5 + excluded.s5,
    s6 = totals.s6 + excluded.s6, s7 = totals.s7 + excluded.s7,
    s8 = totals.s8 + excluded.s8";

const CLAIMS: &str = "DELETE FROM claims WHERE (tenant, owner, key) IN (\
    SELECT tenant, owner, key FROM claims WHERE claimed <= now() - $1::int8 * interval '1 ms' \
    ORDER BY claimed LIMIT $2 FOR UPDATE SKIP LOCKED)";

/// Unread answers: their callers are gone.
const ANSWERS: &str = "DELETE FROM commands WHERE id IN (\
    SELECT id FROM commands WHERE posted <= now() - interval '1 hour' AND answer IS NOT NULL \
    ORDER BY posted LIMIT $1 FOR UPDATE SKIP LOCKED)";

const LETTERS: &str =
    "DELETE FROM dead_letters WHERE number <= (SELECT max(number) FROM dead_letters) - $1";

/// The size of the tables and their indexes, in bytes.
const SIZE: &str = "
SELECT sum(pg_total_relation_size(name::regclass))::int8 AS bytes
FROM unnest('{tasks,bodies,journal_parts,events,leases,commands,totals,claims,webhooks,dead_letters}'::text[]) \
    AS name";

impl PostgresStore {
    pub(super) async fn forget(&self, sweep: Sweep) -> Result<Vec<Arc<str>>> {
        let limit = row::limit(sweep.limit);
        if let [row] = &self.pool.read(SIZE, &[]).await?[..] {
            metrics::store_size("postgres", get::<i64>(row, "bytes")?.unsigned_abs());
        }
        self.pool.write(CLAIMS, &[&millis(sweep.claims), &limit]).await?;
        self.pool.write(ANSWERS, &[&limit]).await?;
        self.pool.write(LETTERS, &[&MAX_LETTERS]).await?;
        self.pool.write(MERGE, &[]).await?;
        let mut rows = Vec::new();
        for (statement, age) in [(TASKS, sweep.tasks), (PARKED, sweep.parked)] {
            let limit = limit.saturating_sub(row::limit(rows.len()));
            if let Some(age) = age {
                rows.extend(self.pool.write(statement, &[&millis(age), &limit]).await?);
            }
        }
        let (mut tenants, mut owners, mut contexts) = (Vec::new(), Vec::new(), Vec::new());
        for row in &rows {
            tenants.push(get::<&str>(row, "tenant")?);
            owners.push(get::<&str>(row, "owner")?);
            contexts.push(get::<&str>(row, "context_id")?);
        }
        if !rows.is_empty() {
            // Parked tasks were open.
            self.usages.expire();
            self.pool.write(EMPTY, &[&tenants, &owners, &contexts]).await?;
        }
        rows.iter().map(|row| Ok(get::<&str>(row, "id")?.into())).collect()
    }
}
