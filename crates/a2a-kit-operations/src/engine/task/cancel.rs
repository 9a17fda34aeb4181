//! Transitions of a cancel.

use std::{sync::Arc, time::Instant};

use a2a_core::{TaskState, v1::Task};

use super::{LiveTask, NewStatus};

/// The status message of a canceled task.
pub(super) const CANCELED: &str = "canceled at the client's request";

/// What to do about a cancel.
#[derive(Debug)]
pub(in crate::engine) enum CancelStep {
    /// Signal the executor.
    Signal(Arc<Task>),
    /// No executor runs: set CANCELED.
    Force,
    /// An earlier cancel is in progress.
    Join,
    /// The task has already ended, but that is not stored yet.
    TooLate,
    /// The task has ended in this state.
    Ended(TaskState),
    /// This node does not hold the lease.
    NotHolder,
}

impl LiveTask {
    /// Handles a cancel. The command is that of the node that forwarded it.
    pub(in crate::engine) fn cancel(&mut self, command: Option<&Arc<str>>) -> CancelStep {
        if self.is_away() {
            return CancelStep::NotHolder;
        }
        if self.has_ended() {
            return CancelStep::Ended(self.task.state());
        }
        // Answered with the write that ends the task, so that no end comes without it.
        command.into_iter().for_each(|id| self.commands.cancel(Arc::clone(id)));
        if self.changes.head.is_terminal() {
            return CancelStep::TooLate;
        }
        let is_first = !std::mem::replace(&mut self.run.is_canceling, true);
        match (self.run.is_running(), is_first) {
            (true, true) => {
                self.effects.cancel = true;
                CancelStep::Signal(Arc::clone(&self.task))
            }
            (true, false) => CancelStep::Join,
            (false, _) => CancelStep::Force,
        }
    }

    /// Sets CANCELED if the executor cannot notice the cancel; returns whether it was.
    pub(in crate::engine) fn cancel_unnoticed(
        &mut self,
        new_status: NewStatus<'_>,
        now: Instant,
    ) -> bool {
        let is_unnoticed = self.is_here() && self.run.is_running() && !self.run.notices_cancel();
        if is_unnoticed {
            self.force_cancel(new_status, now);
        }
        is_unnoticed
    }

    /// Sets CANCELED, whatever the executor does.
    pub(in crate::engine) fn force_cancel(&mut self, new_status: NewStatus<'_>, now: Instant) {
        if !self.is_here() {
            return;
        }
        self.drop_executor();
        if !self.is_over() {
            self.appear();
            self.push(new_status(TaskState::Canceled, Some(CANCELED.to_owned())), now);
        }
    }
}
