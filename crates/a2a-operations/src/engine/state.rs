//! The state of a task that is worked on or watched, all of it under one lock.

use std::{collections::VecDeque, sync::Arc};

use a2a_core::{
    Error,
    v1::{Message, StreamResponse, Task, TaskState, stream_response::Payload},
};
use tokio_util::sync::CancellationToken;

use super::{
    batch::Batch,
    change::Change,
    command::Commands,
    limits::TaskLimits,
    log::{Cursors, Log, Waiters},
    size::{Size, TaskLimit},
    slots::{Draft, Slot},
    turn::{Queued, TurnRequest},
    work::Work,
};
use crate::{
    Event, EventId, Webhook,
    store::{StoreError, StoredTask},
};

/// How many times that a task was lost are remembered for those who wait.
const MAX_LOST: usize = 16;

/// What changes about a task. Everything that is `pub(super)` here is only touched under the
/// entry's lock.
#[derive(Debug)]
pub(super) struct State {
    /// The task as it is seen: every event in it is stored. Before it appears, the draft.
    pub(super) task: Arc<Task>,
    /// Whether the task appeared: it is in the store, and callers see it.
    pub(super) appeared: bool,
    /// How often the task was stored.
    pub(super) version: u64,
    /// Who may write to the task.
    pub(super) holder: Holder,
    /// The epoch under which this node holds the task, or held it last.
    pub(super) epoch: u64,
    /// The epoch of a hold of which this node knows all that was done under it; 0 without one.
    pub(super) known_hold: u64,
    /// Whether somebody asks the store for a hold on the task.
    pub(super) reaching: bool,
    /// How often this node lost the task or took it over. What belongs to an earlier number is
    /// not listened to.
    pub(super) run: u64,
    /// What is worked on, to be recorded with the next write.
    pub(super) execution: Option<TurnRequest>,
    /// What belongs to a task until it is stored.
    pub(super) birth: Birth,
    /// The task that the key names now: this one was taken for lost, and will never be stored.
    pub(super) superseded: Option<Arc<str>>,
    /// What came from other nodes.
    pub(super) commands: Commands,
    /// Whether somebody reads the task again after another node wrote it, and whether that has
    /// to be done once more.
    pub(super) refreshing: Refreshing,
    /// How many reads of what another node wrote were begun.
    pub(super) reads_begun: u64,
    /// The newest of these reads whose result was taken over.
    pub(super) newest_read: u64,
    /// How often this node did not listen to what another wrote, as it took the task for its own.
    pub(super) unheard: u64,
    /// The events that are seen.
    pub(super) log: Log,
    /// The state of the task with the pending changes in it.
    pub(super) head: TaskState,
    /// The position of the newest event, pending ones included.
    pub(super) last_assigned: u64,
    /// Changes that are not stored yet.
    pub(super) pending: Vec<Change>,
    /// Whether the executor's next changes are collected.
    pub(super) batch: Batch,
    /// Changes that are being stored: they are not seen yet, and no longer pending.
    pub(super) storing: Arc<Vec<Change>>,
    /// Whether a writer is at work on the pending changes.
    pub(super) writing: bool,
    /// The store failed: nothing more can be told about the task from here.
    pub(super) broken: bool,
    /// The store failed because it is full.
    pub(super) full: bool,
    /// The message that answers instead of a task.
    pub(super) reply: Option<Event>,
    /// Whether an executor is at work, here or on the node that holds the task.
    pub(super) running: bool,
    /// The slot and the clocks of the executor that is at work here.
    pub(super) work: Work,
    /// How large the task is, pending changes included, once somebody asked.
    size: Option<Size>,
    /// Whether that executor waits in `ask`.
    pub(super) asking: bool,
    /// The message that an `ask` waits for.
    pub(super) handed: Option<Message>,
    /// Messages that wait for their turn, oldest first.
    pub(super) queue: VecDeque<Queued>,
    /// The ids of messages that were taken and are not in the history yet, with their numbers;
    /// there may be some that are.
    pub(super) taken: Vec<(String, u64)>,
    /// The number of the newest message that was accepted.
    pub(super) last_ticket: u64,
    /// The number of the message that is worked on, or was last.
    pub(super) turn: u64,
    /// The position of the event that began that turn.
    pub(super) turn_start: u64,
    /// The task at that event, where the turn is streamed.
    pub(super) turn_opening: Option<Arc<Task>>,
    /// Whether the executor was dropped in the middle of its work by a shutdown.
    pub(super) cut_off: bool,
    /// The numbers of messages that had not begun when another node took over, from and to. Whoever
    /// waits for one of them is told at once, so only the newest few are kept.
    lost: VecDeque<(u64, u64)>,
    /// Whether a client has canceled.
    pub(super) canceling: bool,
    /// Signals the executor that the client cancels.
    pub(super) cancel: CancellationToken,
    /// Drops the executor.
    pub(super) kill: CancellationToken,
    pub(super) waiters: Waiters,
    pub(super) cursors: Cursors,
}

