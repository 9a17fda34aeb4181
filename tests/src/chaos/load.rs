use std::{
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
    Behavior, Fault, History, Hooks, Nodes, Scenario, Tally, Webhook, Wire,
    caller::{Caller, request, unique},
    event::{has_ended, state},
    late::{Disturbances, LIMIT, late},
    reader::Reader,
    violations,
};

/// Time that a task may take in addition to its duration, because nodes fail and recover.
const TIMEOUT: Duration = Duration::from_secs(120);
/// Time until a task that has ended for one reader has ended for all.
const STALE: Duration = Duration::from_secs(10);

/// Keeps tasks in flight until [`stop`](Self::stop).
#[derive(Debug)]
pub struct Load {
    wire: Wire,
    nodes: Arc<Nodes>,
    hooks: Hooks,
    tally: Arc<Tally>,
    disturbances: Disturbances,
    stop: AtomicBool,
}

impl Load {
    /// Creates a load for these nodes, with this behavior of webhooks.
    pub async fn new(nodes: Vec<String>, seed: u64, behavior: Behavior) -> Arc<Self> {
        Arc::new(Self {
            wire: Wire::default(),
            nodes: Arc::new(Nodes::new(nodes, seed)),
            hooks: Hooks::start(behavior).await,
            tally: Arc::default(),
            disturbances: Disturbances::default(),
            stop: AtomicBool::new(false),
        })
    }

    /// The counters so far.
    pub fn tally(&self) -> &Arc<Tally> {
        self.tally.deliveries.store(self.hooks.calls(), Relaxed);
        &self.tally
    }

    pub(super) const fn hooks(&self) -> &Hooks {
        &self.hooks
    }

    /// From now on delays are excused, because a node or a link is out of order.
    pub fn disturb(&self) {
        self.disturbances.begin();
    }

