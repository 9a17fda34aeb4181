//! Webhooks and their pending deliveries.

use std::{collections::HashMap, sync::Arc, time::Duration};

use a2a_core::v1::Task;
use a2a_kit_operations::{
    Event, Scope, Webhook,
    store::{
        Backlog, ClaimedDeliveries, ClaimedDelivery, DeadLetter, DeadLetterQuery, DeliveryKey,
        DeliveryOutcome, PushStore, Redelivery, StoreError,
    },
};
use async_trait::async_trait;
use tokio_postgres::Row;

use super::{
    PostgresStore,
    dead_letter::{self, letter},
    link::Params,
    row::{
        self, HookRow, StoredRow, get, is_possible, key, natural, number, position, printable,
        scope, stored, unpack,
    },
    writer::millis,
};
use crate::{Result, SecretKeys, codec::decode_webhook};

// The row of the task is changed first, so that this is ordered before or after a write to the
// task, never in the middle of one (`hooks` in commit.sql).
const PUT: &str = "
WITH t AS (
    UPDATE tasks SET hooks = hooks + 1 WHERE id = $1 AND tenant = $2 AND owner = $3
    RETURNING last_event
)
INSERT INTO webhooks (task_id, config_id, tenant, owner, name, url, body, place)
SELECT $1, $4, $2, $3, $5, $6, $7, t.last_event FROM t
ON CONFLICT (task_id, config_id) DO UPDATE SET url = excluded.url, body = excluded.body
RETURNING 1";

const GET: &str = "SELECT name, body FROM webhooks \
    WHERE task_id = $1 AND tenant = $2 AND owner = $3";

const DELETE: &str = "DELETE FROM webhooks \
    WHERE task_id = $1 AND tenant = $2 AND owner = $3 AND config_id = $4";

/// Claims due webhooks. While one is claimed, `due` is when the claim expires.
const CLAIM: &str = "
WITH c AS MATERIALIZED (
    SELECT task_id, config_id, due FROM webhooks WHERE due <= now()
    ORDER BY due LIMIT $1 FOR UPDATE SKIP LOCKED
)
UPDATE webhooks h SET claim = h.claim + 1, due = now() + $2::int8 * interval '1 ms'
FROM c WHERE h.task_id = c.task_id AND h.config_id = c.config_id
RETURNING h.task_id, h.config_id, h.tenant, h.owner, h.name, h.body, h.place, h.attempts,
    h.claim, (extract(epoch FROM now() - c.due) * 1000000)::int8 AS waited";

/// Maximum number of log rows in a claim.
const EVENTS: &str = "
SELECT x.n, e.first, e.body FROM unnest($1::text[], $2::int8[])
    WITH ORDINALITY AS x(task_id, place, n)
JOIN tasks t ON t.id = x.task_id, LATERAL (
    SELECT first, last, body FROM events
    WHERE task = t.key AND last > x.place AND pushed ORDER BY last LIMIT 16
) e ORDER BY x.n, e.last";

const TASKS: &str = concat!(
    "SELECT ",
    stored!("b.position", "NULL::bytea"),
    "FROM tasks t JOIN bodies b ON b.task = t.key WHERE t.id = ANY($1)"
);

const NEXT: &str = "SELECT (extract(epoch FROM min(due) - now()) * 1000000)::int8 AS next \
    FROM webhooks WHERE due IS NOT NULL";

/// Advances the cursor, or ends the claim if nothing is pending. `o` is the row before.
macro_rules! advance {
    () => {
        "UPDATE webhooks h SET \
            place = greatest(h.place, $4), \
            attempts = CASE WHEN h.place < $4 THEN 0 ELSE h.attempts END, \
            due = CASE WHEN h.pending > greatest(h.place, $4) \
                THEN now() + $5::int8 * interval '1 ms' END, \
            claim = CASE WHEN h.pending > greatest(h.place, $4) \
                THEN h.claim ELSE h.claim + 1 END "
    };
}

const DELIVERED: &str = concat!(
    advance!(),
    "WHERE task_id = $1 AND config_id = $2 AND claim = $3 RETURNING due IS NOT NULL AS goes_on"
);

const DEAD: &str = concat!(
    "WITH o AS MATERIALIZED (SELECT * FROM webhooks \
        WHERE task_id = $1 AND config_id = $2 AND claim = $3 FOR UPDATE), h AS (",
    advance!(),
    "FROM o WHERE h.task_id = o.task_id AND h.config_id = o.config_id \
        RETURNING h.due IS NOT NULL AS goes_on), \
    d AS (INSERT INTO dead_letters \
        (tenant, owner, task_id, config_id, url, event, attempts, error) \
        SELECT tenant, owner, task_id, $6, url, $4, attempts + 1, $7 FROM o WHERE place < $4) \
    SELECT goes_on FROM h"
);