/// What belongs to a task until it is stored.
#[derive(Debug, Default)]
pub(super) struct Birth {
    /// Counts the task.
    pub(super) draft: Option<Draft>,
    pub(super) webhooks: Vec<Webhook>,
    pub(super) key: Option<String>,
    /// Whether the sender reads a stream.
    pub(super) is_streamed: bool,
}

impl Birth {
    /// Whether nobody but the sender, who waits for the end, can know of the task.
    pub(super) fn is_private(&self) -> bool {
        self.webhooks.is_empty() && self.key.is_none() && !self.is_streamed
    }
}

/// Who may write to a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holder {
    /// Whoever asks the store first.
    Nobody,
    /// This node.
    Here,
    /// Another node.
    Elsewhere,
}

/// Whether a task is being read again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refreshing {
    No,
    Yes,
    /// Something more has happened since.
    Again,
}

impl State {
    pub(super) fn new(task: Arc<Task>, last: u64, log: Log) -> Self {
        Self {
            head: task.state(),
            task,
            appeared: false,
            version: 0,
            holder: Holder::Nobody,
            epoch: 0,
            known_hold: 0,
            reaching: false,
            run: 0,
            execution: None,
            birth: Birth::default(),
            superseded: None,
            commands: Commands::default(),
            refreshing: Refreshing::No,
            reads_begun: 0,
            newest_read: 0,
            unheard: 0,
            log,
            last_assigned: last,
            pending: Vec::new(),
            batch: Batch::Closed,
            storing: Arc::default(),
            writing: false,
            broken: false,
            full: false,
            reply: None,
            running: false,
            work: Work::default(),
            size: None,
            asking: false,
            handed: None,
            queue: VecDeque::new(),
            taken: Vec::new(),
            last_ticket: 0,
            turn: 0,
            turn_start: last + 1,
            turn_opening: None,
            cut_off: false,
            lost: VecDeque::new(),
            canceling: false,
            cancel: CancellationToken::new(),
            kill: CancellationToken::new(),
            waiters: Waiters::default(),
            cursors: Cursors::default(),
        }
    }

    /// Takes over what the store says of a task that is not held here.
    pub(super) fn follow(&mut self, stored: StoredTask) {
        self.head = stored.task.state();
        self.task = stored.task;
        self.size = None;
        self.appeared = true;
        self.version = stored.version;
        self.epoch = stored.epoch;
        self.last_assigned = self.log.last();
        self.running = stored.node.is_some();
        self.holder = if self.running { Holder::Elsewhere } else { Holder::Nobody };
    }

