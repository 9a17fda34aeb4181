//! Commits of many transitions in one statement.

use std::{collections::HashMap, sync::Arc};

use a2a_core::v1::Task;
use a2a_kit_operations::{
    Scope,
    store::{LeaseUpdate, PageKey, StoreError, Transition},
};
use bytes::Bytes;
use tokio_postgres::Row;

use crate::codec::encode_task;

use super::{
    link::Link,
    link_error::LinkError,
    row::{column, is_possible, number, pack},
    session::{Done, Session, Written},
    signal::Chunks,
};

pub(super) const SQL: &str = include_str!("commit.sql");

/// An encoded transition.
pub(super) struct CommitRow {
    pub(super) id: Arc<str>,
    tenant: Arc<str>,
    pub(super) owner: Arc<str>,
    version: i64,
    epoch: i64,
    first: Option<i64>,
    last: Option<i64>,
    body: Option<Vec<u8>>,
    pushed: Option<i64>,
    after: Option<After>,
    hold: i16,
    checkpoint: Option<Bytes>,
    journal: Option<Bytes>,
    answers: Vec<(Arc<str>, Bytes)>,
}

/// The task after the transition.
struct After {
    state: i16,
    millis: i64,
    ended: bool,
    snapshot: Vec<u8>,
}

impl CommitRow {
    pub(super) fn new(scope: &Scope, transition: Transition) -> Result<Self, StoreError> {
        let Transition { task_id, events, pushes, .. } = transition;
        if !is_possible(scope, &task_id) {
            return Err(StoreError::Conflict { task_id: task_id.to_string() });
        }
        let after = |task: Arc<Task>| {
            Ok::<_, StoreError>(After {
                state: i16::try_from(i32::from(task.state())).unwrap_or_default(),
                millis: PageKey::millis_of(&task),
                ended: task.state().is_terminal(),
                snapshot: encode_task(&task).map_err(StoreError::rejected)?,
            })
        };
        let (hold, checkpoint) = match transition.lease {
            LeaseUpdate::Keep => (0, None),
            LeaseUpdate::Checkpoint(checkpoint) => (1, Some(checkpoint)),
            LeaseUpdate::Release => (2, None),
        };
        let place = |event: Option<&a2a_kit_operations::Event>| {
            event.and_then(|event| event.id()).map(|id| number(id.get()))
        };
        Ok(Self {
            id: task_id,
            tenant: Arc::clone(&scope.tenant),
            owner: Arc::clone(&scope.owner),
            version: number(transition.version),
            epoch: number(transition.epoch),
            first: place(events.first()),
            last: place(events.last()),
            body: pack(&events, &pushes)?,
            pushed: pushes.iter().max().map(|event| number(event.get())),
            after: transition.snapshot.map(after).transpose()?,
            hold,
            checkpoint,
            journal: transition.journal,
            answers: transition.answers,
        })
    }

    /// The bytes that the row adds to the store, ignoring what it replaces.
    pub(super) fn added_bytes(&self) -> usize {
        self.body.as_ref().map_or(0, Vec::len)
    }

    /// The approximate size of the row in the statement, in bytes.
    pub(super) fn weight(&self) -> usize {
        self.body.as_ref().map_or(0, Vec::len)
            + self.after.as_ref().map_or(0, |after| after.snapshot.len())
            + self.journal.as_ref().map_or(0, Bytes::len)
            + 300
    }
}

/// Commits transitions of different tasks, and returns for each one written whether a webhook has
/// pending events.
pub(super) async fn write(
    link: &Link,
    session: &Session,
    rows: &[&CommitRow],
) -> Result<Written, LinkError> {
    if rows.is_empty() {
        return Ok(HashMap::new());
    }
    let mut chunks = Chunks::new(&session.node);
    let chunk: Vec<_> = rows
        .iter()
        .map(|row| {
            // Each line names the node that posted the command; node names have similar lengths.
            let node = session.node.len() + 40;
            let answers: usize = row.answers.iter().map(|(id, _)| id.len() + node).sum();
            chunks.add(row.id.len() + answers)
        })
        .collect();
    let (mut numbers, mut command_ids, mut answers) = (Vec::new(), Vec::new(), Vec::new());
    for (n, row) in (1_i64..).zip(rows) {
        for (id, answer) in &row.answers {
            numbers.push(n);
            command_ids.push(&**id);
            answers.push(&**answer);
        }
    }
    let node = &*session.node;
    let found = link
        .execute(
            &session.commit,
            &[
                &column(rows, |row| &*row.id),
                &column(rows, |row| &*row.tenant),
                &column(rows, |row| &*row.owner),
                &column(rows, |row| row.version),
                &column(rows, |row| row.epoch),
                &column(rows, |row| row.first),
                &column(rows, |row| row.last),
                &column(rows, |row| row.body.as_deref()),
                &column(rows, |row| row.pushed),
                &column(rows, |row| Some(row.after.as_ref()?.state)),
                &column(rows, |row| Some(row.after.as_ref()?.millis)),
                &column(rows, |row| Some(row.after.as_ref()?.ended)),
                &column(rows, |row| Some(&*row.after.as_ref()?.snapshot)),
                &column(rows, |row| row.hold),
                &column(rows, |row| row.checkpoint.as_deref()),
                &chunk,
                &node,
                &session.slot,
                &session.channel,
                &numbers,
                &command_ids,
                &answers,
                &column(rows, |row| row.journal.as_deref()),
            ],
        )
        .await?;
    let row = |row: &Row| {
        let (has_pushes, opened) = (row.try_get("has_pushes")?, row.try_get("opened")?);
        Ok((row.try_get("n")?, Done::Written { has_pushes, opened }))
    };
    found.iter().map(row).collect()
}
