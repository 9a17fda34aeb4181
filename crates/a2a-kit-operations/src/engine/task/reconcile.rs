//! What the loop that reconciles the lease and the commands of a task has to do.
//!
//! Everything that asks the store about the lease of a task is a step of this one loop, so that the
//! response to one step is applied before the next one begins.

use std::{sync::Arc, time::Instant};

use a2a_core::{Error, Result, TaskState};

use super::{Commands, Holder, LiveTask, Now, StartMode, Takeover, TurnRequest};
use crate::store::StoredTask;

/// A step of the loop.
#[derive(Debug)]
pub(crate) enum Step {
    /// Resume the work of a failed node.
    Resume(Box<Takeover>),
    /// Request the lease.
    Acquire,
    /// Read and handle the pending commands under this generation.
    Serve { generation: u64 },
    /// Release the lease. Interrupted work is left to the next holder.
    Release { epoch: u64, is_unfinished: bool },
}

/// What becomes of interrupted work.
#[derive(Debug)]
pub(crate) enum Resumption {
    /// Nothing: it waits for its client, or there is none.
    Left,
    /// The executor runs again, after the commands that were sent before.
    Rerun(TurnRequest),
    /// The task fails.
    Failed,
}

impl Resumption {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Left => "left",
            Self::Rerun(_) => "rerun",
            Self::Failed => "failed",
        }
    }
}

impl LiveTask {
    /// Returns whether the loop has to start: there is something to do, and it is not running.
    pub(super) fn has_to_reconcile(&self) -> bool {
        let work = &self.ownership.work;
        !work.is_running
            && (self.is_urgent() || self.can_serve() || work.releases && self.is_idle())
    }

    /// The lease is no longer needed, unless the task has work.
    pub(crate) fn release_if_idle(&mut self) {
        self.ownership.work.releases |= self.is_idle();
    }

    /// Returns whether the loop has something to do that cannot wait until a failed step is
    /// repeated.
    pub(crate) fn is_urgent(&self) -> bool {
        self.ownership.work.takeover.is_some() || self.ownership.work.wants_lease()
    }

    /// The next step of the loop; `None` ends it. If the engine `stops`, commands are for a node that
    /// keeps running, except those for a running executor.
    pub(crate) fn next_step(&mut self, stops: bool) -> Option<Step> {
        if let Some(takeover) = self.ownership.work.takeover.take() {
            return Some(Step::Resume(takeover));
        }
        if self.ownership.work.wants_lease() {
            if !self.is_here() {
                return Some(Step::Acquire);
            }
            self.answer_lease_request(None);
        }
        if self.can_serve() {
            self.ownership.work.has_commands = false;
            if stops && !self.run.is_running() {
                self.release_if_idle();
            } else {
                self.commands.set_reading(true);
                return Some(Step::Serve { generation: self.ownership.generation });
            }
        }
        if std::mem::take(&mut self.ownership.work.releases)
            && let Some((epoch, is_unfinished)) = self.begin_release()
        {
            return Some(Step::Release { epoch, is_unfinished });
        }
        self.ownership.work.is_running = false;
        None
    }

    /// A command is for the holder of the lease. An ended task has none; the node that released it
    /// rejects late commands.
    fn can_serve(&self) -> bool {
        self.ownership.work.has_commands && (self.is_here() || self.has_ended())
    }

    /// The commands that this node has taken.
    pub(crate) fn commands(&mut self) -> &mut Commands {
        &mut self.commands
    }

    /// Whether a command that was taken is answered, or left in the store; `None` until then.
    pub(crate) fn has_settled_command(&self, id: &Arc<str>) -> Option<()> {
        (!self.commands.has_taken(id)).then_some(())
    }

    /// Takes a command, unless it was taken before or is for another node.
    pub(crate) fn take_command(&mut self, generation: u64, id: &Arc<str>, cancels: bool) -> bool {
        if self.ownership.generation != generation {
            return false;
        }
        if !self.is_here() && !self.has_ended() {
            self.notice_commands();
            return false;
        }
        // Commands that arrive while the end is being written are read again afterwards.
        let ends = self.is_ending() && (!cancels || self.changes.head.is_terminal());
        !ends && self.commands.take(id)
    }

    /// Commands may be pending. A node that does not hold the lease as far as it knows reads them
    /// when it does: the store may have granted it already, with the response in transit.
    pub(crate) fn notice_commands(&mut self) {
        self.ownership.work.has_commands = true;
    }

