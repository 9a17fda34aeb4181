//! One task of the store.

use std::sync::{Arc, Mutex, MutexGuard};

use a2a_core::{
    TaskState,
    v1::{Task, stream_response::Payload},
};

use prost::Message as _;

use super::{
    body::{Body, Ids},
    lease::Lease,
    lock,
    log::{Log, Weight},
    outbox::Outbox,
    owner::Kept,
    schedule::Turn,
    scope::Scoped,
};
use crate::{
    Event, EventId,
    store::{PageKey, Replay, StoreError, StoredTask},
    table::Named,
};

/// A task with all that is kept of it. What never changes can be read without its lock.
#[derive(Debug)]
pub(super) struct Entry {
    scoped: Arc<Scoped>,
    /// The id of the task, then that of its context: one allocation for both.
    names: Box<str>,
    task_id_len: usize,
    record: Mutex<Record>,
}

/// What changes of a task.
#[derive(Debug)]
pub(super) struct Record {
    body: Body,
    standing: Standing,
    /// The position of the newest event that is in `body`; chunks of artifacts behind it are
    /// added when somebody asks for the task.
    folded: u64,
    /// The bytes of the task in `body` and of the chunks behind it.
    body_bytes: usize,
    /// What the owner is known to have of it.
    kept: Kept,
    version: u64,
    epoch: u64,
    last_event: EventId,
    log: Log,
    /// While the task waits for its user or for an authorization: where it stands among those.
    pub(super) parked: Option<Box<Turn>>,
    /// While a node holds the task, or commands wait for it.
    pub(super) lease: Option<Box<Lease>>,
    /// While the task has webhooks.
    pub(super) outbox: Option<Box<Outbox>>,
    /// Whether the store knows that the task has ended.
    ended: bool,
    /// Whether the task was removed from the store.
    gone: bool,
}

/// Where a task stands in the lists of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Standing {
    pub(super) state: TaskState,
    pub(super) millis: i64,
}

