//! Messages queued on a node that crashes before their turn.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test says what it expects, and panics where it does not get it"
)]

use std::time::Duration;

use a2a_core::{
    ErrorKind, Message, Task, TaskState,
    v1::{
        AgentCard, GetTaskRequest, SendMessageConfiguration, SendMessageRequest,
        send_message_response,
    },
};
use a2a_kit_operations::{
    Agent, AgentExecutor, BoxError, Call, Engine, EngineConfig, Recovery, RequestContext,
    TaskUpdater, store::LeaseStore as _,
};
use a2a_kit_store_testing::MemoryNode;
use tokio::{
    runtime::{Builder, Runtime},
    time::{Instant, sleep},
};

const LEASE: Duration = Duration::from_millis(400);

/// Works on `wait` until it is rerun, then parks; completes on anything else.
struct Agentic;

impl AgentExecutor for Agentic {
    async fn execute(&self, context: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        if context.text() != "wait" {
            return Ok(updates.complete(format!("heard {}", context.text())).await?);
        }
        if !context.is_rerun() {
            updates.start().await?;
            context.cancelled().await;
        }
        Ok(updates.require_input("what next?").await?)
    }

    fn recovery(&self) -> Recovery {
        Recovery::Rerun
    }
}

fn engine(store: MemoryNode) -> Engine {
    let config = EngineConfig::default().with_lease_renewal(LEASE / 4).with_max_queued_messages(2);
    let card = AgentCard::new("Test", "An agent under test");
    Engine::builder(card, Agentic).store(store).config(config).build()
}

fn at_once(message: Message) -> Call<SendMessageRequest> {
    let configuration = Some(SendMessageConfiguration {
        return_immediately: true,
        ..SendMessageConfiguration::default()
    });
    let message = Some(message);
    Call::new(SendMessageRequest { message, configuration, ..SendMessageRequest::default() })
}

async fn task_of(engine: &Engine, message: Message) -> Task {
    match engine.send_message(at_once(message)).await.expect("an answer").response.payload {
        Some(send_message_response::Payload::Task(task)) => task,
        other => panic!("not a task: {other:?}"),
    }
}

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime")
}

#[test]
fn acknowledged_message_survives_its_node() {
    let one = MemoryNode::with_lease(LEASE);
    let two = one.join("two");
    let spy = one.join("spy");
    let there = runtime();
    let (id, engine_one) = there.block_on(async {
        let engine = engine(one);
        let id = task_of(&engine, Message::user("wait")).await.id;
        let queued = Message::user("more").with_task_id(&id);
        let task = task_of(&engine, queued).await;
        assert!(!task.state().is_settled(), "it is answered before its turn: {task:?}");
        task_of(&engine, Message::user("third").with_task_id(&id)).await;
        let fourth = engine.send_message(at_once(Message::user("fourth").with_task_id(&id))).await;
        assert_eq!(fourth.unwrap_err().kind(), ErrorKind::ResourceExhausted);
        let waiting = spy.commands(&id).await.unwrap();
        assert_eq!(waiting.len(), 2, "what is refused is not left for anybody: {waiting:?}");
        (id, engine)
    });
    // As if the process were killed.
    there.shutdown_background();
    drop(engine_one);
    let here = runtime();
    here.block_on(async {
        let engine = engine(two);
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let request = GetTaskRequest { id: id.clone(), ..GetTaskRequest::default() };
            let task = engine.get_task(Call::new(request)).await.unwrap().response;
            if task.state() == TaskState::Completed {
                assert_eq!(task.status_message().unwrap().text(), "heard more");
                let said: Vec<_> = task.history.iter().map(Message::text).collect();
                let refused = "this message was not handled: the task ended first";
                assert_eq!(said[said.len() - 2..], ["third", refused]);
                break;
            }
            assert!(Instant::now() < deadline, "the message is lost: {task:?}");
            sleep(Duration::from_millis(20)).await;
        }
    });
}
