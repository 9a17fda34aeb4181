//! Leases, and commands between nodes.
//!
//! Each operation of a lease is one statement in its own transaction, and locks the row of the task before
//! that of its lease. Renewal locks leases only, and never waits.

use std::{collections::HashMap, sync::Arc, time::Duration};

use a2a_kit_operations::{
    Scope,
    store::{Acquired, Command, LeaseStore, Orphan, Signals, StoreError, TaskStore as _},
};
use async_trait::async_trait;
use bytes::Bytes;
use tokio_postgres::Row;

use super::{
    PostgresStore,
    link::Params,
    row::{self, StoredRow, get, is_possible, natural, number, scope, stored},
    writer::millis,
};
use crate::Result;

/// Maximum number of leases to renew in one statement.
const RENEWALS: usize = 2_000;

/// Maximum number of attempts under concurrent lease changes.
const TRIES: usize = 16;

const TAKE: &str = "
WITH t AS (
    UPDATE tasks SET epoch = epoch + 1, node = $4
    WHERE id = $1 AND tenant = $2 AND owner = $3 AND (node IS NULL OR node = $4)
    RETURNING id, epoch, last_event
), l AS (
    INSERT INTO leases (task_id, node, epoch, until)
    SELECT id, $4, epoch, now() + $5::int8 * interval '1 ms' FROM t
    ON CONFLICT (task_id) DO UPDATE
    SET node = excluded.node, epoch = excluded.epoch, until = excluded.until
), notified AS MATERIALIZED (
    SELECT pg_notify($6::text, $4 || E'\\nw ' || last_event || ' ' || id)::text AS notified FROM t
    WHERE $6 IS NOT NULL
)
SELECT epoch, (SELECT count(notified) FROM notified) FROM t";

const RENEW: &str = "
WITH h AS MATERIALIZED (
    SELECT l.task_id FROM leases l JOIN unnest($1::text[], $2::int8[]) AS h(id, epoch)
        ON l.task_id = h.id AND l.epoch = h.epoch
    FOR UPDATE OF l SKIP LOCKED
), renewed AS (
    UPDATE leases l SET until = now() + $3::int8 * interval '1 ms' FROM h WHERE l.task_id = h.task_id
)
SELECT h.id FROM unnest($1::text[], $2::int8[]) AS h(id, epoch)
WHERE NOT EXISTS (SELECT FROM leases l WHERE l.task_id = h.id AND l.epoch = h.epoch)";

const RELEASE: &str = "
WITH t AS (
    UPDATE tasks SET node = NULL
    WHERE id = $1 AND epoch = $2 AND node IS NOT NULL AND commands = 0
    RETURNING key, id, last_event
), l AS (
    DELETE FROM leases USING t WHERE task_id = t.id
), b AS (
    UPDATE bodies SET execution = NULL, recorded = 0 FROM t
    WHERE task = t.key AND execution IS NOT NULL
), notified AS MATERIALIZED (
    SELECT pg_notify($4::text, $3::text || E'\\nw ' || last_event || ' ' || id)::text AS notified FROM t
    WHERE $4 IS NOT NULL
)
SELECT (SELECT count(notified) FROM notified) FROM t";

const HELD: &str = "SELECT 1 FROM tasks WHERE id = $1 AND epoch = $2 AND node IS NOT NULL";

const ABANDON: &str = "
WITH l AS (
    UPDATE leases SET until = now() - $5::int8 * interval '1 ms'
    WHERE task_id = $1 AND epoch = $2 AND until > now() - $5::int8 * interval '1 ms'
    RETURNING 1
), notified AS MATERIALIZED (
    SELECT pg_notify($4::text, $3::text || E'\\nb')::text AS notified FROM l WHERE $4 IS NOT NULL
)
SELECT count(notified) FROM notified";

// A task that changed hands since the statement began has another epoch or node than its lease had
// then, and is skipped. A lease that its own node is late to renew is left to others, until that node has
// certainly given it up.
const TAKE_OVER: &str = "
WITH gone AS MATERIALIZED (
    SELECT t.key, l.until FROM leases l
    JOIN tasks t ON t.id = l.task_id AND t.epoch = l.epoch AND t.node = l.node
    WHERE l.until <= now() AND (l.node <> $2 OR l.until <= now() - $3::int8 * interval '1 ms') ORDER BY l.until LIMIT $1 FOR UPDATE OF t SKIP LOCKED
), t AS (
    UPDATE tasks SET epoch = epoch + 1, node = $2 FROM gone WHERE tasks.key = gone.key
    RETURNING tasks.id, tasks.epoch, tasks.last_event, gone.until
), l AS (
    UPDATE leases SET node = $2, epoch = t.epoch, until = now() + $3::int8 * interval '1 ms'
    FROM t WHERE leases.task_id = t.id
), lines AS (
    SELECT E'\\nw ' || last_event || ' ' || id AS line,
        sum(length(id) + 30) OVER (ORDER BY id) / 6000 AS chunk FROM t
), notified AS MATERIALIZED (
    SELECT pg_notify($4::text, $2 || string_agg(line, ''))::text AS notified FROM lines
    WHERE $4 IS NOT NULL GROUP BY floor(chunk)
)
SELECT id, epoch, (SELECT count(notified) FROM notified) FROM t ORDER BY until";

