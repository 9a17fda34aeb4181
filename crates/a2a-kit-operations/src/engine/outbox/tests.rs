mod failing_store;
mod limits;

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};

use a2a_core::{
    Error, Task, TaskState,
    v1::{
        StreamResponse, TaskPushNotificationConfig, TaskStatus, TaskStatusUpdateEvent,
        stream_response::Payload,
    },
};
use async_trait::async_trait;
use bytes::Bytes;
use tokio::{sync::mpsc, task::JoinHandle};

use super::*;
use crate::{
    Caller, Event, EventId, MemoryStore, PushError, Scope, Webhook,
    store::{DeadLetter, DeadLetterQuery, NewTask, TaskStore as _, Transition},
};

/// Scripted responses of the receivers; without a script they accept.
enum Answer {
    Fail(Option<Duration>),
    Refuse,
    Panic,
    /// Never responds.
    Hang,
    /// Accepts after a delay.
    Take(Duration),
}

/// Receivers that follow a script.
struct Script {
    answers: Mutex<VecDeque<(&'static str, Answer)>>,
    calls: mpsc::Sender<Called>,
}

#[derive(Debug, PartialEq, Eq)]
struct Called {
    config_id: String,
    event: u64,
    time: Instant,
}

impl std::fmt::Debug for Script {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Script")
    }
}

impl Script {
    fn answer(&self, config_id: &str) -> Option<Answer> {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let at = answers.iter().position(|(id, _)| *id == config_id)?;
        answers.remove(at).map(|(_, answer)| answer)
    }
}

#[async_trait]
impl PushSender for Script {
    async fn check(&self, _: &TaskPushNotificationConfig) -> a2a_core::Result<()> {
        Ok(())
    }

    fn destination(&self, config: &TaskPushNotificationConfig) -> String {
        config.url.clone()
    }

    async fn deliver(&self, webhook: &Webhook, delivery: &Delivery) -> Result<(), PushError> {
        let config_id = webhook.config.id.clone();
        let answer = self.answer(&config_id);
        let event = delivery.event.id().unwrap().get();
        self.calls.try_send(Called { config_id, event, time: Instant::now() }).unwrap();
        let source = Box::new(Error::internal("no"));
        match answer {
            None => Ok(()),
            Some(Answer::Take(after)) => {
                tokio::time::sleep(after).await;
                Ok(())
            }
            Some(Answer::Fail(after)) => Err(PushError::Retry { after, source }),
            Some(Answer::Refuse) => Err(PushError::Refused { source }),
            Some(Answer::Panic) => panic!("a bug in a sender"),
            Some(Answer::Hang) => std::future::pending().await,
        }
    }
}

/// A store with one task, receivers, and an outbox between them.
struct Scene {
    store: Arc<MemoryStore>,
    sender: Arc<Script>,
    calls: mpsc::Receiver<Called>,
    config: EngineConfig,
    version: u64,
    last: u64,
}

struct Running {
    outbox: Outbox,
    draining: CancellationToken,
    worker: JoinHandle<()>,
}

impl Running {
    async fn drain(self) {
        self.draining.cancel();
        self.worker.await.unwrap();
    }
}

