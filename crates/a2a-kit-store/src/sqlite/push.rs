//! Webhooks and their pending deliveries.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use a2a_core::{v1::TaskPushNotificationConfig, well_known::Timestamp};
use a2a_kit_operations::{
    Scope, Webhook,
    store::{
        Backlog, ClaimedDeliveries, ClaimedDelivery, DeadLetter, DeadLetterQuery, DeliveryKey,
        DeliveryOutcome, PushStore, Redelivery, StoreError,
    },
};
use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::{
    SqliteStore, dead_letter,
    failure::{Failure, Result},
    read::{pushed_events, task},
};
use crate::{codec, seal::SecretKeys};

/// Maximum number of events in a claim.
const MAX_CLAIMED: usize = 64;

/// Maximum number of dead letters; the newest are kept.
const MAX_DEAD_LETTERS: i64 = 10_000;

#[async_trait]
impl PushStore for SqliteStore {
    async fn put_config(&self, scope: &Scope, webhook: Webhook) -> Result<(), StoreError> {
        let body = codec::encode_webhook(&webhook, &self.keys).map_err(Failure::from)?;
        let TaskPushNotificationConfig { task_id, id, .. } = webhook.config;
        let put = move |db: &Connection, no| {
            let mut insert = db.prepare_cached(
                "INSERT INTO webhooks (task, id, body, place, pending)
                 SELECT no, ?2, ?3, last_event, last_event FROM tasks WHERE no = ?1
                 ON CONFLICT DO UPDATE SET body = excluded.body",
            )?;
            insert.execute(params![no, id, body])?;
            Ok(())
        };
        let is_put = self.change_task(scope, &task_id, put).await?;
        is_put.ok_or(StoreError::Conflict { task_id })
    }

    async fn configs(&self, scope: &Scope, task_id: &str) -> Result<Vec<Webhook>, StoreError> {
        let (id, keys) = (task_id.to_owned(), self.keys.clone());
        let read = move |db: &Connection, no: i64| {
            let mut query =
                db.prepare_cached("SELECT id, body FROM webhooks WHERE task = ?1 ORDER BY id")?;
            let mut rows = query.query([no])?;
            let mut webhooks = Vec::new();
            while let Some(row) = rows.next()? {
                let (config_id, body): (String, Vec<u8>) = (row.get(0)?, row.get(1)?);
                webhooks.push(codec::decode_webhook(&id, &config_id, &body, &keys)?);
            }
            Ok(webhooks)
        };
        Ok(self.read_task(scope, task_id, read).await?.unwrap_or_default())
    }

    async fn delete_config(
        &self,
        scope: &Scope,
        task_id: &str,
        id: &str,
    ) -> Result<(), StoreError> {
        let id = id.to_owned();
        let delete = move |db: &Connection, no| {
            let mut delete =
                db.prepare_cached("DELETE FROM webhooks WHERE task = ?1 AND id = ?2")?;
            delete.execute(params![no, id])?;
            Ok(())
        };
        self.change_task(scope, task_id, delete).await.map(Option::unwrap_or_default)
    }

    async fn claim_deliveries(&self, limit: usize) -> Result<ClaimedDeliveries, StoreError> {
        let next = self.readers.read(next).await?;
        if limit == 0 || next.is_none_or(|next| !next.is_zero()) {
            return Ok(ClaimedDeliveries { deliveries: Vec::new(), next });
        }
        let (hold, numbers) = (self.push_claim, Arc::clone(&self.next_claim));
        let number = move || numbers.fetch_add(1, Ordering::Relaxed);
        let claims = self.writer.write(move |db| claim(db, limit, hold, &number)).await?;
        let keys = self.keys.clone();
        let read = move |db: &_| Ok((claimed(db, &claims, &keys), self::next(db)?));
        let (deliveries, next) = self.readers.read(read).await?;
        Ok(ClaimedDeliveries { deliveries, next })
    }

    async fn record_delivery(
        &self,
        key: &DeliveryKey,
        outcome: DeliveryOutcome,
    ) -> Result<bool, StoreError> {
        let (key, keys, hold) = (key.clone(), self.keys.clone(), self.push_claim);
        self.writer.write(move |db| record(db, &key, &outcome, hold, &keys)).await
    }

