//! An active task as a state machine.
//!
//! Each transition is a method of [`LiveTask`], and leaves what has to follow as [`Effects`].
//! Nothing here waits, reads a clock, accesses the store or spawns: `Handle::change` holds the lock
//! around each transition, and performs its effects.
//!
//! A part of its state is declared in a file that does not know the whole; files of transitions do.

mod cancel;
mod change;
mod checkpoint;
mod commands;
mod conversation;
mod cursor;
mod effects;
mod execution;
mod journal;
mod lease;
mod log;
mod message;
mod ownership;
mod persistence;
mod reconcile;
mod response;
mod run;
mod size;
mod storing;
#[cfg(test)]
mod tests;
mod turn;
mod work;

use std::{sync::Arc, time::Instant};

use a2a_core::{
    Error, Role, TaskState,
    v1::{Message, Task, TaskStatus, TaskStatusUpdateEvent, stream_response::Payload},
    well_known::Timestamp,
};
use uuid::Uuid;

pub use self::size::ExceededLimit;
pub(crate) use self::turn::TurnRequest;
pub(crate) use self::{
    cancel::{Cancel, CancelRefusal},
    checkpoint::{Checkpoint, Context, encode},
    commands::Answer,
    cursor::{Begin, Cursor, Refill, Until, stopping},
    effects::{CancelRequest, Cancellation, Effects, Start, StartMode},
    execution::{Relevance, RunEnd},
    log::Log,
    message::{AdmissionLimits, Reception, Refusal, Sender, task_ended},
    ownership::{Holder, Takeover},
    persistence::{Confirmation, Failure, Group},
    reconcile::{Resumption, Step},
    response::{Opening, RemoteTurn, Response, SentTurn},
    size::Size,
    work::Left,
};
use self::{
    change::{Change, Join, applied},
    commands::Commands,
    journal::Journal,
    ownership::Ownership,
    persistence::Persistence,
    run::Run,
    turn::Turns,
};
use crate::{Event, EventId, TaskLimits, Webhook, store::StoredTask};

/// An active task.
#[derive(Debug)]
pub(crate) struct LiveTask {
    /// The task as visible to callers, with stored changes only. Before the first write, the draft.
    task: Arc<Task>,
    /// The visible events.
    log: Log,
    /// The message that responds in place of a task.
    reply: Option<Event>,
    /// Changes to be stored.
    changes: Changes,
    /// The state of storing.
    persistence: Persistence,
    /// The lease.
    ownership: Ownership,
    /// The run of the executor.
    run: Run,
    /// The client messages.
    turns: Turns,
    /// State of a task that is not stored yet.
    creation: Creation,
    /// Commands of other nodes.
    commands: Commands,
    /// What the run awaited.
    journal: Journal,
    /// What has to follow.
    effects: Effects,
}

/// Changes that are not stored yet.
#[derive(Debug)]
struct Changes {
    /// Changes that no writer has taken.
    pending: Vec<Change>,
    /// The state of the task with all changes applied.
    head: TaskState,
    /// The position of the newest event, including unstored ones.
    last: u64,
    /// The time of the newest status.
    status_time: Option<Timestamp>,
    /// The size of the task with all changes applied; computed on first use.
    size: Option<Size>,
}

impl Changes {
    /// Moves the time of a status to that of the previous one if it is earlier.
    fn order(&mut self, update: &mut TaskStatusUpdateEvent) {
        let Some(time) = update.status.as_mut().and_then(|status| status.timestamp.as_mut()) else {
            return;
        };
        *time = self.status_time.map_or(*time, |before| before.max(*time));
        self.status_time = Some(*time);
    }
}

/// The time of the status of a task.
fn status_time(task: &Task) -> Option<Timestamp> {
    task.status.as_ref()?.timestamp
}

/// State of a task that is not stored yet.
#[derive(Debug, Default)]
pub(crate) struct Creation {
    pub(crate) webhooks: Vec<Webhook>,
    pub(crate) key: Option<String>,
    /// Whether the sender reads a stream.
    pub(crate) is_streamed: bool,
}

impl Creation {
    /// Whether only the sender, which waits for the end, can observe the task.
    fn is_private(&self) -> bool {
        self.webhooks.is_empty() && self.key.is_none() && !self.is_streamed
    }
}

