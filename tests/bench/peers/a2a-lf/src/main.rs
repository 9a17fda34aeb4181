//! An echo agent on the official Rust SDK, over JSON-RPC, HTTP+JSON and gRPC.
//!
//! Prints one line of JSON with its addresses, and serves until it is killed.

use std::{
    collections::HashMap,
    error::Error,
    future::{self, IntoFuture},
    io::{self, Write},
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex},
};

use a2a::{
    A2AError, AgentCapabilities, Artifact, Message, Part, Role, StreamResponse, Task,
    TaskArtifactUpdateEvent, TaskState, TaskStatus, TaskStatusUpdateEvent,
};
use a2a_grpc::GrpcHandler;
use a2a_pb::proto::a2a_service_server::A2aServiceServer;
use a2a_server::{
    AgentExecutor, DefaultRequestHandler, ExecutorContext, InMemoryTaskStore,
    jsonrpc::jsonrpc_router, rest::rest_router,
};
use axum::{Router, serve::ListenerExt};
use chrono::Utc;
use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use tokio::{net::TcpListener, sync::oneshot, task};
use tonic::transport::{Server, server::TcpIncoming};

const NAME: &str = "a2a-lf";

/// The SDK keeps 32 events for a subscriber and fails the stream of one that falls behind.
/// An agent that never waits has to give the subscriber a turn before that. This is enough on
/// one core; on more, the stream can still fail.
const EVENTS_PER_TURN: usize = 16;

type Event = Result<StreamResponse, A2AError>;

/// The ids of a task, which every event carries.
#[derive(Clone)]
struct Ids {
    task: String,
    context: String,
}

impl Ids {
    fn of(context: &ExecutorContext) -> Self {
        Self { task: context.task_id.clone(), context: context.context_id.clone() }
    }

    fn status(&self, state: TaskState) -> Event {
        Ok(StreamResponse::StatusUpdate(TaskStatusUpdateEvent {
            task_id: self.task.clone(),
            context_id: self.context.clone(),
            status: status(state),
            metadata: None,
        }))
    }

    fn artifact(&self, text: String, append: bool, last: bool) -> Event {
        Ok(StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent {
            task_id: self.task.clone(),
            context_id: self.context.clone(),
            artifact: Artifact {
                artifact_id: "echo".into(),
                name: None,
                description: None,
                parts: vec![Part::text(text)],
                metadata: None,
                extensions: None,
            },
            append: Some(append),
            last_chunk: Some(last),
            metadata: None,
        }))
    }

    fn message(&self, number: usize) -> Message {
        let text = format!("message {number:04} of the history");
        let mut message = Message::new(Role::User, vec![Part::text(text)]);
        message.task_id = Some(self.task.clone());
        message.context_id = Some(self.context.clone());
        message
    }

    fn completed(self, history: Vec<Message>) -> Event {
        Ok(StreamResponse::Task(Task {
            id: self.task,
            context_id: self.context,
            status: status(TaskState::Completed),
            artifacts: None,
            history: Some(history),
            metadata: None,
        }))
    }
}

fn status(state: TaskState) -> TaskStatus {
    TaskStatus { state, message: None, timestamp: Some(Utc::now()) }
}

/// The number after `prefix`.
fn count(text: &str, prefix: &str) -> Option<usize> {
    text.strip_prefix(prefix)?.parse().ok()
}

#[derive(Default)]
struct Agent {
    /// The tasks that wait to be cancelled. The SDK does not end the stream of a cancelled
    /// task, so `cancel` drops the sender that the stream waits for.
    held: Mutex<HashMap<String, oneshot::Sender<()>>>,
}

impl Agent {
    fn held(&self) -> std::sync::MutexGuard<'_, HashMap<String, oneshot::Sender<()>>> {
        // Nothing panics while the lock is held.
        self.held.lock().unwrap_or_else(|error| error.into_inner())
    }
}

impl AgentExecutor for Agent {
    fn execute(&self, context: ExecutorContext) -> BoxStream<'static, Event> {
        let ids = Ids::of(&context);
        let text = context.message.as_ref().and_then(Message::text).unwrap_or_default();
        if let Some(chunks) = count(text, "stream:") {
            let events = (0..chunks + 2).map(move |number| match number {
                0 => ids.status(TaskState::Working),
                number if number > chunks => ids.status(TaskState::Completed),
                number => {
                    let chunk = number - 1;
                    let text = format!("chunk {chunk:04} of the streamed answer");
                    ids.artifact(text, chunk > 0, number == chunks)
                }
            });
            return stream::iter(events.enumerate())
                .then(async |(number, event)| {
                    if number % EVENTS_PER_TURN == EVENTS_PER_TURN - 1 {
                        task::yield_now().await;
                    }
                    event
                })
                .boxed();
        }
        if text == "hold" {
            let (sender, receiver) = oneshot::channel();
            self.held().insert(ids.task.clone(), sender);
            let cancelled = stream::once(receiver).filter_map(|_| future::ready(None));
            return stream::iter([ids.status(TaskState::Working)]).chain(cancelled).boxed();
        }
        if let Some(messages) = count(text, "history:") {
            let history = (0..messages).map(|number| ids.message(number)).collect();
            return stream::iter([ids.completed(history)]).boxed();
        }
        let echo = ids.artifact(format!("Echo: {text}"), false, true);
        stream::iter([echo, ids.status(TaskState::Completed)]).boxed()
    }

    fn cancel(&self, context: ExecutorContext) -> BoxStream<'static, Event> {
        self.held().remove(&context.task_id);
        stream::iter([Ids::of(&context).status(TaskState::Canceled)]).boxed()
    }
}

fn announce(http: SocketAddr, grpc: SocketAddr) -> io::Result<()> {
    let version = env!("CARGO_PKG_VERSION");
    let mut output = io::stdout().lock();
    writeln!(
        output,
        r#"{{"http":"{http}","grpc":"{grpc}","jsonrpc":"/jsonrpc","rest":"/rest","name":"{NAME}","version":"{version}"}}"#
    )?;
    output.flush()
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let capabilities = AgentCapabilities { streaming: Some(true), ..AgentCapabilities::default() };
    let handler = DefaultRequestHandler::new(Agent::default(), InMemoryTaskStore::new());
    let handler = Arc::new(handler.with_capabilities(capabilities));
    let http = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let grpc = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    announce(http.local_addr()?, grpc.local_addr()?)?;

    let router = Router::new()
        .nest("/jsonrpc", jsonrpc_router(handler.clone()))
        .nest("/rest", rest_router(handler.clone()));
    // A socket that cannot send without delay still works.
    let http = http.tap_io(|socket| drop(socket.set_nodelay(true)));
    let incoming = TcpIncoming::from(grpc).with_nodelay(Some(true));
    let service = A2aServiceServer::new(GrpcHandler::new(handler));
    let grpc = Server::builder().add_service(service).serve_with_incoming(incoming);
    tokio::select! {
        result = axum::serve(http, router).into_future() => result?,
        result = grpc => result?,
    }
    Ok(())
}