/// Ends a claim.
const LATER: &str = "UPDATE webhooks SET \
    attempts = attempts + CASE WHEN place < $4 THEN 1 ELSE 0 END, \
    due = CASE WHEN pending > place THEN now() + $5::int8 * interval '1 ms' END, \
    claim = claim + 1 \
    WHERE task_id = $1 AND config_id = $2 AND claim = $3 RETURNING false AS goes_on";

const BACKLOG: &str = "SELECT count(*) AS webhooks, \
    (extract(epoch FROM now() - min(due)) * 1000000)::int8 AS overdue \
    FROM webhooks WHERE due IS NOT NULL";

struct Claimed {
    key: DeliveryKey,
    scope: Scope,
    place: u64,
    attempts: u32,
    webhook: Webhook,
    waited: i64,
}

#[async_trait]
impl PushStore for PostgresStore {
    async fn put_config(&self, scope: &Scope, webhook: Webhook) -> Result<()> {
        let task_id = webhook.config.task_id.as_str();
        let conflict = || StoreError::Conflict { task_id: task_id.to_owned() };
        if !is_possible(scope, task_id) {
            return Err(conflict());
        }
        let row = HookRow::new(&webhook, &self.keys)?;
        let (tenant, owner) = (&*scope.tenant, &*scope.owner);
        let name = row.name.as_bytes();
        let params: Params<'_> =
            &[&task_id, &tenant, &owner, &row.config_id, &name, &row.url, &row.body];
        let rows = self.pool.write_idempotent(PUT, params).await?;
        if rows.is_empty() { Err(conflict()) } else { Ok(()) }
    }

    async fn configs(&self, scope: &Scope, task_id: &str) -> Result<Vec<Webhook>> {
        if !is_possible(scope, task_id) {
            return Ok(Vec::new());
        }
        let (tenant, owner) = (&*scope.tenant, &*scope.owner);
        let rows = self.pool.read(GET, &[&task_id, &tenant, &owner]).await?;
        let read = |row| read(row, task_id, &self.keys);
        let mut webhooks = rows.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        webhooks.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(webhooks.into_iter().map(|(_, webhook)| webhook).collect())
    }

    async fn delete_config(&self, scope: &Scope, task_id: &str, id: &str) -> Result<()> {
        if is_possible(scope, task_id) {
            let (tenant, owner, id) = (&*scope.tenant, &*scope.owner, &*key(id));
            self.pool.write_idempotent(DELETE, &[&task_id, &tenant, &owner, &id]).await?;
        }
        Ok(())
    }

    async fn claim_deliveries(&self, limit: usize) -> Result<ClaimedDeliveries> {
        let limit = row::limit(limit);
        let rows = self.pool.write(CLAIM, &[&limit, &millis(self.push_claim)]).await?;
        let claimed = rows.iter().map(|row| self.claimed(row));
        let mut claimed = claimed.collect::<Result<Vec<_>, _>>()?;
        claimed.sort_by_key(|claimed| -claimed.waited);
        let deliveries = if claimed.is_empty() { Vec::new() } else { self.fill(claimed).await? };
        let next = self.pool.read(NEXT, &[]).await?;
        let next: Option<i64> = next.first().map_or(Ok(None), |row| get(row, "next"))?;
        let next = next.map(|micros| Duration::from_micros(natural(micros)));
        Ok(ClaimedDeliveries { deliveries, next })
    }

    async fn record_delivery(
        &self,
        delivery: &DeliveryKey,
        outcome: DeliveryOutcome,
    ) -> Result<bool> {
        let (task_id, config_id, claim) =
            (&*delivery.task_id, &*key(&delivery.config_id), number(delivery.claim));
        let claim_time = millis(self.push_claim);
        let rows = match outcome {
            DeliveryOutcome::Delivered(event) => {
                let event = number(event.get());
                let params: Params<'_> = &[&task_id, &config_id, &claim, &event, &claim_time];
                self.pool.write_idempotent(DELIVERED, params).await?
            }
            DeliveryOutcome::DeadLetter { event, error } => {
                let event = number(event.get());
                let (name, error) = (&*printable(&delivery.config_id), &*printable(&error));
                let params: Params<'_> =
                    &[&task_id, &config_id, &claim, &event, &claim_time, &name, &error];
                self.pool.write_idempotent(DEAD, params).await?
            }
            DeliveryOutcome::Retry { .. }
            | DeliveryOutcome::Postponed { .. }
            | DeliveryOutcome::Released => {
                let (event, after) = match outcome {
                    DeliveryOutcome::Retry { event, after } => (number(event.get()), millis(after)),
                    DeliveryOutcome::Postponed { after } => (0, millis(after)),
                    _ => (0, 0),
                };
                let params: Params<'_> = &[&task_id, &config_id, &claim, &event, &after];
                self.pool.write_idempotent(LATER, params).await?
            }
            _ => return Err(StoreError::failed("unknown delivery outcome")),
        };
        rows.first().map_or(Ok(false), |row| get(row, "goes_on"))
    }

