//! The commands that this node has taken from the store.

use std::sync::Arc;

use bytes::Bytes;

use super::Answer;
use crate::engine::record::encode;

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
    pub(super) fn begin_serving(&mut self) -> bool {
        self.again = self.serving;
        !std::mem::replace(&mut self.serving, true)
    }

    /// Notes that they are read from here on.
    pub(super) fn read(&mut self) {
        self.done.clear();
    }

    /// Has whoever reads them do it once more.
    pub(super) fn read_again(&mut self) {
        self.again = true;
    }

    /// Ends the reading, unless more have come; returns whether it ends.
    pub(super) fn end_serving(&mut self) -> bool {
        self.serving = std::mem::take(&mut self.again);
        !self.serving
    }

    /// Notes that one was left where it is, as this node does not hold the task as far as it
    /// knows.
    pub(super) fn pass_over(&mut self) {
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
    pub(super) fn take(&mut self, command: &Arc<str>) -> bool {
        let is_new = !self.taken.contains(command) && !self.done.contains(command);
        if is_new {
            self.taken.push(Arc::clone(command));
        }
        is_new
    }
}
