use std::sync::Arc;

use a2a_kit_operations::{
    Event, EventId, Scope,
    store::{Replay, StoredTask, Usage},
};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::failure::Result;
use crate::codec;

/// Returns the row number of a task in a scope.
pub(super) fn task_no(db: &Connection, scope: &Scope, task_id: &str) -> Result<Option<i64>> {
    let mut query = db.prepare_cached(
        "SELECT t.no FROM tasks t JOIN scopes s ON s.no = t.scope
         WHERE t.id = ?1 AND s.tenant = ?2 AND s.owner = ?3",
    )?;
    let of_scope = params![task_id, &*scope.tenant, &*scope.owner];
    Ok(query.query_row(of_scope, |row| row.get(0)).optional()?)
}

/// Returns a task: its snapshot with the later chunks applied.
pub(super) fn task(db: &Connection, no: i64) -> Result<StoredTask> {
    let mut query = db.prepare_cached(
        "SELECT t.version, t.epoch, t.last_event, h.node, s.position, s.body, j.body
         FROM tasks t JOIN snapshots s ON s.task = t.no LEFT JOIN holds h ON h.task = t.no
         LEFT JOIN journals j ON j.task = t.no
         WHERE t.no = ?1",
    )?;
    let mut rows = query.query([no])?;
    let row = rows.next()?.ok_or(rusqlite::Error::QueryReturnedNoRows)?;
    let (last_event, position) = (row.get(2)?, row.get(4)?);
    let mut task = codec::decode_task(row.get_ref(5)?.as_blob().map_err(rusqlite::Error::from)?)?;
    if position < last_event {
        codec::apply(&mut task, &events(db, no, position)?);
    }
    Ok(StoredTask {
        task: Arc::new(task),
        version: row.get(0)?,
        epoch: row.get(1)?,
        node: row.get(3)?,
        last_event: event_id(last_event),
        journal: row.get::<_, Option<Vec<u8>>>(6)?.unwrap_or_default().into(),
    })
}

/// Returns a task in a scope.
pub(super) fn get(db: &Connection, scope: &Scope, task_id: &str) -> Result<Option<StoredTask>> {
    task_no(db, scope, task_id)?.map(|no| task(db, no)).transpose()
}

/// Returns the events of a task after a position. None are trimmed while the task exists.
pub(super) fn replay(
    db: &Connection,
    scope: &Scope,
    task_id: &str,
    after: EventId,
) -> Result<Option<Replay>> {
    let no = task_no(db, scope, task_id)?;
    no.map(|no| Ok(Replay::Events(events(db, no, after.get())?))).transpose()
}

fn events(db: &Connection, no: i64, after: u64) -> Result<Vec<Event>> {
    let mut query = db.prepare_cached(
        "SELECT position, body FROM events WHERE task = ?1 AND position > ?2 ORDER BY position",
    )?;
    read_events(query.query(params![no, i64::try_from(after).unwrap_or(i64::MAX)])?)
}

/// Returns up to `limit` pushed events.
pub(super) fn pushed_events(
    db: &Connection,
    no: i64,
    after: u64,
    limit: usize,
) -> Result<Vec<Event>> {
    let mut query = db.prepare_cached(
        "SELECT position, body FROM events INDEXED BY events_pushed
         WHERE task = ?1 AND position > ?2 AND pushed ORDER BY position LIMIT ?3",
    )?;
    read_events(query.query(params![no, after, limit])?)
}

fn read_events(mut rows: rusqlite::Rows<'_>) -> Result<Vec<Event>> {
    let mut events = Vec::new();
    while let Some(row) = rows.next()? {
        let body = row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?;
        events.push(codec::decode_event(event_id(row.get(0)?), body)?);
    }
    Ok(events)
}

/// A stored position, which is never 0.
pub(super) fn event_id(position: u64) -> EventId {
    EventId::new(position).unwrap_or(EventId::FIRST)
}

/// The usage of an owner, across all tenants.
pub(super) fn usage(db: &Connection, owner: &str) -> Result<Usage> {
    let mut query = db.prepare_cached(
        "SELECT ifnull(sum(bytes), 0), ifnull(sum((
             SELECT sum(tasks) FROM scope_counts WHERE scope = no AND state NOT IN (3, 4, 5, 7)
         )), 0) FROM scopes WHERE owner = ?1",
    )?;
    Ok(query.query_row([owner], |row| {
        let (bytes, open): (i64, i64) = (row.get(0)?, row.get(1)?);
        let open = usize::try_from(open).unwrap_or_default();
        Ok(Usage::new(open, u64::try_from(bytes).unwrap_or_default()))
    })?)
}
