use std::sync::Arc;

use a2a_core::well_known::Timestamp;
use a2a_kit_operations::{
    Event, EventId, Scope,
    store::{Committed, JournalUpdate, LeaseUpdate, NewTask, StoreError, Transition},
};
use bytes::Bytes;
use rusqlite::{Connection, params};

use super::{
    failure::Result,
    idempotency_key, lease,
    transaction::{TaskRow, Transaction},
};
use crate::{
    codec::{self, CodecError, EncodedTask, encode_task},
    seal::SecretKeys,
};

/// An encoded new task.
pub(super) struct Insert {
    head: EncodedTask,
    task_id: Arc<str>,
    key: Option<String>,
    context_id: String,
    events: Vec<Row>,
    webhooks: Vec<(String, Vec<u8>)>,
    checkpoint: Option<Bytes>,
    journal: Bytes,
}

/// An encoded transition.
pub(super) struct Change {
    task_id: Arc<str>,
    version: u64,
    epoch: u64,
    head: Option<EncodedTask>,
    events: Vec<Row>,
    lease: LeaseUpdate,
    journal: JournalUpdate,
    answers: Vec<(Arc<str>, Bytes)>,
}

struct Row {
    position: u64,
    is_pushed: bool,
    body: Vec<u8>,
}

fn rows(events: &[Event], pushes: &[EventId]) -> Result<Vec<Row>, CodecError> {
    let row = |event: &Event| {
        let id = event.id().ok_or(CodecError::Form)?;
        let is_pushed = pushes.binary_search(&id).is_ok();
        Ok(Row { position: id.get(), is_pushed, body: codec::encode_event(event)? })
    };
    events.iter().map(row).collect()
}

impl Insert {
    pub(super) fn encode(new: NewTask, keys: &SecretKeys) -> Result<Self, CodecError> {
        let NewTask { task, key, events, pushes, webhooks, checkpoint, journal, .. } = new;
        let webhooks = webhooks.into_iter().map(|webhook| {
            let body = codec::encode_webhook(&webhook, keys)?;
            Ok((webhook.config.id, body))
        });
        Ok(Self {
            head: encode_task(&task)?,
            task_id: task.id.as_str().into(),
            key,
            context_id: task.context_id.clone(),
            events: rows(&events, &pushes)?,
            webhooks: webhooks.collect::<Result<_, CodecError>>()?,
            checkpoint,
            journal,
        })
    }

    /// The size of its bodies.
    pub(super) fn bytes(&self) -> usize {
        self.head.body.len()
            + self.events.iter().map(|event| event.body.len()).sum::<usize>()
            + self.webhooks.iter().map(|(_, body)| body.len()).sum::<usize>()
            + self.checkpoint.as_ref().map_or(0, Bytes::len)
            + self.journal.len()
    }

    /// Inserts the task, unless its id exists or its idempotency key is bound to another task.
    pub(super) fn make(
        &self,
        transaction: &mut Transaction<'_>,
        scope: &Scope,
        node: &str,
    ) -> Result<Result<Committed, StoreError>> {
        let Self { head, task_id, key, context_id, events, webhooks, checkpoint, journal } = self;
        let db = transaction.db();
        let scope = transaction.intern_scope(scope)?;
        if let Some(key) = key
            && let Some(other) = idempotency_key::task_of(db, scope, key)?
            && *other != **task_id
        {
            return Ok(Err(StoreError::Claimed { task_id: other }));
        }
        let (state, millis) = (i32::from(head.state), head.millis);
        let (context, is_new) = intern_context(transaction, scope, context_id, state)?;
        let last_event = events.last().map_or(1, |event| event.position);
        let now = Timestamp::now().as_millis();
        let bytes = length(&head.body) + lengths(events);
        let insert = transaction.prepare(
            "INSERT INTO tasks
             (id, scope, context, state, millis, ended, parked, version, epoch, last_event, bytes)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 1, 1, ?8, ?9) ON CONFLICT (id) DO NOTHING",
        )?;
        let ended = head.state.is_terminal().then_some(now);
        let parked = head.state.is_interrupted().then_some(now);
        let row =
            params![&**task_id, scope, context, state, millis, ended, parked, last_event, bytes];
        if insert.execute(row)? == 0 {
            if is_new {
                db.prepare_cached("DELETE FROM contexts WHERE no = ?1")?.execute([context])?;
            }
            return Ok(Err(conflict(task_id)));
        }
        let no = db.last_insert_rowid();
        if !head.state.is_terminal() {
            let (length, is_parked) = (length(&head.body), parked.is_some());
            let (version, epoch) = (1, 1);
            let row = TaskRow {
                no,
                scope,
                context,
                version,
                epoch,
                last_event,
                state,
                millis,
                is_parked,
                length,
            };
            transaction.keep(task_id, row);
        }
        let counts = transaction.of_scope(scope);
        counts.add_bytes(bytes);
        counts.add_task(state, 1);
        if !is_new {
            transaction.of_context(context).add_task(state, 1);
        }
        let insert = transaction.prepare("INSERT INTO snapshots VALUES (?1, ?2, ?3)")?;
        insert.execute(params![no, last_event, head.body])?;
        for (id, body) in webhooks {
            let mut insert = db.prepare_cached(
                "INSERT INTO webhooks (task, id, body, place, pending) VALUES (?1, ?2, ?3, 0, 0)",
            )?;
            insert.execute(params![no, id, body])?;
        }
        let has_pushes = append(transaction, no, events, now)?;
        if !journal.is_empty() {
            append_journal(db, no, 0, journal)?;
        }
        if let Some(checkpoint) = checkpoint {
            lease::grant(db, no, node)?;
            lease::set_checkpoint(db, no, 1, checkpoint)?;
        }
        Ok(Ok(Committed::new(has_pushes)))
    }
}

