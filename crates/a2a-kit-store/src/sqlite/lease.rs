//! Leases. There is one process, so a lease is lost only when it is abandoned, or when its process
//! has ended.

use std::sync::Arc;

use a2a_core::well_known::Timestamp;
use a2a_kit_operations::{
    Scope,
    store::{Acquired, Command, Orphan, StoredTask},
};
use bytes::Bytes;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::{
    failure::Result,
    read::{stored_task, task_no},
};

/// Grants a lease to a node. An existing checkpoint is kept.
pub(super) fn grant(db: &Connection, no: i64, node: &str) -> Result<()> {
    let mut insert = db.prepare_cached(
        "INSERT INTO holds (task, node, lost, recorded, execution) VALUES (?1, ?2, NULL, 0, x'')
         ON CONFLICT DO UPDATE SET node = excluded.node, lost = NULL",
    )?;
    insert.execute(params![no, node])?;
    Ok(())
}

/// Stores a checkpoint.
pub(super) fn set_checkpoint(db: &Connection, no: i64, epoch: u64, execution: &[u8]) -> Result<()> {
    let mut update =
        db.prepare_cached("UPDATE holds SET recorded = ?2, execution = ?3 WHERE task = ?1")?;
    update.execute(params![no, epoch, execution])?;
    Ok(())
}

pub(super) fn release_unchecked(db: &Connection, no: i64) -> Result<()> {
    db.prepare_cached("DELETE FROM holds WHERE task = ?1")?.execute([no])?;
    Ok(())
}

pub(super) fn acquire(
    db: &Connection,
    scope: &Scope,
    task_id: &str,
    node: &str,
) -> Result<Option<Acquired>> {
    let Some(no) = task_no(db, scope, task_id)? else { return Ok(None) };
    let mut query = db.prepare_cached(
        "SELECT lost IS NOT NULL, recorded, execution FROM holds WHERE task = ?1",
    )?;
    let held: Option<(bool, u64, Vec<u8>)> =
        query.query_row([no], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).optional()?;
    Ok(Some(match held {
        // An orphaned lease is taken over, together with its checkpoint.
        Some((true, ..)) => Acquired::Elsewhere(stored_task(db, no)?),
        Some((false, recorded, execution)) if !execution.is_empty() => {
            let orphan = Orphan::new(scope.clone(), take(db, no, node)?);
            Acquired::Reacquired(orphan.with_checkpoint(execution).with_checkpoint_epoch(recorded))
        }
        Some(_) | None => Acquired::Here(take(db, no, node)?),
    }))
}

/// Grants a lease under a new epoch.
fn take(db: &Connection, no: i64, node: &str) -> Result<StoredTask> {
    grant(db, no, node)?;
    db.prepare_cached("UPDATE tasks SET epoch = epoch + 1 WHERE no = ?1")?.execute([no])?;
    stored_task(db, no)
}

/// Releases a lease, unless commands are pending.
pub(super) fn release(db: &Connection, task_id: &str, epoch: u64) -> Result<bool> {
    let Some(no) = held(db, task_id, epoch)? else { return Ok(true) };
    let mut waiting =
        db.prepare_cached("SELECT 1 FROM commands WHERE task = ?1 AND answer IS NULL LIMIT 1")?;
    if waiting.exists([no])? {
        return Ok(false);
    }
    release_unchecked(db, no)?;
    Ok(true)
}

pub(super) fn abandon(db: &Connection, task_id: &str, epoch: u64) -> Result<()> {
    if let Some(no) = held(db, task_id, epoch)? {
        let mut update =
            db.prepare_cached("UPDATE holds SET lost = ifnull(lost, ?2) WHERE task = ?1")?;
        update.execute(params![no, Timestamp::now().as_millis()])?;
    }
    Ok(())
}

fn held(db: &Connection, task_id: &str, epoch: u64) -> Result<Option<i64>> {
    let mut query = db.prepare_cached(
        "SELECT t.no FROM tasks t JOIN holds h ON h.task = t.no WHERE t.id = ?1 AND t.epoch = ?2",
    )?;
    Ok(query.query_row(params![task_id, epoch], |row| row.get(0)).optional()?)
}

