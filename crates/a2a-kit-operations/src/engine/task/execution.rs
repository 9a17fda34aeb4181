//! Transitions of the executor.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use a2a_core::{
    TaskState,
    v1::{Message, Task},
};

use super::{
    Change, ExceededLimit, Join, LiveTask, Now, TurnRequest, cancel::CANCELED, run::Ask, work::Left,
};
use crate::{Event, RunLimits, TaskLimits, UpdateError};

/// The status message of a task whose run does not repeat an earlier one.
const DIVERGED: &str = "the agent could not resume the conversation";
/// The text of a task whose executor was dropped because the engine stopped.
const STOPPED: &str =
    "the agent was stopped while working on this task; send a message to continue";

/// Whether the outcome of a run matters to its task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relevance {
    /// No: the run was superseded, or has responded with a message.
    None,
    /// Only for the log: the task has ended.
    Logged,
    /// The task goes on. Its state, if a run that returns now leaves its caller waiting: it waits
    /// for nothing, and no other message follows.
    Applied(Option<TaskState>),
}

/// How a run ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RunEnd {
    Returned,
    /// It failed, with the public text.
    Failed(String),
    /// It was dropped.
    Dropped,
}

impl LiveTask {
    /// Fails if updates of this generation are no longer accepted.
    pub(crate) fn listens(&self, generation: u64) -> Result<(), UpdateError> {
        if self.ownership.generation != generation {
            Err(UpdateError::Superseded)
        } else if self.persistence.has_failed() {
            Err(UpdateError::Store)
        } else {
            Ok(())
        }
    }

    pub(super) fn accepts(&self, generation: u64) -> Result<(), UpdateError> {
        self.listens(generation)?;
        if self.is_closed() {
            Err(UpdateError::Ended)
        } else if self.is_here() {
            Ok(())
        } else {
            Err(UpdateError::Superseded)
        }
    }

    /// Whether an executor may go on after an update: not while `max` changes are pending, so that it
    /// does not outrun the store.
    pub(crate) fn accepts_more(
        &self,
        generation: u64,
        max: usize,
    ) -> Option<Result<(), UpdateError>> {
        let listens = self.listens(generation);
        (listens.is_err() || self.changes.pending.len() < max).then_some(listens)
    }

    /// The task with the changes that are not stored yet, which its executor sees.
    pub(crate) fn task_of_executor(&self) -> Arc<Task> {
        let mut task = Arc::clone(&self.task);
        self.unseen().for_each(|change| change.apply(Arc::make_mut(&mut task)));
        task
    }

    /// Applies an update of the executor, and returns its position.
    pub(crate) fn update(
        &mut self,
        generation: u64,
        event: Event,
        limits: &TaskLimits,
        now: Now,
    ) -> Result<u64, UpdateError> {
        self.accepts(generation)?;
        if self.journal.is_replaying() {
            match event.state() {
                // Something is missing: what came before the end was not stored again.
                Some(TaskState::Completed) => return Err(self.diverge(now)),
                Some(state) if state.is_terminal() => {}
                // An earlier run has stored it.
                _ => return Ok(self.log.last()),
            }
        }
        let exceeded = self.exceeded(&event, limits);
        self.check_limit(exceeded, limits, now)?;
        if event.state().is_some_and(|state| !state.is_interrupted()) && self.journal.decide() {
            self.put(Change::Journal);
        }
        self.appear();
        Ok(self.push(event, now))
    }

    /// Joins the text parts of an artifact.
    pub(crate) fn join_parts(
        &mut self,
        generation: u64,
        artifact_id: &str,
    ) -> Result<(), UpdateError> {
        self.accepts(generation)?;
        // An earlier run may have done so; joining twice is joining once.
        let artifact_id = artifact_id.to_owned();
        self.put(Change::Joined(Box::new(Join { artifact_id })));
        Ok(())
    }

    /// Fails the task: its run does not repeat what an earlier one did.
    pub(super) fn diverge(&mut self, now: Now) -> UpdateError {
        self.set_state(TaskState::Failed, Some(DIVERGED.to_owned()), now);
        UpdateError::Diverged
    }

    /// Fails the task if a limit is exceeded.
    pub(super) fn check_limit(
        &mut self,
        exceeded: Option<ExceededLimit>,
        limits: &TaskLimits,
        now: Now,
    ) -> Result<(), UpdateError> {
        let Some(limit) = exceeded else { return Ok(()) };
        self.appear();
        self.set_state(TaskState::Failed, Some(limit.reason(limits)), now);
        Err(UpdateError::Limit(limit))
    }

    /// Responds with a message in place of a task, and returns the message that it responds to;
    /// `None` if the task is already visible.
    pub(crate) fn reply(
        &mut self,
        generation: u64,
        message: &Message,
    ) -> Result<Option<&Message>, UpdateError> {
        self.accepts(generation)?;
        if self.changes.last > 0 {
            return Ok(None);
        }
        self.reply = Some(message.clone().into());
        Ok(self.task.history.last())
    }

    /// Drops the executor.
    pub(crate) fn drop_executor(&mut self) {
        self.run.drop_executor();
        self.effects.drop = true;
    }

