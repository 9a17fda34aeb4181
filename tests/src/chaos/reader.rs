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

/// The nodes of an agent, of which a client picks one by chance.
#[derive(Debug)]
pub(crate) struct Nodes {
    urls: Vec<String>,
    dice: AtomicU64,
}

impl Nodes {
    pub(crate) fn new(urls: Vec<String>, seed: u64) -> Self {
        assert!(!urls.is_empty(), "an agent has a node");
        Self { urls, dice: AtomicU64::new(seed | 1) }
    }

    /// A number below a bound.
    pub(crate) fn throw(&self, below: u64) -> u64 {
        let mut state = self.dice.fetch_add(0x9e37_79b9_7f4a_7c15, Relaxed);
        state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (state ^ (state >> 31)) % below.max(1)
    }

    /// One of the nodes.
    pub(crate) fn any(&self) -> &str {
        let count = u64::try_from(self.urls.len()).unwrap_or(1);
        let index = usize::try_from(self.throw(count)).unwrap_or_default();
        &self.urls[index]
    }
}

/// What the readers of one task have seen between them.
#[derive(Debug)]
pub struct Ledger {
    events: Mutex<BTreeMap<u64, Value>>,
    /// The newest event that anybody has seen.
    newest: watch::Sender<u64>,
    tally: Arc<Tally>,
}

impl Ledger {
    /// Begins with nothing.
    pub fn new(tally: Arc<Tally>) -> Self {
        Self { events: Mutex::default(), newest: watch::Sender::new(0), tally }
    }

    /// Notes an event, and whether another reader was told something else.
    pub fn note(&self, event: &Event) {
        self.tally.events.fetch_add(1, Relaxed);
        let mut events = self.events.lock().expect("nobody panics here");
        let known = events.entry(event.id).or_insert_with(|| event.data.clone());
        if *known != event.data {
            let words = format!("event {} is {} and {}", event.id, known, event.data);
            self.tally.fault(&self.tally.wrong, 1, words);
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
        self.events.lock().expect("nobody panics here").clone()
    }

    /// Waits until somebody has seen events of which this is true.
    pub async fn wait(&self, mut is_there: impl FnMut(&BTreeMap<u64, Value>) -> bool) {
        let mut newest = self.newest.subscribe();
        loop {
            newest.borrow_and_update();
            if is_there(&self.events.lock().expect("nobody panics here")) {
                return;
            }
            if newest.changed().await.is_err() {
                return;
            }
        }
    }
}

/// Follows a task to its end, from node to node, and counts what is wrong with what it sees.
#[derive(Debug)]
pub struct Reader {
    pub(crate) http: Http,
    pub(crate) nodes: Arc<Nodes>,
    pub(crate) tally: Arc<Tally>,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) task: String,
    /// The newest event that this reader has seen, or does not want.
    pub(crate) last: u64,
    pub(crate) seen: BTreeSet<u64>,
}

/// The state that an event says the task is in.
pub(crate) fn state(data: &Value) -> Option<&str> {
    let status = &data["statusUpdate"]["status"]["state"];
    let status = status.as_str().or_else(|| data["task"]["status"]["state"].as_str());
    status.map(|state| state.trim_start_matches("TASK_STATE_"))
}

pub(crate) fn is_terminal(data: &Value) -> bool {
    matches!(state(data), Some("COMPLETED" | "FAILED" | "CANCELED" | "REJECTED"))
}

impl Reader {
    /// Reads to the end, beginning with a stream that is open already, if one is.
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
                Err(Problem::Refused(404, _)) => {
                    let words = format!("{node} knows no task {task}, of which {last} was seen");
                    return self.tally.fault(&self.tally.lost, 1, words);
                }
                // It has ended, and this was its last event.
                Err(Problem::Refused(_, said)) if said.to_string().contains("has ended") => {
                    let events = self.ledger.events();
                    if !events.get(&last).is_some_and(is_terminal) {
                        let words = format!("{task} has ended, but {last} was no end: {said}");
                        self.tally.fault(&self.tally.missing, 1, words);
                    }
                    return;
                }
                Err(Problem::Refused(status, said)) if status < 500 && status != 429 => {
                    let words = format!("{node} refused a reader of {task} behind {last}: {said}");
                    self.tally.fault(&self.tally.wrong, 1, words);
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
            tally.fault(&tally.repeated, 1, format!("{task}: {id} again, behind {last}"));
        } else if id < last {
            tally.fault(&tally.reordered, 1, format!("{task}: {id} behind {last}"));
        } else if id > last + 1 {
            let gap = usize::try_from(id - last - 1).unwrap_or(usize::MAX);
            tally.fault(&tally.missing, gap, format!("{task}: {id} behind {last}: {}", event.data));
        }
        self.seen.insert(id);
        self.last = self.last.max(id);
        self.ledger.note(event);
    }
}
