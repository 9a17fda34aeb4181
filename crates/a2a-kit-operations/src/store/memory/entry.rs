//! One task in the store, with its lease, its webhooks and its scope.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, atomic::AtomicUsize},
};

use a2a_core::v1::{Task, stream_response::Payload};
use bytes::Bytes;
use parking_lot::{Mutex, MutexGuard};
use prost::Message as _;

use super::{
    log::{Log, Weight},
    packed_task::{Ids, TaskBody},
    status_index::{Listed, StatusIndex, StatusKey},
    timer_queue::TimerKey,
    usage::{OwnerUsage, TaskUsage},
};
use crate::{
    Event, EventId, Scope, Webhook,
    sharded_map::Keyed,
    store::{Command, JournalUpdate, Replay, StoreError, StoredTask},
};

/// A task and its state in the store. Immutable fields can be read without the lock.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) scoped: Arc<ScopeState>,
    /// The id of the task followed by that of its context, in one allocation.
    names: Box<str>,
    task_id_len: usize,
    record: Mutex<Record>,
}

/// The mutable state of a task.
#[derive(Debug)]
pub(super) struct Record {
    body: TaskBody,
    pub(super) status_key: StatusKey,
    /// The position of the newest event that is applied to `body`; later artifact chunks are
    /// applied when the task is read.
    applied: u64,
    /// The bytes of the task in `body` and of the later chunks.
    body_bytes: usize,
    /// What is accounted to the owner.
    usage: TaskUsage,
    pub(super) version: u64,
    pub(super) epoch: u64,
    pub(super) last_event: EventId,
    pub(super) log: Log,
    /// The position of the oldest event that is saved.
    pub(super) saved_from: u64,
    /// While the task waits for user input or authorization: its timer.
    pub(super) parked: Option<Box<TimerKey>>,
    /// While a node holds the lease, or commands are pending.
    pub(super) lease: Option<Box<Lease>>,
    /// While the task has webhooks.
    pub(super) outbox: Option<Box<Outbox>>,
    /// While the task has a journal.
    journal: Option<Box<Bytes>>,
    /// Whether the task is queued for retention.
    ended: bool,
    /// Whether the task was removed from the store.
    pub(super) gone: bool,
}

/// The lease on a task, its checkpoint, and the pending commands.
#[derive(Debug, Default)]
pub(super) struct Lease {
    /// The holder, if the task is leased: this process, or an earlier one.
    pub(super) node: Option<Arc<str>>,
    /// While the task is to be taken over: its place among the orphans.
    pub(super) orphaned: Option<TimerKey>,
    pub(super) checkpoint: Bytes,
    pub(super) checkpoint_epoch: u64,
    pub(super) commands: VecDeque<Command>,
}

/// The webhooks of a task.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    pub(super) hooks: BTreeMap<Arc<str>, HookState>,
    /// Pushed events that some webhook has not received yet, with their positions.
    pub(super) events: VecDeque<(u64, Event)>,
}

/// The deliveries to a webhook.
#[derive(Debug)]
pub(super) struct HookState {
    pub(super) webhook: Webhook,
    /// The position after which its events are pending.
    pub(super) cursor: u64,
    /// Failed attempts to deliver the first pending event.
    pub(super) attempts: u32,
    /// The number of the current claim.
    pub(super) claim: Option<u64>,
    /// While an event is pending: when the webhook is due, or its claim expires.
    pub(super) timer: Option<TimerKey>,
}

/// The state of a scope.
#[derive(Debug)]
pub(super) struct ScopeState {
    pub(super) scope: Scope,
    pub(super) index: Mutex<Index>,
    /// The number of webhooks.
    pub(super) webhooks: AtomicUsize,
    /// The usage of the owner, across all tenants.
    pub(super) owner_usage: Arc<OwnerUsage>,
}

/// Tasks in list order.
pub(super) type Index = StatusIndex<Entry>;

