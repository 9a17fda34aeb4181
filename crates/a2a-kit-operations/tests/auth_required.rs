//! AUTH_REQUIRED: authorization out of band, by message, and both at once.
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it expects, and panics where it does not get it"
)]

use std::sync::Arc;

use a2a_core::{
    Message, Task, TaskState,
    v1::{
        AgentCard, GetTaskRequest, SendMessageRequest, SubscribeToTaskRequest,
        send_message_response::Payload,
    },
};
use a2a_kit_operations::{
    Agent, AgentExecutor, BoxError, Call, Engine, EventStream, RequestContext, TaskUpdater,
};
use futures_util::StreamExt as _;
use tokio::sync::Notify;

/// Requests an authorization for each message, and reports how it was granted.
struct Careful {
    approved: Arc<Notify>,
}

impl AgentExecutor for Careful {
    async fn execute(&self, context: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        let question = "To read your calendar: sign in at https://calendar.example/in";
        match context.text().as_str() {
            "out of band" => {
                updates.require_auth(question).await?;
                self.approved.notified().await;
            }
            "in a message" => loop {
                if updates.ask_auth(question).await?.text() == "the agreed secret" {
                    break;
                }
            },
            "either" => tokio::select! {
                () = self.approved.notified() => {}
                message = updates.ask_auth(question) => {
                    if message?.text() == "never mind" {
                        updates.reject("as you wish").await?;
                        return Ok(());
                    }
                }
            },
            "later" => {
                updates.require_auth(question).await?;
                return Ok(());
            }
            _ => {}
        }
        updates.start().await?;
        updates.complete("all done").await?;
        Ok(())
    }
}

fn engine() -> (Engine, Arc<Notify>) {
    let approved = Arc::<Notify>::default();
    let executor = Careful { approved: approved.clone() };
    (Engine::new(AgentCard::new("Careful", "Asks first"), executor), approved)
}

fn send(text: &str) -> Call<SendMessageRequest> {
    to_task("", text)
}

fn to_task(task_id: &str, text: &str) -> Call<SendMessageRequest> {
    let message = Message::user(text).with_task_id(task_id);
    Call::new(SendMessageRequest { message: Some(message), ..SendMessageRequest::default() })
}

async fn task_of(engine: &Engine, call: Call<SendMessageRequest>) -> Task {
    match engine.send_message(call).await.expect("an answer").response.payload {
        Some(Payload::Task(task)) => task,
        other => panic!("not a task: {other:?}"),
    }
}

async fn subscription(engine: &Engine, id: &str) -> EventStream {
    let request = SubscribeToTaskRequest { id: id.into(), ..SubscribeToTaskRequest::default() };
    engine.subscribe_to_task(Call::new(request)).await.expect("a stream").response
}

async fn state_of(engine: &Engine, id: &str) -> TaskState {
    let request = GetTaskRequest { id: id.into(), ..GetTaskRequest::default() };
    engine.get_task(Call::new(request)).await.expect("a task").response.state()
}

/// Reads the states of a stream to its end.
async fn states(stream: EventStream) -> Vec<TaskState> {
    stream.filter_map(async |event| event.expect("an event").state()).collect().await
}

//
#[tokio::test]
async fn task_continues_after_out_of_band_authorization() {
    let (engine, approved) = engine();
    let task = task_of(&engine, send("out of band")).await;
    assert_eq!(task.state(), TaskState::AuthRequired);
    let explained = task.status_message().expect("an explanation").text();
    assert!(explained.contains("https://calendar.example/in"), "{explained}");
    let mut stream = subscription(&engine, &task.id).await;
    let opening = stream.next().await.expect("an event").expect("no error");
    assert_eq!(opening.state(), Some(TaskState::AuthRequired));
    approved.notify_one();
    assert_eq!(states(stream).await, [TaskState::Working, TaskState::Completed]);
}

#[tokio::test]
async fn send_stream_stays_open_until_authorized() {
    for text in ["out of band", "either"] {
        let (engine, approved) = engine();
        let sent = engine.send_streaming_message(send(text)).await.expect("a stream");
        let mut stream = sent.response;
        loop {
            let event = stream.next().await.expect("an event").expect("no error");
            if event.state() == Some(TaskState::AuthRequired) {
                break;
            }
        }
        approved.notify_one();
        assert_eq!(states(stream).await, [TaskState::Working, TaskState::Completed], "{text}");
    }
}

//
#[tokio::test]
async fn ask_auth_returns_the_message_and_grants_nothing_by_itself() {
    let (engine, _) = engine();
    let task = task_of(&engine, send("in a message")).await;
    assert_eq!(task.state(), TaskState::AuthRequired);
    let asked_again = task_of(&engine, to_task(&task.id, "let me in")).await;
    assert_eq!(asked_again.state(), TaskState::AuthRequired);
    let done = task_of(&engine, to_task(&task.id, "the agreed secret")).await;
    assert_eq!(done.state(), TaskState::Completed);
    assert_eq!(done.id, task.id);
}

#[tokio::test]
async fn first_authorization_channel_wins() {
    let (engine, approved) = engine();
    let task = task_of(&engine, send("either")).await;
    let rejected = task_of(&engine, to_task(&task.id, "never mind")).await;
    assert_eq!(rejected.state(), TaskState::Rejected);

    let task = task_of(&engine, send("either")).await;
    let stream = subscription(&engine, &task.id).await;
    approved.notify_one();
    let seen = [TaskState::AuthRequired, TaskState::Working, TaskState::Completed];
    assert_eq!(states(stream).await, seen);
}

//
#[tokio::test]
async fn require_auth_reruns_the_executor_on_the_next_message() {
    let (engine, _) = engine();
    let task = task_of(&engine, send("later")).await;
    assert_eq!(task.state(), TaskState::AuthRequired);
    assert_eq!(state_of(&engine, &task.id).await, TaskState::AuthRequired);
    let done = task_of(&engine, to_task(&task.id, "signed in")).await;
    assert_eq!(done.state(), TaskState::Completed);
}
