//! Transitions of the executor.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use a2a_core::{
    TaskState,
    v1::{Message, StreamResponse, stream_response::Payload},
};

use super::{
    LiveTask, NewStatus, TurnRequest,
    cancel::CANCELED,
    work::{Left, Work},
};
use crate::{Event, RunLimits, TaskLimits, UpdateError, engine::slots::Slot};

/// The text of a task whose executor was dropped because the engine stopped.
const STOPPED: &str =
    "the agent was stopped while working on this task; send a message to continue";

/// The run of the executor.
#[derive(Debug, Default)]
pub(in crate::engine) struct Run {
    phase: Phase,
    /// The turn to write as a checkpoint with the next write.
    pub(in crate::engine) execution: Option<TurnRequest>,
    /// Whether the client has canceled.
    pub(in crate::engine) is_canceling: bool,
    /// Whether a shutdown dropped the executor in the middle of its work.
    pub(in crate::engine) was_interrupted: bool,
    /// Whether a shutdown ended the work, and asked the caller whether to continue.
    pub(in crate::engine) was_stopped: bool,
}

#[derive(Debug, Default)]
enum Phase {
    #[default]
    Idle,
    /// On this node.
    Here(Executing),
    /// On the node that holds the lease.
    Elsewhere,
}

#[derive(Debug, Default)]
struct Executing {
    /// The slot and the clocks.
    work: Work,
    ask: Ask,
    is_dropped: bool,
}

/// Whether the executor waits for the next message.
#[derive(Debug, Default)]
enum Ask {
    #[default]
    No,
    Waits,
    /// The message was handed over.
    Handed(Arc<Message>),
}