impl Entry {
    /// Creates the entry of a new task.
    pub(super) fn new(scoped: Arc<ScopeState>, task: Arc<Task>, events: Vec<Event>) -> Self {
        let task_id_len = task.id.len();
        let mut names = String::with_capacity(task_id_len + task.context_id.len());
        names.push_str(&task.id);
        names.push_str(&task.context_id);
        let mut record = Record {
            status_key: StatusKey::of(&task),
            body_bytes: task.encoded_len(),
            usage: TaskUsage::default(),
            body: TaskBody::Unpacked(task),
            applied: 0,
            version: 1,
            epoch: 1,
            last_event: EventId::FIRST,
            log: Log::default(),
            saved_from: 1,
            parked: None,
            lease: None,
            outbox: None,
            journal: None,
            ended: false,
            gone: false,
        };
        record.push(EventId::FIRST, events);
        record.applied = record.last_event.get();
        Self { scoped, names: names.into(), task_id_len, record: Mutex::new(record) }
    }

    pub(super) fn task_id(&self) -> &str {
        &self.names[..self.task_id_len]
    }

    pub(super) fn context_id(&self) -> &str {
        &self.names[self.task_id_len..]
    }

    fn ids(&self) -> Ids<'_> {
        [self.task_id(), self.context_id()]
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Record> {
        self.record.lock()
    }
}

impl Listed for Entry {
    fn task_id(&self) -> &str {
        self.task_id()
    }
}

impl Keyed for Arc<Entry> {
    type Key<'a> = &'a str;

    fn has_key(&self, task_id: &str) -> bool {
        self.task_id() == task_id
    }
}

impl Record {
    /// Returns the task with all chunks applied.
    pub(super) fn task(&mut self, entry: &Entry) -> Result<Arc<Task>, StoreError> {
        self.apply_chunks(entry);
        self.body.read(entry.ids()).map_err(StoreError::failed)
    }

    /// Returns the stored task; `None` if it was removed.
    pub(super) fn stored(&mut self, entry: &Entry) -> Result<Option<StoredTask>, StoreError> {
        if self.gone {
            return Ok(None);
        }
        let task = self.task(entry)?;
        let Self { version, epoch, last_event, .. } = *self;
        let node = self.lease.as_ref().and_then(|lease| lease.node.clone());
        let journal = self.journal.as_deref().cloned().unwrap_or_default();
        Ok(Some(StoredTask { task, version, epoch, node, last_event, journal }))
    }

    /// The journal; empty without one.
    pub(super) fn journal(&self) -> &[u8] {
        self.journal.as_deref().map_or(&[], |journal| journal)
    }

    pub(super) fn update_journal(&mut self, update: JournalUpdate) {
        let journal = match update {
            JournalUpdate::Keep => return,
            JournalUpdate::Append(bytes) => [self.journal(), &bytes].concat().into(),
            JournalUpdate::Replace(bytes) => bytes,
        };
        self.journal = (!journal.is_empty()).then(|| Box::new(journal));
    }

    pub(super) fn replay(&self, after: EventId) -> Option<Replay> {
        (!self.gone).then(|| self.log.replay(after.get()))
    }

    /// Restores what [`Entry::new`] does not: the log after the first `position` events, which are
    /// applied to the task, and the numbers.
    pub(super) fn restore(
        &mut self,
        position: EventId,
        events: Vec<Event>,
        version: u64,
        epoch: u64,
    ) {
        let first = events.first().and_then(Event::id);
        self.saved_from = first.map_or(position.get() + 1, EventId::get);
        self.log = Log::after(self.saved_from - 1);
        let is_newer = |event: &Event| event.id().is_some_and(|id| id > position);
        self.version = version + events.iter().filter(|event| is_newer(event)).count() as u64;
        self.epoch = epoch;
        let bytes = self.body_bytes;
        let split = events.iter().position(is_newer).unwrap_or(events.len());
        let mut events = events;
        let newer = events.split_off(split);
        self.push(position, events);
        self.body_bytes = bytes;
        self.last_event = position;
        self.applied = position.get();
        self.push(position.next(), newer);
    }