    async fn backlog(&self) -> Result<Backlog> {
        let rows = self.pool.read(BACKLOG, &[]).await?;
        let Some(row) = rows.first() else { return Ok(Backlog::default()) };
        let overdue: Option<i64> = get(row, "overdue")?;
        let overdue = Duration::from_micros(natural(overdue.unwrap_or_default()));
        Ok(Backlog::new(natural(get(row, "webhooks")?), overdue))
    }

    async fn dead_letters(&self, query: &DeadLetterQuery) -> Result<Vec<DeadLetter>> {
        let rows =
            self.pool.read(dead_letter::LIST, &dead_letter::Params::new(query).all()).await?;
        rows.iter().map(letter).collect()
    }

    async fn redeliver(&self, query: &DeadLetterQuery) -> Result<Redelivery> {
        let params = dead_letter::Params::new(query);
        let rows = self.pool.write(dead_letter::REDELIVER, &params.all()).await?;
        let Some(row) = rows.first() else { return Ok(Redelivery::default()) };
        let (chosen, queued) = (natural(get(row, "chosen")?), natural(get(row, "queued")?));
        Ok(Redelivery::new(queued, chosen.saturating_sub(queued)))
    }

    async fn purge_dead_letters(&self, query: &DeadLetterQuery) -> Result<u64> {
        let params = dead_letter::Params::new(query);
        let rows = self.pool.write(dead_letter::PURGE, &params.all()).await?;
        rows.first().map_or(Ok(0), |row| get(row, "purged").map(natural))
    }
}

impl PostgresStore {
    fn claimed(&self, row: &Row) -> Result<Claimed> {
        let task_id: &str = get(row, "task_id")?;
        let (config_id, webhook) = read(row, task_id, &self.keys)?;
        let claim = natural(get(row, "claim")?);
        let attempts: i32 = get(row, "attempts")?;
        Ok(Claimed {
            key: DeliveryKey::new(task_id, config_id, claim),
            scope: scope(row)?,
            place: natural(get(row, "place")?),
            attempts: u32::try_from(attempts).unwrap_or_default(),
            webhook,
            waited: get(row, "waited")?,
        })
    }

    /// Loads the tasks and the events of claimed webhooks.
    async fn fill(&self, claimed: Vec<Claimed>) -> Result<Vec<ClaimedDelivery>> {
        let ids: Vec<&str> = claimed.iter().map(|claimed| &*claimed.key.task_id).collect();
        let places: Vec<i64> = claimed.iter().map(|claimed| number(claimed.place)).collect();
        let rows = self.pool.read(EVENTS, &[&ids, &places]).await?;
        let mut events: HashMap<i64, Vec<Event>> = HashMap::new();
        for row in &rows {
            let n: i64 = get(row, "n")?;
            let index = usize::try_from(n - 1).unwrap_or_default();
            let place = claimed.get(index).map_or(0, |claimed| claimed.place);
            let events = events.entry(n).or_default();
            unpack(get(row, "first")?, get(row, "body")?, place, true, events)?;
        }
        let mut tasks: HashMap<String, Arc<Task>> = HashMap::new();
        for row in &self.pool.read(TASKS, &[&ids]).await? {
            tasks.insert(get(row, "id")?, StoredRow::read(row)?.stored.task);
        }
        let mut pushes = Vec::with_capacity(claimed.len());
        for (n, claimed) in (1_i64..).zip(claimed) {
            let Claimed { key, scope, attempts, webhook, .. } = claimed;
            match (tasks.get(&*key.task_id), events.remove(&n)) {
                (Some(task), Some(events)) if !events.is_empty() => {
                    let task = Arc::clone(task);
                    let claimed = ClaimedDelivery::new(key, scope, webhook, task, events);
                    pushes.push(claimed.with_attempts(attempts));
                }
                // The events were removed, so nothing is pending.
                _ => {
                    let everything = DeliveryOutcome::Delivered(position(i64::MAX));
                    self.record_delivery(&key, everything).await?;
                }
            }
        }
        Ok(pushes)
    }
}

/// Decodes a webhook from columns `name` and `body`, with its id.
fn read(row: &Row, task_id: &str, keys: &SecretKeys) -> Result<(String, Webhook)> {
    let name: &[u8] = get(row, "name")?;
    let name = String::from_utf8(name.to_vec()).map_err(StoreError::failed)?;
    let body: &[u8] = get(row, "body")?;
    let webhook = decode_webhook(task_id, &name, body, keys).map_err(StoreError::failed)?;
    Ok((name, webhook))
}
