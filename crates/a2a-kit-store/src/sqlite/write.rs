use std::sync::Arc;

use a2a_core::well_known::Timestamp;
use a2a_kit_operations::{
    Event, EventId, Scope,
    store::{Committed, LeaseUpdate, NewTask, StoreError, Transition},
};
use bytes::Bytes;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::{failure::Result, idempotency_key, lease, transaction::Transaction};
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
    journal: Option<Bytes>,
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
        let (context, is_new) = intern_context(db, scope, context_id, state)?;
        let last_event = events.last().map_or(1, |event| event.position);
        let now = Timestamp::now().as_millis();
        let bytes = length(&head.body) + lengths(events);
        let mut insert = db.prepare_cached(
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
        let counts = transaction.of_scope(scope);
        counts.add_bytes(bytes);
        counts.add_task(state, 1);
        if !is_new {
            transaction.of_context(context).add_task(state, 1);
        }
        let mut insert = db.prepare_cached("INSERT INTO snapshots VALUES (?1, ?2, ?3)")?;
        insert.execute(params![no, last_event, head.body])?;
        for (id, body) in webhooks {
            let mut insert = db.prepare_cached(
                "INSERT INTO webhooks (task, id, body, place, pending) VALUES (?1, ?2, ?3, 0, 0)",
            )?;
            insert.execute(params![no, id, body])?;
        }
        let has_pushes = append(db, no, events, now)?;
        if !journal.is_empty() {
            set_journal(db, no, journal)?;
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
            + self.journal.as_ref().map_or(0, Bytes::len)
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
        let mut query = db.prepare_cached(
            "SELECT no, context, last_event, state, millis, parked IS NOT NULL,
                 (SELECT length(body) FROM snapshots WHERE task = no)
             FROM tasks WHERE id = ?1 AND version = ?2 AND epoch = ?3 AND scope = ?4",
        )?;
        let named = params![&**task_id, version, epoch, scope];
        let Some(known) = query.query_row(named, Known::read).optional()? else {
            return Ok(Err(conflict(task_id)));
        };
        let no = known.no;
        let last_event = events.last().map_or(known.last_event, |event| event.position);
        let now = Timestamp::now().as_millis();
        let grown = head.as_ref().map_or(0, |head| length(&head.body) - known.length);
        let bytes = grown + lengths(events);
        transaction.of_scope(scope).add_bytes(bytes);
        match head {
            // Indexed fields are written only if they change.
            Some(head) if known.differs(head) => {
                let (state, millis) = (i32::from(head.state), head.millis);
                let (is_ended, is_parked) = (head.state.is_terminal(), head.state.is_interrupted());
                let mut update = db.prepare_cached(
                    "UPDATE tasks SET version = version + 1, last_event = ?2, bytes = bytes + ?3,
                         state = ?4, millis = ?5, ended = iif(?6, ifnull(ended, ?8), NULL),
                         parked = iif(?7, ?8, NULL)
                     WHERE no = ?1",
                )?;
                update.execute(params![
                    no, last_event, bytes, state, millis, is_ended, is_parked, now
                ])?;
                if state != known.state {
                    transaction.of_scope(scope).move_task(known.state, state);
                    transaction.of_context(known.context).move_task(known.state, state);
                }
            }
            _ => {
                let mut update = db.prepare_cached(
                    "UPDATE tasks SET version = version + 1, last_event = ?2, bytes = bytes + ?3
                     WHERE no = ?1",
                )?;
                update.execute(params![no, last_event, bytes])?;
            }
        }
        if let Some(head) = head {
            let mut update =
                db.prepare_cached("UPDATE snapshots SET position = ?2, body = ?3 WHERE task = ?1")?;
            update.execute(params![no, last_event, head.body])?;
        }
        let has_pushes = append(db, no, events, now)?;
        match lease {
            LeaseUpdate::Keep => {}
            LeaseUpdate::Checkpoint(checkpoint) => {
                lease::set_checkpoint(db, no, *epoch, checkpoint)?;
            }
            LeaseUpdate::Release => lease::release_unchecked(db, no)?,
        }
        if let Some(journal) = journal {
            set_journal(db, no, journal)?;
        }
        for (command_id, answer) in answers {
            lease::answer(db, command_id, answer)?;
        }
        Ok(Ok(Committed::new(has_pushes)))
    }
}

/// The stored state before a transition.
struct Known {
    no: i64,
    context: i64,
    last_event: u64,
    state: i32,
    millis: i64,
    is_parked: bool,
    /// Size of the snapshot, in bytes.
    length: i64,
}

impl Known {
    fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            no: row.get(0)?,
            context: row.get(1)?,
            last_event: row.get(2)?,
            state: row.get(3)?,
            millis: row.get(4)?,
            is_parked: row.get(5)?,
            length: row.get(6)?,
        })
    }

    /// Whether indexed fields differ, including the time when the task was parked.
    fn differs(&self, head: &EncodedTask) -> bool {
        (self.state, self.millis) != (head.state.into(), head.millis) || self.is_parked
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

/// Replaces the journal of a task; an empty one deletes it.
fn set_journal(db: &Connection, no: i64, journal: &[u8]) -> Result<()> {
    if journal.is_empty() {
        db.prepare_cached("DELETE FROM journals WHERE task = ?1")?.execute([no])?;
    } else {
        let mut insert =
            db.prepare_cached("INSERT OR REPLACE INTO journals (task, body) VALUES (?1, ?2)")?;
        insert.execute(params![no, journal])?;
    }
    Ok(())
}

/// Appends events to a task, and returns whether a webhook has pending events.
fn append(db: &Connection, no: i64, events: &[Row], now: i64) -> Result<bool> {
    if events.is_empty() {
        return Ok(false);
    }
    let newest = events.iter().rev().find(|event| event.is_pushed);
    let has_pushes = match newest {
        None => false,
        Some(newest) => {
            let mut update = db.prepare_cached(
                "UPDATE webhooks SET pending = ?2, due = ifnull(due, ?3) WHERE task = ?1",
            )?;
            update.execute(params![no, newest.position, now])? > 0
        }
    };
    let mut insert = db.prepare_cached(
        "INSERT INTO events (task, position, pushed, body) VALUES (?1, ?2, ?3, ?4)",
    )?;
    for Row { position, is_pushed, body } in events {
        insert.execute(params![no, position, has_pushes && *is_pushed, body])?;
    }
    Ok(has_pushes)
}

/// Returns the row number of a context, and whether it is new. A new one counts a task in a state.
fn intern_context(
    db: &Connection,
    scope: i64,
    context_id: &str,
    state: i32,
) -> Result<(i64, bool)> {
    let mut insert = db.prepare_cached(
        "INSERT INTO contexts (scope, id, in_state_0, in_state_1, in_state_2, in_state_3,
             in_state_4, in_state_5, in_state_6, in_state_7, in_state_8)
         VALUES (?1, ?2, ?3 = 0, ?3 = 1, ?3 = 2, ?3 = 3, ?3 = 4, ?3 = 5, ?3 = 6, ?3 = 7, ?3 = 8)
         ON CONFLICT DO NOTHING",
    )?;
    if insert.execute(params![scope, context_id, state])? > 0 {
        return Ok((db.last_insert_rowid(), true));
    }
    let mut query = db.prepare_cached("SELECT no FROM contexts WHERE scope = ?1 AND id = ?2")?;
    Ok((query.query_row(params![scope, context_id], |row| row.get(0))?, false))
}