const ORPHANS: &str = concat!(
    "SELECT t.tenant, t.owner, b.execution, b.recorded, ",
    stored!("b.position"),
    "FROM tasks t JOIN bodies b ON b.task = t.key WHERE t.id = ANY($1) AND t.node = $2"
);

const POST: &str = "
WITH t AS (
    UPDATE tasks SET commands = commands + 1
    WHERE id = $1 AND tenant = $2 AND owner = $3 AND node IS NOT NULL
        AND NOT EXISTS (SELECT FROM commands WHERE id = $4)
    RETURNING id, node
), c AS (
    INSERT INTO commands (id, task_id, poster, body) SELECT $4, id, $6, $5 FROM t
), notified AS MATERIALIZED (
    SELECT pg_notify($7::text, $6::text || E'\\np ' || node || ' ' || id)::text AS notified FROM t
    WHERE $7 IS NOT NULL
)
SELECT (SELECT count(notified) FROM notified) FROM t
UNION ALL
SELECT 0 FROM commands WHERE id = $4";

const WAITING: &str =
    "SELECT id, body FROM commands WHERE task_id = $1 AND answer IS NULL ORDER BY number";

// The row of the task is locked first, as everywhere.
const ANSWER: &str = "
WITH t AS MATERIALIZED (
    SELECT key FROM tasks
    WHERE id = (SELECT task_id FROM commands WHERE id = $1 AND answer IS NULL) FOR UPDATE
), c AS (
    UPDATE commands SET answer = $2
    WHERE id = $1 AND answer IS NULL AND EXISTS (SELECT FROM t)
    RETURNING id, poster
), d AS (
    UPDATE tasks SET commands = tasks.commands - 1 FROM t, c WHERE tasks.key = t.key
), notified AS MATERIALIZED (
    SELECT pg_notify($4::text, $3::text || E'\\na ' || poster || ' ' || id)::text AS notified FROM c
    WHERE $4 IS NOT NULL
)
SELECT count(notified) FROM notified";

const READ: &str =
    "SELECT answer FROM commands WHERE id = $1 AND poster = $2 AND answer IS NOT NULL";

const FORGET: &str = "DELETE FROM commands WHERE id = $1 AND poster = $2 AND answer IS NOT NULL";

#[async_trait]
impl LeaseStore for PostgresStore {
    fn node(&self) -> &str {
        &self.node
    }

    fn lease(&self) -> Option<Duration> {
        Some(self.lease)
    }

    async fn acquire(&self, scope: &Scope, task_id: &str) -> Result<Option<Acquired>> {
        if !is_possible(scope, task_id) {
            return Ok(None);
        }
        let (tenant, owner, me) = (&*scope.tenant, &*scope.owner, &*self.node);
        let lease = millis(self.lease);
        for _ in 0..TRIES {
            let params: Params<'_> = &[&task_id, &tenant, &owner, &me, &lease, &self.channel];
            let taken = self.pool.write(TAKE, params).await?;
            let epoch: Option<i64> = taken.first().map(|row| get(row, "epoch")).transpose()?;
            // The lease may change hands between the two statements.
            if let Some(epoch) = epoch {
                let rows = self.pool.read(ORPHANS, &[&[task_id].as_slice(), &me]).await?;
                let Some(row) = rows.first() else { continue };
                let taken = orphan(row)?;
                if number(taken.stored.epoch) == epoch {
                    let is_new = taken.checkpoint.is_empty();
                    return Ok(Some(match is_new {
                        true => Acquired::Here(taken.stored),
                        false => Acquired::Reacquired(taken),
                    }));
                }
            } else {
                let Some(stored) = self.get(scope, task_id).await? else { return Ok(None) };
                if stored.node.as_ref().is_some_and(|node| *node != self.node) {
                    return Ok(Some(Acquired::Elsewhere(stored)));
                }
            }
        }
        Err(StoreError::failed("too many concurrent lease changes"))
    }

