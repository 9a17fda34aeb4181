//! Dead letters.

use std::collections::BTreeMap;

use a2a_core::well_known::Timestamp;
use a2a_kit_operations::{
    Scope,
    store::{DeadLetter, DeadLetterQuery, Redelivery},
};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::{failure::Result, read::event_id};

const CHOOSE: &str =
    "SELECT no, tenant, owner, task_id, config_id, url, event, attempts, error, millis
    FROM dead_letters
    WHERE (?1 IS NULL OR task_id = ?1) AND (?2 IS NULL OR config_id = ?2)
    AND (?3 IS NULL OR tenant = ?3) AND (?4 IS NULL OR owner = ?4)
    AND (?5 IS NULL OR millis < ?5)
    ORDER BY no DESC LIMIT ?6";

/// Returns the matching letters with their row numbers, newest first.
fn choose(db: &Connection, query: &DeadLetterQuery) -> Result<Vec<(i64, DeadLetter)>> {
    let DeadLetterQuery { task_id, config_id, tenant, owner, before, limit, .. } = query;
    let before = before.map(|before| before.as_millis());
    let limit = i64::try_from(*limit).unwrap_or(i64::MAX);
    let mut choose = db.prepare_cached(CHOOSE)?;
    let params = params![task_id, config_id, tenant, owner, before, limit];
    let letters = choose.query_map(params, |row| {
        let scope = Scope { tenant: row.get(1)?, owner: row.get(2)? };
        let (task_id, config_id): (String, String) = (row.get(3)?, row.get(4)?);
        let (url, error): (String, String) = (row.get(5)?, row.get(8)?);
        let (event, time) = (event_id(row.get(6)?), Timestamp::from_millis(row.get(9)?));
        let letter = DeadLetter::new(scope, task_id, config_id, event, time)
            .with_url(url)
            .with_attempts(row.get::<_, u32>(7)?)
            .with_error(error);
        Ok((row.get(0)?, letter))
    })?;
    Ok(letters.collect::<rusqlite::Result<_>>()?)
}

pub(super) fn list(db: &Connection, query: &DeadLetterQuery) -> Result<Vec<DeadLetter>> {
    Ok(choose(db, query)?.into_iter().map(|(_, letter)| letter).collect())
}

pub(super) fn purge(db: &Connection, query: &DeadLetterQuery) -> Result<u64> {
    let letters = choose(db, query)?;
    let mut delete = db.prepare_cached("DELETE FROM dead_letters WHERE no = ?1")?;
    for (no, _) in &letters {
        delete.execute([no])?;
    }
    Ok(u64::try_from(letters.len())?)
}

pub(super) fn redeliver(db: &Connection, query: &DeadLetterQuery) -> Result<Redelivery> {
    let letters = choose(db, query)?;
    let mut webhooks: BTreeMap<(&str, &str), Vec<u64>> = BTreeMap::new();
    for (_, letter) in &letters {
        let webhook = (letter.task_id.as_str(), letter.config_id.as_str());
        webhooks.entry(webhook).or_default().push(letter.event.get());
    }
    let mut done = Redelivery::default();
    for (webhook, events) in webhooks {
        let count = u64::try_from(events.len())?;
        if rewind(db, webhook, &events)? {
            done.queued += count;
        } else {
            done.lost += count;
        }
    }
    Ok(done)
}

/// Rewinds a webhook to earlier events, unless it or one of them was removed.
fn rewind(db: &Connection, (task_id, config_id): (&str, &str), events: &[u64]) -> Result<bool> {
    let mut find = db.prepare_cached(
        "SELECT w.no, w.task FROM tasks t CROSS JOIN webhooks w ON w.task = t.no
         WHERE t.id = ?1 AND w.id = ?2",
    )?;
    let found = find.query_row([task_id, config_id], |row| Ok((row.get(0)?, row.get(1)?)));
    let Some((no, task)): Option<(i64, i64)> = found.optional()? else { return Ok(false) };
    let mut is_kept =
        db.prepare_cached("SELECT 1 FROM events WHERE task = ?1 AND position = ?2 AND pushed")?;
    for event in events {
        if !is_kept.exists(params![task, event])? {
            return Ok(false);
        }
    }
    let Some(first) = events.iter().min() else { return Ok(false) };
    let mut update = db.prepare_cached(
        "UPDATE webhooks SET place = min(place, ?2 - 1), attempts = 0, due = ?3, claim = NULL
         WHERE no = ?1",
    )?;
    update.execute(params![no, first, Timestamp::now().as_millis()])?;
    let mut delete = db.prepare_cached(
        "DELETE FROM dead_letters WHERE task_id = ?1 AND config_id = ?2 AND event >= ?3",
    )?;
    delete.execute(params![task_id, config_id, first])?;
    Ok(true)
}
