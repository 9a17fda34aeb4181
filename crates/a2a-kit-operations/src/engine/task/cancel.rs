//! Transitions of a cancel.

use std::sync::Arc;

use a2a_core::{Result, TaskState, v1::Task};

use super::{CancelRequest, Cancellation, LiveTask, Now};

/// The status message of a canceled task.
pub(super) const CANCELED: &str = "canceled at the client's request";

/// The result of an accepted cancel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cancel {
    /// The task is being canceled, by this call or an earlier one.
    Started,
    /// The task has already ended, but that is not stored yet.
    TooLate,
}

/// Why a cancel is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CancelRefusal {
    /// The task has ended in this state.
    Ended(TaskState),
    /// This node does not hold the lease.
    NotHolder,
}

impl LiveTask {
    /// Cancels the task: signals the executor, or sets CANCELED if none runs. The command is that of
    /// the node that forwarded the cancel.
    pub(crate) fn cancel(
        &mut self,
        request: CancelRequest,
        command: Option<&Arc<str>>,
        now: Now,
    ) -> Result<Cancel, CancelRefusal> {
        let refusal = if self.is_away() {
            Some(CancelRefusal::NotHolder)
        } else {
            self.has_ended().then(|| CancelRefusal::Ended(self.task.state()))
        };
        if let Some(refusal) = refusal {
            // The lease may have been acquired for this cancel.
            self.release_if_idle();
            return Err(refusal);
        }
        // Answered with the write that ends the task, so that no end comes without it.
        command.into_iter().for_each(|id| self.commands.cancels.push(Arc::clone(id)));
        if self.changes.head.is_terminal() {
            return Ok(Cancel::TooLate);
        }
        let is_first = !std::mem::replace(&mut self.run.is_canceling, true);
        if !self.run.is_running() {
            self.force_cancel(now);
        } else if is_first {
            let (task, generation) = (Arc::clone(&self.task), self.ownership.generation);
            self.effects.cancel = Some(Box::new(Cancellation { task, request, generation }));
        }
        Ok(Cancel::Started)
    }

    /// The task when it has ended, or `None` inside when it is of another generation; `None` until
    /// then.
    pub(crate) fn ended_task(&self, generation: u64) -> Option<Result<Option<Arc<Task>>>> {
        if let Some(error) = self.failure() {
            return Some(Err(error));
        }
        let task = self.has_ended().then(|| Arc::clone(&self.task));
        (task.is_some() || !self.is_current(generation)).then_some(Ok(task))
    }

    /// Whether no executor runs in this generation any more; `None` until then.
    pub(crate) fn has_stopped(&self, generation: u64) -> Option<()> {
        (!self.run.is_running() || !self.is_current(generation)).then_some(())
    }

    /// Sets CANCELED if the executor cannot notice the cancel; returns whether it was.
    pub(crate) fn cancel_unnoticed(&mut self, now: Now) -> bool {
        let is_unnoticed = self.is_here() && self.run.is_running() && !self.run.notices_cancel();
        if is_unnoticed {
            self.force_cancel(now);
        }
        is_unnoticed
    }

    /// Sets CANCELED, whatever the executor does.
    pub(crate) fn force_cancel(&mut self, now: Now) {
        if !self.is_here() {
            return;
        }
        self.drop_executor();
        if !self.is_closed() {
            self.appear();
            self.set_state(TaskState::Canceled, Some(CANCELED.to_owned()), now);
        }
    }
}
