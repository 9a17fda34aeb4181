//! Encoding and decoding of rows.

use std::{borrow::Cow, fmt::Write as _, sync::Arc};

use a2a_core::TaskState;
use a2a_kit_operations::{
    Event, EventId, Scope, Webhook,
    store::{MAX_ID_BYTES, MAX_TASK_ID_BYTES, MAX_TENANT_BYTES, Replay, StoreError, StoredTask},
};
use bytes::{Buf as _, Bytes};
use prost::encoding::{decode_varint, encode_varint};
use ring::digest::{SHA256, digest};
use tokio_postgres::{Row, types::FromSql};

use crate::{
    Result, SecretKeys,
    codec::{apply, decode_event, decode_task, encode_event, encode_webhook},
};

/// Maximum length of a text in an index.
const MAX_KEY: usize = 300;

/// Why a task that is not [possible](is_possible) cannot be stored.
pub(super) const IMPOSSIBLE: &str = "the tenant, owner or task id is too long or contains NUL";

/// The values of a column of the rows of a statement.
pub(super) fn column<'r, R, T>(rows: &[&'r R], value: impl Fn(&'r R) -> T) -> Vec<T> {
    rows.iter().map(|row| value(row)).collect()
}

/// Our numbers are small; one that is not cannot equal a stored one.
pub(super) fn number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) fn natural(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}

/// The stored number of a state.
pub(super) fn state_number(state: TaskState) -> i16 {
    i16::try_from(i32::from(state)).unwrap_or_default()
}

/// A count as a limit of a statement.
pub(super) fn limit(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

pub(super) fn position(number: i64) -> EventId {
    EventId::new(natural(number)).unwrap_or(EventId::FIRST)
}

/// A key made from an arbitrary text: indexes limit its length, and the database rejects NUL.
pub(super) fn key(text: &str) -> Cow<'_, str> {
    if text.len() <= MAX_KEY && !text.contains('\0') && !text.starts_with("sha256:") {
        return Cow::Borrowed(text);
    }
    Cow::Owned(digest_of(text))
}

pub(super) fn digest_of(text: &str) -> String {
    let mut name = String::from("sha256:");
    for byte in digest(&SHA256, text.as_bytes()).as_ref() {
        let _ = write!(name, "{byte:02x}");
    }
    name
}

/// A text for display, without characters that the database rejects.
pub(super) fn printable(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { text.replace('\0', "\u{fffd}").into() } else { text.into() }
}

/// Whether a task with this id can exist in this scope. The longest texts, with a key, fit into a
/// row of an index (a third of a page, 2,704 bytes).
pub(super) fn is_possible(scope: &Scope, task_id: &str) -> bool {
    is_text(task_id, MAX_TASK_ID_BYTES) && is_possible_scope(scope)
}

/// Whether tasks can exist in this scope.
pub(super) fn is_possible_scope(scope: &Scope) -> bool {
    is_text(&scope.tenant, MAX_TENANT_BYTES) && is_possible_owner(&scope.owner)
}

pub(super) fn is_possible_owner(owner: &str) -> bool {
    is_text(owner, MAX_ID_BYTES)
}

fn is_text(text: &str, max: usize) -> bool {
    text.len() <= max && !text.contains('\0')
}

/// Packs the events of one write, each after its length and whether it is pushed.
pub(super) fn pack(events: &[Event], pushes: &[EventId]) -> Result<Option<Vec<u8>>> {
    if events.is_empty() {
        return Ok(None);
    }
    let mut packed = Vec::new();
    for event in events {
        let body = encode_event(event).map_err(StoreError::rejected)?;
        let is_pushed = event.id().is_some_and(|id| pushes.contains(&id));
        let length = u64::try_from(body.len()).map_err(StoreError::failed)?;
        encode_varint(length << 1 | u64::from(is_pushed), &mut packed);
        packed.extend_from_slice(&body);
    }
    Ok(Some(packed))
}

/// Unpacks the events after a position; `first` is the position of the first one in `packed`.
pub(super) fn unpack(
    first: i64,
    mut packed: &[u8],
    after: u64,
    only_pushed: bool,
    events: &mut Vec<Event>,
) -> Result<()> {
    let mut at = natural(first);
    while packed.has_remaining() {
        let head = decode_varint(&mut packed).map_err(StoreError::failed)?;
        let length = usize::try_from(head >> 1).map_err(StoreError::failed)?;
        let Some((body, rest)) = packed.split_at_checked(length) else {
            return Err(StoreError::failed("truncated events in a row"));
        };
        packed = rest;
        if at > after && (head & 1 == 1 || !only_pushed) {
            let position = EventId::new(at).unwrap_or(EventId::FIRST);
            events.push(decode_event(position, body).map_err(StoreError::failed)?);
        }
        at = at.saturating_add(1);
    }
    Ok(())
}

/// A task as read from a row: see [`stored!`].
pub(super) struct StoredRow {
    pub(super) stored: StoredTask,
    /// The events after the snapshot, or after the requested position.
    rows: Vec<(i64, Vec<u8>)>,
}

