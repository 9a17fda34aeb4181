//! Commits of many transitions in one statement.

use std::{collections::HashMap, sync::Arc};

use a2a_kit_operations::{
    Scope,
    store::{JournalUpdate, LeaseUpdate, StoreError, Transition},
};
use bytes::Bytes;
use tokio_postgres::Row;

use crate::{
    Result,
    codec::{EncodedTask, encode_task},
};

use super::{
    link::Link,
    link_error::LinkError,
    row::{column, is_possible, number, pack, state_number},
    session::{Done, Session, Write, Written},
    signal::Chunks,
};

pub(super) const SQL: &str = include_str!("commit.sql");

/// An encoded transition.
pub(super) struct CommitRow {
    id: Arc<str>,
    tenant: Arc<str>,
    owner: Arc<str>,
    version: i64,
    epoch: i64,
    first: Option<i64>,
    last: Option<i64>,
    body: Option<Vec<u8>>,
    pushed: Option<i64>,
    after: Option<EncodedTask>,
    hold: i16,
    checkpoint: Option<Bytes>,
    journal: JournalUpdate,
    answers: Vec<(Arc<str>, Bytes)>,
}

impl CommitRow {
    pub(super) fn encode(scope: &Scope, transition: Transition) -> Result<Write<Self>> {
        let Transition { task_id, events, pushes, journal, .. } = transition;
        if !is_possible(scope, &task_id) {
            return Err(StoreError::Conflict { task_id: task_id.to_string() });
        }
        let after = transition.snapshot.map(|task| encode_task(&task)).transpose();
        let after = after.map_err(StoreError::rejected)?;
        let body = pack(&events, &pushes)?;
        let (hold, checkpoint) = match transition.lease {
            LeaseUpdate::Keep => (0, None),
            LeaseUpdate::Checkpoint(checkpoint) => (1, Some(checkpoint)),
            LeaseUpdate::Release => (2, None),
        };
        let place = |event: Option<&a2a_kit_operations::Event>| {
            event.and_then(|event| event.id()).map(|id| number(id.get()))
        };
        let added_bytes = body.as_ref().map_or(0, Vec::len);
        let replaced_bytes =
            after.as_ref().map_or(0, |after| after.body.len()) + journal.bytes().len();
        Ok(Write {
            task_id: Arc::clone(&task_id),
            owner: Arc::clone(&scope.owner),
            weight: added_bytes + replaced_bytes + 300,
            added_bytes,
            row: Self {
                id: task_id,
                tenant: Arc::clone(&scope.tenant),
                owner: Arc::clone(&scope.owner),
                version: number(transition.version),
                epoch: number(transition.epoch),
                first: place(events.first()),
                last: place(events.last()),
                body,
                pushed: pushes.iter().max().map(|event| number(event.get())),
                after,
                hold,
                checkpoint,
                journal,
                answers: transition.answers,
            },
        })
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
                &column(rows, |row| Some(state_number(row.after.as_ref()?.state))),
                &column(rows, |row| Some(row.after.as_ref()?.millis)),
                &column(rows, |row| Some(row.after.as_ref()?.state.is_terminal())),
                &column(rows, |row| Some(&*row.after.as_ref()?.body)),
                &column(rows, |row| row.hold),
                &column(rows, |row| row.checkpoint.as_deref()),
                &chunk,
                &node,
                &session.slot,
                &session.channel,
                &numbers,
                &command_ids,
                &answers,
                &column(rows, |row| {
                    Some(row.journal.bytes()).filter(|_| row.journal != JournalUpdate::Keep)
                }),
                &column(rows, |row| matches!(row.journal, JournalUpdate::Append(_))),
            ],
        )
        .await?;
    let row = |row: &Row| {
        let (has_pushes, opened) = (row.try_get("has_pushes")?, row.try_get("opened")?);
        Ok((row.try_get("n")?, Done::Written { has_pushes, opened }))
    };
    found.iter().map(row).collect()
}
