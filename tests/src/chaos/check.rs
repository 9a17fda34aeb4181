use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    time::Duration,
};

use serde_json::Value;

use super::{
    Fault, Record, Seen,
    event::{is_interrupted, is_terminal},
    fold::Fold,
    messages,
};

/// A violation, with an explanation.
pub type Violation = (Fault, String);

/// Every violation in the history of an ended task; `end` is the task as it was read last.
///
/// - Each stream has consecutive positions, without gaps and duplicates, and all streams have the
///   same event at a position.
/// - A task that a client receives is the sum of the events up to some position; at the start of a
///   stream, up to the position of the stream.
/// - No answer is older than one that any client received before the question was sent.
/// - A stream that ends without an error ends with the task, that of a message also with a
///   question.
/// - A cancel that succeeded leaves the task CANCELED.
/// - Each accepted message is in the history once, and in the order of the answers.
pub fn violations(records: &[Record], end: &Value) -> Vec<Violation> {
    let mut found = Vec::new();
    let events = events(records, &mut found);
    streams(records, &events, &mut found);
    let folds = Fold::all(&events);
    ages(&snapshots(records, &folds, &mut found), &mut found);
    let canceled = records.iter().any(|record| matches!(record.seen, Seen::Canceled));
    if canceled && end["status"]["state"] != "TASK_STATE_CANCELED" {
        found.push((Fault::Cancel, format!("canceled, and then {}", end["status"])));
    }
    messages::check(records, end, &mut found);
    found
}

/// The events by their positions, as the first stream had them.
fn events(records: &[Record], found: &mut Vec<Violation>) -> BTreeMap<u64, Value> {
    let mut events = BTreeMap::<u64, Value>::new();
    for record in records {
        let Seen::Event { position, data, .. } = &record.seen else { continue };
        if data["task"].is_object() && *position != 1 {
            continue;
        }
        let known = events.entry(*position).or_insert_with(|| data.clone());
        if known != data && !data["task"].is_object() {
            let detail = format!("event {position} is {known} and {data}");
            found.push((Fault::Differs, detail));
        }
    }
    events
}

/// A stream as far as it was read.
#[derive(Debug, Default)]
struct Stream {
    is_send: bool,
    /// The newest position that the client has, if it is known.
    last: Option<u64>,
    /// The position that the client had before, from a task or from another stream.
    included: u64,
    had: BTreeSet<u64>,
    /// The newest event.
    newest: Option<Value>,
}

impl Stream {
    fn event(&mut self, position: u64, data: &Value) -> Option<(Fault, String)> {
        let fault = match self.last {
            // The content of a task is judged elsewhere.
            None if data["task"].is_object() => {
                self.included = position;
                None
            }
            None if self.is_send => None,
            None => Some((Fault::Snapshot, format!("begins with event {position}"))),
            Some(last) => {
                let detail = format!("event {position} after {last}");
                if position > last + 1 {
                    Some((Fault::Gap, detail))
                } else if position <= self.included || self.had.contains(&position) {
                    Some((Fault::Repeated, detail))
                } else {
                    (position < last).then_some((Fault::Reordered, detail))
                }
            }
        };
        self.had.insert(position);
        self.last = self.last.max(Some(position));
        self.newest = Some(data.clone());
        fault
    }
}

/// The order of the events in each stream, and how it ended.
fn streams(records: &[Record], events: &BTreeMap<u64, Value>, found: &mut Vec<Violation>) {
    let newest = events.keys().next_back().copied().unwrap_or_default();
    if let Some((position, _)) = events.iter().find(|(_, data)| is_terminal(data))
        && *position != newest
    {
        found.push((Fault::LostEnd, format!("event {newest} after the end at {position}")));
    }
    let mut streams = HashMap::<u64, Stream>::new();
    for record in records {
        match &record.seen {
            Seen::Opened { stream, after, is_send } => {
                let included = after.unwrap_or_default();
                let opened =
                    Stream { is_send: *is_send, last: *after, included, ..Stream::default() };
                streams.insert(*stream, opened);
            }
            Seen::Event { stream, position, data } => {
                let opened = streams.entry(*stream).or_default();
                if let Some((fault, detail)) = opened.event(*position, data) {
                    found.push((fault, format!("stream {stream}: {detail}")));
                }
            }
            Seen::Ended { stream } => {
                let ended = streams.entry(*stream).or_default();
                let last = ended.last.unwrap_or_default();
                let data = ended.newest.as_ref().or_else(|| events.get(&last));
                let is_end =
                    |data: &Value| is_terminal(data) || ended.is_send && is_interrupted(data);
                if !data.is_some_and(is_end) {
                    let detail = format!("stream {stream} ended after event {last}: {data:?}");
                    found.push((Fault::LostEnd, detail));
                }
            }
            Seen::EndedAfter(last) if *last != newest => {
                let detail = format!("the task has ended after event {last}, not {newest}");
                found.push((Fault::LostEnd, detail));
            }
            _ => {}
        }
    }
}