    /// Gives up what was worked on here: another node holds the task, or nobody.
    pub(super) fn lose(&mut self, holder: Holder) {
        self.pending.clear();
        self.storing = Arc::default();
        self.writing = false;
        self.holder = holder;
        self.known_hold = 0;
        self.run += 1;
        self.kill.cancel();
        self.work.end();
        self.size = None;
        self.running = holder == Holder::Elsewhere;
        self.asking = false;
        self.handed = None;
        self.canceling = false;
        self.commands = Commands::default();
        self.queue.clear();
        let taken = std::mem::take(&mut self.taken);
        let first_lost = taken.iter().find(|(id, _)| !self.has_message(id));
        self.last_assigned = self.log.last();
        let begun = self.turn_start <= self.log.last();
        if !begun {
            self.turn = self.turn.saturating_sub(1);
        }
        if let Some((_, ticket)) = first_lost {
            // Several turns may have begun of which none was stored.
            self.turn = self.turn.min(ticket - 1);
        }
        if !begun {
            // The turn before it is seen, whatever follows elsewhere.
            self.turn_start = self.log.last();
            self.turn_opening = None;
        }
        if self.turn < self.last_ticket {
            self.lost.push_back((self.turn + 1, self.last_ticket));
            if self.lost.len() > MAX_LOST {
                self.lost.pop_front();
            }
        }
        self.head = self.task.state();
    }

    /// Returns whether a message was lost before its turn began, though later ones may have begun.
    pub(super) fn is_lost(&self, ticket: u64) -> bool {
        self.lost.iter().any(|(first, last)| (*first..=*last).contains(&ticket))
    }

    /// Gives up what could not be stored, and whoever works on it.
    pub(super) fn give_up(&mut self) {
        self.broken = true;
        self.birth.draft = None;
        self.writing = false;
        self.pending.clear();
        self.storing = Arc::default();
        self.commands.give_up();
        self.kill.cancel();
    }

    /// Returns the number of a message of the client that was taken; 0 where it is in the
    /// history.
    pub(super) fn ticket_of(&self, message_id: &str) -> Option<u64> {
        if self.has_message(message_id) {
            return Some(0);
        }
        let mut taken = self.taken.iter();
        taken.find(|(taken, _)| taken == message_id).map(|(_, ticket)| *ticket)
    }

    /// Returns whether a message of the client is in the history.
    fn has_message(&self, message_id: &str) -> bool {
        let is_same = |message: &Message| {
            message.role() == a2a_core::Role::User && message.message_id == message_id
        };
        self.task.history.iter().any(is_same)
    }

    /// The changes that are not seen yet, in order.
    pub(super) fn unseen(&self) -> impl Iterator<Item = &Change> {
        self.storing.iter().chain(&self.pending)
    }

    /// Returns whether the turn of a message has begun, or a later one, and is seen.
    pub(super) fn has_begun(&self, ticket: u64) -> bool {
        ticket == 0 || self.turn >= ticket && self.log.last() >= self.turn_start
    }

    /// Numbers a message that is taken.
    pub(super) fn take_ticket(&mut self, message_id: &str) -> u64 {
        let taken = std::mem::take(&mut self.taken);
        self.taken = taken.into_iter().filter(|(id, _)| !self.has_message(id)).collect();
        self.last_ticket += 1;
        self.taken.push((message_id.to_owned(), self.last_ticket));
        self.last_ticket
    }

    /// What callers get to know of a task that could not be stored or read.
    pub(super) fn failure(&self) -> Error {
        if self.full {
            StoreError::Full.into()
        } else {
            Error::unavailable("the task could not be stored")
        }
    }

    /// Notes that a run of the executor begins here.
    pub(super) fn begin_run(&mut self, slot: Slot) {
        self.running = true;
        self.work.begin(slot);
        self.canceling = false;
        self.cancel = CancellationToken::new();
        self.kill = CancellationToken::new();
    }

    /// Returns whether an executor is at work that does not ask for the next message.
    pub(super) fn is_at_work(&self) -> bool {
        let asks = self.asking && !self.kill.is_cancelled();
        self.running && !asks
    }

    /// Returns whether the task went to another node, or is nobody's, and may go on there.
    pub(super) fn is_away(&self) -> bool {
        self.holder != Holder::Here && !self.broken && !self.task.state().is_terminal()
    }