impl Scene {
    /// Creates a task whose first event is pending for the webhooks.
    async fn new(webhooks: &[&str], answers: Vec<(&'static str, Answer)>) -> Self {
        let (sender, calls) = mpsc::channel(1_000);
        let store = Arc::new(MemoryStore::new());
        let task = Arc::new(Task { id: "t".into(), context_id: "c".into(), ..Task::default() });
        let new = NewTask::new(task, vec![event(1)])
            .with_pushes([EventId::FIRST])
            .with_webhooks(webhooks.iter().map(|id| webhook(id)).collect::<Vec<_>>())
            .with_checkpoint(Bytes::from("work"));
        store.insert(&scope(), new).await.unwrap();
        let sender = Arc::new(Script { answers: Mutex::new(answers.into()), calls: sender });
        let config = EngineConfig::default();
        Self { store, sender, calls, config, version: 1, last: 1 }
    }

    fn start(&self) -> Running {
        self.start_with(self.store.clone())
    }

    fn start_with(&self, store: Arc<dyn PushStore>) -> Running {
        let draining = CancellationToken::new();
        let sender = self.sender.clone();
        let outbox = Outbox::new(store, sender, &self.config, &draining);
        let worker = tokio::spawn(outbox.run());
        Running { outbox, draining, worker }
    }

    /// Writes more events.
    async fn write(&mut self, count: u64) {
        let ids = self.last + 1..=self.last + count;
        let task = Task { id: "t".into(), context_id: "c".into(), ..Task::default() };
        let events = ids.clone().map(event).collect();
        let transition = Transition::new("t", self.version, 1, events)
            .with_snapshot(Arc::new(task))
            .with_pushes(ids.filter_map(EventId::new).collect::<Vec<_>>());
        let committed = self.store.commit(&scope(), transition).await.unwrap();
        assert!(committed.has_pushes);
        self.version += 1;
        self.last += count;
    }

    /// The next call. Time is paused and advances quickly.
    async fn call(&mut self) -> Called {
        let call = tokio::time::timeout(Duration::from_secs(24 * 3600), self.calls.recv());
        call.await.unwrap().unwrap()
    }

    /// The next calls, as "webhook event".
    async fn calls(&mut self, count: usize) -> Vec<String> {
        let mut calls = Vec::new();
        for _ in 0..count {
            let Called { config_id, event, .. } = self.call().await;
            calls.push(format!("{config_id} {event}"));
        }
        calls
    }

    /// Waits for a number of dead letters.
    async fn dead_letters(&self, count: usize) -> Vec<DeadLetter> {
        loop {
            let letters = self.store.dead_letters(&DeadLetterQuery::newest(10)).await.unwrap();
            if letters.len() >= count {
                return letters;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Waits for longer than the polling interval, and returns whether there was no call.
    async fn is_quiet(&mut self) -> bool {
        tokio::time::timeout(Duration::from_secs(3600), self.calls.recv()).await.is_err()
    }
}

fn scope() -> Scope {
    Scope::new("", &Caller::authenticated("a"))
}

fn webhook(id: &str) -> Webhook {
    TaskPushNotificationConfig {
        id: id.into(),
        task_id: "t".into(),
        url: format!("https://{id}.example"),
        ..Default::default()
    }
    .into()
}

fn event(id: u64) -> Event {
    let status = TaskStatus { state: TaskState::Working.into(), ..TaskStatus::default() };
    let update = TaskStatusUpdateEvent {
        task_id: "t".into(),
        context_id: "c".into(),
        status: Some(status),
        ..TaskStatusUpdateEvent::default()
    };
    Event::new(EventId::new(id), StreamResponse { payload: Some(Payload::StatusUpdate(update)) })
}

#[tokio::test(start_paused = true)]
async fn events_of_a_webhook_arrive_in_order() {
    let slow = (0..3).map(|_| ("a", Answer::Take(Duration::from_secs(1)))).collect();
    let mut scene = Scene::new(&["a"], slow).await;
    scene.write(2).await;
    let running = scene.start();
    assert_eq!(scene.calls(1).await, ["a 1"]);
    // New events while a delivery is in progress.
    let start = Instant::now();
    scene.write(3).await;
    running.outbox.wake();
    assert_eq!(scene.calls(5).await, ["a 2", "a 3", "a 4", "a 5", "a 6"]);
    assert!(start.elapsed() < SWEEP, "they were found at once");
    // New events while idle.
    tokio::time::sleep(Duration::from_secs(60)).await;
    let start = Instant::now();
    scene.write(1).await;
    running.outbox.wake();
    assert_eq!(scene.calls(1).await, ["a 7"]);
    assert!(start.elapsed() < SWEEP, "it was found at once");
    assert!(scene.is_quiet().await);
}

#[tokio::test(start_paused = true)]
async fn failing_webhook_does_not_delay_others() {
    let fails = (0..3).map(|_| ("a", Answer::Fail(None))).chain([("a", Answer::Hang)]).collect();
    let mut scene = Scene::new(&["a", "b"], fails).await;
    scene.write(2).await;
    let _running = scene.start();
    let calls = scene.calls(10).await;
    let of = |id: &str| -> Vec<_> {
        calls.iter().filter(|call| call.starts_with(id)).map(String::as_str).collect()
    };
    assert_eq!(of("a"), ["a 1", "a 1", "a 1", "a 1", "a 1", "a 2", "a 3"]);
    assert_eq!(of("b"), ["b 1", "b 2", "b 3"]);
    assert!(scene.is_quiet().await);
}

#[tokio::test(start_paused = true)]
async fn retry_after_is_respected() {
    let asked = Duration::from_secs(1_000);
    let too_much = Duration::from_secs(1_000_000);
    let answers = vec![("a", Answer::Fail(Some(asked))), ("a", Answer::Fail(Some(too_much)))];
    let mut scene = Scene::new(&["a"], answers).await;
    let _running = scene.start();
    let mut times = Vec::new();
    for _ in 0..3 {
        times.push(scene.call().await.time);
    }
    let waits = [times[1] - times[0], times[2] - times[1]].map(|wait| wait.as_secs());
    assert!((1_000..1_010).contains(&waits[0]), "{waits:?}");
    assert!((3_600..3_610).contains(&waits[1]), "{waits:?}");
}

//
#[tokio::test(start_paused = true)]
async fn undeliverable_event_is_dead_lettered_and_the_next_delivered() {
    let answers = vec![
        ("a", Answer::Fail(None)),
        ("a", Answer::Panic),
        ("a", Answer::Hang),
        ("a", Answer::Refuse),
    ];
    let mut scene = Scene::new(&["a"], answers).await;
    scene.config.push.attempts = 3;
    scene.write(2).await;
    let _running = scene.start();
    assert_eq!(scene.calls(5).await, ["a 1", "a 1", "a 1", "a 2", "a 3"]);
    let mut letters = scene.dead_letters(2).await;
    letters.sort_by_key(|letter| letter.event);
    let [given_up, refused] = &letters[..] else { panic!("{letters:?}") };
    assert_eq!((given_up.event.get(), given_up.attempts), (1, 3));
    assert!(given_up.error.contains("timed out"), "{}", given_up.error);
    assert_eq!((refused.event.get(), refused.attempts), (2, 1));
    assert!(refused.error.contains("rejected"), "{}", refused.error);
    assert!(scene.is_quiet().await);
}

#[tokio::test(start_paused = true)]
async fn deleted_webhook_receives_nothing_more() {
    let slow = Answer::Take(Duration::from_secs(1));
    let answers = vec![("a", Answer::Fail(Some(Duration::from_secs(5)))), ("b", slow)];
    let mut scene = Scene::new(&["a", "b"], answers).await;
    scene.write(2).await;
    let running = scene.start();
    let mut calls = scene.calls(2).await;
    calls.sort();
    assert_eq!(calls, ["a 1", "b 1"]);
    for id in ["a", "b"] {
        scene.store.delete_config(&scope(), "t", id).await.unwrap();
    }
    running.outbox.wake();
    assert!(scene.is_quiet().await);
}

#[tokio::test(start_paused = true)]
async fn next_node_resumes_where_the_last_stopped() {
    let mut scene = Scene::new(&["a"], vec![("a", Answer::Take(Duration::from_secs(1)))]).await;
    scene.write(2).await;
    let running = scene.start();
    assert_eq!(scene.calls(1).await, ["a 1"]);
    let start = Instant::now();
    running.drain().await;
    assert_eq!(start.elapsed().as_secs(), 1, "the try at hand was finished");
    let start = Instant::now();
    let running = scene.start();
    assert_eq!(scene.calls(2).await, ["a 2", "a 3"]);
    assert!(start.elapsed() < SWEEP, "nothing was left claimed");
    // A node that crashes leaves its claim, which expires.
    scene.sender.answers.lock().unwrap().push_back(("a", Answer::Hang));
    scene.write(1).await;
    running.outbox.wake();
    assert_eq!(scene.calls(1).await, ["a 4"]);
    running.worker.abort();
    let _other = scene.start();
    assert_eq!(scene.calls(1).await, ["a 4"]);
    assert!(scene.is_quiet().await);
}

#[tokio::test(start_paused = true)]
async fn dropping_the_engine_stops_its_outbox() {
    let scene = Scene::new(&[], Vec::new()).await;
    let Running { outbox, worker, .. } = scene.start();
    drop(outbox);
    worker.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn concurrent_deliveries_are_limited() {
    let slow = ["a", "b", "c", "d", "e"];
    let answers = slow.map(|id| (id, Answer::Take(Duration::from_secs(1)))).into();
    let mut scene = Scene::new(&slow, answers).await;
    scene.config.push.concurrency = 2;
    let _running = scene.start();
    let mut times = Vec::new();
    for _ in 0..5 {
        times.push(scene.call().await.time);
    }
    let seconds: Vec<_> = times.iter().map(|time| (*time - times[0]).as_secs()).collect();
    assert_eq!(seconds, [0, 0, 1, 1, 2]);
}
