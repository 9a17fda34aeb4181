//! The state of a store as key-value pairs.
//!
//! | Key | Value |
//! |---|---|
//! | `task/<task>` | the task and its scope, rewritten with its status or history |
//! | `event/<task>/<position>` | an event |
//! | `lease/<task>` | the lease, the checkpoint and the journal |
//! | `hook/<task>/<webhook>` | a webhook and its cursor |
//! | `dead/<task>/<webhook>/<position>` | a dead letter |
//! | `key/<tenant>/<owner>/<key>` | an idempotency key |
//!
//! Names are in base64url. Commands and delivery claims are not saved: those who made them are gone
//! after a restart.

use std::borrow::Cow;

use a2a_core::{
    ProtocolVersion,
    v1::{StreamResponse, Task, TaskPushNotificationConfig},
    well_known::Timestamp,
};
use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    Event, EventId, Scope, Webhook,
    store::{DeadLetter, PageKey, StoreError},
    trace::TraceContext,
};

/// A task up to the event at `position`.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SavedTask<'a> {
    pub(super) tenant: Cow<'a, str>,
    pub(super) owner: Cow<'a, str>,
    pub(super) version: u64,
    pub(super) position: u64,
    pub(super) task: Cow<'a, Task>,
}

#[derive(Debug, Deserialize)]
struct SavedEvent {
    pushed: bool,
    event: StreamResponse,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct SavedLease {
    pub(super) epoch: u64,
    pub(super) is_held: bool,
    /// In base64.
    pub(super) checkpoint: String,
    pub(super) checkpoint_epoch: u64,
    /// The journal of the task, in base64.
    #[serde(default)]
    pub(super) journal: String,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SavedHook<'a> {
    config: Cow<'a, TaskPushNotificationConfig>,
    revision: u8,
    trace: Option<(String, u64, u8)>,
    pub(super) cursor: u64,
    pub(super) attempts: u32,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SavedDeadLetter<'a> {
    tenant: Cow<'a, str>,
    owner: Cow<'a, str>,
    task_id: Cow<'a, str>,
    config_id: Cow<'a, str>,
    url: Cow<'a, str>,
    event: u64,
    attempts: u32,
    error: Cow<'a, str>,
    pub(super) millis: i64,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SavedKey<'a> {
    pub(super) tenant: Cow<'a, str>,
    pub(super) owner: Cow<'a, str>,
    pub(super) key: Cow<'a, str>,
    pub(super) task_id: Cow<'a, str>,
    pub(super) fingerprint: u64,
    pub(super) millis: i64,
}

impl SavedLease {
    pub(super) fn journal(&self) -> Result<Vec<u8>, StoreError> {
        STANDARD.decode(&self.journal).map_err(StoreError::failed)
    }

    pub(super) fn checkpoint(&self) -> Result<Vec<u8>, StoreError> {
        STANDARD.decode(&self.checkpoint).map_err(StoreError::failed)
    }
}

impl<'a> SavedHook<'a> {
    pub(super) fn new(webhook: &'a Webhook, cursor: u64, attempts: u32) -> Self {
        let trace = webhook.trace.as_ref();
        Self {
            config: Cow::Borrowed(&webhook.config),
            revision: revision_number(webhook.revision),
            trace: trace.map(|trace| {
                (format!("{:032x}", trace.trace_id()), trace.span_id(), trace.flags())
            }),
            cursor,
            attempts,
        }
    }

    pub(super) fn webhook(self) -> Result<Webhook, StoreError> {
        let trace = self.trace.and_then(|(trace, span, flags)| {
            TraceContext::new(u128::from_str_radix(&trace, 16).ok()?, span, flags)
        });
        let revision = REVISIONS.into_iter().find(|one| revision_number(*one) == self.revision);
        let revision =
            revision.ok_or_else(|| StoreError::failed("unknown revision in the store"))?;
        Ok(Webhook { config: self.config.into_owned(), revision, trace })
    }
}

impl<'a> SavedDeadLetter<'a> {
    pub(super) fn new(letter: &'a DeadLetter) -> Self {
        Self {
            tenant: Cow::Borrowed(&letter.scope.tenant),
            owner: Cow::Borrowed(&letter.scope.owner),
            task_id: Cow::Borrowed(&letter.task_id),
            config_id: Cow::Borrowed(&letter.config_id),
            url: Cow::Borrowed(&letter.url),
            event: letter.event.get(),
            attempts: letter.attempts,
            error: Cow::Borrowed(&letter.error),
            millis: letter.time.as_millis(),
        }
    }

