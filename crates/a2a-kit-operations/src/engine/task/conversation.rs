//! Transitions of a conversation: questions of the executor, results that it records, and the run
//! that repeats both.

use std::sync::Arc;

use a2a_core::{Role, v1::Message};
use serde_json::Value;

use super::{
    Change, LiveTask, Now, TurnRequest,
    checkpoint::encode,
    journal::{Entry, Record, Repeated},
    run::{Ask, Question},
};
use crate::{Event, TaskLimits, UpdateError};

impl LiveTask {
    /// Asks the client for a message, and returns the position of the question. A run that repeats
    /// an earlier one does not show the question again.
    pub(crate) fn ask(
        &mut self,
        generation: u64,
        question: Event,
        limits: &TaskLimits,
        now: Now,
    ) -> Result<u64, UpdateError> {
        self.accepts(generation)?;
        if self.run.is_canceling {
            return Err(UpdateError::Canceled);
        }
        match self.journal.next_question() {
            Some(Repeated::Answered(number)) => {
                let Some(message) = self.client_message(number) else {
                    return Err(self.diverge(now));
                };
                self.run.set_ask(Ask::Handed(message));
                return Ok(self.log.last());
            }
            Some(Repeated::Abandoned) => {
                self.run.set_ask(Ask::Repeats);
                return Ok(self.log.last());
            }
            Some(Repeated::Asked) => {
                let (head, has_queued) = (self.changes.head, !self.turns.queue.is_empty());
                self.run.begin_asking();
                if let Some(work) = self.run.work() {
                    work.note(Some(head), has_queued, now.instant);
                }
                self.hand_queued(now);
                return Ok(self.log.last());
            }
            None => {}
        }
        let exceeded = self.exceeded(&question, limits);
        self.check_limit(exceeded.or(self.exceeded_journal(0, limits)), limits, now)?;
        self.appear();
        let waits = self.run.begin_asking();
        self.open_journal();
        self.journal.push(if waits { Entry::Asked } else { Entry::Answered });
        let position = self.push(question, now);
        if waits {
            self.hand_queued(now);
        }
        Ok(position)
    }

    /// Hands the next queued message to the waiting executor.
    fn hand_queued(&mut self, now: Now) {
        if let Some(queued) = self.turns.queue.pop_front() {
            self.begin_turn(queued.ticket, &queued.turn, now);
            self.hand(&queued.turn.message);
        }
    }

    /// Hands a message to the waiting executor.
    pub(super) fn hand(&mut self, message: &Arc<Message>) {
        self.run.set_ask(Ask::Handed(Arc::clone(message)));
        self.journal.answer();
    }

    /// Returns whether [`asked`](Self::asked) has something for the executor.
    pub(crate) fn is_answered(&self, generation: u64) -> bool {
        self.run.has_handed() || self.run.is_canceling || self.accepts(generation).is_err()
    }

    /// The message that an executor waits for, or the error that ends the wait; `None` to keep
    /// waiting.
    pub(crate) fn asked(&mut self, generation: u64) -> Option<Result<Message, UpdateError>> {
        if let Err(error) = self.listens(generation) {
            return Some(Err(error));
        }
        if let Some(message) = self.run.take_handed() {
            return Some(Ok(Arc::unwrap_or_clone(message)));
        }
        if self.run.is_canceling {
            return Some(Err(UpdateError::Canceled));
        }
        self.accepts(generation).err().map(Err)
    }

    /// The executor stops waiting. Further messages are queued; a message already handed over is
    /// kept for the next question. The question of an executor that is dropped stays open.
    pub(crate) fn stop_asking(&mut self, generation: u64) {
        if self.ownership.generation != generation {
            return;
        }
        match self.run.stop_asking() {
            Some(Question::Open) => self.journal.abandon(),
            Some(Question::Answered) => self.journal.abandon_answered(),
            None => {}
        }
    }

    /// The executor has waited for too long: it is dropped, and leaves the task unchanged. One that
    /// should have given up its question has not repeated an earlier run.
    pub(crate) fn ask_expired(&mut self, now: Now) {
        if self.run.repeats_question() && !self.is_closed() {
            let _error = self.diverge(now);
        }
        self.drop_asking();
    }