impl Change {
    pub(super) fn encode(transition: Transition) -> Result<Self, CodecError> {
        let Transition {
            task_id,
            version,
            epoch,
            events,
            snapshot,
            pushes,
            lease,
            journal,
            answers,
            ..
        } = transition;
        Ok(Self {
            task_id,
            version,
            epoch,
            head: snapshot.map(|task| encode_task(&task)).transpose()?,
            events: rows(&events, &pushes)?,
            lease,
            journal,
            answers,
        })
    }

    /// The size of its bodies.
    pub(super) fn bytes(&self) -> usize {
        let checkpoint = match &self.lease {
            LeaseUpdate::Checkpoint(checkpoint) => checkpoint.len(),
            LeaseUpdate::Keep | LeaseUpdate::Release => 0,
        };
        self.head.as_ref().map_or(0, |head| head.body.len())
            + self.events.iter().map(|event| event.body.len()).sum::<usize>()
            + self.answers.iter().map(|(_, answer)| answer.len()).sum::<usize>()
            + self.journal.bytes().len()
            + checkpoint
    }

    /// Makes the transition, unless the task was modified concurrently.
    pub(super) fn make(
        &self,
        transaction: &mut Transaction<'_>,
        scope: &Scope,
    ) -> Result<Result<Committed, StoreError>> {
        let Self { task_id, version, epoch, head, events, lease, journal, answers } = self;
        let db = transaction.db();
        let Some(scope) = transaction.scope(scope)? else { return Ok(Err(conflict(task_id))) };
        let Some(mut row) = transaction.task(task_id, scope, *version, *epoch)? else {
            return Ok(Err(conflict(task_id)));
        };
        let no = row.no;
        row.last_event = events.last().map_or(row.last_event, |event| event.position);
        row.version += 1;
        let now = Timestamp::now().as_millis();
        let mut bytes = lengths(events);
        if let Some(head) = head {
            bytes += length(&head.body) - row.length;
            row.length = length(&head.body);
        }
        let from = row.state;
        let updated = match head {
            // Indexed fields are written only if they change.
            Some(head) if row.differs(head) => {
                (row.state, row.millis) = (head.state.into(), head.millis);
                row.is_parked = head.state.is_interrupted();
                let update = transaction.prepare(
                    "UPDATE tasks SET version = version + 1, last_event = ?5, bytes = bytes + ?6,
                         state = ?7, millis = ?8, ended = iif(?9, ifnull(ended, ?11), NULL),
                         parked = iif(?10, ?11, NULL)
                     WHERE no = ?1 AND id = ?2 AND version = ?3 AND epoch = ?4",
                )?;
                let is_ended = head.state.is_terminal();
                update.execute(params![
                    no,
                    &**task_id,
                    version,
                    epoch,
                    row.last_event,
                    bytes,
                    row.state,
                    row.millis,
                    is_ended,
                    row.is_parked,
                    now
                ])?
            }
            _ => {
                let update = transaction.prepare(
                    "UPDATE tasks SET version = version + 1, last_event = ?5, bytes = bytes + ?6
                     WHERE no = ?1 AND id = ?2 AND version = ?3 AND epoch = ?4",
                )?;
                update.execute(params![no, &**task_id, version, epoch, row.last_event, bytes])?
            }
        };
        if updated == 0 {
            return Ok(Err(conflict(task_id)));
        }
        transaction.of_scope(scope).add_bytes(bytes);
        if row.state != from {
            transaction.of_scope(scope).move_task(from, row.state);
            transaction.of_context(row.context).move_task(from, row.state);
        }
        if let Some(head) = head {
            let update = transaction
                .prepare("UPDATE snapshots SET position = ?2, body = ?3 WHERE task = ?1")?;
            update.execute(params![no, row.last_event, head.body])?;
        }
        if !head.as_ref().is_some_and(|head| head.state.is_terminal()) {
            transaction.keep(task_id, row);
        }
        let has_pushes = append(transaction, no, events, now)?;
        match lease {
            LeaseUpdate::Keep => {}
            LeaseUpdate::Checkpoint(checkpoint) => {
                lease::set_checkpoint(db, no, *epoch, checkpoint)?;
            }
            LeaseUpdate::Release => lease::release_unchecked(db, no)?,
        }
        match journal {
            JournalUpdate::Keep => {}
            JournalUpdate::Append(part) => append_journal(db, no, *version, part)?,
            JournalUpdate::Replace(whole) => {
                db.prepare_cached("DELETE FROM journal_parts WHERE task = ?1")?.execute([no])?;
                if !whole.is_empty() {
                    append_journal(db, no, *version, whole)?;
                }
            }
        }
        for (command_id, answer) in answers {
            lease::answer(db, command_id, answer)?;
        }
        Ok(Ok(Committed::new(has_pushes)))
    }
}

