use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use serde_json::json;
use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};

use super::{
    Binding, Fault, Nodes, Problem, Seat, Tally, Wire,
    caller::{request, unique},
    event::has_ended,
    journal::uptime,
    load::all,
};

/// Time for a task to end.
const LIMIT: Duration = Duration::from_secs(240);
/// Interval of reads.
const POLL: Duration = Duration::from_millis(250);

/// What happens to a task when its node fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resumption {
    /// It fails.
    Fails,
    /// It is run again, and completes.
    Reruns,
}

/// Keeps the nodes of an agent with a journal busy, and records when each task was seen to end.
///
/// The text of a message is the number of side effects, one each quarter of a second, and `once` or
/// `plain`, for executors that know the difference.
#[derive(Debug)]
pub struct Work {
    wire: Wire,
    urls: Vec<String>,
    nodes: Nodes,
    resumption: Resumption,
    tally: Arc<Tally>,
    ends: Mutex<HashMap<String, Duration>>,
    stop: AtomicBool,
}

impl Work {
    /// Creates work for these nodes.
    pub fn new(
        urls: Vec<String>,
        seed: u64,
        resumption: Resumption,
        tally: Arc<Tally>,
    ) -> Arc<Self> {
        Arc::new(Self {
            wire: Wire::default(),
            nodes: Nodes::new(urls.clone(), seed),
            urls,
            resumption,
            tally,
            ends: Mutex::default(),
            stop: AtomicBool::new(false),
        })
    }

    /// Starts no more tasks, and cancels those that run.
    pub fn stop(&self) {
        self.stop.store(true, Relaxed);
    }

    /// When a client first saw that a task has ended, by the ids of tasks.
    pub fn ends(&self) -> HashMap<String, Duration> {
        self.ends.lock().expect("no panic while locked").clone()
    }

    /// Keeps `tasks` in flight on each node, and returns when all have ended after
    /// [`stop`](Self::stop).
    pub async fn run(self: &Arc<Self>, tasks: usize) {
        let mut workers = JoinSet::new();
        for url in self.urls.iter().flat_map(|url| std::iter::repeat_n(url, tasks)) {
            let (work, url) = (Arc::clone(self), url.clone());
            workers.spawn(async move {
                while !work.stop.load(Relaxed) {
                    work.task(&url).await;
                }
            });
        }
        all(workers).await;
    }

    async fn task(&self, url: &str) {
        // Most of them outlast a lease.
        let effects = match self.nodes.one_in(4) {
            true => 1 + self.nodes.random_below(20),
            false => 80 + self.nodes.random_below(80),
        };
        let kind = if self.nodes.one_in(2) { "plain" } else { "once" };
        let mut body = request(&format!("{effects} {kind}"), None);
        body["configuration"] = json!({ "returnImmediately": true });
        let key = unique();
        let seat = Seat { node: url, binding: self.nodes.seat().binding };
        let task = loop {
            match self.wire.send(seat, &key, body.clone()).await {
                Ok(answer) => break answer["task"]["id"].as_str().unwrap_or_default().to_owned(),
                Err(problem) if problem.is_transient() => {}
                Err(problem) => {
                    let detail = format!("{seat:?} rejected {body}: {problem:?}");
                    return self.tally.fault(Fault::Lost, 1, detail);
                }
            }
            if self.stop.load(Relaxed) {
                return;
            }
            sleep(POLL).await;
        };
        self.tally.begun.fetch_add(1, Relaxed);
        let limit = Instant::now() + LIMIT;
        while Instant::now() < limit {
            if self.has_ended(&task).await {
                self.tally.ended.fetch_add(1, Relaxed);
                return;
            }
            sleep(POLL).await;
        }
        self.tally.fault(Fault::Stuck, 1, format!("task {task} with {effects} effects"));
    }

    async fn has_ended(&self, task: &str) -> bool {
        let seat = Seat { binding: Binding::Rest, ..self.nodes.seat() };
        let answer = match self.stop.load(Relaxed) {
            true => match self.wire.cancel(seat, task).await {
                // It has ended already.
                Err(Problem::Rejected(400, _)) => self.wire.get(seat, task).await,
                answer => answer,
            },
            false => self.wire.get(seat, task).await,
        };
        match answer {
            Ok(answer) if has_ended(&answer) => {
                let mut ends = self.ends.lock().expect("no panic while locked");
                ends.insert(task.to_owned(), uptime());
                let is_failed = answer["status"]["state"] == "TASK_STATE_FAILED";
                if is_failed && self.resumption == Resumption::Reruns {
                    let detail = format!("task {task}: {}", answer["status"]);
                    self.tally.fault(Fault::Lost, 1, detail);
                }
                true
            }
            Err(problem) if !problem.is_transient() => {
                self.tally.fault(Fault::Lost, 1, format!("task {task}, {seat:?}: {problem:?}"));
                true
            }
            Ok(_) | Err(_) => false,
        }
    }
}
