//! Webhooks and their pending deliveries.

use std::time::Duration;

use a2a_core::well_known::Timestamp;
use a2a_kit_operations::{
    Scope, Webhook,
    store::{Backlog, ClaimedDelivery, DeliveryKey, DeliveryOutcome},
};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::{
    failure::Result,
    read::{pushed_events, task, task_no},
};
use crate::{
    codec::{self, CodecError},
    seal::SecretKeys,
};

/// Maximum number of events in a claim.
const MAX_CLAIMED: usize = 64;

/// Maximum number of dead letters; the newest are kept.
const MAX_DEAD_LETTERS: i64 = 10_000;

/// Stores a webhook; `false` if its task does not exist.
pub(super) fn put(
    db: &Connection,
    scope: &Scope,
    (task_id, config_id): (&str, &str),
    body: &[u8],
) -> Result<bool> {
    let Some(no) = task_no(db, scope, task_id)? else { return Ok(false) };
    let mut insert = db.prepare_cached(
        "INSERT INTO webhooks (task, id, body, place, pending)
         SELECT no, ?2, ?3, last_event, last_event FROM tasks WHERE no = ?1
         ON CONFLICT DO UPDATE SET body = excluded.body",
    )?;
    insert.execute(params![no, config_id, body])?;
    Ok(true)
}

pub(super) fn all(
    db: &Connection,
    scope: &Scope,
    task_id: &str,
    keys: &SecretKeys,
) -> Result<Vec<Webhook>> {
    let Some(no) = task_no(db, scope, task_id)? else { return Ok(Vec::new()) };
    let mut query =
        db.prepare_cached("SELECT id, body FROM webhooks WHERE task = ?1 ORDER BY id")?;
    let mut rows = query.query([no])?;
    let mut webhooks = Vec::new();
    while let Some(row) = rows.next()? {
        let (id, body): (String, Vec<u8>) = (row.get(0)?, row.get(1)?);
        webhooks.push(codec::decode_webhook(task_id, &id, &body, keys)?);
    }
    Ok(webhooks)
}

pub(super) fn delete(db: &Connection, scope: &Scope, task_id: &str, id: &str) -> Result<()> {
    if let Some(no) = task_no(db, scope, task_id)? {
        let mut delete = db.prepare_cached("DELETE FROM webhooks WHERE task = ?1 AND id = ?2")?;
        delete.execute(params![no, id])?;
    }
    Ok(())
}

/// The time until a webhook is due; `None` if nothing is pending.
pub(super) fn next(db: &Connection) -> Result<Option<Duration>> {
    let mut query = db.prepare_cached("SELECT min(due) FROM webhooks WHERE due IS NOT NULL")?;
    let due: Option<i64> = query.query_row([], |row| row.get(0))?;
    let millis = due.map(|due| due.saturating_sub(Timestamp::now().as_millis()));
    Ok(millis.map(|millis| Duration::from_millis(u64::try_from(millis).unwrap_or(0))))
}

/// The backlog.
pub(super) fn backlog(db: &Connection) -> Result<Backlog> {
    let mut query =
        db.prepare_cached("SELECT count(*), min(due) FROM webhooks WHERE due IS NOT NULL")?;
    let (webhooks, first): (i64, Option<i64>) =
        query.query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let millis = first.map_or(0, |due| Timestamp::now().as_millis().saturating_sub(due));
    let overdue = Duration::from_millis(u64::try_from(millis).unwrap_or(0));
    Ok(Backlog::new(u64::try_from(webhooks).unwrap_or(0), overdue))
}

/// A claimed webhook.
#[derive(Debug)]
pub(super) struct Claimed {
    no: i64,
    number: i64,
}

/// Claims due webhooks.
pub(super) fn claim(
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
pub(super) fn claimed(
    db: &Connection,
    claims: &[Claimed],
    keys: &SecretKeys,
) -> Result<Vec<ClaimedDelivery>> {
    let mut pushes = Vec::with_capacity(claims.len());
    for claim in claims {
        match push(db, claim, keys) {
            Ok(push) => pushes.extend(push),
            Err(error) => {
                tracing::warn!(error = %a2a_core::error_chain(&error), "failed to decode webhook");
            }
        }
    }
    Ok(pushes)
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
pub(super) fn record(
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

/// Encodes a webhook for the writer.
pub(super) fn encode(
    webhook: &Webhook,
    keys: &SecretKeys,
) -> std::result::Result<Vec<u8>, CodecError> {
    codec::encode_webhook(webhook, keys)
}

fn later(now: i64, duration: Duration) -> i64 {
    now.saturating_add(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX))
}
