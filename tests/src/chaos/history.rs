use std::{
    collections::BTreeMap,
    sync::Mutex,
    time::{Duration, Instant},
};

use serde_json::Value;
use tokio::sync::watch;

use super::Event;

/// What all clients of one task have sent and received, in the order of the answers.
#[derive(Debug)]
pub struct History {
    start: Instant,
    inner: Mutex<Inner>,
    /// Changes with every new event.
    changed: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct Inner {
    records: Vec<Record>,
    events: BTreeMap<u64, Value>,
    streams: u64,
    /// The last failure of a call, for explanations.
    problem: Option<String>,
}

/// One answer, or one event of a stream.
#[derive(Clone, Debug)]
pub struct Record {
    /// When the question was sent, since the start of the history.
    pub asked: Duration,
    /// When the answer was received.
    pub answered: Duration,
    /// What it was.
    pub seen: Seen,
}

/// The content of an answer.
#[derive(Clone, Debug)]
pub enum Seen {
    /// A stream was opened; `after` is the position after which it continues, if it resumes.
    Opened {
        /// The number of the stream.
        stream: u64,
        /// The position that the client named.
        after: Option<u64>,
        /// Whether it is the response to a message.
        is_send: bool,
    },
    /// An event of a stream. A `task` at its start is the task at that position.
    Event {
        /// The number of the stream.
        stream: u64,
        /// The position of the event in the log of the task.
        position: u64,
        /// The event in the JSON form of HTTP+JSON.
        data: Value,
    },
    /// A stream ended without an error.
    Ended {
        /// The number of the stream.
        stream: u64,
    },
    /// A subscription was refused because the task has ended, although no stream had its last
    /// event: what was the newest position then.
    EndedAfter(u64),
    /// The task as returned by a read, a send, a list or a cancel.
    Task {
        /// The task.
        task: Value,
        /// Whether it has the whole history, and not only the rest of the task.
        has_history: bool,
    },
    /// A read or a list without the task.
    Absent,
    /// The message with this text got a success. All messages of a task have different texts, while
    /// clients may use an id again.
    Accepted(String),
    /// The message with this text was refused for good.
    Refused(String),
    /// A cancel got a success.
    Canceled,
}

impl Default for History {
    fn default() -> Self {
        Self { start: Instant::now(), inner: Mutex::default(), changed: watch::Sender::new(()) }
    }
}

impl History {
    /// Records an answer to a question that was sent at `asked`.
    pub fn record(&self, asked: Instant, seen: Seen) {
        let record = Record {
            asked: asked.saturating_duration_since(self.start),
            answered: self.start.elapsed(),
            seen,
        };
        self.inner.lock().expect("no panic while locked").records.push(record);
    }

    /// Records an opened stream, and returns its number.
    pub fn open(&self, asked: Instant, after: Option<u64>, is_send: bool) -> u64 {
        let stream = {
            let mut inner = self.inner.lock().expect("no panic while locked");
            inner.streams += 1;
            inner.streams
        };
        self.record(asked, Seen::Opened { stream, after, is_send });
        stream
    }

    /// Records an event of a stream that was opened at `asked`.
    pub fn event(&self, asked: Instant, stream: u64, event: &Event) {
        let (position, data) = (event.id, event.data.clone());
        self.record(asked, Seen::Event { stream, position, data: data.clone() });
        let is_snapshot = data["task"].is_object() && position != 1;
        if !is_snapshot {
            let mut inner = self.inner.lock().expect("no panic while locked");
            inner.events.entry(position).or_insert(data);
            drop(inner);
            self.changed.send_replace(());
        }
    }

    /// All records so far.
    pub fn records(&self) -> Vec<Record> {
        self.inner.lock().expect("no panic while locked").records.clone()
    }

    /// All events by their positions, without snapshots at the start of streams.
    pub fn events(&self) -> BTreeMap<u64, Value> {
        self.inner.lock().expect("no panic while locked").events.clone()
    }

    /// Notes why a call failed.
    pub fn note(&self, problem: String) {
        self.inner.lock().expect("no panic while locked").problem = Some(problem);
    }

    /// Why a call failed last.
    pub fn problem(&self) -> Option<String> {
        self.inner.lock().expect("no panic while locked").problem.clone()
    }

    /// When a time since the start of the history was.
    pub fn instant(&self, since: Duration) -> Instant {
        self.start + since
    }

    /// The id of the task, once a client knows it.
    pub fn task(&self) -> Option<String> {
        let inner = self.inner.lock().expect("no panic while locked");
        inner.records.iter().find_map(|record| match &record.seen {
            Seen::Event { data, .. } => data["task"]["id"].as_str().map(str::to_owned),
            _ => None,
        })
    }

    /// The task as it was read last.
    pub fn last_read(&self) -> Option<Value> {
        let inner = self.inner.lock().expect("no panic while locked");
        inner.records.iter().rev().find_map(|record| match &record.seen {
            Seen::Task { task, has_history: true } => Some(task.clone()),
            _ => None,
        })
    }

    /// Waits until the events satisfy the condition.
    pub async fn wait(&self, mut has_arrived: impl FnMut(&BTreeMap<u64, Value>) -> bool) {
        let mut changed = self.changed.subscribe();
        loop {
            changed.borrow_and_update();
            if has_arrived(&self.inner.lock().expect("no panic while locked").events) {
                return;
            }
            if changed.changed().await.is_err() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::fold::events::update, *};

    #[tokio::test(start_paused = true)]
    async fn event_wakes_the_client_although_a_task_at_its_position_came_before() {
        let history = History::default();
        let asked = Instant::now();
        let wait = history.wait(|events| events.contains_key(&3));
        tokio::pin!(wait);
        let hour = Duration::from_secs(3600);
        let snapshot = json!({ "task": { "id": "t" } });
        history.event(asked, 1, &Event { id: 3, data: snapshot });
        let early = tokio::time::timeout(hour, &mut wait).await;
        early.expect_err("a task is no event");
        history.event(asked, 2, &Event { id: 3, data: update("INPUT_REQUIRED", 1) });
        tokio::time::timeout(hour, wait).await.expect("the event");
    }
}
