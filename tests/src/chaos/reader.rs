use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use serde_json::Value;
use tokio::{sync::watch, time::sleep};

use super::{Event, Http, Problem, Sse, Tally};

/// The nodes of an agent, with random selection.
#[derive(Debug)]
pub(crate) struct Nodes {
    urls: Vec<String>,
    dice: AtomicU64,
}

impl Nodes {
    pub(crate) fn new(urls: Vec<String>, seed: u64) -> Self {
        assert!(!urls.is_empty(), "at least one node");
        Self { urls, dice: AtomicU64::new(seed | 1) }
    }

    /// A random number below a limit.
    pub(crate) fn random_below(&self, below: u64) -> u64 {
        let mut state = self.dice.fetch_add(0x9e37_79b9_7f4a_7c15, Relaxed);
        state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (state ^ (state >> 31)) % below.max(1)
    }

    /// A random node.
    pub(crate) fn any(&self) -> &str {
        let count = u64::try_from(self.urls.len()).unwrap_or(1);
        let index = usize::try_from(self.random_below(count)).unwrap_or_default();
        &self.urls[index]
    }
}

/// The events of one task as seen by all of its readers.
#[derive(Debug)]
pub struct Ledger {
    events: Mutex<BTreeMap<u64, Value>>,
    /// The newest event of any reader.
    newest: watch::Sender<u64>,
    tally: Arc<Tally>,
}

impl Ledger {
    /// Creates an empty ledger.
    pub fn new(tally: Arc<Tally>) -> Self {
        Self { events: Mutex::default(), newest: watch::Sender::new(0), tally }
    }

    /// Records an event, and a fault if another reader got a different one.
    pub fn note(&self, event: &Event) {
        self.tally.events.fetch_add(1, Relaxed);
        let mut events = self.events.lock().expect("no panic while locked");
        let known = events.entry(event.id).or_insert_with(|| event.data.clone());
        if *known != event.data {
            let detail = format!("event {} is {} and {}", event.id, known, event.data);
            self.tally.fault(&self.tally.wrong, 1, detail);
        }
        drop(events);
        self.newest.send_if_modified(|newest| {
            let is_newer = event.id > *newest;
            *newest = event.id.max(*newest);
            is_newer
        });
    }

    /// All events, by their positions.
    pub fn events(&self) -> BTreeMap<u64, Value> {
        self.events.lock().expect("no panic while locked").clone()
    }

    /// Waits until the events satisfy the condition.
    pub async fn wait(&self, mut has_arrived: impl FnMut(&BTreeMap<u64, Value>) -> bool) {
        let mut newest = self.newest.subscribe();
        loop {
            newest.borrow_and_update();
            if has_arrived(&self.events.lock().expect("no panic while locked")) {
                return;
            }
            if newest.changed().await.is_err() {
                return;
            }
        }
    }
}

/// Follows a task to its end across nodes, and counts faults.
#[derive(Debug)]
pub struct Reader {
    pub(crate) http: Http,
    pub(crate) nodes: Arc<Nodes>,
    pub(crate) tally: Arc<Tally>,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) task: String,
    /// The position after which this reader continues.
    pub(crate) last: u64,
    pub(crate) seen: BTreeSet<u64>,
}

/// The state in an event.
pub(crate) fn state(data: &Value) -> Option<&str> {
    let status = &data["statusUpdate"]["status"]["state"];
    let status = status.as_str().or_else(|| data["task"]["status"]["state"].as_str());
    status.map(|state| state.trim_start_matches("TASK_STATE_"))
}

pub(crate) fn is_terminal(data: &Value) -> bool {
    matches!(state(data), Some("COMPLETED" | "FAILED" | "CANCELED" | "REJECTED"))
}

impl Reader {
    /// Reads to the end, starting with an open stream if given.
    pub async fn follow(mut self, open: Option<Sse>) {
        if let Some(stream) = open
            && self.read(stream).await
        {
            return;
        }
        loop {
            let node = self.nodes.any().to_owned();
            let (last, task) = (self.last, &self.task);
            match self.http.subscribe(&node, task, last).await {
                Ok(stream) => {
                    self.tally.resumed.fetch_add(1, Relaxed);
                    if self.read(stream).await {
                        return;
                    }
                }
                Err(Problem::Rejected(404, _)) => {
                    let detail = format!("{node} did not find task {task} after event {last}");
                    return self.tally.fault(&self.tally.lost, 1, detail);
                }
                // The task has ended with this event.
                Err(Problem::Rejected(_, body)) if body.to_string().contains("has ended") => {
                    let events = self.ledger.events();
                    if !events.get(&last).is_some_and(is_terminal) {
                        let detail =
                            format!("{task} has ended, but event {last} is not terminal: {body}");
                        self.tally.fault(&self.tally.missing, 1, detail);
                    }
                    return;
                }
                Err(Problem::Rejected(status, body)) if status < 500 && status != 429 => {
                    let detail = format!("{node} rejected a reader of {task} after {last}: {body}");
                    self.tally.fault(&self.tally.wrong, 1, detail);
                    sleep(Duration::from_millis(500)).await;
                }
                Err(_) => sleep(Duration::from_millis(200)).await,
            }
        }
    }

    /// Reads a stream; returns whether the task has ended.
    async fn read(&mut self, mut stream: Sse) -> bool {
        let mut has_ended = false;
        while let Ok(Some(event)) = stream.next().await {
            self.take(&event);
            has_ended |= is_terminal(&event.data);
        }
        has_ended
    }

    pub(crate) fn take(&mut self, event: &Event) {
        let (id, last, task) = (event.id, self.last, &self.task);
        let tally = &self.tally;
        if self.seen.contains(&id) {
            tally.fault(&tally.repeated, 1, format!("{task}: {id} repeated after {last}"));
        } else if id < last {
            tally.fault(&tally.reordered, 1, format!("{task}: {id} after {last}"));
        } else if id > last + 1 {
            let gap = usize::try_from(id - last - 1).unwrap_or(usize::MAX);
            tally.fault(&tally.missing, gap, format!("{task}: {id} after {last}: {}", event.data));
        }
        self.seen.insert(id);
        self.last = self.last.max(id);
        self.ledger.note(event);
    }
}