    /// Requests the lease, and returns the number of the request; `None` if this node holds it.
    pub(crate) fn request_lease(&mut self) -> Option<u64> {
        if self.is_here() {
            return None;
        }
        let work = &mut self.ownership.work;
        if !work.wants_lease() {
            work.requested += 1;
            work.failure = None;
        }
        Some(work.requested)
    }

    /// The store has answered the request for the lease.
    pub(crate) fn answer_lease_request(&mut self, failure: Option<Error>) {
        let work = &mut self.ownership.work;
        work.answered = work.requested;
        work.failure = failure;
    }

    /// Returns whether a request for the lease has an outcome.
    pub(crate) fn has_lease_response(&self, request: u64) -> bool {
        self.is_here() || self.ownership.work.answered >= request
    }

    /// The outcome of a request for the lease; `None` while there is none. It may be outdated, so
    /// callers retry. One of several callers gets the error.
    pub(crate) fn lease_response(&mut self, request: u64) -> Option<Result<Holder>> {
        if self.is_here() {
            return Some(Ok(Holder::Here));
        }
        let is_answered = self.has_lease_response(request);
        let failure = &mut self.ownership.work.failure;
        is_answered.then(|| failure.take().map_or(Ok(self.ownership.holder), Err))
    }

    /// Takes over interrupted work with its lease, unless that has changed hands again since. Returns
    /// what becomes of the work, and the generation. `reruns` tells whether it may be rerun; the
    /// senders of `acknowledged` messages may have been told that they are accepted.
    pub(crate) fn resume(
        &mut self,
        stored: StoredTask,
        since: Option<Instant>,
        (checkpoint, reruns): (&[u8], bool),
        acknowledged: Vec<TurnRequest>,
        now: Now,
    ) -> Option<(Resumption, u64)> {
        if !self.granted(stored, since, true) {
            return None;
        }
        // Of the failed node.
        self.effects.wake_outbox = true;
        let turn = self.interrupted_turn(checkpoint).filter(|_| reruns);
        let resumption = if checkpoint.is_empty()
            || self.changes.head.is_terminal()
            // The task waits for input and needs no executor.
            || self.changes.head == TaskState::InputRequired
            // The answer to its question resumes the run.
            || self.changes.head.is_interrupted() && self.journal.is_asking() && !reruns
        {
            Resumption::Left
        } else if let Some(turn) = turn {
            self.rerun(now.instant);
            Resumption::Rerun(self.resumed(turn))
        } else {
            self.keep_acknowledged(acknowledged);
            let text = "the agent was interrupted while working on this task";
            self.set_state(TaskState::Failed, Some(text.to_owned()), now);
            Resumption::Failed
        };
        Some((resumption, self.ownership.generation))
    }

    /// The commands that were sent before interrupted work have been handled.
    pub(crate) fn resumed_after_commands(&mut self, generation: u64, work: Resumption) {
        match work {
            Resumption::Left => self.notice_commands(),
            Resumption::Rerun(turn) if self.ownership.generation == generation => {
                self.start(turn, StartMode::Spawned);
            }
            Resumption::Rerun(_) | Resumption::Failed => {}
        }
    }

    /// Returns whether this is the epoch of this node's current or last lease.
    pub(crate) fn is_last_epoch(&self, epoch: u64) -> bool {
        self.ownership.epoch == epoch
    }

    /// The commands that were read under this generation have been handled.
    pub(crate) fn end_serving(&mut self, generation: u64) {
        if self.ownership.generation != generation {
            // What was read may be for a later holder, which may be this node.
            self.notice_commands();
        }
        self.commands.set_reading(false);
        self.release_if_idle();
    }

    /// Adds work of a failed node that was granted to this one.
    pub(crate) fn add_takeover(&mut self, takeover: Takeover) {
        let work = &mut self.ownership.work;
        let is_newer = |known: &Takeover| known.orphan.stored.epoch < takeover.orphan.stored.epoch;
        if work.takeover.as_deref().is_none_or(is_newer) {
            work.takeover = Some(Box::new(takeover));
        }
    }

    /// Returns whether no takeover is left to apply, and none is being applied.
    pub(crate) fn is_taken_over(&self) -> bool {
        let work = &self.ownership.work;
        work.takeover.is_none() && (!work.is_running || self.is_here())
    }
}
