//! An agent on the official Rust SDK, over JSON-RPC, HTTP+JSON and gRPC.
//!
//! Prints one line of JSON with the address of its card when it is ready, and exits when standard
//! input closes.

use std::{future::IntoFuture as _, sync::Arc};

use a2a::{
    A2AError, AgentCapabilities, AgentCard, Artifact, Message, Part, Role, StreamResponse, Task,
    TaskArtifactUpdateEvent, TaskState, TaskStatus, TaskStatusUpdateEvent,
};
use a2a_grpc::GrpcHandler;
use a2a_pb::proto::a2a_service_server::A2aServiceServer;
use a2a_server::{
    AgentExecutor, DefaultRequestHandler, ExecutorContext, HttpPushSender, HttpPushSenderConfig,
    InMemoryPushConfigStore, InMemoryTaskStore, StaticAgentCard, agent_card::agent_card_router,
    jsonrpc::jsonrpc_router, rest::rest_router,
};
use axum::Router;
use futures::stream::{self, BoxStream, StreamExt as _};
use interop_driver::{
    Chunk, Result, Step, announce, card, exit_with_parent, extended_card, read, steps, write,
};
use tokio::net::TcpListener;
use tonic::transport::{Server, server::TcpIncoming};

type Event = std::result::Result<StreamResponse, A2AError>;

/// The ids of a task, which every event carries, and the message that it answers.
#[derive(Clone)]
struct Turn {
    task_id: String,
    context_id: String,
    message: Message,
}

impl Turn {
    /// The new task that the message starts.
    fn task(&self) -> StreamResponse {
        StreamResponse::Task(Task {
            id: self.task_id.clone(),
            context_id: self.context_id.clone(),
            status: TaskStatus { state: TaskState::Submitted, message: None, timestamp: None },
            artifacts: None,
            history: Some(vec![self.message.clone()]),
            metadata: None,
        })
    }

    fn said(&self, text: String) -> Message {
        let mut message = Message::new(Role::Agent, vec![Part::text(text)]);
        message.context_id = Some(self.context_id.clone());
        message
    }

    fn status(&self, state: TaskState, text: Option<String>) -> StreamResponse {
        let mut message = text.map(|text| self.said(text));
        if let Some(message) = &mut message {
            message.task_id = Some(self.task_id.clone());
        }
        StreamResponse::StatusUpdate(TaskStatusUpdateEvent {
            task_id: self.task_id.clone(),
            context_id: self.context_id.clone(),
            status: TaskStatus { state, message, timestamp: None },
            metadata: None,
        })
    }

    fn artifact(&self, id: &str, parts: Vec<Part>, append: bool, last: bool) -> StreamResponse {
        StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent {
            task_id: self.task_id.clone(),
            context_id: self.context_id.clone(),
            artifact: Artifact {
                artifact_id: id.to_owned(),
                name: Some(id.to_owned()),
                description: None,
                parts,
                metadata: None,
                extensions: None,
            },
            append: Some(append),
            last_chunk: Some(last),
            metadata: None,
        })
    }

    /// Takes a step, and returns its event if it has one.
    async fn take(self, step: Step) -> Option<Event> {
        Some(Ok(match step {
            Step::Message(text) => StreamResponse::Message(self.said(text)),
            Step::Status(state, text) => match state_named(state) {
                Ok(state) => self.status(state, text),
                Err(error) => return Some(Err(error)),
            },
            Step::Artifact(Chunk { id, text, append, last }) => {
                self.artifact(id, vec![Part::text(text)], append, last)
            }
            Step::Parts => self.artifact("echo", self.message.parts.clone(), false, true),
            Step::Wait(pause) => {
                tokio::time::sleep(pause).await;
                return None;
            }
            Step::Crash => {
                return Some(Err(A2AError::internal("the executor crashed on purpose")));
            }
        }))
    }
}

fn state_named(name: &str) -> std::result::Result<TaskState, A2AError> {
    read(format!("TASK_STATE_{name}").into()).map_err(|fault| A2AError::internal(fault.text))
}

/// The extensions that the client named, in one header or several.
fn extensions(context: &ExecutorContext) -> Vec<String> {
    let named = context.service_params.get("a2a-extensions").into_iter().flatten();
    named.flat_map(|value| value.split(',')).map(|uri| uri.trim().to_owned()).collect()
}

struct Agent;

impl AgentExecutor for Agent {
    fn execute(&self, context: ExecutorContext) -> BoxStream<'static, Event> {
        let extensions = extensions(&context);
        let Some(message) = context.message else {
            return stream::iter([Err(A2AError::invalid_params("there is no message"))]).boxed();
        };
        let json = write(&message).unwrap_or_default();
        // The SDK hands a new task to the executor as a stored one.
        let is_answer = message.task_id.is_some();
        let steps = steps(&json, is_answer, &extensions);
        let is_new = !is_answer && !matches!(steps.first(), Some(Step::Message(_)));
        let turn = Turn { task_id: context.task_id, context_id: context.context_id, message };
        let task = is_new.then(|| Ok(turn.task()));
        let events = stream::iter(steps).filter_map(move |step| turn.clone().take(step));
        stream::iter(task).chain(events).boxed()
    }

    fn cancel(&self, context: ExecutorContext) -> BoxStream<'static, Event> {
        let turn = Turn {
            task_id: context.task_id,
            context_id: context.context_id,
            message: Message::new(Role::User, Vec::new()),
        };
        let canceled = turn.status(TaskState::Canceled, Some("canceled as asked".to_owned()));
        stream::iter([Ok(canceled)]).boxed()
    }
}

#[tokio::main]
async fn main() -> Result {
    exit_with_parent();
    let http = TcpListener::bind("127.0.0.1:0").await?;
    let grpc = TcpListener::bind("127.0.0.1:0").await?;
    let address = format!("http://{}", http.local_addr()?);
    let [jsonrpc, rest] = ["jsonrpc", "rest"].map(|path| format!("{address}/{path}"));
    let public = card("Interop agent (Rust SDK)", &jsonrpc, &rest, &grpc.local_addr()?.to_string());
    let extended: AgentCard = read(extended_card(public.clone()))?;
    let public: AgentCard = read(public)?;

    // The webhook of the client is on this host.
    let sender = HttpPushSenderConfig { validate_urls: false, ..HttpPushSenderConfig::default() };
    let capabilities: AgentCapabilities = public.capabilities.clone();
    let handler = DefaultRequestHandler::new(Agent, InMemoryTaskStore::new())
        .with_push_notifications(InMemoryPushConfigStore::new(), HttpPushSender::new(Some(sender)))
        .with_extended_agent_card(extended)
        .with_capabilities(capabilities);
    let handler = Arc::new(handler);

    let router = Router::new()
        .merge(agent_card_router(Arc::new(StaticAgentCard::new(public))))
        .nest("/jsonrpc", jsonrpc_router(handler.clone()))
        .nest("/rest", rest_router(handler.clone()));
    let service = A2aServiceServer::new(GrpcHandler::new(handler));
    let grpc = Server::builder().add_service(service).serve_with_incoming(TcpIncoming::from(grpc));
    announce(&address)?;
    tokio::select! {
        result = axum::serve(http, router).into_future() => result?,
        result = grpc => result?,
    }
    Ok(())
}