    pub(super) fn letter(self) -> Result<DeadLetter, StoreError> {
        Ok(DeadLetter {
            scope: scope(&self.tenant, &self.owner),
            task_id: self.task_id.into_owned(),
            config_id: self.config_id.into_owned(),
            url: self.url.into_owned(),
            event: position(self.event)?,
            attempts: self.attempts,
            error: self.error.into_owned(),
            time: Timestamp::from_millis(self.millis),
        })
    }
}

const REVISIONS: [ProtocolVersion; 5] = [
    ProtocolVersion::V0_1,
    ProtocolVersion::V0_2,
    ProtocolVersion::V0_3,
    ProtocolVersion::V1Draft,
    ProtocolVersion::V1_0,
];

/// The saved number of a revision, which never changes.
fn revision_number(revision: ProtocolVersion) -> u8 {
    match revision {
        ProtocolVersion::V0_1 => 1,
        ProtocolVersion::V0_2 => 2,
        ProtocolVersion::V0_3 => 3,
        ProtocolVersion::V1Draft => 4,
        ProtocolVersion::V1_0 => 5,
    }
}

pub(super) fn scope(tenant: &str, owner: &str) -> Scope {
    Scope { tenant: tenant.into(), owner: owner.into() }
}

pub(super) fn position(position: u64) -> Result<EventId, StoreError> {
    EventId::new(position).ok_or_else(|| StoreError::failed("position 0 in the store"))
}

pub(super) fn task_key(task_id: &str) -> String {
    format!("task/{}", name(task_id))
}

pub(super) fn lease_key(task_id: &str) -> String {
    format!("lease/{}", name(task_id))
}

pub(super) fn event_key(task_id: &str, position: u64) -> String {
    format!("event/{}/{position:020}", name(task_id))
}

pub(super) fn hook_key(task_id: &str, config_id: &str) -> String {
    format!("hook/{}/{}", name(task_id), name(config_id))
}

pub(super) fn dead_letter_key(letter: &DeadLetter) -> String {
    let (task, config) = (name(&letter.task_id), name(&letter.config_id));
    format!("dead/{task}/{config}/{:020}", letter.event.get())
}

pub(super) fn idempotency_key(scope: &Scope, key: &str) -> String {
    format!("key/{}/{}/{}", name(&scope.tenant), name(&scope.owner), name(key))
}

fn name(text: &str) -> String {
    URL_SAFE_NO_PAD.encode(text)
}

/// Splits a key into its kind, the name after it, and the rest.
pub(super) fn split(key: &str) -> Result<(&str, String, &str), StoreError> {
    let (kind, rest) = key.split_once('/').ok_or_else(|| unknown(key))?;
    let (name, rest) = rest.split_once('/').unwrap_or((rest, ""));
    let name = URL_SAFE_NO_PAD.decode(name).map_err(StoreError::failed)?;
    Ok((kind, String::from_utf8(name).map_err(StoreError::failed)?, rest))
}

pub(super) fn unknown(key: &str) -> StoreError {
    StoreError::failed(format!("unknown key {key:?} in the store"))
}

/// Encodes a value. What is saved has string keys and finite numbers, so that encoding cannot fail.
pub(super) fn encode(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_default()
}

pub(super) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, StoreError> {
    serde_json::from_slice(bytes).map_err(StoreError::failed)
}

/// Encodes an event, and whether it is pushed to webhooks. The JSON is shared with its readers.
pub(super) fn encode_event(event: &Event, is_pushed: bool) -> Vec<u8> {
    let json = event.json();
    let start = format!("{{\"pushed\":{is_pushed},\"event\":");
    [start.as_bytes(), &json, b"}"].concat()
}

/// Decodes an event, and whether it is pushed.
pub(super) fn decode_event(position: EventId, bytes: &[u8]) -> Result<(Event, bool), StoreError> {
    let saved: SavedEvent = decode(bytes)?;
    Ok((Event::new(Some(position), saved.event), saved.pushed))
}

/// Everything that is saved of one task.
#[derive(Debug, Default)]
pub(super) struct TaskParts {
    pub(super) task: Option<SavedTask<'static>>,
    pub(super) lease: SavedLease,
    /// Events and whether they are pushed, by position.
    pub(super) events: Vec<(u64, Event, bool)>,
    pub(super) hooks: Vec<SavedHook<'static>>,
}

impl TaskParts {
    /// The status time of the task, in milliseconds since 1970.
    pub(super) fn millis(&self) -> i64 {
        self.task.as_ref().map_or(0, |saved| PageKey::millis_of(&saved.task))
    }
}
