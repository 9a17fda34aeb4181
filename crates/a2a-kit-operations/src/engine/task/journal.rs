//! The journal of a run: what it awaited, so that a later run can repeat it.

use a2a_core::well_known::Struct;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::checkpoint::encode;
use crate::store::JournalUpdate;

/// The size of an entry besides its name and value, in bytes.
const ENTRY_BYTES: usize = 16;

/// What the current run awaited, and how much of an earlier run it still has to repeat.
///
/// It is open while a run may have to be repeated: from its first question or named result until it
/// returns, or the task ends.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    pub(super) record: Option<Record>,
    /// Whether the store has a journal, or is about to.
    is_stored: bool,
    /// The number of entries that it has, if they are the first ones of the record.
    stored_entries: Option<usize>,
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

/// A change of the journal to store with a write.
#[derive(Debug)]
pub(crate) struct JournalWrite {
    pub(crate) update: JournalUpdate,
    revision: u64,
}

/// What is stored of a journal; later entries follow it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Record {
    /// The number of client messages before the one that began the run. Each answer is the next
    /// client message: ids would not do, because clients reuse them.
    pub(super) first: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) metadata: Option<Struct>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) accepted_output_modes: Vec<String>,
    pub(super) entries: Vec<Entry>,
}

/// Something that a run awaited.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Entry {
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
    fn read(stored: &[u8]) -> serde_json::Result<Self> {
        let mut stored = serde_json::Deserializer::from_slice(stored);
        let mut record = Self::deserialize(&mut stored)?;
        for entry in stored.into_iter() {
            record.entries.push(entry?);
        }
        Ok(record)
    }

    fn bytes(&self) -> usize {
        self.entries.iter().map(Entry::bytes).sum()
    }

    pub(super) fn answers(&self) -> usize {
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
        let record =
            (!stored.is_empty()).then(|| Record::read(stored).unwrap_or_else(|_| unreadable()));
        *self = Self {
            is_stored: record.is_some(),
            stored_entries: record.as_ref().map(|record| record.entries.len()),
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
    pub(super) fn take_unstored(&mut self, ends: bool) -> JournalWrite {
        let is_new = std::mem::replace(&mut self.taken, self.revision) < self.revision;
        let record = self.record.as_ref().filter(|_| !ends);
        let update = match (record, self.stored_entries) {
            (Some(_), _) if !is_new => JournalUpdate::Keep,
            (Some(record), Some(stored)) => {
                let entries = record.entries.iter().skip(stored).flat_map(encode);
                JournalUpdate::Append(entries.collect())
            }
            (Some(record), None) => JournalUpdate::Replace(encode(record)),
            (None, _) if self.is_stored => JournalUpdate::Replace(Bytes::new()),
            (None, _) => JournalUpdate::Keep,
        };
        self.is_stored = record.is_some();
        self.stored_entries = record.map(|record| record.entries.len());
        JournalWrite { update, revision: self.revision }
    }

    pub(super) fn stored(&mut self, write: &JournalWrite) {
        self.stored = self.stored.max(write.revision);
    }

    /// Closes the journal; returns whether the store has to delete it.
    pub(super) fn close(&mut self) -> bool {
        self.record = None;
        self.stored_entries = None;
        self.replay = None;
        self.bytes = 0;
        self.revision += 1;
        self.is_stored
    }

    pub(super) fn push(&mut self, entry: Entry) {
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
            self.stored_entries = None;
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
    pub(super) fn decide(&mut self) -> bool {
        let Some(record) = &mut self.record else { return false };
        let given_up = record.entries.iter_mut().rev();
        let mut is_changed = false;
        for entry in given_up.take_while(|entry| matches!(entry, Entry::Abandoned)) {
            *entry = Entry::Decided;
            is_changed = true;
        }
        if is_changed {
            self.stored_entries = None;
            self.revision += 1;
        }
        is_changed
    }

    /// The executor gave up the last question although it was answered: the next one gets the
    /// answer.
    pub(super) fn abandon_answered(&mut self) {
        let Some(record) = &mut self.record else { return };
        let mut questions = record.entries.iter_mut().rev();
        if let Some(question) = questions.find(|entry| entry.is_question()) {
            *question = Entry::Abandoned;
            self.stored_entries = None;
            self.revision += 1;
        }
    }

    /// Starts to repeat the recorded run. Questions given up last are asked again.
    pub(super) fn rewind(&mut self) {
        let Some(record) = &mut self.record else { return };
        while record.entries.last().is_some_and(|entry| matches!(entry, Entry::Abandoned)) {
            record.entries.pop();
            self.stored_entries = None;
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