    async fn backlog(&self) -> Result<Backlog, StoreError> {
        let read = |db: &Connection| {
            let mut query =
                db.prepare_cached("SELECT count(*), min(due) FROM webhooks WHERE due IS NOT NULL")?;
            let (webhooks, first): (u64, Option<i64>) =
                query.query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
            let millis = first.map_or(0, |due| Timestamp::now().as_millis().saturating_sub(due));
            let overdue = Duration::from_millis(u64::try_from(millis).unwrap_or(0));
            Ok(Backlog::new(webhooks, overdue))
        };
        self.readers.read(read).await
    }

    async fn dead_letters(&self, query: &DeadLetterQuery) -> Result<Vec<DeadLetter>, StoreError> {
        let query = query.clone();
        self.readers.read(move |db| dead_letter::list(db, &query)).await
    }

    async fn redeliver(&self, query: &DeadLetterQuery) -> Result<Redelivery, StoreError> {
        let query = query.clone();
        self.writer.write(move |db| dead_letter::redeliver(db, &query)).await
    }

    async fn purge_dead_letters(&self, query: &DeadLetterQuery) -> Result<u64, StoreError> {
        let query = query.clone();
        self.writer.write(move |db| dead_letter::purge(db, &query)).await
    }
}

/// The time until a webhook is due; `None` if nothing is pending.
fn next(db: &Connection) -> Result<Option<Duration>> {
    let mut query = db.prepare_cached("SELECT min(due) FROM webhooks WHERE due IS NOT NULL")?;
    let due: Option<i64> = query.query_row([], |row| row.get(0))?;
    let millis = due.map(|due| due.saturating_sub(Timestamp::now().as_millis()));
    Ok(millis.map(|millis| Duration::from_millis(u64::try_from(millis).unwrap_or(0))))
}

struct Claimed {
    no: i64,
    number: i64,
}

/// Claims due webhooks.
fn claim(
    db: &Connection,
    limit: usize,
    hold: Duration,
    mut number: impl FnMut() -> i64,
) -> Result<Vec<Claimed>> {
    let now = Timestamp::now().as_millis();
    let mut query = db.prepare_cached(
        "SELECT no FROM webhooks WHERE due IS NOT NULL AND due <= ?1 ORDER BY due LIMIT ?2",
    )?;
    let due = query.query_map(params![now, limit], |row| row.get(0))?;
    let due = due.collect::<rusqlite::Result<Vec<i64>>>()?;
    let mut update = db.prepare_cached("UPDATE webhooks SET claim = ?2, due = ?3 WHERE no = ?1")?;
    let claim = |no| {
        let number = number();
        update.execute(params![no, number, later(now, hold)])?;
        Ok(Claimed { no, number })
    };
    due.into_iter().map(claim).collect()
}

/// Loads claimed deliveries. A webhook that cannot be decoded is retried when its claim expires.
fn claimed(db: &Connection, claims: &[Claimed], keys: &SecretKeys) -> Vec<ClaimedDelivery> {
    let load = |claim| {
        push(db, claim, keys).unwrap_or_else(|error| {
            tracing::warn!(error = %a2a_core::error_chain(&error), "failed to decode webhook");
            None
        })
    };
    claims.iter().filter_map(load).collect()
}

fn push(db: &Connection, claim: &Claimed, keys: &SecretKeys) -> Result<Option<ClaimedDelivery>> {
    let mut query = db.prepare_cached(
        "SELECT t.no, t.id, w.id, w.body, w.place, w.attempts, s.tenant, s.owner
         FROM webhooks w CROSS JOIN tasks t ON t.no = w.task CROSS JOIN scopes s ON s.no = t.scope
         WHERE w.no = ?1 AND w.claim = ?2",
    )?;
    let mut rows = query.query(params![claim.no, claim.number])?;
    // It may have been deleted since.
    let Some(row) = rows.next()? else { return Ok(None) };
    let (no, task_id, config_id, body, place): (i64, String, String, Vec<u8>, u64) =
        (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?);
    let events = pushed_events(db, no, place, MAX_CLAIMED)?;
    if events.is_empty() {
        return Ok(None);
    }
    let key = DeliveryKey::new(&*task_id, &*config_id, u64::try_from(claim.number)?);
    let scope = Scope { tenant: row.get(6)?, owner: row.get(7)? };
    let webhook = codec::decode_webhook(&task_id, &config_id, &body, keys)?;
    let claimed = ClaimedDelivery::new(key, scope, webhook, task(db, no)?.into(), events);
    Ok(Some(claimed.with_attempts(row.get::<_, u32>(5)?)))
}

