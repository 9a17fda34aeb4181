//! Inserts of many tasks in one statement.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use a2a_kit_operations::{
    EventId, Scope,
    store::{NewTask, StoreError},
};
use bytes::Bytes;
use tokio_postgres::Row;

use crate::{
    Result, SecretKeys,
    codec::{EncodedTask, encode_task},
};

use super::{
    link::Link,
    link_error::LinkError,
    row::{HookRow, IMPOSSIBLE, column, is_possible, key, number, pack, state_number},
    session::{Done, Session, Write, Written},
    signal::Chunks,
};

pub(super) const SQL: &str = include_str!("insert.sql");

/// An encoded new task.
pub(super) struct InsertRow {
    id: Arc<str>,
    tenant: Arc<str>,
    owner: Arc<str>,
    context_id: String,
    claim: Option<String>,
    task: EncodedTask,
    last: i64,
    checkpoint: Option<Bytes>,
    journal: Bytes,
    body: Option<Vec<u8>>,
    pushed: Option<i64>,
    /// Ordered by key: of two with the same id, the last is stored.
    hooks: BTreeMap<String, HookRow>,
}

impl InsertRow {
    pub(super) fn encode(scope: &Scope, new: NewTask, keys: &SecretKeys) -> Result<Write<Self>> {
        let NewTask { task, key: claim, events, pushes, webhooks, checkpoint, journal, .. } = new;
        if !is_possible(scope, &task.id) {
            return Err(StoreError::rejected(IMPOSSIBLE));
        }
        let last = events.last().and_then(|event| event.id()).unwrap_or(EventId::FIRST);
        let hook = |webhook| {
            let row = HookRow::new(webhook, keys)?;
            Ok((row.config_id.clone(), row))
        };
        let encoded = encode_task(&task).map_err(StoreError::rejected)?;
        let body = pack(&events, &pushes)?;
        let added_bytes = encoded.body.len() + body.as_ref().map_or(0, Vec::len);
        let id: Arc<str> = task.id.as_str().into();
        Ok(Write {
            task_id: Arc::clone(&id),
            owner: Arc::clone(&scope.owner),
            weight: added_bytes + journal.len() + 500,
            added_bytes,
            row: Self {
                id,
                tenant: Arc::clone(&scope.tenant),
                owner: Arc::clone(&scope.owner),
                context_id: key(&task.context_id).into_owned(),
                claim: claim.map(|name| key(&name).into_owned()),
                task: encoded,
                last: number(last.get()),
                checkpoint,
                journal,
                body,
                pushed: pushes.iter().max().map(|event| number(event.get())),
                hooks: webhooks.iter().map(hook).collect::<Result<_>>()?,
            },
        })
    }
}

/// Inserts tasks, and returns the result for each whose id was free.
pub(super) async fn write(
    link: &Link,
    session: &Session,
    rows: &[&InsertRow],
) -> Result<Written, LinkError> {
    if rows.is_empty() {
        return Ok(HashMap::new());
    }
    let mut chunks = Chunks::new(&session.node);
    let chunk: Vec<_> = rows.iter().map(|row| chunks.add(row.id.len())).collect();
    let (mut numbers, mut config_ids) = (Vec::new(), Vec::new());
    let (mut names, mut urls, mut configs) = (Vec::new(), Vec::new(), Vec::new());
    for (n, row) in (1_i64..).zip(rows) {
        for hook in row.hooks.values() {
            numbers.push(n);
            config_ids.push(hook.config_id.as_str());
            names.push(hook.name.as_bytes());
            urls.push(hook.url.as_str());
            configs.push(hook.body.as_slice());
        }
    }
    let node = &*session.node;
    let found = link
        .execute(
            &session.insert,
            &[
                &column(rows, |row| &*row.id),
                &column(rows, |row| &*row.tenant),
                &column(rows, |row| &*row.owner),
                &column(rows, |row| row.context_id.as_str()),
                &column(rows, |row| state_number(row.task.state)),
                &column(rows, |row| row.task.millis),
                &column(rows, |row| row.task.state.is_terminal()),
                &column(rows, |row| row.last),
                &column(rows, |row| row.task.body.as_slice()),
                &column(rows, |row| row.checkpoint.as_deref()),
                &column(rows, |row| row.body.as_deref()),
                &column(rows, |row| row.pushed),
                &chunk,
                &node,
                &session.lease_millis,
                &session.slot,
                &session.channel,
                &numbers,
                &config_ids,
                &names,
                &urls,
                &configs,
                &column(rows, |row| row.claim.as_deref()),
                &column(rows, |row| &*row.journal),
            ],
        )
        .await?;
    let row = |row: &Row| {
        let n: i64 = row.try_get("n")?;
        let done = match row.try_get("tied")? {
            None => {
                let insert = usize::try_from(n - 1).ok().and_then(|index| rows.get(index));
                let opened =
                    i32::from(insert.is_some_and(|insert| !insert.task.state.is_terminal()));
                Done::Written { has_pushes: row.try_get("has_pushes")?, opened }
            }
            Some(task_id) => Done::Claimed { task_id },
        };
        Ok((n, done))
    };
    found.iter().map(row).collect()
}
