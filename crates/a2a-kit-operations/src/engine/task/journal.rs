//! The journal of a run: what it awaited, so that a later run can repeat it.

use std::sync::Arc;

use a2a_core::{Message, Role, well_known::Struct};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Change, LiveTask, TurnRequest, checkpoint::encode};

/// The size of an entry besides its name and value, in bytes.
const ENTRY_BYTES: usize = 16;

/// What the current run awaited, and how much of an earlier run it still has to repeat.
///
/// It is open while a run may have to be repeated: from its first question or named result until it
/// returns, or the task ends.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    record: Option<Record>,
    /// Whether the store has a journal, or is about to.
    is_stored: bool,
    /// Incremented with each change.
    pub(super) revision: u64,
    /// The revision that a writer has taken, and the one that is in the store.
    taken: u64,
    pub(super) stored: u64,
    /// The repetition of an earlier run.
    replay: Option<Replay>,
    /// The size of all entries, in bytes.
    bytes: usize,
}

/// A journal to store with a write.
#[derive(Debug)]
pub(crate) struct JournalUpdate {
    /// The new journal: empty deletes it, `None` keeps the stored one.
    pub(crate) body: Option<Bytes>,
    revision: u64,
}

/// What is stored of a journal.
#[derive(Debug, Serialize, Deserialize)]
struct Record {
    /// The number of client messages before the one that began the run. Each answer is the next
    /// client message: ids would not do, because clients reuse them.
    first: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    metadata: Option<Struct>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    accepted_output_modes: Vec<String>,
    entries: Vec<Entry>,
}

/// Something that a run awaited.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Entry {
    /// A question without an answer.
    Asked,
    /// A question that was answered with the next client message.
    Answered,
    /// A question that the executor gave up.
    Abandoned,
    /// A question that the executor gave up, after which its work went on: callers have seen that.
    Decided,
    /// The result of named work.
    Once { name: String, value: Value },
}

/// The progress of a run that repeats an earlier one.
#[derive(Debug)]
struct Replay {
    /// Whether each recorded entry was reached.
    reached: Vec<bool>,
    /// The number of entries that were not.
    left: usize,
    /// The number of answers returned.
    answers: usize,
}

/// A question in a run that repeats an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repeated {
    /// Answered, with the client message of this number.
    Answered(usize),
    /// Not answered yet.
    Asked,
    /// Given up, and to be given up again.
    Abandoned,
}

impl Record {
    fn bytes(&self) -> usize {
        self.entries.iter().map(Entry::bytes).sum()
    }

    fn answers(&self) -> usize {
        self.entries.iter().filter(|entry| matches!(entry, Entry::Answered)).count()
    }

    fn is_asking(&self) -> bool {
        let mut questions = self.entries.iter().rev();
        questions
            .find(|entry| entry.is_question())
            .is_some_and(|entry| matches!(entry, Entry::Asked))
    }
}

impl Entry {
    fn is_question(&self) -> bool {
        !matches!(self, Self::Once { .. })
    }

    fn bytes(&self) -> usize {
        ENTRY_BYTES
            + match self {
                Self::Once { name, value } => name.len() + encode(value).len(),
                Self::Asked | Self::Answered | Self::Abandoned | Self::Decided => 0,
            }
    }
}

impl Journal {
    /// Applies a stored journal; empty if there is none. An unreadable one has no first message,
    /// so that the run fails.
    pub(super) fn follow(&mut self, stored: &[u8]) {
        let unreadable = || Record {
            first: usize::MAX,
            metadata: None,
            accepted_output_modes: Vec::new(),
            entries: vec![Entry::Asked],
        };
        let record = (!stored.is_empty())
            .then(|| serde_json::from_slice(stored).unwrap_or_else(|_| unreadable()));
        *self = Self {
            is_stored: record.is_some(),
            bytes: record.as_ref().map_or(0, Record::bytes),
            record,
            revision: self.revision,
            taken: self.revision,
            stored: self.revision,
            replay: None,
        };
    }

    /// Returns whether the run waits for an answer, or would if it were here.
    pub(super) fn is_asking(&self) -> bool {
        self.record.as_ref().is_some_and(Record::is_asking)
    }

    /// Returns whether the run has not reached all that an earlier one did.
    pub(super) fn is_replaying(&self) -> bool {
        self.replay.as_ref().is_some_and(|replay| replay.left > 0)
    }

    /// The number of recorded answers that questions of this run have not been given yet.
    pub(super) fn recorded_answers(&self) -> usize {
        let (Some(record), Some(replay)) = (&self.record, &self.replay) else { return 0 };
        record.answers().saturating_sub(replay.answers)
    }

    /// Takes the changes to store. `ends` tells whether the task ends.
    pub(super) fn take_unstored(&mut self, ends: bool) -> JournalUpdate {
        let is_new = std::mem::replace(&mut self.taken, self.revision) < self.revision;
        let body = match &self.record {
            Some(record) if !ends => is_new.then(|| encode(record)),
            _ => self.is_stored.then(Bytes::new),
        };
        if let Some(body) = &body {
            self.is_stored = !body.is_empty();
        }
        JournalUpdate { body, revision: self.revision }
    }

