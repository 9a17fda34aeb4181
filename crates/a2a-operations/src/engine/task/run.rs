//! What an executor does to its task, and what ends it.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use a2a_core::{
    TaskState,
    v1::{Message, StreamResponse, Task, stream_response::Payload},
};

use super::{
    LiveTask, Say, TurnRequest,
    work::{Left, Work},
};
use crate::{Event, RunLimits, TaskLimits, UpdateError, engine::slots::Slot};

/// Who works on a task.
#[derive(Debug, Default)]
pub(in crate::engine) struct Run {
    phase: Phase,
    /// What is worked on, to be recorded with the next write.
    pub(in crate::engine) execution: Option<TurnRequest>,
    /// Whether a client has canceled.
    pub(in crate::engine) is_canceling: bool,
    /// Whether the executor was dropped in the middle of its work by a shutdown.
    pub(in crate::engine) was_cut_off: bool,
}

#[derive(Debug, Default)]
enum Phase {
    #[default]
    Idle,
    /// An executor of this node.
    Here(Executing),
    /// One of the node that holds the task.
    Elsewhere,
}

#[derive(Debug, Default)]
struct Executing {
    /// Its slot and its clocks.
    work: Work,
    ask: Ask,
    is_dropped: bool,
}

/// Whether an executor waits for the next message.
#[derive(Debug, Default)]
enum Ask {
    #[default]
    No,
    Waits,
    /// This is the message.
    Handed(Arc<Message>),
}

/// How an executor ended.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::engine) enum Ended {
    Returned,
    /// It failed, with the public text.
    Failed(String),
    /// It was dropped.
    Dropped,
}

/// What is to be done about a cancel.
#[derive(Debug)]
pub(in crate::engine) enum CancelStep {
    /// Tell the executor.
    Tell(Arc<Task>),
    /// No executor runs: set CANCELED.
    Force,
    /// An earlier cancel is at it.
    Wait,
    /// The task has an end already, which is on its way to the store.
    Late,
    /// The task has ended in this state.
    Ended(TaskState),
    /// Another node may write, or none.
    Away,
}

impl Run {
    pub(super) fn begin(&mut self, slot: Slot, now: Instant) {
        let mut executing = Executing::default();
        executing.work.begin(slot, now);
        self.phase = Phase::Here(executing);
        self.is_canceling = false;
    }

    pub(super) fn end(&mut self) {
        self.phase = Phase::Idle;
    }

    /// Sets whether another node works on the task.
    pub(super) fn follow(&mut self, elsewhere: bool) {
        self.phase = if elsewhere { Phase::Elsewhere } else { Phase::Idle };
    }

    fn executing(&mut self) -> Option<&mut Executing> {
        match &mut self.phase {
            Phase::Here(executing) => Some(executing),
            Phase::Idle | Phase::Elsewhere => None,
        }
    }

    /// Whether an executor is at work, here or on the node that holds the task.
    pub(in crate::engine) fn is_running(&self) -> bool {
        !matches!(self.phase, Phase::Idle)
    }

    /// The slot and the clocks of the executor that is at work here.
    pub(super) fn work(&mut self) -> Option<&mut Work> {
        self.executing().map(|executing| &mut executing.work)
    }

    /// Stops the clocks while the executor waits for others before it can work.
    pub(in crate::engine) fn stop_clocks(&mut self, now: Instant) {
        self.work().into_iter().for_each(|work| work.stop_clocks(now));
    }

    /// Starts them again.
    pub(in crate::engine) fn start_clocks(&mut self, now: Instant) {
        self.work().into_iter().for_each(|work| work.start_clocks(now));
    }

    /// What is left of the time of the executor that is at work here.
    pub(in crate::engine) fn left(
        &self,
        limits: RunLimits,
        max_parked: Option<Duration>,
        now: Instant,
    ) -> Left {
        match &self.phase {
            Phase::Here(executing) => executing.work.left(limits, max_parked, now),
            Phase::Idle | Phase::Elsewhere => Left::Forever,
        }
    }

    /// Returns whether the executor waits for the next message.
    pub(in crate::engine) fn is_asking(&self) -> bool {
        match &self.phase {
            Phase::Here(executing) => matches!(executing.ask, Ask::Waits) && !executing.is_dropped,
            Phase::Idle | Phase::Elsewhere => false,
        }
    }

    /// Returns whether the executor is to be dropped.
    pub(in crate::engine) fn is_dropped(&self) -> bool {
        match &self.phase {
            Phase::Here(executing) => executing.is_dropped,
            Phase::Idle | Phase::Elsewhere => true,
        }
    }

    pub(super) fn drop_executor(&mut self) {
        if let Some(executing) = self.executing() {
            executing.is_dropped = true;
        }
    }