    async fn renew(&self, held: &[(Arc<str>, u64)]) -> Result<Vec<Arc<str>>> {
        let lease = millis(self.lease);
        let mut lost = Vec::new();
        for held in held.chunks(RENEWALS) {
            let ids: Vec<&str> = held.iter().map(|(id, _)| &**id).collect();
            let epochs: Vec<i64> = held.iter().map(|(_, epoch)| number(*epoch)).collect();
            for row in self.renewals.write_idempotent(RENEW, &[&ids, &epochs, &lease]).await? {
                let id: &str = row.try_get(0).map_err(StoreError::failed)?;
                lost.push(id.into());
            }
        }
        Ok(lost)
    }

    async fn release(&self, task_id: &str, epoch: u64) -> Result<bool> {
        let (epoch, me) = (number(epoch), &*self.node);
        let released =
            self.pool.write_idempotent(RELEASE, &[&task_id, &epoch, &me, &self.channel]).await?;
        if !released.is_empty() {
            return Ok(true);
        }
        Ok(self.pool.read(HELD, &[&task_id, &epoch]).await?.is_empty())
    }

    async fn abandon(&self, task_id: &str, epoch: u64) -> Result<()> {
        let (epoch, me) = (number(epoch), &*self.node);
        self.pool
            .write_idempotent(ABANDON, &[&task_id, &epoch, &me, &self.channel, &millis(self.lease)])
            .await?;
        Ok(())
    }

    async fn take_over(&self, limit: usize) -> Result<Vec<Orphan>> {
        let limit = row::limit(limit);
        let (me, lease) = (&*self.node, millis(self.lease));
        let rows = self.pool.write(TAKE_OVER, &[&limit, &me, &lease, &self.channel]).await?;
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let ids: Vec<&str> = rows.iter().map(|row| get(row, "id")).collect::<Result<_, _>>()?;
        let mut orphans = HashMap::new();
        for row in &self.pool.read(ORPHANS, &[&ids, &me]).await? {
            let orphan = orphan(row)?;
            orphans.insert(orphan.stored.task.id.clone(), orphan);
        }
        Ok(ids.into_iter().filter_map(|id| orphans.remove(id)).collect())
    }

    async fn post_command(&self, scope: &Scope, task_id: &str, command: Command) -> Result<bool> {
        if !is_possible(scope, task_id) {
            return Ok(false);
        }
        let (tenant, owner, me) = (&*scope.tenant, &*scope.owner, &*self.node);
        let (id, body) = (&*command.id, &*command.body);
        let params: Params<'_> = &[&task_id, &tenant, &owner, &id, &body, &me, &self.channel];
        Ok(!self.pool.write_idempotent(POST, params).await?.is_empty())
    }

    async fn commands(&self, task_id: &str) -> Result<Vec<Command>> {
        let rows = self.pool.read(WAITING, &[&task_id]).await?;
        let command = |row| {
            let (id, body): (&str, &[u8]) = (get(row, "id")?, get(row, "body")?);
            Ok(Command::new(id, Bytes::copy_from_slice(body)))
        };
        rows.iter().map(command).collect()
    }

    async fn answer_command(&self, command_id: &str, answer: Bytes) -> Result<()> {
        let (answer, me) = (&*answer, &*self.node);
        self.pool.write_idempotent(ANSWER, &[&command_id, &answer, &me, &self.channel]).await?;
        Ok(())
    }

    async fn read_answer(&self, command_id: &str) -> Result<Option<Bytes>> {
        let me = &*self.node;
        let rows = self.pool.read(READ, &[&command_id, &me]).await?;
        let answer = |row| Ok(Bytes::copy_from_slice(get(row, "answer")?));
        rows.first().map(answer).transpose()
    }

    async fn delete_answer(&self, command_id: &str) -> Result<()> {
        let me = &*self.node;
        self.pool.write_idempotent(FORGET, &[&command_id, &me]).await?;
        Ok(())
    }

    fn signals(&self) -> Option<Signals> {
        self.listener.as_ref()?.signals()
    }
}

fn orphan(row: &Row) -> Result<Orphan> {
    let execution: Option<&[u8]> = get(row, "execution")?;
    Ok(Orphan::new(scope(row)?, StoredRow::read(row)?.stored)
        .with_checkpoint(execution.map(Bytes::copy_from_slice).unwrap_or_default())
        .with_checkpoint_epoch(natural(get(row, "recorded")?)))
}
