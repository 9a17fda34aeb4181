//! One message with one idempotency key, sent to two nodes, one of which is stalled.
//!
//! A stalled node is a single-threaded runtime blocked by an executor.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test says what it expects, and panics where it does not get it"
)]

use std::{
    sync::{Mutex, mpsc},
    thread,
    time::Duration,
};

use a2a_core::{
    ErrorKind, Message, Task,
    v1::{
        AgentCard, ListTasksRequest, SendMessageRequest, send_message_response,
        stream_response::Payload,
    },
};
use a2a_kit_operations::{
    Agent, AgentExecutor, BoxError, Call, Engine, RequestContext, TaskUpdater,
};
use a2a_kit_store_testing::MemoryNode;
use futures_util::StreamExt as _;
use tokio::{runtime::Builder, sync::oneshot, time::timeout};

const TIMEOUT: Duration = Duration::from_secs(20);

/// Blocks its thread before it completes its task, or replies with a message.
struct Frozen {
    begun: Mutex<Option<oneshot::Sender<()>>>,
    thaw: Mutex<mpsc::Receiver<()>>,
}

impl AgentExecutor for Frozen {
    async fn execute(&self, _: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        if let Some(begun) = self.begun.lock().unwrap().take() {
            begun.send(()).unwrap();
        }
        let _ = self.thaw.lock().unwrap().recv_timeout(TIMEOUT);
        Ok(updates.complete("by the node that stood still").await?)
    }
}

/// Completes tasks, and replies to `reply` with a message.
struct Awake;

impl AgentExecutor for Awake {
    async fn execute(&self, context: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        match context.message().text().as_str() {
            "reply" => Ok(updates.reply("by the other node").await?),
            _ => Ok(updates.complete("by the other node").await?),
        }
    }
}

fn engine(store: MemoryNode, executor: impl AgentExecutor) -> Engine {
    let card = AgentCard::new("Test", "An agent under test").with_streaming(true);
    Engine::builder(card, executor).store(store).build()
}

fn call(text: &str) -> Call<SendMessageRequest> {
    let message = Some(Message { message_id: "m".into(), ..Message::user(text) });
    let mut call = Call::new(SendMessageRequest { message, ..SendMessageRequest::default() });
    call.context.idempotency_key = Some("key".into());
    call
}

/// The result of the stalled node, for both kinds of sends.
#[derive(Clone, Copy)]
enum Ask {
    Wait,
    Stream,
}

async fn ask(engine: &Engine, text: &str, ask: Ask) -> Result<Task, ErrorKind> {
    let answer = async {
        match ask {
            Ask::Wait => match engine.send_message(call(text)).await?.response.payload {
                Some(send_message_response::Payload::Task(task)) => Ok(task),
                other => panic!("not a task: {other:?}"),
            },
            Ask::Stream => {
                let mut stream = engine.send_streaming_message(call(text)).await?.response;
                let first = stream.next().await.expect("an event")?;
                match first.payload() {
                    Some(Payload::Task(task)) => Ok(task.clone()),
                    other => panic!("not a task: {other:?}"),
                }
            }
        }
    };
    answer.await.map_err(|error: a2a_core::Error| error.kind())
}

/// Sends a message to a stalled node while another node handles the same message, and returns the
/// results of both.
fn two_tries(
    text: &'static str,
    how: Ask,
) -> (Result<Task, ErrorKind>, Option<send_message_response::Payload>, usize) {
    let one = MemoryNode::new();
    let two = one.join("two");
    let (begun, has_begun) = oneshot::channel();
    let (thaw, thawed) = mpsc::channel();
    let frozen = thread::spawn(move || {
        let frozen = Frozen { begun: Mutex::new(Some(begun)), thaw: Mutex::new(thawed) };
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let engine = engine(one, frozen);
            timeout(TIMEOUT, ask(&engine, text, how)).await.expect("an answer")
        })
    });
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        has_begun.await.unwrap();
        let engine = engine(two, Awake);
        let answer = timeout(TIMEOUT, engine.send_message(call(text))).await;
        let answer = answer.expect("an answer").expect("the key is taken over").response.payload;
        thaw.send(()).unwrap();
        let late = tokio::task::spawn_blocking(|| frozen.join().unwrap()).await.unwrap();
        let list = engine.list_tasks(Call::new(ListTasksRequest::default())).await.unwrap();
        (late, answer, list.response.tasks.len())
    })
}

#[test]
fn stalled_node_joins_the_task_that_took_over_its_key() {
    for how in [Ask::Wait, Ask::Stream] {
        let (late, answer, count) = two_tries("go", how);
        let Some(send_message_response::Payload::Task(task)) = answer else {
            panic!("not a task: {answer:?}")
        };
        assert_eq!(task.status_message().unwrap().text(), "by the other node");
        assert_eq!(late.unwrap(), task, "the late node answers with the same task");
        assert_eq!(count, 1, "one message under one key makes one task");
    }
}

#[test]
fn stalled_node_creates_no_task_after_a_message_reply() {
    let (late, answer, count) = two_tries("reply", Ask::Wait);
    assert!(matches!(answer, Some(send_message_response::Payload::Message(_))), "{answer:?}");
    assert_eq!(late.unwrap_err(), ErrorKind::Unavailable, "the sender may try again");
    assert_eq!(count, 0);
}
