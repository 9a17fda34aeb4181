//! What a run knows of the call and of an earlier run, after a crash and on another node.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test says what it expects, and panics where it does not get it"
)]

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use a2a_core::{
    Artifact, Message, Part, Task, TaskState,
    v1::{
        AgentCard, GetTaskRequest, SendMessageConfiguration, SendMessageRequest,
        SubscribeToTaskRequest, send_message_response::Payload,
    },
};
use a2a_kit_operations::{
    Agent, AgentExecutor, BoxError, Call, Caller, Engine, EngineConfig, Recovery, RequestContext,
    TaskUpdater,
};
use a2a_kit_store_testing::MemoryNode;
use futures_util::{StreamExt as _, stream};
use tokio::{
    runtime::{Builder, Runtime},
    sync::watch,
    time::timeout,
};

const LEASE: Duration = Duration::from_millis(400);
/// Longer than any of these tests takes.
const LONG: Duration = Duration::from_secs(20);

/// The tenant and the scopes that a run has seen.
type Seen = (String, Vec<String>);

/// Notes the callers of its runs; waits for an approval, and then works until a test ends it.
#[derive(Clone)]
struct Approved {
    approval: watch::Sender<bool>,
    end: watch::Sender<bool>,
    callers: Arc<Mutex<Vec<Seen>>>,
}

impl Approved {
    fn new() -> Self {
        let (approval, end) = (watch::Sender::new(false), watch::Sender::new(false));
        Self { approval, end, callers: Arc::default() }
    }

    fn callers(&self) -> Vec<Seen> {
        self.callers.lock().unwrap().clone()
    }
}

impl AgentExecutor for Approved {
    async fn execute(&self, context: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        let scopes = context.call().caller.scopes().iter().cloned().collect();
        self.callers.lock().unwrap().push((context.tenant().to_owned(), scopes));
        if context.text() == "park" {
            let mut approval = self.approval.subscribe();
            drop(approval.wait_for(|is_approved| *is_approved).await?);
            return Ok(updates.require_input("what next?").await?);
        }
        if context.text() == "approve" {
            let mut approval = self.approval.subscribe();
            tokio::select! {
                biased;
                message = updates.ask_auth("Approve it") => drop(message?),
                _ = approval.wait_for(|is_approved| *is_approved) => {}
            }
            updates.start().await?;
        }
        if context.text() == "report" {
            let csv = Part::text("day\n").with_filename("a.csv").with_media_type("text/csv");
            let report = Artifact::new("report", csv).with_id("report");
            updates.stream(report, stream::iter(["1\n", "2\n"])).await?;
        }
        let mut end = self.end.subscribe();
        drop(end.wait_for(|end| *end).await?);
        Ok(updates.complete("done").await?)
    }

    fn recovery(&self) -> Recovery {
        Recovery::Rerun
    }
}

fn engine(store: MemoryNode, executor: Approved) -> Engine {
    let config = EngineConfig::default().with_lease_renewal(LEASE / 4);
    let card = AgentCard::new("Test", "An agent under test").with_streaming(true);
    Engine::builder(card, executor).store(store).config(config).build()
}

/// Two nodes on one store.
fn stores() -> (MemoryNode, MemoryNode) {
    let one = MemoryNode::with_lease(LEASE);
    let two = one.join("two");
    (one, two)
}

fn ann(scopes: &[&str]) -> Caller {
    Caller::authenticated("ann").with_scopes(scopes.iter().copied())
}

fn send(task_id: &str, text: &str, at_once: bool) -> Call<SendMessageRequest> {
    let message = Some(Message::user(text).with_task_id(task_id));
    let configuration = Some(SendMessageConfiguration {
        return_immediately: at_once,
        ..SendMessageConfiguration::default()
    });
    let tenant = "acme".to_owned();
    let mut call = Call::new(SendMessageRequest { message, configuration, tenant, metadata: None });
    call.context.caller = ann(&["approve"]);
    call
}

async fn task_of(engine: &Engine, call: Call<SendMessageRequest>) -> Task {
    let sent = timeout(LONG, engine.send_message(call)).await.expect("an answer in time");
    match sent.expect("an answer").response.payload {
        Some(Payload::Task(task)) => task,
        other => panic!("not a task: {other:?}"),
    }
}

