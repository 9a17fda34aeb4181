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
    Event, Hooks, Http, Ledger, Manners, Problem, Reader, Sse, Story, Tally,
    reader::{Nodes, is_terminal, state},
};

/// How much longer than planned a task may take: nodes are lost and found meanwhile.
const PATIENCE: Duration = Duration::from_secs(120);
/// How long a node may be behind another one.
const STALE: Duration = Duration::from_secs(10);
/// How long the rest of its events may take to reach a webhook.
const DELIVERY: Duration = Duration::from_secs(120);

/// Keeps tasks in flight, until it is told to stop.
#[derive(Debug)]
pub struct Load {
    http: Http,
    nodes: Arc<Nodes>,
    hooks: Hooks,
    tally: Arc<Tally>,
    stop: AtomicBool,
}

impl Load {
    /// A load for these nodes, with webhooks of such manners.
    pub async fn new(nodes: Vec<String>, seed: u64, manners: Manners) -> Arc<Self> {
        Arc::new(Self {
            http: Http::default(),
            nodes: Arc::new(Nodes::new(nodes, seed)),
            hooks: Hooks::start(manners).await,
            tally: Arc::default(),
            stop: AtomicBool::new(false),
        })
    }

    /// What came of it so far.
    pub fn tally(&self) -> &Tally {
        self.tally.deliveries.store(self.hooks.calls(), Relaxed);
        &self.tally
    }

    /// Begins no more tasks.
    pub fn stop(&self) {
        self.stop.store(true, Relaxed);
    }

    /// Keeps so many tasks in flight, and returns when all have ended after [`stop`](Self::stop).
    pub async fn run(self: &Arc<Self>, tasks: usize) {
        let mut workers = JoinSet::new();
        for number in 0..tasks {
            let load = Arc::clone(self);
            workers.spawn(async move {
                // Not all at one moment.
                sleep(Duration::from_millis(u64::try_from(number * 20).unwrap_or(0))).await;
                let mut webhooks = JoinSet::new();
                while !load.stop.load(Relaxed) {
                    let story = Story::any(&load.nodes);
                    if let Some(webhook) = load.task(story).await {
                        webhooks.spawn(webhook.check(Arc::clone(&load)));
                    }
                    while webhooks.try_join_next().is_some() {}
                }
                while webhooks.join_next().await.is_some() {}
            });
        }
        while workers.join_next().await.is_some() {}
    }

    /// Begins a task and follows it to its end; what is left to check then is its webhook.
    pub async fn task(self: &Arc<Self>, story: Story) -> Option<Webhook> {
        let has_webhook = self.nodes.throw(3) == 0;
        self.task_with(story, has_webhook).await
    }

    /// As [`task`](Self::task), where it is said whether there is a webhook.
    pub async fn task_with(self: &Arc<Self>, story: Story, has_webhook: bool) -> Option<Webhook> {
        let tally = &self.tally;
        tally.begun.fetch_add(1, Relaxed);
        let ledger = Arc::new(Ledger::new(Arc::clone(tally)));
        let name = unique();
        let limit = story.time() + PATIENCE;
        let work = self.play(&story, &ledger, has_webhook.then_some(name.as_str()));
        let done = timeout(limit, work).await;
        match done {
            Err(_elapsed) => {
                let said = ledger.events().into_iter().next_back();
                tally.fault(&tally.stuck, 1, format!("{story:?} {name} stays at {said:?}"));
                return None;
            }
            Ok(Err(words)) => {
                tally.fault(&tally.lost, 1, format!("{story:?}: {words}"));
                return None;
            }
            Ok(Ok(())) => {}
        }
        tally.ended.fetch_add(1, Relaxed);
        has_webhook.then_some(Webhook { name, ledger })
    }