/// When a transition is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Now {
    pub(crate) instant: Instant,
    /// The time of the statuses that the transition sets.
    pub(crate) time: Timestamp,
}

impl LiveTask {
    /// A new task that is not stored or visible yet.
    pub(crate) fn draft(task: Task, log: Log) -> Self {
        let mut live = Self::new(Arc::new(task), log);
        live.ownership.holder = Holder::Here;
        live.loaded();
        live
    }

    /// A stored task, whose events are not in the log.
    pub(crate) fn stored_before(stored: StoredTask, log: Log) -> Self {
        let mut live = Self::new(Arc::clone(&stored.task), log);
        live.follow(stored);
        live
    }

    fn new(task: Arc<Task>, log: Log) -> Self {
        let last = log.last();
        let changes = Changes {
            pending: Vec::new(),
            head: task.state(),
            last,
            status_time: status_time(&task),
            size: None,
        };
        Self {
            task,
            log,
            reply: None,
            changes,
            persistence: Persistence::default(),
            ownership: Ownership::default(),
            run: Run::default(),
            turns: Turns::new(last),
            creation: Creation::default(),
            commands: Commands::default(),
            journal: Journal::default(),
            effects: Effects::default(),
        }
    }

    /// Takes what has to follow from the transitions since the last call; `None` if nothing has.
    /// Changes that are to be batched are not written yet.
    pub(crate) fn take_effects(&mut self, batches: bool) -> Option<Effects> {
        self.effects.write = !batches && self.begin_writing();
        self.effects.reconcile = self.has_to_reconcile();
        self.ownership.work.is_running |= self.effects.reconcile;
        (!self.effects.is_empty()).then(|| std::mem::take(&mut self.effects))
    }

    /// Runs the executor for a message.
    pub(super) fn start(&mut self, turn: TurnRequest, mode: StartMode) {
        let generation = self.ownership.generation;
        self.effects.run = Some(Box::new(Start { turn, generation, mode }));
    }

    /// The changes that are not visible yet, in order.
    pub(crate) fn unseen(&self) -> impl Iterator<Item = &Change> {
        self.persistence.being_written().iter().chain(&self.changes.pending)
    }

    /// Returns whether the task is stored and visible.
    pub(crate) fn is_stored(&self) -> bool {
        self.persistence.version > 0
    }

