//! Leases, and commands to the node that holds one. There is one process, so a lease is lost only
//! when it is abandoned, or when its process has ended.

use std::{sync::Arc, time::Duration};

use a2a_core::well_known::Timestamp;
use a2a_kit_operations::{
    Scope,
    store::{Acquired, Command, LeaseStore, Orphan, Signals, StoreError, StoredTask},
};
use async_trait::async_trait;
use bytes::Bytes;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::{SqliteStore, failure::Result, read::stored_task};

#[async_trait]
impl LeaseStore for SqliteStore {
    fn node(&self) -> &str {
        &self.node
    }

    fn lease(&self) -> Option<Duration> {
        None
    }

    async fn acquire(&self, scope: &Scope, task_id: &str) -> Result<Option<Acquired>, StoreError> {
        let (of, node) = (scope.clone(), Arc::clone(&self.node));
        let acquire = move |db: &Connection, no| {
            let mut query = db.prepare_cached(
                "SELECT lost IS NOT NULL, recorded, execution FROM holds WHERE task = ?1",
            )?;
            let held = query.query_row([no], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
            let held: Option<(bool, u64, Vec<u8>)> = held.optional()?;
            Ok(match held {
                // An orphaned lease is taken over, together with its checkpoint.
                Some((true, ..)) => Acquired::Elsewhere(stored_task(db, no)?),
                Some((false, recorded, execution)) if !execution.is_empty() => {
                    let orphan = Orphan::new(of.clone(), take(db, no, &node)?);
                    let orphan = orphan.with_checkpoint(execution);
                    Acquired::Reacquired(orphan.with_checkpoint_epoch(recorded))
                }
                Some(_) | None => Acquired::Here(take(db, no, &node)?),
            })
        };
        self.change_task(scope, task_id, acquire).await
    }

    /// No other node can take over a lease.
    async fn renew(&self, _held: &[(Arc<str>, u64)]) -> Result<Vec<Arc<str>>, StoreError> {
        Ok(Vec::new())
    }

    async fn release(&self, task_id: &str, epoch: u64) -> Result<bool, StoreError> {
        let task_id = task_id.to_owned();
        let release = move |db: &Connection| {
            let Some(no) = held(db, &task_id, epoch)? else { return Ok(true) };
            let mut waiting = db.prepare_cached(
                "SELECT 1 FROM commands WHERE task = ?1 AND answer IS NULL LIMIT 1",
            )?;
            if waiting.exists([no])? {
                return Ok(false);
            }
            release_unchecked(db, no)?;
            Ok(true)
        };
        self.writer.write(release).await
    }

    async fn abandon(&self, task_id: &str, epoch: u64) -> Result<(), StoreError> {
        let task_id = task_id.to_owned();
        let abandon = move |db: &Connection| {
            if let Some(no) = held(db, &task_id, epoch)? {
                let mut update =
                    db.prepare_cached("UPDATE holds SET lost = ifnull(lost, ?2) WHERE task = ?1")?;
                update.execute(params![no, Timestamp::now().as_millis()])?;
            }
            Ok(())
        };
        self.writer.write(abandon).await
    }

    async fn take_over(&self, limit: usize) -> Result<Vec<Orphan>, StoreError> {
        // Usually nothing is due, which a read connection can tell.
        if !self.readers.read(has_orphans).await? {
            return Ok(Vec::new());
        }
        let node = Arc::clone(&self.node);
        self.writer.write(move |db| take_over(db, &node, limit)).await
    }

    async fn post_command(
        &self,
        scope: &Scope,
        task_id: &str,
        command: Command,
    ) -> Result<bool, StoreError> {
        let node = Arc::clone(&self.node);
        // An existing command is kept.
        let post = move |db: &Connection, no| {
            if !db.prepare_cached("SELECT 1 FROM holds WHERE task = ?1")?.exists([no])? {
                return Ok(false);
            }
            let mut insert = db.prepare_cached(
                "INSERT INTO commands (id, task, poster, body) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT DO NOTHING",
            )?;
            insert.execute(params![&*command.id, no, &*node, &command.body[..]])?;
            Ok(true)
        };
        Ok(self.change_task(scope, task_id, post).await? == Some(true))
    }

    async fn commands(&self, task_id: &str) -> Result<Vec<Command>, StoreError> {
        let task_id = task_id.to_owned();
        let read = move |db: &Connection| {
            let mut query = db.prepare_cached(
                "SELECT c.id, c.body FROM tasks t CROSS JOIN commands c INDEXED BY commands_of_task
                 ON c.task = t.no WHERE t.id = ?1 AND c.answer IS NULL ORDER BY c.no",
            )?;
            let commands = query.query_map([task_id], |row| {
                let (id, body): (Arc<str>, Vec<u8>) = (row.get(0)?, row.get(1)?);
                Ok(Command::new(id, body))
            })?;
            Ok(commands.collect::<rusqlite::Result<_>>()?)
        };
        self.readers.read(read).await
    }

    async fn answer_command(&self, command_id: &str, answer_body: Bytes) -> Result<(), StoreError> {
        let command_id = command_id.to_owned();
        self.writer.write(move |db| answer(db, &command_id, &answer_body)).await
    }

    async fn read_answer(&self, command_id: &str) -> Result<Option<Bytes>, StoreError> {
        let (command_id, node) = (command_id.to_owned(), Arc::clone(&self.node));
        let read = move |db: &Connection| {
            let mut query = db.prepare_cached(
                "SELECT answer FROM commands WHERE id = ?1 AND poster = ?2 AND answer IS NOT NULL",
            )?;
            let answer = query.query_row([&*command_id, &node], |row| row.get::<_, Vec<u8>>(0));
            Ok(answer.optional()?.map(Bytes::from))
        };
        self.readers.read(read).await
    }

    async fn delete_answer(&self, command_id: &str) -> Result<(), StoreError> {
        let (command_id, node) = (command_id.to_owned(), Arc::clone(&self.node));
        let delete = move |db: &Connection| {
            let mut delete = db.prepare_cached(
                "DELETE FROM commands WHERE id = ?1 AND poster = ?2 AND answer IS NOT NULL",
            )?;
            delete.execute([&*command_id, &node])?;
            Ok(())
        };
        self.writer.write(delete).await
    }

    fn signals(&self) -> Option<Signals> {
        None
    }
}

/// Grants a lease to a node. An existing checkpoint is kept.
pub(super) fn grant(db: &Connection, no: i64, node: &str) -> Result<()> {
    let mut insert = db.prepare_cached(
        "INSERT INTO holds (task, node, lost, recorded, execution) VALUES (?1, ?2, NULL, 0, x'')
         ON CONFLICT DO UPDATE SET node = excluded.node, lost = NULL",
    )?;
    insert.execute(params![no, node])?;
    Ok(())
}

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

/// Grants a lease under a new epoch.
fn take(db: &Connection, no: i64, node: &str) -> Result<StoredTask> {
    grant(db, no, node)?;
    db.prepare_cached("UPDATE tasks SET epoch = epoch + 1 WHERE no = ?1")?.execute([no])?;
    stored_task(db, no)
}

fn held(db: &Connection, task_id: &str, epoch: u64) -> Result<Option<i64>> {
    let mut query = db.prepare_cached(
        "SELECT t.no FROM tasks t JOIN holds h ON h.task = t.no WHERE t.id = ?1 AND t.epoch = ?2",
    )?;
    Ok(query.query_row(params![task_id, epoch], |row| row.get(0)).optional()?)
}

fn take_over(db: &Connection, node: &str, limit: usize) -> Result<Vec<Orphan>> {
    let mut query = db.prepare_cached(
        "SELECT h.task, h.recorded, h.execution, s.tenant, s.owner
         FROM holds h INDEXED BY holds_lost
         CROSS JOIN tasks t ON t.no = h.task CROSS JOIN scopes s ON s.no = t.scope
         WHERE h.lost IS NOT NULL ORDER BY h.lost LIMIT ?1",
    )?;
    let lost = query.query_map([limit], |row| {
        let scope = Scope { tenant: row.get(3)?, owner: row.get(4)? };
        Ok((row.get(0)?, row.get(1)?, row.get(2)?, scope))
    })?;
    let lost: Vec<(i64, u64, Vec<u8>, Scope)> = lost.collect::<rusqlite::Result<_>>()?;
    let orphan = |(no, recorded, execution, scope)| {
        let orphan = Orphan::new(scope, take(db, no, node)?);
        Ok(orphan.with_checkpoint(execution).with_checkpoint_epoch(recorded))
    };
    lost.into_iter().map(orphan).collect()
}

/// Answers a pending command.
pub(super) fn answer(db: &Connection, command_id: &str, answer: &[u8]) -> Result<()> {
    let mut update =
        db.prepare_cached("UPDATE commands SET answer = ?2 WHERE id = ?1 AND answer IS NULL")?;
    update.execute(params![command_id, answer])?;
    Ok(())
}

/// Whether there are leases to take over.
pub(super) fn has_orphans(db: &Connection) -> Result<bool> {
    let mut query = db.prepare_cached(
        "SELECT 1 FROM holds INDEXED BY holds_lost WHERE lost IS NOT NULL LIMIT 1",
    )?;
    Ok(query.exists([])?)
}
