use std::sync::Arc;

use a2a_core::Task;
use a2a_kit_operations::{
    Event, EventId, Scope,
    store::{Replay, StoredTask, Usage},
};
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::failure::Result;
use crate::codec;

/// Returns the row number of a scope.
pub(super) fn scope_no(db: &Connection, scope: &Scope) -> Result<Option<i64>> {
    let mut query = db.prepare_cached("SELECT no FROM scopes WHERE tenant = ?1 AND owner = ?2")?;
    Ok(query.query_row(params![&*scope.tenant, &*scope.owner], |row| row.get(0)).optional()?)
}

/// Returns the row number of a scope, inserting it if it is missing.
pub(super) fn intern_scope(db: &Connection, scope: &Scope) -> Result<i64> {
    if let Some(no) = scope_no(db, scope)? {
        return Ok(no);
    }
    let mut insert = db.prepare_cached("INSERT INTO scopes (tenant, owner) VALUES (?1, ?2)")?;
    Ok(insert.insert(params![&*scope.tenant, &*scope.owner])?)
}

/// Returns the row number of a task in a scope.
pub(super) fn task_no(db: &Connection, scope: &Scope, task_id: &str) -> Result<Option<i64>> {
    let mut query = db.prepare_cached(
        "SELECT t.no FROM tasks t JOIN scopes s ON s.no = t.scope
         WHERE t.id = ?1 AND s.tenant = ?2 AND s.owner = ?3",
    )?;
    let of_scope = params![task_id, &*scope.tenant, &*scope.owner];
    Ok(query.query_row(of_scope, |row| row.get(0)).optional()?)
}

/// Returns a task with its version, lease and journal.
pub(super) fn stored_task(db: &Connection, no: i64) -> Result<StoredTask> {
    let mut query = db.prepare_cached(
        "SELECT t.last_event, s.position, s.body, t.version, t.epoch, h.node
         FROM tasks t JOIN snapshots s ON s.task = t.no LEFT JOIN holds h ON h.task = t.no
         WHERE t.no = ?1",
    )?;
    let mut rows = query.query([no])?;
    let row = rows.next()?.ok_or(rusqlite::Error::QueryReturnedNoRows)?;
    let task = Arc::new(read_task(db, no, row)?);
    Ok(StoredTask::new(task, row.get(3)?, row.get(4)?, event_id(row.get(0)?))
        .with_node(row.get::<_, Option<Arc<str>>>(5)?)
        .with_journal(journal(db, no)?))
}

fn journal(db: &Connection, no: i64) -> Result<Vec<u8>> {
    let parts = "SELECT body FROM journal_parts WHERE task = ?1 ORDER BY version";
    let mut query = db.prepare_cached(parts)?;
    let mut rows = query.query([no])?;
    let mut journal = Vec::new();
    while let Some(row) = rows.next()? {
        journal.extend_from_slice(row.get_ref(0)?.as_blob().map_err(rusqlite::Error::from)?);
    }
    Ok(journal)
}

pub(super) fn task(db: &Connection, no: i64) -> Result<Task> {
    let mut query = db.prepare_cached(
        "SELECT t.last_event, s.position, s.body
         FROM tasks t JOIN snapshots s ON s.task = t.no WHERE t.no = ?1",
    )?;
    let mut rows = query.query([no])?;
    read_task(db, no, rows.next()?.ok_or(rusqlite::Error::QueryReturnedNoRows)?)
}

/// Reads a task from the first columns: its snapshot with the later chunks applied.
fn read_task(db: &Connection, no: i64, row: &Row<'_>) -> Result<Task> {
    let (last_event, position): (u64, u64) = (row.get(0)?, row.get(1)?);
    let mut task = codec::decode_task(row.get_ref(2)?.as_blob().map_err(rusqlite::Error::from)?)?;
    if position < last_event {
        codec::apply(&mut task, &events(db, no, position)?);
    }
    Ok(task)
}

/// Returns the events of a task after a position. None are trimmed while the task exists.
pub(super) fn replay(db: &Connection, no: i64, after: EventId) -> Result<Replay> {
    Ok(Replay::Events(events(db, no, after.get())?))
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
        "SELECT ifnull(sum(bytes), 0),
             ifnull(sum(in_state_0 + in_state_1 + in_state_2 + in_state_6 + in_state_8), 0)
         FROM scopes WHERE owner = ?1",
    )?;
    Ok(query.query_row([owner], |row| {
        let (bytes, open): (i64, i64) = (row.get(0)?, row.get(1)?);
        let open = usize::try_from(open).unwrap_or_default();
        Ok(Usage::new(open, u64::try_from(bytes).unwrap_or_default()))
    })?)
}