async fn reaches(engine: &Engine, id: &str, state: TaskState) -> Task {
    let reached = async {
        loop {
            let (id, tenant) = (id.to_owned(), "acme".to_owned());
            let mut call = Call::new(GetTaskRequest { id, tenant, history_length: None });
            call.context.caller = ann(&[]);
            let task = engine.get_task(call).await.expect("a task").response;
            if task.state() == state {
                return Task::clone(&task);
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(LONG, reached).await.unwrap_or_else(|_| panic!("{id} is never {state:?}"))
}

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime")
}

/// As if the process were killed.
fn crash(node: Runtime, engine: Engine) {
    let ended = std::thread::spawn(move || node.shutdown_timeout(LONG));
    ended.join().expect("the runtime ends");
    drop(engine);
}

#[test]
fn rerun_knows_the_scopes_and_the_tenant_of_the_caller() {
    let (one, two) = stores();
    let executor = Approved::new();
    let node = runtime();
    let (id, crashed) = node.block_on(async {
        let engine = engine(one, executor.clone());
        let id = task_of(&engine, send("", "work", true)).await.id;
        while executor.callers().is_empty() {
            tokio::task::yield_now().await;
        }
        (id, engine)
    });
    crash(node, crashed);
    runtime().block_on(async {
        let engine = engine(two, executor.clone());
        while executor.callers().len() < 2 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        executor.end.send_replace(true);
        reaches(&engine, &id, TaskState::Completed).await;
    });
    let caller = ("acme".to_owned(), vec!["approve".to_owned()]);
    assert_eq!(executor.callers(), [caller.clone(), caller]);
}

#[test]
fn streamed_artifact_with_an_id_is_replaced_by_a_rerun() {
    let (one, two) = stores();
    let executor = Approved::new();
    let node = runtime();
    let (id, crashed) = node.block_on(async {
        let engine = engine(one, executor.clone());
        let id = task_of(&engine, send("", "report", true)).await.id;
        while reaches(&engine, &id, TaskState::Submitted).await.text() != "day\n1\n2\n" {
            tokio::task::yield_now().await;
        }
        (id, engine)
    });
    crash(node, crashed);
    runtime().block_on(async {
        let engine = engine(two, executor.clone());
        executor.end.send_replace(true);
        let task = reaches(&engine, &id, TaskState::Completed).await;
        assert_eq!((task.artifacts.len(), task.text()), (1, "day\n1\n2\n".to_owned()), "{task:?}");
        assert_eq!(executor.callers().len(), 2);
    });
}

#[tokio::test]
async fn message_to_another_node_keeps_the_scopes_of_its_caller() {
    let (one, two) = stores();
    let executor = Approved::new();
    let here = engine(one, executor.clone());
    let there = engine(two, executor.clone());
    let task = task_of(&here, send("", "park", true)).await;
    let mut call = send(&task.id, "work", true);
    call.context.caller = ann(&["other"]);
    task_of(&there, call).await;
    executor.approval.send_replace(true);
    executor.end.send_replace(true);
    reaches(&here, &task.id, TaskState::Completed).await;
    let last = executor.callers().pop();
    assert_eq!(last, Some(("acme".to_owned(), vec!["other".to_owned()])));
}

#[test]
fn decision_before_a_crash_is_not_asked_again() {
    let (one, two) = stores();
    let executor = Approved::new();
    let node = runtime();
    let (id, crashed) = node.block_on(async {
        let engine = engine(one, executor.clone());
        let task = task_of(&engine, send("", "approve", false)).await;
        assert_eq!(task.state(), TaskState::AuthRequired);
        executor.approval.send_replace(true);
        reaches(&engine, &task.id, TaskState::Working).await;
        (task.id, engine)
    });
    crash(node, crashed);
    runtime().block_on(async {
        let engine = engine(two, executor.clone());
        let (task_id, tenant) = (id.clone(), "acme".to_owned());
        let mut call = Call::new(SubscribeToTaskRequest { id: task_id, tenant });
        call.context.caller = ann(&[]);
        let stream = engine.subscribe_to_task(call).await.expect("a stream").response;
        while executor.callers().len() < 2 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        executor.end.send_replace(true);
        let states = stream.filter_map(async |event| event.expect("an event").state());
        let states: Vec<_> = timeout(LONG, states.collect()).await.expect("the end in time");
        assert!(!states.contains(&TaskState::AuthRequired), "it is asked again: {states:?}");
        assert_eq!(states.last(), Some(&TaskState::Completed));
    });
}
