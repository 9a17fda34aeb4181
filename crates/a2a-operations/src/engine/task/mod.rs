//! A live task: one that is worked on or watched, as a state machine.
//!
//! Each transition is a method of [`LiveTask`] that takes what happened and returns what is to be
//! done about it. Nothing here waits, reads a clock, touches the store or starts anything: the
//! rest of the engine does that, and holds the lock around each transition.

mod change;
mod commands;
mod log;
mod message;
mod ownership;
mod persistence;
mod record;
mod run;
mod size;
#[cfg(test)]
mod tests;
mod turn;
mod work;

use std::{sync::Arc, time::Instant};

use a2a_core::{
    Error, TaskState,
    v1::{Message, StreamResponse, Task, stream_response::Payload},
};

pub use self::size::TaskLimit;
pub(crate) use self::turn::TurnRequest;
pub(in crate::engine) use self::{
    change::{Change, applied},
    commands::{Answer, Commands},
    log::Log,
    message::{Refusal, Room},
    ownership::{Holder, Ownership, Reach},
    persistence::{Disk, Failure, Group},
    record::{Context, Record, encode},
    run::{CancelStep, Ended, Run},
    size::Size,
    turn::Turns,
    work::Left,
};
use super::slots::Draft;
use crate::{Event, EventId, TaskLimits, Webhook, store::StoredTask};

/// A task that is worked on or watched.
#[derive(Debug)]
pub(in crate::engine) struct LiveTask {
    /// The task as callers see it: every change in it is stored. Before the first is, the draft.
    pub(in crate::engine) task: Arc<Task>,
    /// The events that callers see.
    pub(in crate::engine) log: Log,
    /// The message that answers in place of a task.
    pub(in crate::engine) reply: Option<Event>,
    /// What is to be stored.
    pub(in crate::engine) changes: Changes,
    /// How storing goes.
    pub(in crate::engine) disk: Disk,
    /// Which node may write.
    pub(in crate::engine) ownership: Ownership,
    /// Who works on the task.
    pub(in crate::engine) run: Run,
    /// The messages of the client.
    pub(in crate::engine) turns: Turns,
    /// What belongs to a task until it is stored.
    pub(in crate::engine) birth: Birth,
    /// What came from other nodes.
    pub(in crate::engine) commands: Commands,
    /// What the executor is to be told.
    effects: Effects,
}

/// What was changed and is not stored yet.
#[derive(Debug)]
pub(in crate::engine) struct Changes {
    /// Those that no writer has taken.
    pub(in crate::engine) pending: Vec<Change>,
    /// Whether the executor's next changes are collected.
    pub(in crate::engine) batch: Batch,
    /// The state of the task with all changes in it.
    pub(in crate::engine) head: TaskState,
    /// The position of the newest event, those that are not stored included.
    pub(in crate::engine) last: u64,
    /// The size of the task with all changes in it; computed on first use.
    size: Option<Size>,
}

/// Whether changes of the executor are collected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::engine) enum Batch {
    /// They are written at once.
    #[default]
    Closed,
    /// The executor is being polled: they are written when it yields.
    Open,
    /// The same, and it waits for the write.
    Awaited,
}

/// What belongs to a task until it is stored.
#[derive(Debug, Default)]
pub(in crate::engine) struct Birth {
    /// Counts the task.
    pub(in crate::engine) draft: Option<Draft>,
    pub(in crate::engine) webhooks: Vec<Webhook>,
    pub(in crate::engine) key: Option<String>,
    /// Whether the sender reads a stream.
    pub(in crate::engine) is_streamed: bool,
}

impl Birth {
    /// Whether only the sender, which waits for the end, can observe the task.
    fn is_private(&self) -> bool {
        self.webhooks.is_empty() && self.key.is_none() && !self.is_streamed
    }
}

/// What an executor is to be told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::engine) struct Effects {
    /// Another turn begins: what was signalled before is of the past.
    pub(in crate::engine) begin: bool,
    /// The client cancels.
    pub(in crate::engine) cancel: bool,
    /// It is dropped.
    pub(in crate::engine) drop: bool,
}

/// Makes a status update of the task, with its ids and the time: a transition has neither.
pub(in crate::engine) type Say<'a> = &'a dyn Fn(TaskState, Option<String>) -> Payload;

impl LiveTask {
    /// A new task that is not stored yet and not visible to other callers.
    pub(in crate::engine) fn draft(task: Task, log: Log) -> Self {
        let mut live = Self::new(Arc::new(task), log);
        live.ownership.holder = Holder::Here;
        live
    }

    /// A task from the store, whose events up to now are not in the log.
    pub(in crate::engine) fn stored_before(stored: StoredTask, log: Log) -> Self {
        let mut live = Self::new(Arc::clone(&stored.task), log);
        live.follow(stored);
        live
    }

    fn new(task: Arc<Task>, log: Log) -> Self {
        let last = log.last();
        let changes = Changes {
            pending: Vec::new(),
            batch: Batch::Closed,
            head: task.state(),
            last,
            size: None,
        };
        Self {
            task,
            log,
            reply: None,
            changes,
            disk: Disk::default(),
            ownership: Ownership::default(),
            run: Run::default(),
            turns: Turns::new(last),
            birth: Birth::default(),
            commands: Commands::default(),
            effects: Effects::default(),
        }
    }