/// An answer, and which positions it may be the task of.
#[derive(Debug)]
struct Snapshot {
    asked: Duration,
    answered: Duration,
    oldest: u64,
    newest: u64,
    /// Messages in the history, if the answer has all of them.
    messages: Option<usize>,
    /// Whether it is the answer to a question, and not an event that followed.
    is_answer: bool,
}

fn snapshots(
    records: &[Record],
    folds: &BTreeMap<u64, Fold>,
    found: &mut Vec<Violation>,
) -> Vec<Snapshot> {
    let mut snapshots = Vec::new();
    let mut opened = HashMap::<u64, Option<u64>>::new();
    for record in records {
        let (asked, answered) = (record.asked, record.answered);
        let mut add = |oldest, newest, messages, is_answer| {
            snapshots.push(Snapshot { asked, answered, oldest, newest, messages, is_answer });
        };
        match &record.seen {
            Seen::Opened { stream, after, .. } => {
                opened.insert(*stream, *after);
            }
            Seen::Event { stream, position, data } => {
                let task = &data["task"];
                // Only a task answers the question that opened the stream.
                let is_first =
                    opened.remove(stream).is_some_and(|after| after.is_none()) && task.is_object();
                let messages = task["history"].as_array().map(Vec::len);
                add(*position, *position, messages.filter(|_| is_first), is_first);
                let fold = folds.get(position);
                if task.is_object() && fold.is_some_and(|fold| !fold.is(task)) {
                    let detail = format!("the task at {position} is not {task}");
                    found.push((Fault::Snapshot, detail));
                }
            }
            Seen::Task { task, has_history } => {
                let mut matching = folds.iter().filter(|(_, fold)| fold.is(task));
                let Some((oldest, _)) = matching.next() else {
                    let detail = format!("the task never was {task}");
                    found.push((Fault::Snapshot, detail));
                    continue;
                };
                let newest = matching.next_back().map_or(*oldest, |(newest, _)| *newest);
                let messages = task["history"].as_array().map_or(0, Vec::len);
                add(*oldest, newest, has_history.then_some(messages), true);
            }
            Seen::Absent => add(0, 0, Some(0), true),
            _ => {}
        }
    }
    snapshots
}

/// Answers that are older than one received before their question was sent.
fn ages(snapshots: &[Snapshot], found: &mut Vec<Violation>) {
    let mut by_question: Vec<&Snapshot> = snapshots.iter().collect();
    by_question.sort_by_key(|snapshot| snapshot.asked);
    let mut by_answer: Vec<&Snapshot> = snapshots.iter().collect();
    by_answer.sort_by_key(|snapshot| snapshot.answered);
    let mut answers = by_answer.into_iter().peekable();
    let (mut position, mut messages) = (0, 0);
    for snapshot in by_question.into_iter().filter(|snapshot| snapshot.is_answer) {
        while let Some(before) = answers.next_if(|before| before.answered < snapshot.asked) {
            position = position.max(before.oldest);
            messages = messages.max(before.messages.unwrap_or_default());
        }
        let (newest, asked) = (snapshot.newest, snapshot.asked);
        if newest < position {
            let detail = format!("asked at {asked:?}: {newest}, when {position} had been seen");
            found.push((Fault::Stale, detail));
        } else if snapshot.messages.is_some_and(|count| count < messages) {
            let count = snapshot.messages.unwrap_or_default();
            let detail =
                format!("asked at {asked:?}: {count} messages, when {messages} had been seen");
            found.push((Fault::Stale, detail));
        }
    }
}

#[cfg(test)]
mod tests;
