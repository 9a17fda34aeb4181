//! Pending webhook deliveries.

use std::{collections::HashMap, sync::Arc, time::Duration};

use a2a_core::v1::Task;
use a2a_kit_operations::{
    Event, Scope,
    store::{
        Backlog, ClaimedDeliveries, ClaimedDelivery, DeliveryKey, DeliveryOutcome, StoreError,
    },
};
use tokio_postgres::Row;

use super::{
    PostgresStore,
    row::{StoredRow, get, key, natural, number, position, printable, stored, unpack},
    webhook,
    writer::millis,
};

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

/// A claimed webhook.
struct Claimed {
    key: DeliveryKey,
    scope: Scope,
    place: u64,
    attempts: u32,
    webhook: a2a_kit_operations::Webhook,
    waited: i64,
}

impl PostgresStore {
    pub(super) async fn claim_due(&self, limit: usize) -> Result<ClaimedDeliveries, StoreError> {
        let limit = number(u64::try_from(limit).unwrap_or(u64::MAX));
        let rows = self.pool.write(CLAIM, &[&limit, &millis(self.push_claim)]).await?;
        let mut claimed: Vec<Claimed> = Vec::with_capacity(rows.len());
        for row in &rows {
            claimed.push(self.claimed(row)?);
        }
        claimed.sort_by_key(|claimed| -claimed.waited);
        let deliveries = if claimed.is_empty() { Vec::new() } else { self.fill(claimed).await? };
        let next = self.pool.read(NEXT, &[]).await?;
        let next: Option<i64> = next.first().map_or(Ok(None), |row| get(row, "next"))?;
        Ok(ClaimedDeliveries {
            deliveries,
            next: next.map(|micros| Duration::from_micros(natural(micros))),
        })
    }

    pub(super) async fn push_backlog(&self) -> Result<Backlog, StoreError> {
        let rows = self.pool.read(BACKLOG, &[]).await?;
        let Some(row) = rows.first() else { return Ok(Backlog::default()) };
        let overdue: Option<i64> = get(row, "overdue")?;
        let overdue = Duration::from_micros(natural(overdue.unwrap_or_default()));
        Ok(Backlog::new(natural(get(row, "webhooks")?), overdue))
    }

    fn claimed(&self, row: &Row) -> Result<Claimed, StoreError> {
        let task_id: &str = get(row, "task_id")?;
        let (config_id, webhook) = webhook::read(row, task_id, &self.keys)?;
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
    async fn fill(&self, claimed: Vec<Claimed>) -> Result<Vec<ClaimedDelivery>, StoreError> {
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
                    self.record_outcome(&key, everything).await?;
                }
            }
        }
        Ok(pushes)
    }

    pub(super) async fn record_outcome(
        &self,
        push: &DeliveryKey,
        outcome: DeliveryOutcome,
    ) -> Result<bool, StoreError> {
        let (task_id, config_id, claim) =
            (&*push.task_id, &*key(&push.config_id), number(push.claim));
        let claim_time = millis(self.push_claim);
        let rows = match outcome {
            DeliveryOutcome::Delivered(event) => {
                let event = number(event.get());
                let params: super::link::Params<'_> =
                    &[&task_id, &config_id, &claim, &event, &claim_time];
                self.pool.write_idempotent(DELIVERED, params).await?
            }
            DeliveryOutcome::DeadLetter { event, error } => {
                let event = number(event.get());
                let (name, error) = (&*printable(&push.config_id), &*printable(&error));
                let params: super::link::Params<'_> =
                    &[&task_id, &config_id, &claim, &event, &claim_time, &name, &error];
                self.pool.write_idempotent(DEAD, params).await?
            }
            DeliveryOutcome::Retry { event, after } => {
                let (event, after) = (number(event.get()), millis(after));
                let params: super::link::Params<'_> =
                    &[&task_id, &config_id, &claim, &event, &after];
                self.pool.write_idempotent(LATER, params).await?
            }
            DeliveryOutcome::Postponed { .. } | DeliveryOutcome::Released => {
                let after = match outcome {
                    DeliveryOutcome::Postponed { after } => millis(after),
                    _ => 0,
                };
                let params: super::link::Params<'_> =
                    &[&task_id, &config_id, &claim, &0_i64, &after];
                self.pool.write_idempotent(LATER, params).await?
            }
            _ => return Err(StoreError::failed("unknown delivery outcome")),
        };
        rows.first().map_or(Ok(false), |row| get(row, "goes_on"))
    }
}

/// Reads the columns `tenant` and `owner`.
pub(super) fn scope(row: &Row) -> Result<Scope, StoreError> {
    let (tenant, owner): (&str, &str) = (get(row, "tenant")?, get(row, "owner")?);
    Ok(Scope { tenant: tenant.into(), owner: owner.into() })
}
