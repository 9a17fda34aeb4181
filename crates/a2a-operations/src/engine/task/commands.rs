//! The commands that this node has taken from the store.

use std::sync::Arc;

use a2a_core::Detail;
use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::{LiveTask, record::encode};

/// What the node that holds a task says to a command.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::engine) enum Answer {
    /// It was done, or begun, with the event at this position.
    At(u64),
    Refused {
        status: u16,
        message: String,
        details: Vec<Detail>,
    },
}

/// The commands of a task that this node has taken and not answered.
#[derive(Debug, Default)]
pub(in crate::engine) struct Commands {
    /// Those that were taken; they stay in the store until they are answered.
    taken: Vec<Arc<str>>,
    /// Those that were answered since the commands were read last: that may have been before.
    done: Vec<Arc<str>>,
    /// Messages whose turn has begun, with the position of its event.
    begun: Vec<(Arc<str>, u64)>,
    /// Cancels, to be answered when the task has ended.
    cancels: Vec<Arc<str>>,
    /// Whether somebody reads the commands, and whether more have come since.
    serving: bool,
    again: bool,
    /// Whether there were some while this node did not know that it holds the task: the store
    /// may have given it the task already, and the answer is on its way.
    passed_over: bool,
}

impl Commands {
    /// Notes that the turn of a message has begun.
    pub(in crate::engine) fn begin(&mut self, command: Arc<str>, position: u64) {
        self.begun.push((command, position));
    }

    /// Returns whether there is something to do before the task may be let go.
    pub(in crate::engine) fn is_busy(&self) -> bool {
        self.serving || !self.begun.is_empty()
    }

    /// Notes that somebody is to read the commands. Returns whether that is the caller: who reads
    /// them already does it once more.
    pub(in crate::engine) fn begin_serving(&mut self) -> bool {
        self.again = self.serving;
        !std::mem::replace(&mut self.serving, true)
    }

    /// Notes that they are read from here on.
    pub(in crate::engine) fn read(&mut self) {
        self.done.clear();
    }

    /// Has whoever reads them do it once more.
    pub(in crate::engine) fn read_again(&mut self) {
        self.again = true;
    }

    /// Ends the reading, unless more have come; returns whether it ends.
    pub(in crate::engine) fn end_serving(&mut self) -> bool {
        self.serving = std::mem::take(&mut self.again);
        !self.serving
    }

    /// Notes that one was left where it is, as this node does not hold the task as far as it
    /// knows.
    pub(in crate::engine) fn pass_over(&mut self) {
        self.passed_over = true;
    }

    /// Returns whether there were some before this node knew that it holds the task.
    pub(in crate::engine) fn were_passed_over(&mut self) -> bool {
        std::mem::take(&mut self.passed_over)
    }

    /// Leaves commands that were taken in the store.
    pub(in crate::engine) fn leave(&mut self, commands: &[Arc<str>]) {
        self.taken.retain(|taken| !commands.contains(taken));
    }

    /// Notes a cancel that is answered when the task has ended.
    pub(in crate::engine) fn cancel(&mut self, command: Arc<str>) {
        self.cancels.push(command);
    }

    /// The answers that are stored with the next write; `ended` is where the task has ended.
    pub(in crate::engine) fn answers(&mut self, ended: Option<u64>) -> Vec<(Arc<str>, Bytes)> {
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

    /// Notes that a command is answered in the store.
    pub(in crate::engine) fn finish(&mut self, command: &Arc<str>) {
        self.taken.retain(|taken| taken != command);
        // Without somebody who reads them, nobody has read them too early.
        if self.serving {
            self.done.push(Arc::clone(command));
        }
    }

    /// Gives up what was to be answered; it stays in the store.
    pub(in crate::engine) fn give_up(&mut self) {
        self.taken.clear();
        self.begun.clear();
        self.cancels.clear();
    }

    /// Takes a command that is in the store, unless it was taken before.
    pub(in crate::engine) fn take(&mut self, command: &Arc<str>) -> bool {
        let is_new = !self.taken.contains(command) && !self.done.contains(command);
        if is_new {
            self.taken.push(Arc::clone(command));
        }
        is_new
    }
}

impl LiveTask {
    /// Takes a command, unless it was taken before or is not for this node to do.
    pub(in crate::engine) fn take_command(
        &mut self,
        generation: u64,
        id: &Arc<str>,
        cancels: bool,
    ) -> bool {
        if self.ownership.generation != generation {
            return false;
        }
        // Another node does it where this one does not hold the task. One that has ended has no
        // holder; the node that released it last refuses late commands.
        if !self.is_here() && !self.has_ended() {
            self.commands.pass_over();
            return false;
        }
        // What comes while the task is about to end is looked at again when that is stored.
        let ends = self.is_ending() && (!cancels || self.changes.head.is_terminal());
        !ends && self.commands.take(id)
    }
}