    /// Takes what the executor is to be told.
    pub(in crate::engine) fn take_effects(&mut self) -> Effects {
        std::mem::take(&mut self.effects)
    }

    /// The changes that are not seen yet, in order.
    pub(in crate::engine) fn unseen(&self) -> impl Iterator<Item = &Change> {
        self.disk.being_written().iter().chain(&self.changes.pending)
    }

    /// Returns whether the task is in the store, and callers see it.
    pub(in crate::engine) fn is_stored(&self) -> bool {
        self.disk.version() > 0
    }

    /// Returns whether the task has ended, and callers see that.
    pub(in crate::engine) fn has_ended(&self) -> bool {
        self.task.state().is_terminal()
    }

    /// Returns whether this node may write to the task.
    pub(in crate::engine) fn is_here(&self) -> bool {
        self.ownership.holder == Holder::Here
    }

    /// Returns whether an executor is at work that does not ask for the next message.
    pub(in crate::engine) fn is_at_work(&self) -> bool {
        self.run.is_running() && !self.run.is_asking()
    }

    /// Returns whether another node, or none, holds the lease on a task that has not ended.
    pub(in crate::engine) fn is_away(&self) -> bool {
        !self.is_here() && !self.disk.has_failed() && !self.has_ended()
    }

    /// Returns whether the task is about to end, and that is not stored yet: if this node has lost
    /// the task without knowing, it goes on.
    pub(in crate::engine) fn is_ending(&self) -> bool {
        let ending = self.changes.head.is_terminal() || self.run.is_canceling;
        ending && !self.has_ended() && !self.disk.has_failed()
    }

    /// Returns whether it is not known here yet whether the task is stored: others may know of it
    /// already.
    pub(in crate::engine) fn is_appearing(&self) -> bool {
        let is_asked = self.disk.is_writing() || self.ownership.holder == Holder::Elsewhere;
        !self.is_stored() && !self.disk.has_failed() && is_asked
    }

    /// Returns whether nothing more can come: the task has ended, or a message answered.
    pub(in crate::engine) fn is_over(&self) -> bool {
        self.changes.head.is_terminal() || self.reply.is_some() || self.disk.has_failed()
    }

    /// Returns whether every event is seen. What a writer is at work on is pending no more, and
    /// not in the log yet.
    pub(in crate::engine) fn is_shown(&self) -> bool {
        self.changes.pending.is_empty() && self.log.last() >= self.changes.last
    }

    /// Returns whether the turn of a message has begun, or a later one, and is seen.
    pub(in crate::engine) fn has_begun(&self, ticket: u64) -> bool {
        ticket == 0 || self.turns.current >= ticket && self.log.last() >= self.turns.start
    }

    /// What callers get to know of a task that could not be stored or read.
    pub(in crate::engine) fn failure(&self) -> Error {
        match self.disk.failure() {
            Some(Failure::Full) => crate::store::StoreError::Full.into(),
            _ => Error::unavailable("the task could not be stored"),
        }
    }

    /// Notes that the executor waits for what it changed to be stored.
    pub(in crate::engine) fn await_batch(&mut self) {
        if self.changes.batch == Batch::Open {
            self.changes.batch = Batch::Awaited;
        }
    }

    /// Makes the task appear, if it has not yet.
    pub(in crate::engine) fn appear(&mut self) {
        if self.changes.last == 0 {
            self.changes.last = 1;
            self.put(Change::Appeared);
        }
    }

    /// Adds an event to the changes that are to be stored, and returns its position.
    pub(in crate::engine) fn push(&mut self, payload: Payload, now: Instant) -> u64 {
        self.changes.last += 1;
        let id = EventId::new(self.changes.last);
        let event = Event::new(id, StreamResponse { payload: Some(payload) });
        let state = event.state();
        if let Some(state) = state {
            self.changes.head = state;
        }
        if let Some(work) = self.run.work() {
            work.note(state, self.turns.has_queued(), now);
        }
        self.put(Change::Event(event));
        self.changes.last
    }

    fn put(&mut self, change: Change) {
        if let Some(size) = &mut self.changes.size {
            size.apply(&change);
        }
        self.changes.pending.push(change);
    }

    /// The limit that an update of the executor goes beyond.
    fn exceeded(&mut self, payload: &Payload, limits: &TaskLimits) -> Option<TaskLimit> {
        self.against(|size| size.exceeded(payload, limits))
    }

    /// The limit that one more message of the client goes beyond.
    fn refuses(&mut self, message: &Message, limits: &TaskLimits) -> Option<TaskLimit> {
        let queued = self.turns.queued_messages();
        self.against(|size| size.refuses(queued.iter().map(|m| &**m).chain([message]), limits))
    }

    fn against(&mut self, test: impl Fn(&Size) -> Option<TaskLimit>) -> Option<TaskLimit> {
        if let Some(size) = &self.changes.size
            && test(size).is_none()
        {
            return None;
        }
        // What was added up change by change may be too much, where one replaced another.
        let mut size = Size::of(&self.task);
        self.unseen().for_each(|change| size.apply(change));
        test(self.changes.size.insert(size))
    }
}

/// An event that is the task as it is after the event at `last`.
pub(in crate::engine) fn snapshot(last: u64, task: &Task) -> Event {
    Event::of_task(EventId::new(last), task.clone())
}