    /// Delays are no longer excused, this time from now.
    pub fn settle(&self, after: Duration) {
        self.disturbances.end(after);
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
                    while let Some(checked) = webhooks.try_join_next() {
                        checked.expect("no panic");
                    }
                }
                all(webhooks).await;
            });
        }
        all(workers).await;
    }

    /// Runs a task to its end, and returns its webhook, to be checked afterwards.
    pub async fn task(self: &Arc<Self>, scenario: Scenario) -> Option<Webhook> {
        let has_webhook = self.nodes.one_in(3);
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
        let history = Arc::<History>::default();
        let name = unique();
        let limit = scenario.time() + TIMEOUT;
        let work = self.play(&scenario, &history, has_webhook.then_some(name.as_str()));
        match timeout(limit, work).await {
            Err(_elapsed) => {
                let last = history.events().into_keys().next_back();
                let (task, problem) = (history.task(), history.problem());
                let detail =
                    format!("{scenario:?}, task {task:?}, after event {last:?}; {problem:?}");
                tally.fault(Fault::Stuck, 1, detail);
                // What was seen of it is judged all the same.
                self.judge(&history, &history.last_read().unwrap_or_default());
                return None;
            }
            Ok(Err(detail)) => {
                tally.fault(Fault::Lost, 1, format!("{scenario:?}: {detail}"));
                return None;
            }
            Ok(Ok(())) => {}
        }
        tally.ended.fetch_add(1, Relaxed);
        has_webhook.then_some(Webhook { name, history })
    }

    async fn play(
        self: &Arc<Self>,
        scenario: &Scenario,
        history: &Arc<History>,
        hook: Option<&str>,
    ) -> Result<(), String> {
        let mut messages = scenario.messages().into_iter();
        let mut body = request(&messages.next().unwrap_or_default(), None);
        if let Some(hook) = hook {
            let config = json!({ "url": self.hooks.url(hook) });
            body["configuration"] = json!({ "taskPushNotificationConfig": config });
        }
        let caller = Caller {
            wire: self.wire.clone(),
            nodes: Arc::clone(&self.nodes),
            tally: Arc::clone(&self.tally),
            history: Arc::clone(history),
        };
        let (event, opened) = caller.stream(&body).await?;
        let member = |name: &str| event.data["task"][name].as_str().map(str::to_owned);
        let (Some(task), Some(context)) = (member("id"), member("contextId")) else {
            return Err(format!("the stream starts with {}", event.data));
        };
        let reader = Reader {
            wire: self.wire.clone(),
            nodes: Arc::clone(&self.nodes),
            tally: Arc::clone(&self.tally),
            history: Arc::clone(history),
            task: task.clone(),
            context,
            last: Some(event.id),
        };
        let mut readers = JoinSet::new();
        readers.spawn(reader.clone().follow(Some(opened)));
        if event.id > 1 || self.nodes.one_in(3) {
            readers.spawn(reader.after(Some(1)).follow(None));
        }
        if self.nodes.one_in(3) {
            readers.spawn(reader.after(None).follow(None));
        }
        if self.nodes.one_in(2) {
            readers.spawn(reader.clone().poll());
        }
        self.converse(scenario, &caller, &reader, messages.collect(), &mut readers).await?;
        all(readers).await;
        // A late reader gets the same events.
        reader.after(Some(1)).follow(None).await;
        let end = self.ended(&caller, &task).await?;
        self.judge(history, &end);
        let checked = scenario.check(&history.events()).and_then(|()| scenario.check_task(&end));
        match checked {
            Ok(()) => Ok(()),
            Err(detail) if end["status"]["state"] == "TASK_STATE_FAILED" => {
                Err(format!("task {task}: {detail}, {}", end["status"]))
            }
            Err(detail) => {
                let detail = format!("{scenario:?}, task {task}: {detail}");
                self.tally.fault(Fault::Unexpected, 1, detail);
                Ok(())
            }
        }
    }

    /// The client's part after the first message.
    async fn converse(
        &self,
        scenario: &Scenario,
        caller: &Caller,
        reader: &Reader,
        messages: Vec<String>,
        readers: &mut JoinSet<()>,
    ) -> Result<(), String> {
        let task = reader.task.as_str();
        let questions = |count: usize| {
            caller.history.wait(move |events| {
                let asked = |data: &&Value| state(data) == Some("INPUT_REQUIRED");
                events.values().filter(asked).count() > count
            })
        };
        match scenario {
            Scenario::Stream { .. } | Scenario::Slow { .. } => {}
            Scenario::Canceled { after } => {
                sleep(*after).await;
                caller.cancel(task).await?;
            }
            Scenario::Ask | Scenario::Talk { .. } => {
                for (index, text) in messages.into_iter().enumerate() {
                    questions(index).await;
                    sleep(Duration::from_millis(self.nodes.random_below(3_000))).await;
                    let body = request(&text, Some(task));
                    if self.nodes.one_in(2) {
                        caller.send(&body).await?;
                    } else {
                        let (event, opened) = caller.stream(&body).await?;
                        let mut reader = reader.after(Some(event.id));
                        readers.spawn(async move {
                            reader.read(opened).await;
                        });
                    }
                }
            }
            Scenario::Crowd { same_id, .. } => {
                questions(0).await;
                let mut senders = JoinSet::new();
                let (last, crowd) = messages.split_last().ok_or("no messages")?;
                let id = unique();
                for text in crowd {
                    let (caller, mut body) = (caller.clone(), request(text, Some(task)));
                    if *same_id {
                        body["message"]["messageId"] = id.as_str().into();
                    }
                    senders.spawn(async move { caller.send(&body).await });
                }
                while let Some(sent) = senders.join_next().await {
                    sent.map_err(|error| error.to_string())??;
                }
                caller.send(&request(last, Some(task))).await?;
            }
        }
        Ok(())
    }

    /// Counts what is wrong in the history of a task.
    fn judge(&self, history: &History, end: &Value) {
        let records = history.records();
        let task = history.task().unwrap_or_default();
        for (fault, detail) in violations(&records, end) {
            self.tally.fault(fault, 1, format!("task {task}: {detail}"));
        }
        for late in late(&records) {
            let (from, until) = (history.instant(late.from), history.instant(late.until));
            let took = self.disturbances.rest(from, until);
            if took > LIMIT {
                let detail = format!("task {task}: {took:?} for {}", late.detail);
                self.tally.fault(Fault::Late, 1, detail);
            }
        }
    }

    /// Reads a task until it has ended.
    async fn ended(&self, caller: &Caller, task: &str) -> Result<Value, String> {
        let end = Instant::now() + STALE;
        loop {
            let now = caller.get(task).await?;
            if has_ended(&now) || Instant::now() > end {
                return Ok(now);
            }
            sleep(Duration::from_millis(100)).await;
        }
    }
}

/// Waits for all tasks of a set. One that panicked has not judged what it should have.
pub(super) async fn all(mut tasks: JoinSet<()>) {
    while let Some(done) = tasks.join_next().await {
        done.expect("no panic");
    }
}