    /// Drops a waiting executor, and leaves the task unchanged.
    pub(crate) fn drop_asking(&mut self) {
        if self.run.is_asking() {
            self.drop_executor();
        }
    }

    /// Records the result of named work, and returns the revision of the journal with it.
    pub(crate) fn record(
        &mut self,
        generation: u64,
        name: &str,
        value: Value,
        limits: &TaskLimits,
        now: Now,
    ) -> Result<u64, UpdateError> {
        self.accepts(generation)?;
        let exceeded = self.exceeded_journal(name.len() + encode(&value).len(), limits);
        self.check_limit(exceeded, limits, now)?;
        self.appear();
        self.open_journal();
        self.journal.push(Entry::Once { name: name.to_owned(), value });
        self.put(Change::Journal);
        Ok(self.journal.revision)
    }

    /// Whether a revision of the journal is stored; `None` while it is not known.
    pub(crate) fn has_recorded(
        &self,
        generation: u64,
        revision: u64,
    ) -> Option<Result<(), UpdateError>> {
        let listens = self.listens(generation);
        (listens.is_err() || self.journal.stored >= revision).then_some(listens)
    }

    /// The recorded result of named work, each returned once.
    pub(crate) fn recall(&mut self, generation: u64, name: &str) -> Option<Value> {
        self.listens(generation).ok()?;
        self.journal.recall(name)
    }

    /// Returns whether the run has not reached all that an earlier one did.
    pub(crate) fn is_replaying(&self) -> bool {
        self.journal.is_replaying()
    }

    /// The number of recorded answers that questions of this run have not been given yet.
    pub(crate) fn recorded_answers(&self) -> usize {
        self.journal.recorded_answers()
    }

    /// The client messages of the task, in order, including those that are not stored yet.
    fn client_messages(&self) -> impl Iterator<Item = &Message> {
        let stored = self.task.history.iter();
        let unseen = self.unseen().filter_map(|change| match change {
            Change::History(message) => Some(&**message),
            Change::Appeared | Change::Event(_) | Change::Journal | Change::Joined(_) => None,
        });
        stored.chain(unseen).filter(|message| message.role() == Role::User)
    }

    /// The number of client messages before the one that began the run.
    pub(crate) fn first_message(&self) -> usize {
        let first = self.journal.record.as_ref().map(|record| record.first);
        first.unwrap_or_else(|| self.client_messages().count().saturating_sub(1))
    }

    pub(super) fn client_message(&self, number: usize) -> Option<Arc<Message>> {
        self.client_messages().nth(number).cloned().map(Arc::new)
    }

    fn open_journal(&mut self) {
        if self.journal.record.is_none() {
            let (metadata, accepted_output_modes) = self.run.request();
            self.journal.record = Some(Record {
                first: self.first_message(),
                metadata: metadata.as_deref().cloned(),
                accepted_output_modes: accepted_output_modes.to_vec(),
                entries: Vec::new(),
            });
        }
    }

    /// Closes the journal of a run that will not be repeated.
    pub(super) fn close_journal(&mut self) {
        if self.journal.close() {
            self.put(Change::Journal);
        }
    }

    /// The turn for a new run: with the first message of the run to repeat, if the client has
    /// answered its question, or if its work was interrupted.
    pub(crate) fn resumed(&mut self, turn: TurnRequest) -> TurnRequest {
        if turn.rerun {
            // The work was interrupted.
        } else if self.journal.is_asking() {
            self.journal.answer();
        } else {
            self.close_journal();
        }
        self.journal.rewind();
        let turn = self.first_turn(turn);
        self.run.set_request(&turn);
        turn
    }

    /// The turn with the first message of the run to repeat, if any.
    fn first_turn(&self, turn: TurnRequest) -> TurnRequest {
        let Some(record) = &self.journal.record else { return turn };
        let is_whole = self.client_message(record.first.saturating_add(record.answers())).is_some();
        let metadata = record.metadata.clone().map(Arc::new);
        let accepted_output_modes = record.accepted_output_modes.clone().into();
        match self.client_message(record.first).filter(|_| is_whole) {
            Some(message) => TurnRequest { message, metadata, accepted_output_modes, ..turn },
            None => TurnRequest { is_lost: true, ..turn },
        }
    }
}