    pub(super) fn stored(&mut self, update: &JournalUpdate) {
        self.stored = self.stored.max(update.revision);
    }

    /// Closes the journal; returns whether the store has to delete it.
    fn close(&mut self) -> bool {
        self.record = None;
        self.replay = None;
        self.bytes = 0;
        self.revision += 1;
        self.is_stored
    }

    fn push(&mut self, entry: Entry) {
        let Some(record) = &mut self.record else { return };
        self.bytes += entry.bytes();
        record.entries.push(entry);
        self.revision += 1;
    }

    /// The bytes of all entries after another one with this many bytes.
    pub(super) fn bytes_with(&self, more: usize) -> usize {
        self.bytes + ENTRY_BYTES + more
    }

    /// Sets the outcome of the open question.
    fn settle(&mut self, outcome: Entry) {
        let Some(record) = &mut self.record else { return };
        let mut questions = record.entries.iter_mut().rev();
        let question = questions.find(|entry| entry.is_question());
        if let Some(question) = question
            && matches!(question, Entry::Asked)
        {
            *question = outcome;
            self.revision += 1;
        }
    }

    /// The open question was answered.
    pub(super) fn answer(&mut self) {
        self.settle(Entry::Answered);
    }

    /// The executor gave up the open question.
    pub(super) fn abandon(&mut self) {
        self.settle(Entry::Abandoned);
    }

    /// The work goes on after questions that the executor gave up. They are not asked again; returns
    /// whether there are any.
    fn decide(&mut self) -> bool {
        let Some(record) = &mut self.record else { return false };
        let given_up = record.entries.iter_mut().rev();
        let mut is_changed = false;
        for entry in given_up.take_while(|entry| matches!(entry, Entry::Abandoned)) {
            *entry = Entry::Decided;
            is_changed = true;
        }
        self.revision += u64::from(is_changed);
        is_changed
    }

    /// The executor gave up the last question although it was answered: the next one gets the
    /// answer.
    pub(super) fn abandon_answered(&mut self) {
        let Some(record) = &mut self.record else { return };
        let mut questions = record.entries.iter_mut().rev();
        if let Some(question) = questions.find(|entry| entry.is_question()) {
            *question = Entry::Abandoned;
            self.revision += 1;
        }
    }

    /// Starts to repeat the recorded run. Questions given up last are asked again.
    fn rewind(&mut self) {
        let Some(record) = &mut self.record else { return };
        while record.entries.last().is_some_and(|entry| matches!(entry, Entry::Abandoned)) {
            record.entries.pop();
        }
        self.bytes = record.bytes();
        let count = record.entries.len();
        self.replay = Some(Replay { reached: vec![false; count], left: count, answers: 0 });
    }

    /// The outcome of the next question in the earlier run; `None` if it asked no more.
    pub(super) fn next_question(&mut self) -> Option<Repeated> {
        let (Some(record), Some(replay)) = (&self.record, &mut self.replay) else { return None };
        let mut entries = record.entries.iter().zip(&mut replay.reached);
        let next = entries.find(|(entry, reached)| entry.is_question() && !**reached);
        let Some((entry, reached)) = next else {
            // From here on, the run goes further than the earlier one.
            replay.left = 0;
            return None;
        };
        *reached = true;
        replay.left = replay.left.saturating_sub(1);
        Some(match entry {
            Entry::Answered => {
                replay.answers += 1;
                Repeated::Answered(record.first.saturating_add(replay.answers))
            }
            Entry::Asked => Repeated::Asked,
            Entry::Abandoned | Entry::Decided | Entry::Once { .. } => Repeated::Abandoned,
        })
    }

    /// The recorded result of named work, each returned once.
    pub(super) fn recall(&mut self, wanted: &str) -> Option<Value> {
        let (Some(record), Some(replay)) = (&self.record, &mut self.replay) else { return None };
        let mut entries = record.entries.iter().zip(&mut replay.reached);
        entries.find_map(|(entry, reached)| match entry {
            Entry::Once { name, value } if name == wanted && !*reached => {
                *reached = true;
                replay.left = replay.left.saturating_sub(1);
                Some(value.clone())
            }
            _ => None,
        })
    }
}

impl LiveTask {
    /// The client messages of the task, in order, including those that are not stored yet.
    fn client_messages(&self) -> impl Iterator<Item = &Message> {
        let stored = self.task.history.iter();
        let unseen = self.unseen().filter_map(|change| match change {
            Change::History(message) => Some(&**message),
            Change::Appeared | Change::Event(_) | Change::Journal => None,
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

    /// Adds an entry for a question.
    pub(super) fn record_question(&mut self, is_answered: bool) {
        self.open_journal();
        self.journal.push(if is_answered { Entry::Answered } else { Entry::Asked });
    }

    /// Adds the result of named work.
    pub(super) fn record_result(&mut self, name: String, value: Value) {
        self.open_journal();
        self.journal.push(Entry::Once { name, value });
        self.put(Change::Journal);
    }

    /// Records that the work goes on after questions that the executor gave up.
    pub(super) fn record_decision(&mut self) {
        if self.journal.decide() {
            self.put(Change::Journal);
        }
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
