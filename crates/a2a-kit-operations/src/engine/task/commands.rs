//! Commands that this node has taken from the store.

use std::sync::Arc;

use a2a_core::Detail;
use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::{LiveTask, checkpoint::encode};

/// The answer to a command.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::engine) enum Answer {
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
pub(in crate::engine) struct Commands {
    /// Taken commands; they stay in the store until they are answered.
    taken: Vec<Arc<str>>,
    /// Commands answered since the last read, which may still contain them.
    done: Vec<Arc<str>>,
    /// Messages whose turn has begun, with the position of its event.
    begun: Vec<(Arc<str>, u64)>,
    /// Cancels, to be answered when the task has ended.
    cancels: Vec<Arc<str>>,
    /// Whether the commands are being read, and whether to read them again.
    serving: bool,
    again: bool,
    /// Whether commands were skipped while this node did not know of its lease: the store may have
    /// granted it already, with the response in transit.
    passed_over: bool,
}

impl Commands {
    /// The turn of a message has begun.
    pub(in crate::engine) fn begin(&mut self, command: Arc<str>, position: u64) {
        self.begun.push((command, position));
    }

    /// Returns whether commands are in progress, so that the lease has to be kept.
    pub(in crate::engine) fn is_busy(&self) -> bool {
        self.serving || !self.begun.is_empty()
    }

    /// Requests a read of the commands. Returns whether the caller has to do it; a read in progress
    /// is repeated instead.
    pub(in crate::engine) fn begin_serving(&mut self) -> bool {
        self.again = self.serving;
        !std::mem::replace(&mut self.serving, true)
    }

    /// A read has started.
    pub(in crate::engine) fn read(&mut self) {
        self.done.clear();
    }

    /// Requests another read.
    pub(in crate::engine) fn read_again(&mut self) {
        self.again = true;
    }

    /// Ends the read, unless another one was requested; returns whether it ended.
    pub(in crate::engine) fn end_serving(&mut self) -> bool {
        self.serving = std::mem::take(&mut self.again);
        !self.serving
    }

    /// A command was skipped, because this node does not hold the lease as far as it knows.
    pub(in crate::engine) fn skip(&mut self) {
        self.passed_over = true;
    }

    /// Returns whether commands were skipped before the lease was known.
    pub(in crate::engine) fn take_skipped(&mut self) -> bool {
        std::mem::take(&mut self.passed_over)
    }

    /// Leaves taken commands in the store.
    pub(in crate::engine) fn leave(&mut self, commands: &[Arc<str>]) {
        self.taken.retain(|taken| !commands.contains(taken));
    }

    /// Registers a cancel, to be answered when the task has ended.
    pub(in crate::engine) fn cancel(&mut self, command: Arc<str>) {
        self.cancels.push(command);
    }

    /// The answers to store with the next write; `ended` is the position of the end.
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

    /// A command was answered in the store.
    pub(in crate::engine) fn finish(&mut self, command: &Arc<str>) {
        self.taken.retain(|taken| taken != command);
        // Without a read in progress, no stale read can contain it.
        if self.serving {
            self.done.push(Arc::clone(command));
        }
    }

    /// Gives up pending answers; the commands stay in the store.
    pub(in crate::engine) fn give_up(&mut self) {
        self.taken.clear();
        self.begun.clear();
        self.cancels.clear();
    }

    /// Takes a stored command, unless it was taken before.
    pub(in crate::engine) fn take(&mut self, command: &Arc<str>) -> bool {
        let is_new = !self.taken.contains(command) && !self.done.contains(command);
        if is_new {
            self.taken.push(Arc::clone(command));
        }
        is_new
    }
}

impl LiveTask {
    /// Takes a command, unless it was taken before or is for another node.
    pub(in crate::engine) fn take_command(
        &mut self,
        generation: u64,
        id: &Arc<str>,
        cancels: bool,
    ) -> bool {
        if self.ownership.generation != generation {
            return false;
        }
        // A command is for the holder of the lease. An ended task has none; the node that released
        // it rejects late commands.
        if !self.is_here() && !self.has_ended() {
            self.commands.skip();
            return false;
        }
        // Commands that arrive while the end is being written are read again afterwards.
        let ends = self.is_ending() && (!cancels || self.changes.head.is_terminal());
        !ends && self.commands.take(id)
    }
}