    async fn play(
        self: &Arc<Self>,
        story: &Story,
        ledger: &Arc<Ledger>,
        hook: Option<&str>,
    ) -> Result<(), String> {
        let mut messages = story.messages().into_iter();
        let first = messages.next().unwrap_or_default();
        let mut body = json!({ "message": message(&first, None) });
        if let Some(hook) = hook {
            let config = json!({ "url": self.hooks.url(hook) });
            body["configuration"] = json!({ "taskPushNotificationConfig": config });
        }
        let (event, stream) = self.send(&body).await?;
        let task = event.data["task"]["id"].as_str().ok_or("the stream began without a task")?;
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
            // An earlier try had begun it: what came meanwhile is in the log.
            drop(stream);
            readers.spawn(reader(1).follow(None));
        }
        if self.nodes.throw(3) == 0 {
            readers.spawn(reader(1).follow(None));
        }
        match story {
            Story::Stream { .. } | Story::Slow { .. } => {}
            Story::Canceled { after } => {
                sleep(*after).await;
                self.cancel(task).await?;
            }
            Story::Ask | Story::Talk { .. } => {
                for (index, text) in messages.enumerate() {
                    ledger
                        .wait(|events| {
                            let asked = |data: &&Value| state(data) == Some("INPUT_REQUIRED");
                            events.values().filter(asked).count() > index
                        })
                        .await;
                    sleep(Duration::from_millis(self.nodes.throw(3_000))).await;
                    let body = json!({ "message": message(&text, Some(task)) });
                    self.send(&body).await?;
                }
            }
        }
        while readers.join_next().await.is_some() {}
        // Whoever comes late reads the same.
        reader(1).follow(None).await;
        let end = self.ended(task).await?;
        let checked = story.check(&ledger.events()).and_then(|()| story.check_task(&end));
        match checked {
            Ok(()) => Ok(()),
            Err(words) if end["status"]["state"] == "TASK_STATE_FAILED" => {
                Err(format!("task {task}: {words}"))
            }
            Err(words) => {
                let words = format!("{story:?}, task {task}: {words}");
                self.tally.fault(&self.tally.wrong, 1, words);
                Ok(())
            }
        }
    }

    /// Sends until a node takes it, and returns the first event of the answer.
    async fn send(&self, body: &Value) -> Result<(Event, Sse), String> {
        let key = unique();
        loop {
            let node = self.nodes.any();
            let problem = match self.http.send(node, &key, body).await {
                Ok(mut stream) => match stream.next().await {
                    Ok(Some(event)) => return Ok((event, stream)),
                    Ok(None) => Problem::Gone("an empty stream".into()),
                    Err(problem) => problem,
                },
                Err(problem) => problem,
            };
            if !problem.may_pass() {
                return Err(format!("{node} refused {body}: {problem:?}"));
            }
            sleep(Duration::from_millis(200)).await;
        }
    }

    async fn cancel(&self, task: &str) -> Result<(), String> {
        loop {
            let node = self.nodes.any();
            match self.http.post(&format!("{node}/tasks/{task}:cancel"), &json!({})).await {
                Ok(task) if task["status"]["state"] == "TASK_STATE_CANCELED" => return Ok(()),
                Ok(task) => return Err(format!("a cancel made it {}", task["status"])),
                Err(problem) if problem.may_pass() => {}
                // An earlier attempt may have canceled it.
                Err(Problem::Refused(_, said))
                    if said.to_string().contains("TASK_NOT_CANCELABLE")
                        && self.get(task).await?["status"]["state"] == "TASK_STATE_CANCELED" =>
                {
                    return Ok(());
                }
                Err(problem) => return Err(format!("no cancel: {problem:?}")),
            }
            sleep(Duration::from_millis(200)).await;
        }
    }

    /// Reads a task that has ended.
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
                Err(problem) if problem.may_pass() => sleep(Duration::from_millis(200)).await,
                Err(problem) => return Err(format!("{node} does not know {task}: {problem:?}")),
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

/// A webhook of a task that has ended.
#[derive(Debug)]
pub struct Webhook {
    name: String,
    ledger: Arc<Ledger>,
}

impl Webhook {
    /// Waits until every event has arrived that is to, and checks their order.
    pub async fn check(self, load: Arc<Load>) {
        let tally = &load.tally;
        let events = self.ledger.events();
        let mut wanted: Vec<(u64, &Value)> = events
            .iter()
            .filter(|(_, data)| state(data).is_some())
            .map(|(id, data)| (*id, data))
            .collect();
        // Nobody may have seen the first event, which is the task.
        let knows_first = events.contains_key(&1);
        if !knows_first {
            wanted.insert(0, (1, &Value::Null));
        }
        tally.pushed.fetch_add(u64::try_from(wanted.len()).unwrap_or(0), Relaxed);
        let end = Instant::now() + DELIVERY;
        let (missing, taken) = loop {
            let taken = load.hooks.taken(&self.name);
            let is_there = |(id, data): &&(u64, &Value)| match (*id, knows_first) {
                (1, false) => taken.iter().any(|taken| taken["task"].is_object()),
                _ => taken.contains(data),
            };
            let missing: Vec<u64> =
                wanted.iter().filter(|one| !is_there(one)).map(|(id, _)| *id).collect();
            if missing.is_empty() || Instant::now() > end {
                break (missing, taken);
            }
            sleep(Duration::from_millis(500)).await;
        };
        let words = format!("webhook {} never got {missing:?}", self.name);
        tally.fault(&tally.undelivered, missing.len(), words);
        let mut newest = 0;
        let mut had = BTreeSet::new();
        for data in &taken {
            let place = |(id, known): &&(u64, &Value)| {
                *known == data || *id == 1 && known.is_null() && data["task"].is_object()
            };
            let places: Vec<u64> = wanted.iter().filter(place).map(|(id, _)| *id).collect();
            let Some(first) = places.first() else {
                tally.fault(&tally.wrong, 1, format!("webhook {} got {data}", self.name));
                continue;
            };
            // Two that read the same are told apart by their order.
            let Some(id) = places.iter().find(|id| !had.contains(*id)) else { continue };
            if *id < newest {
                let words = format!("webhook {} got {first} after {newest}", self.name);
                tally.fault(&tally.disordered, 1, words);
            }
            newest = newest.max(*id);
            had.insert(*id);
        }
        load.hooks.forget(&self.name);
    }
}