    /// Notes that the executor waits for a message, unless there is one for it from an earlier
    /// question that it gave up.
    fn begin_asking(&mut self) -> bool {
        let Some(executing) = self.executing() else { return false };
        let waits = !matches!(executing.ask, Ask::Handed(_));
        if waits {
            executing.ask = Ask::Waits;
        }
        waits
    }

    /// Gives the executor the message that it waits for.
    pub(super) fn hand(&mut self, message: &Arc<Message>) {
        if let Some(executing) = self.executing() {
            executing.ask = Ask::Handed(Arc::clone(message));
        }
    }

    fn take_handed(&mut self) -> Option<Arc<Message>> {
        let ask = &mut self.executing()?.ask;
        match std::mem::take(ask) {
            Ask::Handed(message) => Some(message),
            other => {
                *ask = other;
                None
            }
        }
    }
}

impl LiveTask {
    /// Fails where the task listens no more to an executor of this generation.
    pub(in crate::engine) fn listens(&self, generation: u64) -> Result<(), UpdateError> {
        if self.ownership.generation != generation {
            Err(UpdateError::Moved)
        } else if self.disk.has_failed() {
            Err(UpdateError::Store)
        } else {
            Ok(())
        }
    }

    fn accepts(&self, generation: u64) -> Result<(), UpdateError> {
        self.listens(generation)?;
        if self.is_over() {
            Err(UpdateError::Ended)
        } else if self.is_here() {
            Ok(())
        } else {
            Err(UpdateError::Moved)
        }
    }

    /// Adds an update of the executor, and returns its position.
    pub(in crate::engine) fn update(
        &mut self,
        generation: u64,
        payload: Payload,
        limits: &TaskLimits,
        say: Say<'_>,
        now: Instant,
    ) -> Result<u64, UpdateError> {
        self.accepts(generation)?;
        self.fit(&payload, limits, say, now)?;
        self.appear();
        Ok(self.push(payload, now))
    }

    /// Checks that an update fits into the task, and fails the task otherwise.
    fn fit(
        &mut self,
        payload: &Payload,
        limits: &TaskLimits,
        say: Say<'_>,
        now: Instant,
    ) -> Result<(), UpdateError> {
        let Some(limit) = self.exceeded(payload, limits) else { return Ok(()) };
        self.appear();
        self.push(say(TaskState::Failed, Some(limit.reason(limits))), now);
        Err(UpdateError::Limit(limit))
    }

    /// Answers with a message in place of a task; returns `false` where the task has appeared.
    pub(in crate::engine) fn reply(
        &mut self,
        generation: u64,
        message: &Message,
    ) -> Result<bool, UpdateError> {
        self.accepts(generation)?;
        if self.changes.last > 0 {
            return Ok(false);
        }
        let payload = Some(Payload::Message(message.clone()));
        self.reply = Some(Event::new(None, StreamResponse { payload }));
        Ok(true)
    }

    /// Asks the client for a message, and returns the position of the question.
    pub(in crate::engine) fn ask(
        &mut self,
        generation: u64,
        question: Payload,
        limits: &TaskLimits,
        say: Say<'_>,
        now: Instant,
    ) -> Result<u64, UpdateError> {
        self.accepts(generation)?;
        if self.run.is_canceling {
            return Err(UpdateError::Canceled);
        }
        self.fit(&question, limits, say, now)?;
        self.appear();
        let position = self.push(question, now);
        if self.run.begin_asking()
            && let Some(queued) = self.turns.next()
        {
            self.begin_turn(queued.ticket, &queued.turn, say, now);
            self.run.hand(&queued.turn.message);
        }
        Ok(position)
    }

    /// The message that an executor waits for, or why there will be none; `None` where it is to
    /// wait on.
    pub(in crate::engine) fn asked(
        &mut self,
        generation: u64,
    ) -> Option<Result<Message, UpdateError>> {
        if let Err(error) = self.listens(generation) {
            return Some(Err(error));
        }
        if let Some(message) = self.run.take_handed() {
            return Some(Ok(Arc::unwrap_or_clone(message)));
        }
        if self.run.is_canceling {
            return Some(Err(UpdateError::Canceled));
        }
        self.accepts(generation).err().map(Err)
    }

    /// The executor waits no more. A message that comes from now on queues; one that was handed
    /// over stays for the next question.
    pub(in crate::engine) fn stop_asking(&mut self) {
        if let Some(executing) = self.run.executing()
            && matches!(executing.ask, Ask::Waits)
        {
            executing.ask = Ask::No;
        }
    }