    /// Returns whether the task has visibly ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.task.state().is_terminal()
    }

    /// Returns whether this node holds the lease.
    pub(crate) fn is_here(&self) -> bool {
        self.ownership.holder == Holder::Here
    }

    /// Returns whether an executor is running and not waiting for input.
    pub(crate) fn is_at_work(&self) -> bool {
        self.run.is_running() && !self.run.is_asking()
    }

    /// Returns whether a message would have to wait for its turn.
    pub(crate) fn queues_messages(&self) -> bool {
        self.is_at_work() && !self.run.refuses_messages() && !self.is_ending()
    }

    /// Returns whether this node does not hold the lease on an unfinished task.
    pub(crate) fn is_away(&self) -> bool {
        !self.is_here() && !self.persistence.has_failed() && !self.has_ended()
    }

    /// Returns whether the task is about to end, but that is not stored yet. If this node has lost
    /// its lease, the task continues elsewhere.
    pub(crate) fn is_ending(&self) -> bool {
        let ending = self.changes.head.is_terminal() || self.run.is_canceling;
        ending && !self.has_ended() && !self.persistence.has_failed()
    }

    /// Returns whether the task takes no further update: it has ended, stored or not, was answered
    /// with a message, or could not be stored.
    pub(crate) fn is_closed(&self) -> bool {
        self.changes.head.is_terminal() || self.reply.is_some() || self.persistence.has_failed()
    }

    /// The error for callers of a task that could not be stored or loaded.
    pub(crate) fn failure(&self) -> Option<Error> {
        self.persistence.failure().map(|failure| failure.error(&self.task.id))
    }

    /// Returns whether the task counts as one that runs, for the limits of its caller.
    pub(crate) fn has_slot(&self) -> bool {
        self.run.has_slot()
    }

    /// Returns whether the task is new and not stored yet, for the limits of its caller.
    pub(crate) fn is_draft(&self) -> bool {
        let is_answered = self.reply.is_some() && !self.run.is_running();
        !self.is_stored() && !self.persistence.has_failed() && !is_answered
    }

    /// The number of queued messages.
    pub(crate) fn queue_len(&self) -> usize {
        self.turns.queue.len()
    }

    /// Makes the task visible, if it is not yet.
    pub(crate) fn appear(&mut self) {
        if self.changes.last == 0 {
            self.changes.last = 1;
            self.put(Change::Appeared);
        }
    }

    /// Sets a state with a text of the engine, and returns the position of the event.
    pub(super) fn set_state(&mut self, state: TaskState, text: Option<String>, now: Now) -> u64 {
        let message = text.map(|text| self.message(self.own_message_id(), text));
        let status = TaskStatus { state: state.into(), message, timestamp: Some(now.time) };
        let update = TaskStatusUpdateEvent { status: Some(status), ..Default::default() };
        self.push(update.into(), now)
    }

    /// The id of a message of the engine: that of the task and the position of its event, which no
    /// other event of the task has, as a UUID.
    fn own_message_id(&self) -> String {
        let position = self.changes.last + 1;
        let Ok(task) = Uuid::parse_str(&self.task.id) else {
            return format!("{}-{position}", self.task.id);
        };
        let (time, random) = task.as_u64_pair();
        let bytes = Uuid::from_u64_pair(time, random ^ position).into_bytes();
        Uuid::new_v8(bytes).to_string()
    }

    /// A message of the engine about the task.
    fn message(&self, message_id: String, text: String) -> Message {
        Message {
            message_id,
            role: Role::Agent.into(),
            parts: vec![text.into()],
            task_id: self.task.id.clone(),
            context_id: self.task.context_id.clone(),
            ..Message::default()
        }
    }

    /// Adds an event to the pending changes, and returns its position.
    ///
    /// Its time is not before that of the previous status, whatever the clocks of nodes and
    /// executors say: tasks are listed by it.
    pub(crate) fn push(&mut self, mut event: Event, now: Now) -> u64 {
        let (id, payload) = event.make_mut();
        if let Some(Payload::StatusUpdate(update)) = payload {
            self.changes.order(update);
            let ends = update.status.as_ref().is_some_and(|status| status.state().is_terminal());
            if ends && !self.turns.queue.is_empty() {
                self.settle_acknowledged(update, now);
            }
        }
        self.changes.last += 1;
        *id = EventId::new(self.changes.last);
        let state = event.state();
        if let Some(state) = state {
            self.changes.head = state;
        }
        if let Some(work) = self.run.work() {
            work.note(state, !self.turns.queue.is_empty(), now.instant);
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

    /// The limit that an update of the executor would exceed.
    fn exceeded(&mut self, event: &Event, limits: &TaskLimits) -> Option<ExceededLimit> {
        self.against(|size| size.exceeded(event.payload()?, limits))
    }

    /// The limit that another client message would exceed.
    fn refuses(&mut self, message: &Message, limits: &TaskLimits) -> Option<ExceededLimit> {
        let queued = self.turns.queued_messages();
        self.against(|size| size.refuses(queued.iter().map(|m| &**m).chain([message]), limits))
    }

    /// The limit of the journal, if another entry of this many bytes would exceed it.
    fn exceeded_journal(&self, bytes: usize, limits: &TaskLimits) -> Option<ExceededLimit> {
        let is_exceeded = self.journal.bytes_with(bytes) > limits.max_journal_bytes;
        is_exceeded.then_some(ExceededLimit::JournalBytes)
    }

    fn against(&mut self, test: impl Fn(&Size) -> Option<ExceededLimit>) -> Option<ExceededLimit> {
        if let Some(size) = &self.changes.size
            && test(size).is_none()
        {
            return None;
        }
        // The incremental size may be too large if one change replaced another; recompute it.
        let mut size = Size::of(&self.task);
        self.unseen().for_each(|change| size.apply(change));
        test(self.changes.size.insert(size))
    }
}

/// An event with the whole task, as of the event at `last`.
pub(crate) fn snapshot(last: u64, task: &Task) -> Event {
    Event::of_task(EventId::new(last), task.clone())
}