pub(super) fn take_over(db: &Connection, node: &str, limit: usize) -> Result<Vec<Orphan>> {
    let mut query = db.prepare_cached(
        "SELECT h.task, h.recorded, h.execution, s.tenant, s.owner
         FROM holds h INDEXED BY holds_lost
         CROSS JOIN tasks t ON t.no = h.task CROSS JOIN scopes s ON s.no = t.scope
         WHERE h.lost IS NOT NULL ORDER BY h.lost LIMIT ?1",
    )?;
    let lost = query.query_map([limit], |row| {
        let scope = Scope { tenant: row.get(3)?, owner: row.get(4)? };
        let execution: Vec<u8> = row.get(2)?;
        Ok((row.get::<_, i64>(0)?, row.get(1)?, execution, scope))
    })?;
    let lost = lost.collect::<rusqlite::Result<Vec<_>>>()?;
    let orphan = |(no, recorded, execution, scope): (i64, u64, Vec<u8>, Scope)| {
        let orphan = Orphan::new(scope, take(db, no, node)?);
        Ok(orphan.with_checkpoint(execution).with_checkpoint_epoch(recorded))
    };
    lost.into_iter().map(orphan).collect()
}

/// Posts a command, if the task is leased. An existing one is kept.
pub(super) fn post(
    db: &Connection,
    scope: &Scope,
    task_id: &str,
    node: &str,
    command: &Command,
) -> Result<bool> {
    let Some(no) = task_no(db, scope, task_id)? else { return Ok(false) };
    if !db.prepare_cached("SELECT 1 FROM holds WHERE task = ?1")?.exists([no])? {
        return Ok(false);
    }
    let mut insert = db.prepare_cached(
        "INSERT INTO commands (id, task, poster, body) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT DO NOTHING",
    )?;
    insert.execute(params![&*command.id, no, node, &command.body[..]])?;
    Ok(true)
}

pub(super) fn commands(db: &Connection, task_id: &str) -> Result<Vec<Command>> {
    let mut query = db.prepare_cached(
        "SELECT c.id, c.body FROM tasks t CROSS JOIN commands c INDEXED BY commands_of_task
         ON c.task = t.no WHERE t.id = ?1 AND c.answer IS NULL ORDER BY c.no",
    )?;
    let commands = query.query_map([task_id], |row| {
        let id: Arc<str> = row.get(0)?;
        let body: Vec<u8> = row.get(1)?;
        Ok(Command::new(id, body))
    })?;
    Ok(commands.collect::<rusqlite::Result<_>>()?)
}

/// Answers a pending command.
pub(super) fn answer(db: &Connection, command_id: &str, answer: &[u8]) -> Result<()> {
    let mut update =
        db.prepare_cached("UPDATE commands SET answer = ?2 WHERE id = ?1 AND answer IS NULL")?;
    update.execute(params![command_id, answer])?;
    Ok(())
}

pub(super) fn read_answer(db: &Connection, command_id: &str, node: &str) -> Result<Option<Bytes>> {
    let mut query = db.prepare_cached(
        "SELECT answer FROM commands WHERE id = ?1 AND poster = ?2 AND answer IS NOT NULL",
    )?;
    let answer: Option<Vec<u8>> =
        query.query_row(params![command_id, node], |row| row.get(0)).optional()?;
    Ok(answer.map(Bytes::from))
}

pub(super) fn delete_answer(db: &Connection, command_id: &str, node: &str) -> Result<()> {
    let mut delete = db.prepare_cached(
        "DELETE FROM commands WHERE id = ?1 AND poster = ?2 AND answer IS NOT NULL",
    )?;
    delete.execute(params![command_id, node])?;
    Ok(())
}

/// Whether there are leases to take over.
pub(super) fn has_orphans(db: &Connection) -> Result<bool> {
    let mut query = db.prepare_cached(
        "SELECT 1 FROM holds INDEXED BY holds_lost WHERE lost IS NOT NULL LIMIT 1",
    )?;
    Ok(query.exists([])?)
}