/// The columns of a [`StoredRow`]: `t` is the task, `b` its body, and `$after` the position after
/// which events are read, at most that of the snapshot. Where `$journal` is NULL, it is not read.
macro_rules! stored {
    ($after:literal) => {
        stored!(
            $after,
            "coalesce(b.journal, '') || coalesce((SELECT string_agg(p.body, ''::bytea \
             ORDER BY p.version) FROM journal_parts p WHERE p.task = t.key), '')"
        )
    };
    ($after:literal, $journal:literal) => {
        concat!(
            "t.id, t.version, t.epoch, t.node, t.last_event, b.snapshot, b.position, ",
            $journal,
            " AS journal, ",
            "ARRAY(SELECT e.first FROM events e WHERE e.task = t.key AND e.last > ",
            $after,
            " ORDER BY e.last) AS firsts, ",
            "ARRAY(SELECT e.body FROM events e WHERE e.task = t.key AND e.last > ",
            $after,
            " ORDER BY e.last) AS packed "
        )
    };
}
pub(super) use stored;

impl StoredRow {
    pub(super) fn read(row: &Row) -> Result<Self> {
        let snapshot: &[u8] = get(row, "snapshot")?;
        let mut task = decode_task(snapshot).map_err(StoreError::failed)?;
        let seen = natural(get(row, "position")?);
        let firsts: Vec<i64> = get(row, "firsts")?;
        let packed: Vec<Vec<u8>> = get(row, "packed")?;
        let rows: Vec<_> = firsts.into_iter().zip(packed).collect();
        let mut later = Vec::new();
        for (first, packed) in &rows {
            unpack(*first, packed, seen, false, &mut later)?;
        }
        apply(&mut task, &later);
        let node: Option<&str> = get(row, "node")?;
        let journal: Option<&[u8]> = get(row, "journal")?;
        let (version, epoch) = (natural(get(row, "version")?), natural(get(row, "epoch")?));
        let last_event = position(get(row, "last_event")?);
        let stored = StoredTask::new(Arc::new(task), version, epoch, last_event)
            .with_node(node.map(Arc::from))
            .with_journal(Bytes::copy_from_slice(journal.unwrap_or_default()));
        Ok(Self { stored, rows })
    }

    /// The events after a position, if they were read.
    pub(super) fn replay(&self, after: EventId) -> Result<Replay> {
        let mut events = Vec::new();
        for (first, packed) in &self.rows {
            unpack(*first, packed, after.get(), false, &mut events)?;
        }
        Ok(Replay::Events(events))
    }
}

/// Reads a column.
pub(super) fn get<'a, T: FromSql<'a>>(row: &'a Row, name: &str) -> Result<T> {
    row.try_get(name).map_err(StoreError::failed)
}

/// Reads the columns `tenant` and `owner`.
pub(super) fn scope(row: &Row) -> Result<Scope> {
    let (tenant, owner): (&str, &str) = (get(row, "tenant")?, get(row, "owner")?);
    Ok(Scope { tenant: tenant.into(), owner: owner.into() })
}

/// An encoded webhook.
pub(super) struct HookRow {
    /// The id as a key.
    pub(super) config_id: String,
    /// The original id.
    pub(super) name: String,
    pub(super) url: String,
    pub(super) body: Vec<u8>,
}

impl HookRow {
    pub(super) fn new(webhook: &Webhook, keys: &SecretKeys) -> Result<Self> {
        let config = &webhook.config;
        Ok(Self {
            config_id: key(&config.id).into_owned(),
            name: config.id.clone(),
            url: printable(&config.url).into_owned(),
            body: encode_webhook(webhook, keys).map_err(StoreError::failed)?,
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use a2a_core::v1::{StreamResponse, Task, stream_response::Payload};

    use super::*;

    fn event(at: u64) -> Event {
        let task = Task { id: format!("t{at}"), ..Task::default() };
        Event::new(EventId::new(at), StreamResponse { payload: Some(Payload::Task(task)) })
    }

    #[test]
    fn packed_events_unpack_after_any_position() {
        let events: Vec<_> = (5..9).map(event).collect();
        let packed = pack(&events, &[position(6), position(8)]).unwrap().unwrap();
        for after in 4..=9 {
            for only_pushed in [false, true] {
                let mut unpacked = Vec::new();
                unpack(5, &packed, after, only_pushed, &mut unpacked).unwrap();
                let found: Vec<_> =
                    unpacked.iter().map(|event| event.id().unwrap().get()).collect();
                let wanted = |at: &u64| *at > after && (!only_pushed || at.is_multiple_of(2));
                assert_eq!(found, (5..9).filter(wanted).collect::<Vec<_>>(), "behind {after}");
            }
        }
    }

    #[test]
    fn truncated_row_is_an_error() {
        let packed = pack(&[event(1)], &[]).unwrap().unwrap();
        let mut events = Vec::new();
        assert!(unpack(1, &packed[..packed.len() - 1], 0, false, &mut events).is_err());
    }

    #[test]
    fn long_and_unusual_texts_become_short_keys() {
        assert_eq!(key("conversation"), "conversation");
        let long = "x".repeat(10_000);
        for text in [long.as_str(), "a\0b", "sha256:ab"] {
            let key = key(text);
            assert!(key.len() < 80 && key.starts_with("sha256:") && key != text, "{key}");
        }
    }
}
