use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use serde_json::{Value, json};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep, timeout},
};

use super::{
    Behavior, Event, Hooks, Http, Ledger, Problem, Reader, Scenario, Sse, Tally,
    reader::{Nodes, is_terminal, state},
};

/// Time that a task may take in addition to its duration, because nodes fail and recover.
const TIMEOUT: Duration = Duration::from_secs(120);
/// Maximum lag of a node behind another one.
const STALE: Duration = Duration::from_secs(10);
/// Timeout for the remaining events of a webhook.
const DELIVERY: Duration = Duration::from_secs(120);

/// Keeps tasks in flight until [`stop`](Self::stop).
#[derive(Debug)]
pub struct Load {
    http: Http,
    nodes: Arc<Nodes>,
    hooks: Hooks,
    tally: Arc<Tally>,
    stop: AtomicBool,
}

impl Load {
    /// Creates a load for these nodes, with this behavior of webhooks.
    pub async fn new(nodes: Vec<String>, seed: u64, behavior: Behavior) -> Arc<Self> {
        Arc::new(Self {
            http: Http::default(),
            nodes: Arc::new(Nodes::new(nodes, seed)),
            hooks: Hooks::start(behavior).await,
            tally: Arc::default(),
            stop: AtomicBool::new(false),
        })
    }

    /// The counters so far.
    pub fn tally(&self) -> &Tally {
        self.tally.deliveries.store(self.hooks.calls(), Relaxed);
        &self.tally
    }

    /// Stops starting tasks.
    pub fn stop(&self) {
        self.stop.store(true, Relaxed);
    }

    /// Keeps `tasks` in flight, and returns when all have ended after [`stop`](Self::stop).
    pub async fn run(self: &Arc<Self>, tasks: usize) {
        let mut workers = JoinSet::new();
        for number in 0..tasks {
            let load = Arc::clone(self);
            workers.spawn(async move {
                // Stagger the starts.
                sleep(Duration::from_millis(u64::try_from(number * 20).unwrap_or(0))).await;
                let mut webhooks = JoinSet::new();
                while !load.stop.load(Relaxed) {
                    let scenario = Scenario::any(&load.nodes);
                    if let Some(webhook) = load.task(scenario).await {
                        webhooks.spawn(webhook.check(Arc::clone(&load)));
                    }
                    while webhooks.try_join_next().is_some() {}
                }
                while webhooks.join_next().await.is_some() {}
            });
        }
        while workers.join_next().await.is_some() {}
    }

    /// Runs a task to its end, and returns its webhook, to be checked afterwards.
    pub async fn task(self: &Arc<Self>, scenario: Scenario) -> Option<Webhook> {
        let has_webhook = self.nodes.random_below(3) == 0;
        self.task_with(scenario, has_webhook).await
    }

    /// As [`task`](Self::task), with or without a webhook.
    pub async fn task_with(
        self: &Arc<Self>,
        scenario: Scenario,
        has_webhook: bool,
    ) -> Option<Webhook> {
        let tally = &self.tally;
        tally.begun.fetch_add(1, Relaxed);
        let ledger = Arc::new(Ledger::new(Arc::clone(tally)));
        let name = unique();
        let limit = scenario.time() + TIMEOUT;
        let work = self.play(&scenario, &ledger, has_webhook.then_some(name.as_str()));
        let done = timeout(limit, work).await;
        match done {
            Err(_elapsed) => {
                let last = ledger.events().into_iter().next_back();
                tally.fault(
                    &tally.stuck,
                    1,
                    format!("{scenario:?} {name} is stuck after {last:?}"),
                );
                return None;
            }
            Ok(Err(detail)) => {
                tally.fault(&tally.lost, 1, format!("{scenario:?}: {detail}"));
                return None;
            }
            Ok(Ok(())) => {}
        }
        tally.ended.fetch_add(1, Relaxed);
        has_webhook.then_some(Webhook { name, ledger })
    }

