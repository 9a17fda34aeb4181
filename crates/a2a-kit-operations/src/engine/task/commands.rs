//! Commands that this node has taken from the store.

use std::sync::Arc;

use a2a_core::Detail;
use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::{LiveTask, checkpoint::encode};

/// The answer to a command.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Answer {
    /// Done, or begun, with the event at this position.
    At(u64),
    Refused {
        status: u16,
        message: String,
        details: Vec<Detail>,
    },
}

/// The commands of a task that this node has taken but not answered.
#[derive(Debug, Default)]
pub(crate) struct Commands {
    /// Taken commands; they stay in the store until they are answered.
    taken: Vec<Arc<str>>,
    /// Commands answered since the last read, which may still contain them.
    done: Vec<Arc<str>>,
    /// Messages whose turn has begun, with the position of its event.
    begun: Vec<(Arc<str>, u64)>,
    /// Cancels, to be answered when the task has ended.
    cancels: Vec<Arc<str>>,
    /// Whether the commands are being read.
    is_reading: bool,
}

impl Commands {
    /// The turn of a message has begun.
    pub(super) fn begin(&mut self, command: Arc<str>, position: u64) {
        self.begun.push((command, position));
    }

    /// Returns whether answers are to be stored, so that the lease has to be kept.
    pub(super) fn is_busy(&self) -> bool {
        !self.begun.is_empty()
    }

    /// A read of the commands starts.
    pub(super) fn begin_reading(&mut self) {
        self.done.clear();
        self.is_reading = true;
    }

    /// The commands that were read have been handled.
    pub(super) fn end_reading(&mut self) {
        self.done.clear();
        self.is_reading = false;
    }

    /// Leaves taken commands in the store.
    pub(super) fn leave(&mut self, commands: &[Arc<str>]) {
        self.taken.retain(|taken| !commands.contains(taken));
    }

    /// Registers a cancel, to be answered when the task has ended.
    pub(super) fn cancel(&mut self, command: Arc<str>) {
        self.cancels.push(command);
    }

    /// The answers to store with the next write; `ended` is the position of the end.
    pub(super) fn answers(&mut self, ended: Option<u64>) -> Vec<(Arc<str>, Bytes)> {
        let mut answers: Vec<_> = self
            .begun
            .drain(..)
            .map(|(id, position)| (id, encode(&Answer::At(position))))
            .collect();
        if let Some(position) = ended {
            let answer = encode(&Answer::At(position));
            answers.extend(self.cancels.drain(..).map(|id| (id, answer.clone())));
        }
        answers
    }

    /// A command was answered in the store.
    pub(super) fn finish(&mut self, command: &Arc<str>) {
        self.taken.retain(|taken| taken != command);
        // Without a read in progress, no stale read can contain it.
        if self.is_reading {
            self.done.push(Arc::clone(command));
        }
    }

    /// Gives up pending answers; the commands stay in the store.
    pub(super) fn give_up(&mut self) {
        self.taken.clear();
        self.begun.clear();
        self.cancels.clear();
    }

    /// Returns whether a command was taken and is not answered.
    pub(super) fn has_taken(&self, command: &Arc<str>) -> bool {
        self.taken.contains(command)
    }

    /// Takes a stored command, unless it was taken before.
    pub(super) fn take(&mut self, command: &Arc<str>) -> bool {
        let is_new = !self.taken.contains(command) && !self.done.contains(command);
        if is_new {
            self.taken.push(Arc::clone(command));
        }
        is_new
    }
}

impl LiveTask {
    /// Leaves a command to the next holder, which may be this node again.
    pub(crate) fn return_command(&mut self, id: Arc<str>) {
        self.commands.leave(&[id]);
        self.notice_commands();
    }

    /// Reserves a command, so that reading the commands of the task skips it.
    pub(crate) fn reserve_command(&mut self, id: &Arc<str>) {
        self.commands.take(id);
    }

    /// Leaves a taken command in the store.
    pub(crate) fn leave_command(&mut self, id: &Arc<str>) {
        self.commands.leave(std::slice::from_ref(id));
    }

    /// A command was answered in the store.
    pub(crate) fn finish_command(&mut self, id: &Arc<str>) {
        self.commands.finish(id);
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
}