fn conflict(task_id: &str) -> StoreError {
    StoreError::Conflict { task_id: task_id.to_owned() }
}

fn length(body: &[u8]) -> i64 {
    i64::try_from(body.len()).unwrap_or(i64::MAX)
}

fn lengths(events: &[Row]) -> i64 {
    events.iter().map(|event| length(&event.body)).sum()
}

/// Adds a part to the journal of a task, with the version before the write.
fn append_journal(db: &Connection, no: i64, version: u64, part: &[u8]) -> Result<()> {
    let insert = "INSERT INTO journal_parts (task, version, body) VALUES (?1, ?2, ?3)";
    db.prepare_cached(insert)?.execute(params![no, version, part])?;
    Ok(())
}

/// Appends events to a task, and returns whether a webhook has pending events.
fn append(transaction: &mut Transaction<'_>, no: i64, events: &[Row], now: i64) -> Result<bool> {
    if events.is_empty() {
        return Ok(false);
    }
    let newest = events.iter().rev().find(|event| event.is_pushed);
    let has_pushes = match newest {
        None => false,
        Some(newest) => {
            let update = transaction.prepare(
                "UPDATE webhooks SET pending = ?2, due = ifnull(due, ?3) WHERE task = ?1",
            )?;
            update.execute(params![no, newest.position, now])? > 0
        }
    };
    let insert = transaction
        .prepare("INSERT INTO events (task, position, pushed, body) VALUES (?1, ?2, ?3, ?4)")?;
    for Row { position, is_pushed, body } in events {
        insert.execute(params![no, position, has_pushes && *is_pushed, body])?;
    }
    Ok(has_pushes)
}

/// Returns the row number of a context, and whether it is new. A new one counts a task in a state.
fn intern_context(
    transaction: &mut Transaction<'_>,
    scope: i64,
    context_id: &str,
    state: i32,
) -> Result<(i64, bool)> {
    let insert = transaction.prepare(
        "INSERT INTO contexts (scope, id, in_state_0, in_state_1, in_state_2, in_state_3,
             in_state_4, in_state_5, in_state_6, in_state_7, in_state_8)
         VALUES (?1, ?2, ?3 = 0, ?3 = 1, ?3 = 2, ?3 = 3, ?3 = 4, ?3 = 5, ?3 = 6, ?3 = 7, ?3 = 8)
         ON CONFLICT DO NOTHING",
    )?;
    if insert.execute(params![scope, context_id, state])? > 0 {
        return Ok((transaction.db().last_insert_rowid(), true));
    }
    let query = transaction.prepare("SELECT no FROM contexts WHERE scope = ?1 AND id = ?2")?;
    Ok((query.query_row(params![scope, context_id], |row| row.get(0))?, false))
}