    async fn play(
        self: &Arc<Self>,
        scenario: &Scenario,
        ledger: &Arc<Ledger>,
        hook: Option<&str>,
    ) -> Result<(), String> {
        let mut messages = scenario.messages().into_iter();
        let first = messages.next().unwrap_or_default();
        let mut body = json!({ "message": message(&first, None) });
        if let Some(hook) = hook {
            let config = json!({ "url": self.hooks.url(hook) });
            body["configuration"] = json!({ "taskPushNotificationConfig": config });
        }
        let (event, stream) = self.send(&body).await?;
        let task =
            event.data["task"]["id"].as_str().ok_or("the stream did not start with a task")?;
        let reader = |last| Reader {
            http: self.http.clone(),
            nodes: Arc::clone(&self.nodes),
            tally: Arc::clone(&self.tally),
            ledger: Arc::clone(ledger),
            task: task.to_owned(),
            last,
            seen: BTreeSet::new(),
        };
        let mut readers = JoinSet::new();
        if event.id == 1 {
            let mut first = reader(0);
            first.take(&event);
            readers.spawn(first.follow(Some(stream)));
        } else {
            // An earlier attempt started it: its events are in the log.
            drop(stream);
            readers.spawn(reader(1).follow(None));
        }
        if self.nodes.random_below(3) == 0 {
            readers.spawn(reader(1).follow(None));
        }
        match scenario {
            Scenario::Stream { .. } | Scenario::Slow { .. } => {}
            Scenario::Canceled { after } => {
                sleep(*after).await;
                self.cancel(task).await?;
            }
            Scenario::Ask | Scenario::Talk { .. } => {
                for (index, text) in messages.enumerate() {
                    ledger
                        .wait(|events| {
                            let asked = |data: &&Value| state(data) == Some("INPUT_REQUIRED");
                            events.values().filter(asked).count() > index
                        })
                        .await;
                    sleep(Duration::from_millis(self.nodes.random_below(3_000))).await;
                    let body = json!({ "message": message(&text, Some(task)) });
                    self.send(&body).await?;
                }
            }
        }
        while readers.join_next().await.is_some() {}
        // A late reader gets the same events.
        reader(1).follow(None).await;
        let end = self.ended(task).await?;
        let checked = scenario.check(&ledger.events()).and_then(|()| scenario.check_task(&end));
        match checked {
            Ok(()) => Ok(()),
            Err(detail) if end["status"]["state"] == "TASK_STATE_FAILED" => {
                Err(format!("task {task}: {detail}"))
            }
            Err(detail) => {
                let detail = format!("{scenario:?}, task {task}: {detail}");
                self.tally.fault(&self.tally.wrong, 1, detail);
                Ok(())
            }
        }
    }

    /// Sends until a node accepts it, and returns the first event of the response.
    async fn send(&self, body: &Value) -> Result<(Event, Sse), String> {
        let key = unique();
        loop {
            let node = self.nodes.any();
            let problem = match self.http.send(node, &key, body).await {
                Ok(mut stream) => match stream.next().await {
                    Ok(Some(event)) => return Ok((event, stream)),
                    Ok(None) => Problem::Unreachable("an empty stream".into()),
                    Err(problem) => problem,
                },
                Err(problem) => problem,
            };
            if !problem.is_transient() {
                return Err(format!("{node} rejected {body}: {problem:?}"));
            }
            sleep(Duration::from_millis(200)).await;
        }
    }

    async fn cancel(&self, task: &str) -> Result<(), String> {
        loop {
            let node = self.nodes.any();
            match self.http.post(&format!("{node}/tasks/{task}:cancel"), &json!({})).await {
                Ok(task) if task["status"]["state"] == "TASK_STATE_CANCELED" => return Ok(()),
                Ok(task) => return Err(format!("cancel returned {}", task["status"])),
                Err(problem) if problem.is_transient() => {}
                // An earlier attempt may have canceled it.
                Err(Problem::Rejected(_, body))
                    if body.to_string().contains("TASK_NOT_CANCELABLE")
                        && self.get(task).await?["status"]["state"] == "TASK_STATE_CANCELED" =>
                {
                    return Ok(());
                }
                Err(problem) => return Err(format!("cancel failed: {problem:?}")),
            }
            sleep(Duration::from_millis(200)).await;
        }
    }