/// The state of a webhook.
struct HookState {
    no: i64,
    task: i64,
    place: u64,
    pending: u64,
    attempts: u32,
    body: Vec<u8>,
}

/// Records the outcome of an attempt, and returns whether the claim continues.
fn record(
    db: &Connection,
    key: &DeliveryKey,
    outcome: &DeliveryOutcome,
    hold: Duration,
    keys: &SecretKeys,
) -> Result<bool> {
    let Some(mut webhook) = HookState::find(db, key)? else { return Ok(false) };
    let now = Timestamp::now().as_millis();
    let mut again = None;
    match outcome {
        DeliveryOutcome::Delivered(event) => webhook.advance(event.get()),
        DeliveryOutcome::Retry { event, after } => {
            let is_first = event.get() > webhook.place;
            webhook.attempts = webhook.attempts.saturating_add(is_first.into());
            again = Some(later(now, *after));
        }
        DeliveryOutcome::DeadLetter { event, error } if event.get() > webhook.place => {
            webhook.dead_letter(db, key, event.get(), (error, now), keys)?;
            webhook.advance(event.get());
        }
        DeliveryOutcome::DeadLetter { .. } => {}
        DeliveryOutcome::Postponed { after } => again = Some(later(now, *after)),
        DeliveryOutcome::Released => again = Some(now),
        // An unknown outcome of a later version ends the claim, at worst too early.
        _ => again = Some(now),
    }
    let waits = webhook.pending > webhook.place;
    let goes_on = waits && again.is_none();
    let due = waits.then(|| again.unwrap_or_else(|| later(now, hold)));
    let mut update = db.prepare_cached(
        "UPDATE webhooks SET place = ?2, attempts = ?3, due = ?4, claim = iif(?5, claim, NULL)
         WHERE no = ?1",
    )?;
    update.execute(params![webhook.no, webhook.place, webhook.attempts, due, goes_on])?;
    Ok(goes_on)
}

impl HookState {
    fn find(db: &Connection, key: &DeliveryKey) -> Result<Option<Self>> {
        let mut query = db.prepare_cached(
            "SELECT w.no, w.task, w.place, w.pending, w.attempts, w.body
             FROM tasks t CROSS JOIN webhooks w ON w.task = t.no
             WHERE t.id = ?1 AND w.id = ?2 AND w.claim = ?3",
        )?;
        let found = query.query_row(params![&*key.task_id, &*key.config_id, key.claim], |row| {
            Ok(Self {
                no: row.get(0)?,
                task: row.get(1)?,
                place: row.get(2)?,
                pending: row.get(3)?,
                attempts: row.get(4)?,
                body: row.get(5)?,
            })
        });
        Ok(found.optional()?)
    }

    fn advance(&mut self, place: u64) {
        if place > self.place {
            self.place = place;
            self.attempts = 0;
        }
    }

    fn dead_letter(
        &self,
        db: &Connection,
        key: &DeliveryKey,
        event: u64,
        (error, now): (&str, i64),
        keys: &SecretKeys,
    ) -> Result<()> {
        let webhook = codec::decode_webhook(&key.task_id, &key.config_id, &self.body, keys)?;
        let mut insert = db.prepare_cached(
            "INSERT INTO dead_letters
             (tenant, owner, task_id, config_id, url, event, attempts, error, millis)
             SELECT s.tenant, s.owner, t.id, ?2, ?3, ?4, ?5, ?6, ?7
             FROM tasks t CROSS JOIN scopes s ON s.no = t.scope WHERE t.no = ?1",
        )?;
        let attempts = self.attempts.saturating_add(1);
        let url = webhook.config.url;
        insert.execute(params![self.task, &*key.config_id, url, event, attempts, error, now])?;
        let mut trim = db.prepare_cached("DELETE FROM dead_letters WHERE no <= ?1 - ?2")?;
        trim.execute([db.last_insert_rowid(), MAX_DEAD_LETTERS])?;
        Ok(())
    }
}

fn later(now: i64, duration: Duration) -> i64 {
    now.saturating_add(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX))
}