    /// Returns whether the task is about to end, and that is not stored yet: if this node has lost
    /// the task without knowing, it goes on.
    pub(super) fn is_ending(&self) -> bool {
        let ending = self.head.is_terminal() || self.canceling;
        ending && !self.task.state().is_terminal() && !self.broken
    }

    /// Returns whether it is not known here yet whether the task is stored: others may know of it
    /// already.
    pub(super) fn is_appearing(&self) -> bool {
        let is_asked = self.writing || self.holder == Holder::Elsewhere;
        !self.appeared && !self.broken && is_asked
    }

    /// Returns whether this node holds the task and has nothing more to do with it.
    pub(super) fn is_idle_here(&self) -> bool {
        self.holder == Holder::Here
            && self.appeared
            && !self.running
            && !self.writing
            && self.pending.is_empty()
    }

    /// Returns whether nothing more can come: the task has ended, or a message answered.
    pub(super) fn is_over(&self) -> bool {
        self.head.is_terminal() || self.reply.is_some() || self.broken
    }

    /// Returns whether every event is seen. What a writer is at work on is pending no more, and
    /// not in the log yet.
    pub(super) fn is_shown(&self) -> bool {
        self.pending.is_empty() && self.log.last() >= self.last_assigned
    }

    /// Makes the task appear, if it has not yet.
    pub(super) fn appear(&mut self) {
        if self.last_assigned == 0 {
            self.last_assigned = 1;
            self.put(Change::Appeared);
        }
    }

    /// Notes that the executor waits for what it changed to be stored.
    pub(super) fn await_batch(&mut self) {
        if self.batch == Batch::Open {
            self.batch = Batch::Awaited;
        }
    }

    /// Adds an event to the changes that are to be stored.
    pub(super) fn push(&mut self, payload: Payload) -> u64 {
        self.last_assigned += 1;
        let event =
            Event::new(EventId::new(self.last_assigned), StreamResponse { payload: Some(payload) });
        let state = event.state();
        if let Some(state) = state {
            self.head = state;
        }
        self.work.note(state, !self.queue.is_empty());
        self.put(Change::Event(event));
        self.last_assigned
    }

    /// Adds a message of the client to the changes that are to be stored.
    pub(super) fn push_message(&mut self, message: Message) {
        self.put(Change::History(message));
    }

    fn put(&mut self, change: Change) {
        if let Some(size) = &mut self.size {
            size.apply(&change);
        }
        self.pending.push(change);
    }

    /// The limit that an update of the executor goes beyond.
    pub(super) fn exceeded(&mut self, payload: &Payload, limits: &TaskLimits) -> Option<TaskLimit> {
        self.against(|size| size.exceeded(payload, limits))
    }

    /// The limit that one more message of the client goes beyond.
    pub(super) fn refuses(&mut self, message: &Message, limits: &TaskLimits) -> Option<TaskLimit> {
        let queued: Vec<_> =
            self.queue.iter().map(|queued| Arc::clone(&queued.turn.message)).collect();
        self.against(|size| size.refuses(queued.iter().map(|m| &**m).chain([message]), limits))
    }

    fn against(&mut self, test: impl Fn(&Size) -> Option<TaskLimit>) -> Option<TaskLimit> {
        if let Some(size) = &self.size
            && test(size).is_none()
        {
            return None;
        }
        // What was added up change by change may be too much, where one replaced another.
        let mut size = Size::of(&self.task);
        self.unseen().for_each(|change| size.apply(change));
        test(self.size.insert(size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_that_is_being_written_is_not_shown_yet() {
        let mut state = State::new(Arc::default(), 0, Log::new(0, 10, usize::MAX));
        assert!(state.is_shown());
        state.appear();
        assert!(!state.is_shown());
        // As a writer takes it, and puts it into the log when it is stored.
        for change in std::mem::take(&mut state.pending) {
            assert!(!state.is_shown());
            if let Change::Event(event) = change.into_event(&state.task) {
                state.log.push(event);
            }
        }
        assert!(state.is_shown());
    }
}