impl Entry {
    /// Creates the entry of a new task.
    pub(super) fn new(scoped: Arc<Scoped>, task: Arc<Task>, events: Vec<Event>) -> Self {
        let names = [task.id.as_str(), task.context_id.as_str()].concat().into();
        let task_id_len = task.id.len();
        let mut record = Record {
            standing: Standing::of(&task),
            body_bytes: task.encoded_len(),
            kept: Kept::default(),
            body: Body::Loose(task),
            folded: 0,
            version: 1,
            epoch: 1,
            last_event: EventId::FIRST,
            log: Log::default(),
            parked: None,
            lease: None,
            outbox: None,
            ended: false,
            gone: false,
        };
        record.push(EventId::FIRST, events);
        record.folded = record.last_event.get();
        Self { scoped, names, task_id_len, record: Mutex::new(record) }
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

    pub(super) fn scoped(&self) -> &Scoped {
        &self.scoped
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Record> {
        lock(&self.record)
    }
}

impl Standing {
    fn of(task: &Task) -> Self {
        Self { state: task.state(), millis: PageKey::millis_of(task) }
    }
}

impl Named for Arc<Entry> {
    type Name<'a> = &'a str;

    fn is_named(&self, task_id: &str) -> bool {
        self.task_id() == task_id
    }
}

impl Record {
    pub(super) fn standing(&self) -> Standing {
        self.standing
    }

    pub(super) fn is_gone(&self) -> bool {
        self.gone
    }

    /// Returns the task with all chunks that have come.
    pub(super) fn task(&mut self, entry: &Entry) -> Result<Arc<Task>, StoreError> {
        self.fold(entry);
        self.body.read(entry.ids()).map_err(StoreError::failed)
    }

    /// Returns the task as it is stored; `None` if it was removed.
    pub(super) fn stored(&mut self, entry: &Entry) -> Result<Option<StoredTask>, StoreError> {
        if self.gone {
            return Ok(None);
        }
        let task = self.task(entry)?;
        let Self { version, epoch, last_event, .. } = *self;
        let node = self.lease.as_ref().and_then(|lease| lease.node.clone());
        Ok(Some(StoredTask { task, version, epoch, node, last_event }))
    }

    pub(super) fn replay(&self, after: EventId) -> Option<Replay> {
        (!self.gone).then(|| self.log.replay(after.get()))
    }

    pub(super) fn epoch(&self) -> u64 {
        self.epoch
    }

    pub(super) fn last_event(&self) -> EventId {
        self.last_event
    }

    /// Begins another epoch.
    pub(super) fn begin_epoch(&mut self) {
        self.epoch += 1;
    }

    /// Returns the events at some positions, with the positions.
    pub(super) fn events_at(&self, positions: &[EventId]) -> Vec<(u64, Event)> {
        let at = |id: &EventId| Some((id.get(), self.log.at(id.get())?));
        positions.iter().filter_map(at).collect()
    }

    /// Takes in a transition, if it names the version and the epoch of the task.
    pub(super) fn commit(
        &mut self,
        version: u64,
        epoch: u64,
        events: Vec<Event>,
        snapshot: Option<Arc<Task>>,
    ) -> Result<(), Refused> {
        if self.gone || version != self.version || epoch != self.epoch {
            return Err(Refused);
        }
        self.version += 1;
        self.push(self.last_event.next(), events);
        if let Some(task) = snapshot {
            self.standing = Standing::of(&task);
            self.body_bytes = task.encoded_len();
            self.body = Body::Loose(task);
            self.folded = self.last_event.get();
        }
        Ok(())
    }

    /// Adds events, the first of them at a position unless it names its own.
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

    /// Forgets the oldest events beyond a bound.
    pub(super) fn trim(&mut self, entry: &Entry, bound: Weight) {
        while let Some((position, event)) = self.log.trim(bound) {
            if position > self.folded {
                apply(&mut self.body, entry.ids(), &event);
                self.folded = position;
            }
        }
    }

    /// Tells the owner what is kept of the task now.
    pub(super) fn account(&mut self, entry: &Entry) {
        let now = if self.gone {
            Kept::default()
        } else {
            let bytes = self.body_bytes + self.log.weight().bytes;
            Kept { is_open: !self.standing.state.is_terminal(), bytes }
        };
        entry.scoped.owned.change(self.kept, now);
        self.kept = now;
    }

    /// Packs the task if it has ended, and returns what its log weighs; `None` if that is known
    /// already or not so.
    pub(super) fn end(&mut self, entry: &Entry) -> Option<Weight> {
        if self.ended || !self.standing.state.is_terminal() {
            return None;
        }
        self.ended = true;
        self.fold(entry);
        self.log.pack();
        self.body.pack(entry.ids());
        Some(self.log.weight())
    }

    /// Forgets all events.
    pub(super) fn drop_log(&mut self, entry: &Entry) {
        self.fold(entry);
        self.log.clear();
    }

    /// Makes the task unreachable, unless it goes on against all expectation.
    pub(super) fn remove(&mut self) -> bool {
        if self.gone {
            return false;
        }
        self.ended = self.standing.state.is_terminal();
        self.gone = self.ended || self.standing.state.is_interrupted() && self.is_free();
        if self.gone {
            self.log.clear();
        }
        self.gone
    }

    /// Whether nobody holds the task, and nothing waits for whoever will.
    fn is_free(&self) -> bool {
        self.lease.is_none()
    }

    fn fold(&mut self, entry: &Entry) {
        let last = self.last_event.get();
        if self.folded < last {
            let behind = self.log.behind(self.folded);
            behind.iter().for_each(|(_, event)| apply(&mut self.body, entry.ids(), event));
            self.folded = last;
        }
    }
}

/// A transition that names another version or epoch, or comes too late.
#[derive(Debug)]
pub(super) struct Refused;

fn apply(body: &mut Body, ids: Ids<'_>, event: &Event) {
    if let Some(Payload::ArtifactUpdate(update)) = event.payload() {
        body.change(ids, |task| task.apply_artifact(update));
    }
}
