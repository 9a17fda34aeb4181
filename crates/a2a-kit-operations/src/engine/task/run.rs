//! The run of the executor.

use std::{sync::Arc, time::Instant};

use a2a_core::{v1::Message, well_known::Struct};

use super::{TurnRequest, work::Work};

/// The run of the executor.
#[derive(Debug, Default)]
pub(crate) struct Run {
    phase: Phase,
    /// The turn to write as a checkpoint with the next write.
    pub(super) execution: Option<TurnRequest>,
    /// Whether the client has canceled.
    pub(super) is_canceling: bool,
    /// Whether a shutdown dropped the executor in the middle of its work.
    pub(super) was_interrupted: bool,
    /// Whether a shutdown ended the work, and asked the caller whether to continue.
    pub(super) was_stopped: bool,
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
pub(super) struct Executing {
    /// The slot and the clocks.
    pub(super) work: Work,
    pub(super) ask: Ask,
    pub(super) is_dropped: bool,
    /// Whether the executor has looked for a cancel.
    pub(super) watches_cancel: bool,
    /// Whether the executor takes no message while it works.
    pub(super) refuses_messages: bool,
    /// The parts of its request that are not in the history.
    metadata: Option<Arc<Struct>>,
    accepted_output_modes: Arc<[String]>,
}

/// Whether the executor waits for the next message.
#[derive(Debug, Default)]
pub(super) enum Ask {
    #[default]
    No,
    Waits,
    /// The message was handed over.
    Handed(Arc<Message>),
    /// It repeats a question that an earlier run gave up, and is to give it up again.
    Repeats,
}

/// A question that the executor gave up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Question {
    Open,
    /// The message was handed over, and is kept for the next question.
    Answered,
}

impl Run {
    pub(super) fn begin(&mut self, now: Instant) {
        let work = Work::begin(now);
        self.phase = Phase::Here(Executing { work, ..Executing::default() });
        self.is_canceling = false;
    }

    /// Keeps what the journal records of the request of a run.
    pub(super) fn set_request(&mut self, turn: &TurnRequest) {
        if let Some(executing) = self.executing() {
            executing.metadata.clone_from(&turn.metadata);
            executing.accepted_output_modes = Arc::clone(&turn.accepted_output_modes);
        }
    }

    /// The metadata and the accepted output modes of the request.
    pub(super) fn request(&self) -> (Option<Arc<Struct>>, Arc<[String]>) {
        self.here().map_or_else(Default::default, |run| {
            (run.metadata.clone(), Arc::clone(&run.accepted_output_modes))
        })
    }

    /// No executor runs here; sets whether the task runs on another node.
    pub(super) fn follow(&mut self, elsewhere: bool) {
        self.phase = if elsewhere { Phase::Elsewhere } else { Phase::Idle };
    }

    pub(super) fn here(&self) -> Option<&Executing> {
        if let Phase::Here(executing) = &self.phase { Some(executing) } else { None }
    }

    pub(super) fn executing(&mut self) -> Option<&mut Executing> {
        if let Phase::Here(executing) = &mut self.phase { Some(executing) } else { None }
    }

    /// Whether an executor is running, on this or another node.
    pub(super) fn is_running(&self) -> bool {
        !matches!(self.phase, Phase::Idle)
    }

    /// The slot and the clocks of the local executor.
    pub(super) fn work(&mut self) -> Option<&mut Work> {
        self.executing().map(|executing| &mut executing.work)
    }

    /// Returns whether the run counts as one of its caller's.
    pub(super) fn has_slot(&self) -> bool {
        self.here().is_some_and(|run| run.work.has_slot)
    }

    /// Returns whether the executor waits for the next message.
    pub(super) fn is_asking(&self) -> bool {
        self.here().is_some_and(|run| matches!(run.ask, Ask::Waits) && !run.is_dropped)
    }

    /// Returns whether the executor takes no message while it works.
    pub(super) fn refuses_messages(&self) -> bool {
        self.here().is_some_and(|run| run.refuses_messages)
    }

    /// Returns whether the executor can notice a cancel: it looks for one, or waits for a message.
    pub(super) fn notices_cancel(&self) -> bool {
        self.here().is_some_and(|run| run.watches_cancel) || self.is_asking()
    }

    pub(super) fn drop_executor(&mut self) {
        if let Some(executing) = self.executing() {
            executing.is_dropped = true;
        }
    }

    /// The executor waits for a message, unless one was left over from a question that it gave up.
    pub(super) fn begin_asking(&mut self) -> bool {
        let Some(executing) = self.executing() else { return false };
        let waits = !matches!(executing.ask, Ask::Handed(_));
        if waits {
            executing.ask = Ask::Waits;
        }
        waits
    }

    /// The executor stops waiting; returns what for, unless it is dropped. A repeated question was
    /// given up by an earlier run, and is so in the journal.
    pub(super) fn stop_asking(&mut self) -> Option<Question> {
        let executing = self.executing()?;
        let question = match executing.ask {
            Ask::No => return None,
            Ask::Handed(_) => Question::Answered,
            Ask::Waits => {
                executing.ask = Ask::No;
                Question::Open
            }
            Ask::Repeats => {
                executing.ask = Ask::No;
                return None;
            }
        };
        (!executing.is_dropped).then_some(question)
    }

    /// Returns whether the executor repeats a question that an earlier run gave up.
    pub(super) fn repeats_question(&self) -> bool {
        self.here().is_some_and(|run| matches!(run.ask, Ask::Repeats))
    }

    pub(super) fn set_ask(&mut self, ask: Ask) {
        if let Some(executing) = self.executing() {
            executing.ask = ask;
        }
    }

    pub(super) fn has_handed(&self) -> bool {
        self.here().is_some_and(|run| matches!(run.ask, Ask::Handed(_)))
    }

    pub(super) fn take_handed(&mut self) -> Option<Arc<Message>> {
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
                    Ask::Repeats => "repeating",
                })?;
                f.write_str(if *is_dropped { ", dropped" } else { "" })?;
            }
        }
        f.write_str(if self.0.is_canceling { ", canceling" } else { "" })?;
        f.write_str(if self.0.was_interrupted { ", interrupted" } else { "" })
    }
}