    /// Returns the events at the given positions, with their positions.
    pub(super) fn events_at(&self, positions: &[EventId]) -> Vec<(u64, Event)> {
        let at = |id: &EventId| Some((id.get(), self.log.at(id.get())?));
        positions.iter().filter_map(at).collect()
    }

    /// Applies a transition, unless its version or epoch is stale, or the task was removed; returns
    /// whether it did.
    pub(super) fn commit(
        &mut self,
        version: u64,
        epoch: u64,
        events: Vec<Event>,
        snapshot: Option<Arc<Task>>,
    ) -> bool {
        if self.gone || version != self.version || epoch != self.epoch {
            return false;
        }
        self.version += 1;
        self.push(self.last_event.next(), events);
        if let Some(task) = snapshot {
            self.status_key = StatusKey::of(&task);
            self.body_bytes = task.encoded_len();
            self.body = TaskBody::Unpacked(task);
            self.applied = self.last_event.get();
        }
        true
    }

    /// Appends events; one without a position gets the next one.
    fn push(&mut self, mut position: EventId, events: Vec<Event>) {
        for event in events {
            let at = event.id().unwrap_or(position);
            if let Some(Payload::ArtifactUpdate(_)) = event.payload() {
                self.body_bytes += event.encoded_len();
            }
            self.log.push(at.get(), event);
            self.last_event = at;
            position = at.next();
        }
    }

    /// Trims the log to its limit.
    pub(super) fn trim(&mut self, entry: &Entry, bound: Weight) {
        while let Some((position, event)) = self.log.trim(bound) {
            if position > self.applied {
                apply(&mut self.body, entry.ids(), &event);
                self.applied = position;
            }
        }
    }

    /// Updates the usage of the owner.
    pub(super) fn update_usage(&mut self, entry: &Entry) {
        let now = if self.gone {
            TaskUsage::default()
        } else {
            let bytes = self.body_bytes + self.log.weight().bytes;
            TaskUsage { is_open: !self.status_key.state.is_terminal(), bytes }
        };
        entry.scoped.owner_usage.change(self.usage, now);
        self.usage = now;
    }

    /// Packs the task if it has ended, and returns the weight of its log; `None` if it has not, or
    /// is packed already.
    pub(super) fn pack_if_ended(&mut self, entry: &Entry) -> Option<Weight> {
        if self.ended || !self.status_key.state.is_terminal() {
            return None;
        }
        self.ended = true;
        self.apply_chunks(entry);
        self.log.pack();
        self.body.pack(self.body_bytes, entry.ids());
        Some(self.log.weight())
    }

    /// Drops all events.
    pub(super) fn drop_log(&mut self, entry: &Entry) {
        self.apply_chunks(entry);
        self.log.clear();
    }

    /// Marks the task as removed, if it has ended or waits without a lease.
    pub(super) fn remove(&mut self) -> bool {
        if self.gone {
            return false;
        }
        self.ended = self.status_key.state.is_terminal();
        self.gone = self.ended || self.status_key.state.is_interrupted() && self.lease.is_none();
        if self.gone {
            self.log.clear();
        }
        self.gone
    }

    fn apply_chunks(&mut self, entry: &Entry) {
        let last = self.last_event.get();
        if self.applied < last {
            let behind = self.log.behind(self.applied);
            behind.iter().for_each(|(_, event)| apply(&mut self.body, entry.ids(), event));
            self.applied = last;
        }
    }
}

fn apply(body: &mut TaskBody, ids: Ids<'_>, event: &Event) {
    if let Some(Payload::ArtifactUpdate(update)) = event.payload() {
        body.change(ids, |task| task.apply_artifact(update));
    }
}