/// How a run ended.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::engine) enum Ended {
    Returned,
    /// It failed, with the public text.
    Failed(String),
    /// It was dropped.
    Dropped,
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

    /// Sets whether the task runs on another node.
    pub(super) fn follow(&mut self, elsewhere: bool) {
        self.phase = if elsewhere { Phase::Elsewhere } else { Phase::Idle };
    }

    fn executing(&mut self) -> Option<&mut Executing> {
        match &mut self.phase {
            Phase::Here(executing) => Some(executing),
            Phase::Idle | Phase::Elsewhere => None,
        }
    }

    /// Whether an executor is running, on this or another node.
    pub(in crate::engine) fn is_running(&self) -> bool {
        !matches!(self.phase, Phase::Idle)
    }

    /// The slot and the clocks of the local executor.
    pub(super) fn work(&mut self) -> Option<&mut Work> {
        self.executing().map(|executing| &mut executing.work)
    }

    /// Suspends the run limits while the executor waits for others.
    pub(in crate::engine) fn stop_clocks(&mut self, now: Instant) {
        self.work().into_iter().for_each(|work| work.stop_clocks(now));
    }

    /// Resumes the run limits.
    pub(in crate::engine) fn start_clocks(&mut self, now: Instant) {
        self.work().into_iter().for_each(|work| work.start_clocks(now));
    }

    /// The remaining time of the local executor.
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

    /// The executor waits for a message, unless one was left over from a question that it gave up.
    fn begin_asking(&mut self) -> bool {
        let Some(executing) = self.executing() else { return false };
        let waits = !matches!(executing.ask, Ask::Handed(_));
        if waits {
            executing.ask = Ask::Waits;
        }
        waits
    }

    /// Hands a message to the waiting executor.
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
    /// Fails if updates of this generation are no longer accepted.
    pub(in crate::engine) fn listens(&self, generation: u64) -> Result<(), UpdateError> {
        if self.ownership.generation != generation {
            Err(UpdateError::Superseded)
        } else if self.persistence.has_failed() {
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
            Err(UpdateError::Superseded)
        }
    }

    /// Applies an update of the executor, and returns its position.
    pub(in crate::engine) fn update(
        &mut self,
        generation: u64,
        payload: Payload,
        limits: &TaskLimits,
        new_status: NewStatus<'_>,
        now: Instant,
    ) -> Result<u64, UpdateError> {
        self.accepts(generation)?;
        self.fit(&payload, limits, new_status, now)?;
        self.appear();
        Ok(self.push(payload, now))
    }

    /// Checks an update against the limits; fails the task if one is exceeded.
    fn fit(
        &mut self,
        payload: &Payload,
        limits: &TaskLimits,
        new_status: NewStatus<'_>,
        now: Instant,
    ) -> Result<(), UpdateError> {
        let Some(limit) = self.exceeded(payload, limits) else { return Ok(()) };
        self.appear();
        self.push(new_status(TaskState::Failed, Some(limit.reason(limits))), now);
        Err(UpdateError::Limit(limit))
    }

    /// Responds with a message in place of a task; `false` if the task is already visible.
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
        new_status: NewStatus<'_>,
        now: Instant,
    ) -> Result<u64, UpdateError> {
        self.accepts(generation)?;
        if self.run.is_canceling {
            return Err(UpdateError::Canceled);
        }
        self.fit(&question, limits, new_status, now)?;
        self.appear();
        let position = self.push(question, now);
        if self.run.begin_asking()
            && let Some(queued) = self.turns.next()
        {
            self.begin_turn(queued.ticket, &queued.turn, new_status, now);
            self.run.hand(&queued.turn.message);
        }
        Ok(position)
    }

    /// The message that an executor waits for, or the error that ends the wait; `None` to keep
    /// waiting.
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

    /// The executor stops waiting. Further messages are queued; a message already handed over is
    /// kept for the next question.
    pub(in crate::engine) fn stop_asking(&mut self) {
        if let Some(executing) = self.run.executing()
            && matches!(executing.ask, Ask::Waits)
        {
            executing.ask = Ask::No;
        }
    }

    /// Drops a waiting executor, and leaves the task unchanged.
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

    /// Drops the executor because the engine stops. If it may not be rerun, its caller is asked.
    pub(in crate::engine) fn stop(
        &mut self,
        reruns: bool,
        new_status: NewStatus<'_>,
        now: Instant,
    ) {
        let generation = self.ownership.generation;
        let is_at_work = self.run.executing().is_some()
            && self.accepts(generation).is_ok()
            && self.changes.head != TaskState::InputRequired
            && self.reply.is_none()
            && !self.run.is_canceling;
        if is_at_work && !reruns {
            self.appear();
            self.push(new_status(TaskState::InputRequired, Some(STOPPED.to_owned())), now);
            self.run.was_stopped = true;
        }
        self.drop_executor();
    }

    /// The executor was silent for a while: makes the task visible.
    pub(in crate::engine) fn silent(&mut self, generation: u64) {
        if !self.is_over() && self.ownership.generation == generation {
            self.appear();
        }
    }

    /// Completes a run, and returns the next queued message. `stops` tells whether the engine is
    /// shutting down.
    pub(in crate::engine) fn ended(
        &mut self,
        generation: u64,
        ended: Ended,
        stops: bool,
        new_status: NewStatus<'_>,
        now: Instant,
    ) -> Option<TurnRequest> {
        if self.ownership.generation != generation {
            return None;
        }
        let was_dropped = ended == Ended::Dropped;
        if self.accepts(generation).is_ok() {
            self.appear();
            if self.run.is_canceling {
                self.push(new_status(TaskState::Canceled, Some(CANCELED.to_owned())), now);
            } else if let Ended::Failed(text) = ended {
                self.push(new_status(TaskState::Failed, Some(text)), now);
            }
        }
        // The work continues elsewhere, or here after a restart.
        let works = self.changes.head != TaskState::InputRequired && !self.is_over();
        self.run.was_interrupted = was_dropped && stops && works;
        let next = if self.is_over() || stops { None } else { self.turns.next() };
        match next {
            Some(queued) => {
                if let Some(executing) = self.run.executing() {
                    executing.is_dropped = false;
                    executing.ask = Ask::No;
                }
                self.effects.begin = true;
                self.begin_turn(queued.ticket, &queued.turn, new_status, now);
                Some(queued.turn)
            }
            None => {
                self.run.end();
                if self.reply.is_some() {
                    self.creation.draft = None;
                }
                // Commands of other nodes stay in the store. They are read again when the end of
                // the task is stored, or by the node that takes the task over.
                let left = self.turns.drain();
                self.commands.leave(&left);
                None
            }
        }
    }

    /// Fails an interrupted task that is not rerun.
    pub(in crate::engine) fn fail_interrupted(&mut self, new_status: NewStatus<'_>, now: Instant) {
        let text = "the agent was interrupted while working on this task";
        self.push(new_status(TaskState::Failed, Some(text.to_owned())), now);
    }
}

/// A short description of a run, for the transition table.
#[cfg(test)]
pub(super) struct RunSummary<'a>(pub(super) &'a Run);

#[cfg(test)]
impl std::fmt::Display for RunSummary<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0.phase {
            Phase::Idle => f.write_str("idle")?,
            Phase::Elsewhere => f.write_str("elsewhere")?,
            Phase::Here(Executing { ask, is_dropped, .. }) => {
                f.write_str(match ask {
                    Ask::No => "running",
                    Ask::Waits => "asking",
                    Ask::Handed(_) => "answered",
                })?;
                f.write_str(if *is_dropped { ", dropped" } else { "" })?;
            }
        }
        f.write_str(if self.0.is_canceling { ", canceling" } else { "" })?;
        f.write_str(if self.0.was_interrupted { ", interrupted" } else { "" })
    }
}
