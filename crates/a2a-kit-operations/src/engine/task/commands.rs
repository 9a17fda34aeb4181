//! Commands that this node has taken from the store.

use std::sync::Arc;

use a2a_core::Detail;
use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::checkpoint::encode;

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
    pub(super) begun: Vec<(Arc<str>, u64)>,
    /// Cancels, to be answered when the task has ended.
    pub(super) cancels: Vec<Arc<str>>,
    /// Whether the commands are being read.
    is_reading: bool,
}

impl Commands {
    /// Returns whether answers are to be stored, so that the lease has to be kept.
    pub(super) fn is_busy(&self) -> bool {
        !self.begun.is_empty()
    }

    /// Leaves taken commands in the store.
    pub(crate) fn leave(&mut self, commands: &[Arc<str>]) {
        self.taken.retain(|taken| !commands.contains(taken));
    }

    /// The answers to store with the next write; `ended` is the position of the end.
    pub(super) fn answers(&mut self, ended: Option<u64>) -> Vec<(Arc<str>, Bytes)> {
        if self.begun.is_empty() && self.cancels.is_empty() {
            return Vec::new();
        }
        let begun = std::mem::take(&mut self.begun).into_iter();
        let begun = begun.map(|(id, position)| (id, encode(&Answer::At(position))));
        let mut answers: Vec<_> = begun.collect();
        if let Some(position) = ended.filter(|_| !self.cancels.is_empty()) {
            let answer = encode(&Answer::At(position));
            answers.extend(self.cancels.drain(..).map(|id| (id, answer.clone())));
        }
        answers
    }

    /// A read of the commands starts or ends.
    pub(super) fn set_reading(&mut self, is_reading: bool) {
        self.done.clear();
        self.is_reading = is_reading;
    }

    /// A command was answered in the store.
    pub(crate) fn finish(&mut self, command: &Arc<str>) {
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

    /// Takes a stored command, unless it was taken before. Reading the commands of the task then
    /// skips it.
    pub(crate) fn take(&mut self, command: &Arc<str>) -> bool {
        let is_new = !self.taken.contains(command) && !self.done.contains(command);
        if is_new {
            self.taken.push(Arc::clone(command));
        }
        is_new
    }
}