    /// Drops the executor because the engine stops. If it may not be rerun, its caller is asked.
    pub(crate) fn stop(&mut self, reruns: bool, now: Now) {
        let generation = self.ownership.generation;
        let is_at_work = self.run.executing().is_some()
            && self.accepts(generation).is_ok()
            && self.changes.head != TaskState::InputRequired
            && self.reply.is_none()
            && !self.run.is_canceling;
        if is_at_work && !reruns {
            self.appear();
            self.set_state(TaskState::InputRequired, Some(STOPPED.to_owned()), now);
            self.run.was_stopped = true;
        }
        self.drop_executor();
    }

    /// The executor was silent for a while: makes the task visible.
    pub(crate) fn silent(&mut self, generation: u64) {
        if !self.is_closed() && self.ownership.generation == generation {
            self.appear();
        }
    }

    /// Completes a run, and returns the next queued message. `stops` tells whether the engine is
    /// shutting down.
    pub(crate) fn end_run(
        &mut self,
        generation: u64,
        ended: RunEnd,
        stops: bool,
        now: Now,
    ) -> Option<TurnRequest> {
        if self.ownership.generation != generation {
            return None;
        }
        let was_dropped = ended == RunEnd::Dropped;
        let ended = match ended {
            RunEnd::Returned if self.journal.is_replaying() => RunEnd::Failed(DIVERGED.to_owned()),
            ended => ended,
        };
        if self.is_here() && !was_dropped {
            self.close_journal();
        }
        if self.accepts(generation).is_ok() {
            self.appear();
            if self.run.is_canceling {
                self.set_state(TaskState::Canceled, Some(CANCELED.to_owned()), now);
            } else if let RunEnd::Failed(text) = ended {
                self.set_state(TaskState::Failed, Some(text), now);
            }
        }
        // The work continues elsewhere, or here after a restart.
        let works = self.changes.head != TaskState::InputRequired && !self.is_closed();
        self.run.was_interrupted = was_dropped && stops && works;
        let next = if self.is_closed() || stops { None } else { self.turns.queue.pop_front() };
        match next {
            Some(queued) => {
                if let Some(executing) = self.run.executing() {
                    executing.is_dropped = false;
                    executing.ask = Ask::No;
                    executing.watches_cancel = false;
                    executing.refuses_messages = false;
                }
                self.effects.begin = true;
                self.begin_turn(queued.ticket, &queued.turn, now);
                Some(self.resumed(queued.turn))
            }
            None => {
                self.run.follow(false);
                // Commands of other nodes stay in the store. They are read again when the end of
                // the task is stored, or by the node that takes the task over.
                let left = self.turns.drain();
                self.commands.leave(&left);
                if !left.is_empty() && !stops {
                    self.notice_commands();
                }
                self.release_if_idle();
                None
            }
        }
    }

    /// Whether the outcome of a run matters.
    pub(crate) fn relevance(&self, generation: u64) -> Relevance {
        if self.listens(generation).is_err() || self.reply.is_some() {
            return Relevance::None;
        }
        if self.is_closed() {
            return Relevance::Logged;
        }
        let is_left_open = !self.changes.head.is_interrupted()
            && !self.run.is_canceling
            && self.turns.queue.is_empty();
        Relevance::Applied(is_left_open.then_some(self.changes.head))
    }

    /// The remaining time of a run.
    pub(crate) fn left(
        &self,
        generation: u64,
        limits: RunLimits,
        max_parked: Option<Duration>,
        now: Instant,
    ) -> Left {
        // An executor of another generation is dropped already.
        let run = self.run.here().filter(|_| self.listens(generation).is_ok());
        run.map_or(Left::Forever, |run| run.work.left(limits, max_parked, now))
    }

    /// Suspends the run limits while the executor waits for others.
    pub(crate) fn stop_clocks(&mut self, now: Instant) {
        self.run.work().into_iter().for_each(|work| work.stop_clocks(now));
    }

    /// Resumes the run limits.
    pub(crate) fn start_clocks(&mut self, now: Instant) {
        self.run.work().into_iter().for_each(|work| work.start_clocks(now));
    }

    /// The executor takes no message while it works.
    pub(crate) fn refuse_messages(&mut self) {
        if let Some(executing) = self.run.executing() {
            executing.refuses_messages = true;
        }
    }

    /// The executor looks for a cancel, and so gets the grace period. Returns whether the client has
    /// canceled.
    pub(crate) fn watch_cancel(&mut self) -> bool {
        if let Some(executing) = self.run.executing() {
            executing.watches_cancel = true;
        }
        self.run.is_canceling
    }

    /// Returns whether the client has canceled.
    pub(crate) fn is_canceling(&self) -> bool {
        self.run.is_canceling
    }

    /// Whether the executor is to be dropped; `None` if the run is of another generation.
    pub(crate) fn is_dropped(&self, generation: u64) -> Option<bool> {
        let is_dropped = self.run.here().is_none_or(|run| run.is_dropped);
        self.is_current(generation).then_some(is_dropped)
    }
}