    /// Drops an executor that waits for a message, and leaves the task as it is.
    pub(in crate::engine) fn drop_asking(&mut self) {
        if self.run.is_asking() {
            self.drop_executor();
        }
    }

    /// Drops the executor.
    pub(in crate::engine) fn drop_executor(&mut self) {
        self.run.drop_executor();
        self.effects.drop = true;
    }

    /// The executor has said nothing for a while: the task appears.
    pub(in crate::engine) fn silent(&mut self, generation: u64) {
        if !self.is_over() && self.ownership.generation == generation {
            self.appear();
        }
    }

    /// Settles what an executor left behind, and returns the next message, if one waits. `stops`
    /// says whether the engine shuts down.
    pub(in crate::engine) fn ended(
        &mut self,
        generation: u64,
        ended: Ended,
        stops: bool,
        say: Say<'_>,
        now: Instant,
    ) -> Option<TurnRequest> {
        if self.ownership.generation != generation {
            return None;
        }
        let was_dropped = ended == Ended::Dropped;
        if self.accepts(generation).is_ok() {
            self.appear();
            if self.run.is_canceling {
                self.push(say(TaskState::Canceled, Some(CANCELED.to_owned())), now);
            } else if let Ended::Failed(text) = ended {
                self.push(say(TaskState::Failed, Some(text)), now);
            }
        }
        // The work is to go on elsewhere, or here after a restart.
        let works = self.changes.head != TaskState::InputRequired && !self.is_over();
        self.run.was_cut_off = was_dropped && stops && works;
        let next = if self.is_over() || stops { None } else { self.turns.next() };
        match next {
            Some(queued) => {
                if let Some(executing) = self.run.executing() {
                    executing.is_dropped = false;
                    executing.ask = Ask::No;
                }
                self.effects.begin = true;
                self.begin_turn(queued.ticket, &queued.turn, say, now);
                Some(queued.turn)
            }
            None => {
                self.run.end();
                if self.reply.is_some() {
                    self.birth.draft = None;
                }
                // Commands of other nodes stay in the store. They are read again when the end of the
                // task is stored, or by the node that takes the task over.
                let left = self.turns.drain();
                self.commands.leave(&left);
                None
            }
        }
    }

    /// Ends a task that was cut off and is not run again: FAILED.
    pub(in crate::engine) fn fail_interrupted(&mut self, say: Say<'_>, now: Instant) {
        let text = "the agent was interrupted while it worked on this task";
        self.push(say(TaskState::Failed, Some(text.to_owned())), now);
    }

    /// The client cancels. The command is that of the node which passes the cancel on.
    pub(in crate::engine) fn cancel(&mut self, command: Option<&Arc<str>>) -> CancelStep {
        if self.is_away() {
            return CancelStep::Away;
        }
        if self.has_ended() {
            return CancelStep::Ended(self.task.state());
        }
        // With the write that ends the task, so that no end comes without its answer.
        command.into_iter().for_each(|id| self.commands.cancel(Arc::clone(id)));
        if self.changes.head.is_terminal() {
            return CancelStep::Late;
        }
        let is_first = !std::mem::replace(&mut self.run.is_canceling, true);
        match (self.run.is_running(), is_first) {
            (true, true) => {
                self.effects.cancel = true;
                CancelStep::Tell(Arc::clone(&self.task))
            }
            (true, false) => CancelStep::Wait,
            (false, _) => CancelStep::Force,
        }
    }

    /// Sets CANCELED, whatever the executor does.
    pub(in crate::engine) fn force_cancel(&mut self, say: Say<'_>, now: Instant) {
        if !self.is_here() {
            return;
        }
        self.drop_executor();
        if !self.is_over() {
            self.appear();
            self.push(say(TaskState::Canceled, Some(CANCELED.to_owned())), now);
        }
    }
}

/// What is said of a task that a client canceled.
const CANCELED: &str = "canceled at the client's request";

/// A run in a few words, for the table of states.
#[cfg(test)]
pub(super) struct Shape<'a>(pub(super) &'a Run);

#[cfg(test)]
impl std::fmt::Display for Shape<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0.phase {
            Phase::Idle => f.write_str("idle")?,
            Phase::Elsewhere => f.write_str("elsewhere")?,
            Phase::Here(Executing { ask, is_dropped, .. }) => {
                f.write_str(match ask {
                    Ask::No => "works",
                    Ask::Waits => "asks",
                    Ask::Handed(_) => "has the answer",
                })?;
                f.write_str(if *is_dropped { ", dropped" } else { "" })?;
            }
        }
        f.write_str(if self.0.is_canceling { ", canceling" } else { "" })?;
        f.write_str(if self.0.was_cut_off { ", cut off" } else { "" })
    }
}