    /// Reads a task until it has ended on all nodes.
    async fn ended(&self, task: &str) -> Result<Value, String> {
        let end = Instant::now() + STALE;
        loop {
            let now = self.get(task).await?;
            if is_terminal(&json!({ "task": now })) || Instant::now() > end {
                return Ok(now);
            }
            self.tally.stale.fetch_add(1, Relaxed);
            sleep(Duration::from_millis(100)).await;
        }
    }

    async fn get(&self, task: &str) -> Result<Value, String> {
        loop {
            let node = self.nodes.any();
            match self.http.get(&format!("{node}/tasks/{task}")).await {
                Ok(task) => return Ok(task),
                Err(problem) if problem.is_transient() => sleep(Duration::from_millis(200)).await,
                Err(problem) => return Err(format!("{node} did not find {task}: {problem:?}")),
            }
        }
    }
}

fn unique() -> String {
    a2a_core::fresh_id()
}

fn message(text: &str, task: Option<&str>) -> Value {
    let mut message =
        json!({ "messageId": unique(), "role": "ROLE_USER", "parts": [{ "text": text }] });
    if let Some(task) = task {
        message["taskId"] = task.into();
    }
    message
}

/// The webhook of an ended task.
#[derive(Debug)]
pub struct Webhook {
    name: String,
    ledger: Arc<Ledger>,
}

impl Webhook {
    /// Waits for all expected events, and checks their order.
    pub async fn check(self, load: Arc<Load>) {
        let tally = &load.tally;
        let events = self.ledger.events();
        let mut expected: Vec<(u64, &Value)> = events
            .iter()
            .filter(|(_, data)| state(data).is_some())
            .map(|(id, data)| (*id, data))
            .collect();
        // The first event, which is the task, may be unknown.
        let knows_first = events.contains_key(&1);
        if !knows_first {
            expected.insert(0, (1, &Value::Null));
        }
        tally.pushed.fetch_add(u64::try_from(expected.len()).unwrap_or(0), Relaxed);
        let end = Instant::now() + DELIVERY;
        let (missing, received) = loop {
            let received = load.hooks.received(&self.name);
            let has_arrived = |(id, data): &&(u64, &Value)| match (*id, knows_first) {
                (1, false) => received.iter().any(|received| received["task"].is_object()),
                _ => received.contains(data),
            };
            let missing: Vec<u64> =
                expected.iter().filter(|one| !has_arrived(one)).map(|(id, _)| *id).collect();
            if missing.is_empty() || Instant::now() > end {
                break (missing, received);
            }
            sleep(Duration::from_millis(500)).await;
        };
        let detail = format!("webhook {} never got {missing:?}", self.name);
        tally.fault(&tally.undelivered, missing.len(), detail);
        let mut newest = 0;
        let mut had = BTreeSet::new();
        for data in &received {
            let place = |(id, known): &&(u64, &Value)| {
                *known == data || *id == 1 && known.is_null() && data["task"].is_object()
            };
            let places: Vec<u64> = expected.iter().filter(place).map(|(id, _)| *id).collect();
            let Some(first) = places.first() else {
                tally.fault(&tally.wrong, 1, format!("webhook {} got {data}", self.name));
                continue;
            };
            // Equal events are distinguished by their order.
            let Some(id) = places.iter().find(|id| !had.contains(*id)) else { continue };
            if *id < newest {
                let detail = format!("webhook {} got {first} after {newest}", self.name);
                tally.fault(&tally.disordered, 1, detail);
            }
            newest = newest.max(*id);
            had.insert(*id);
        }
        load.hooks.forget(&self.name);
    }
}
