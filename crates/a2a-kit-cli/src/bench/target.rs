//! The benchmarked interface.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use a2a_core::{
    AgentCard, Error, Message, Part, TaskState,
    v1::{
        GetTaskRequest, ListTasksRequest, Role, SendMessageRequest, SendMessageResponse,
        StreamResponse, Task, send_message_response, stream_response::Payload,
    },
};
use a2a_kit_client::{Client, Transport};
use a2a_kit_http::client::{HttpClient, WireObserver, WirePart};
use bytes::Bytes;
use clap::ValueEnum;
use futures_util::StreamExt as _;
use http::Request;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::{
    Summary,
    measurement::{Exchange, Outcome},
};
use crate::{
    agent::Connector,
    failure::{Code, Failure},
    settings::Settings,
};

/// Maximum number of clients, each with connections of its own: over gRPC one connection, over
/// HTTP/1.1 one for each request in flight.
const MAX_CLIENTS: usize = 16;

/// Requests in flight for each client.
const PER_CLIENT: usize = 4;

/// How requests are made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TargetSettings {
    pub(crate) operation: Operation,
    pub(crate) concurrency: usize,
    /// Length of the text of messages, in bytes.
    pub(crate) payload: usize,
    /// Timeout of a request, and of a whole stream.
    pub(crate) timeout: Duration,
}

/// An interface that is called, or the server of a card.
#[derive(Debug)]
pub(crate) struct Target {
    kind: Kind,
    settings: TargetSettings,
    traffic: Arc<Traffic>,
    has_credential: bool,
    /// Binding, version and URL, for reports.
    name: [String; 3],
}

enum Kind {
    Card { http: Box<HttpClient>, url: String },
    Agent { clients: Vec<Client>, is_grpc: bool, text: String, task_id: String },
}

impl Target {
    /// Creates the target of `--op card`.
    ///
    /// # Errors
    ///
    /// An internal failure if the HTTP client can't be set up.
    pub(crate) fn of_card(
        url: &str,
        settings: TargetSettings,
        all: &Settings,
    ) -> Result<Self, Failure> {
        let traffic = Arc::new(Traffic::before(all.observer.clone()));
        let http = all.http().with_observer(traffic.clone() as Arc<_>);
        let http = HttpClient::new(http.with_request_timeout(None))
            .map_err(|error| Failure::internal(error.to_string()))?;
        Ok(Self {
            kind: Kind::Card { http: Box::new(http), url: url.to_owned() },
            settings,
            traffic,
            has_credential: false,
            name: ["card".to_owned(), String::new(), url.to_owned()],
        })
    }

    /// Connects to an interface, and creates the task that `--op get` reads.
    ///
    /// # Errors
    ///
    /// The failure of the connection, or of the send that creates the task.
    pub(crate) async fn of_interface(
        connector: &Connector,
        card: &AgentCard,
        interface: usize,
        settings: TargetSettings,
        all: &Settings,
    ) -> Result<Self, Failure> {
        let declared = card.supported_interfaces.get(interface).cloned().unwrap_or_default();
        let is_grpc = declared.protocol_binding.parse() == Ok(Transport::Grpc);
        let traffic = Arc::new(Traffic::before(all.observer.clone()));
        // Over gRPC an observer is shown JSON; there, the lengths of the messages are added up.
        let observer = if is_grpc { all.observer.clone() } else { Some(traffic.clone() as Arc<_>) };
        let count = settings.concurrency.div_ceil(PER_CLIENT).clamp(1, MAX_CLIENTS);
        let http = all.http().with_observer(observer);
        let clients = (0..count).map(|_| connector.connect_with(card, interface, http.clone()));
        let clients =
            clients.collect::<Result<Vec<_>, _>>().map_err(|error| connector.failure(&error))?;
        let text = text(settings.payload);
        let mut target = Self {
            kind: Kind::Agent { clients, is_grpc, text, task_id: String::new() },
            settings,
            traffic,
            has_credential: connector.has_credential(),
            name: [declared.protocol_binding, declared.protocol_version, declared.url],
        };
        if settings.operation == Operation::Get {
            target.create_task().await?;
        }
        Ok(target)
    }

    /// The name for progress and reports.
    pub(crate) fn label(&self) -> String {
        let [binding, version, _] = &self.name;
        if version.is_empty() { binding.clone() } else { format!("{binding} {version}") }
    }

    /// Adds the name and the bytes since the last call to a summary.
    pub(crate) fn complete(&self, summary: &mut Summary) {
        [summary.binding, summary.version, summary.url] = self.name.clone();
        (summary.bytes_sent, summary.bytes_received) = self.traffic.take();
    }

    /// Forgets the bytes so far.
    pub(crate) fn reset(&self) {
        let _warmup = self.traffic.take();
    }

    async fn create_task(&mut self) -> Result<(), Failure> {
        let timeout = self.settings.timeout;
        let has_credential = self.has_credential;
        let Kind::Agent { clients, text, task_id, .. } = &mut self.kind else { return Ok(()) };
        let Some(client) = clients.first() else { return Ok(()) };
        let agent = client.agent();
        let sent = agent.send_message(client.call(message(text)));
        let sent = tokio::time::timeout(timeout, sent).await.map_err(|_elapsed| {
            Failure::new(Code::Timeout, format!("no response to the first message in {timeout:?}"))
        })?;
        let response =
            sent.map_err(|error| Failure::of_operation(&error, has_credential))?.response;
        let Some(send_message_response::Payload::Task(task)) = response.payload else {
            return Err(Failure::usage("--op get: the agent responds without a task"));
        };
        *task_id = task.id;
        Ok(())
    }

    async fn call(&self, worker: usize, first: &mut Option<Instant>) -> Result<(), &'static str> {
        match &self.kind {
            Kind::Card { http, url } => {
                let request = Request::get(url).body(Bytes::new());
                let request = request.map_err(|_invalid| Code::Usage.name())?;
                let response = http.send(request).await.map_err(|error| self.code(&error))?;
                if response.status().is_success() { Ok(()) } else { Err("HTTP_STATUS") }
            }
            Kind::Agent { clients, is_grpc, text, task_id } => {
                let client = &clients[worker % clients.len()];
                let bytes = if *is_grpc { Some(&*self.traffic) } else { None };
                let called = Called { client, bytes, first };
                match self.settings.operation {
                    Operation::Send => called.send(text).await,
                    Operation::Stream => called.stream(text).await,
                    Operation::Get => called.get(task_id).await,
                    Operation::List | Operation::Card => called.list().await,
                }
                .map_err(|error| match error {
                    Failed::Call(error) => self.code(&error),
                    Failed::State(name) => name,
                })
            }
        }
    }

    fn code(&self, error: &Error) -> &'static str {
        Failure::of_operation(error, self.has_credential).code.name()
    }
}

impl Exchange for Target {
    async fn perform(&self, worker: usize) -> Outcome {
        let mut first_event = None;
        let call = self.call(worker, &mut first_event);
        let error = match tokio::time::timeout(self.settings.timeout, call).await {
            Ok(result) => result.err(),
            Err(_elapsed) => Some(Code::Timeout.name()),
        };
        Outcome { error, first_event }
    }
}

/// Why a request counts as failed.
enum Failed {
    Call(Error),
    /// The agent responded, and its task failed.
    State(&'static str),
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self::Call(error)
    }
}

/// One call of a client.
struct Called<'a> {
    client: &'a Client,
    /// Counts the bytes of messages, over gRPC.
    bytes: Option<&'a Traffic>,
    first: &'a mut Option<Instant>,
}

impl Called<'_> {
    async fn send(self, text: &str) -> Result<(), Failed> {
        let request = message(text);
        self.sent(&request);
        let call = self.client.call(request);
        let response: SendMessageResponse = self.client.agent().send_message(call).await?.response;
        self.received(&response);
        match &response.payload {
            Some(send_message_response::Payload::Task(task)) => settled(task.state()),
            _ => Ok(()),
        }
    }

    async fn stream(self, text: &str) -> Result<(), Failed> {
        let request = message(text);
        self.sent(&request);
        let call = self.client.call(request);
        let mut events = self.client.agent().send_streaming_message(call).await?.response;
        let mut state = TaskState::Unspecified;
        while let Some(event) = events.next().await {
            let event = event?;
            self.first.get_or_insert_with(Instant::now);
            let response: &StreamResponse = event.response();
            self.received(response);
            match &response.payload {
                Some(Payload::Task(task)) => state = task.state(),
                Some(Payload::StatusUpdate(update)) => {
                    state = update.status.as_ref().map_or(state, |status| status.state());
                }
                _ => {}
            }
        }
        settled(state)
    }

    async fn get(self, id: &str) -> Result<(), Failed> {
        let request = GetTaskRequest { id: id.to_owned(), ..Default::default() };
        self.sent(&request);
        let task = self.client.agent().get_task(self.client.call(request)).await?.response;
        self.received::<Task>(&task);
        Ok(())
    }

    async fn list(self) -> Result<(), Failed> {
        let request = ListTasksRequest::default();
        self.sent(&request);
        let page = self.client.agent().list_tasks(self.client.call(request)).await?.response;
        self.received(&page);
        Ok(())
    }

    fn sent(&self, message: &impl prost::Message) {
        if let Some(bytes) = self.bytes {
            bytes.add_sent(message.encoded_len());
        }
    }

    fn received<M: prost::Message>(&self, message: &M) {
        if let Some(bytes) = self.bytes {
            bytes.add_received(message.encoded_len());
        }
    }
}

/// An agent under load may respond with tasks that failed, which is no success.
fn settled(state: TaskState) -> Result<(), Failed> {
    match state {
        TaskState::Failed => Err(Failed::State("TASK_STATE_FAILED")),
        TaskState::Rejected => Err(Failed::State("TASK_STATE_REJECTED")),
        TaskState::Unspecified
        | TaskState::Submitted
        | TaskState::Working
        | TaskState::Completed
        | TaskState::Canceled
        | TaskState::InputRequired
        | TaskState::AuthRequired => Ok(()),
    }
}

fn message(text: &str) -> SendMessageRequest {
    let message = Message::new(Role::User, vec![Part::text(text)]);
    let message = Message { message_id: a2a_core::fresh_id(), ..message };
    SendMessageRequest { message: Some(message), ..Default::default() }
}

/// A text of a length, which the demo agent and most others answer at once.
fn text(length: usize) -> String {
    const START: &str = "echo ";
    let filling = "benchmark ".chars().cycle();
    START.chars().chain(filling).take(length.max(1)).collect()
}

impl std::fmt::Debug for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Card { url, .. } => f.debug_struct("Card").field("url", url).finish(),
            Self::Agent { clients, .. } => {
                f.debug_struct("Agent").field("clients", &clients.len()).finish()
            }
        }
    }
}

/// An operation that can be measured: sending a message, the same until its stream ends, reading one
/// task that is created first, reading the first page of tasks, or fetching the card.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Operation {
    Send,
    Stream,
    Get,
    List,
    Card,
}

/// Counts the bytes of request and response bodies.
#[derive(Debug, Default)]
struct Traffic {
    sent: AtomicU64,
    received: AtomicU64,
    next: Option<Arc<dyn WireObserver>>,
}

impl Traffic {
    /// Creates a counter that also calls another observer.
    fn before(next: Option<Arc<dyn WireObserver>>) -> Self {
        Self { next, ..Self::default() }
    }

    fn add_sent(&self, bytes: usize) {
        self.sent.fetch_add(u64::try_from(bytes).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    fn add_received(&self, bytes: usize) {
        self.received.fetch_add(u64::try_from(bytes).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Returns the bytes sent and received since the last call.
    fn take(&self) -> (u64, u64) {
        (self.sent.swap(0, Ordering::Relaxed), self.received.swap(0, Ordering::Relaxed))
    }
}

impl WireObserver for Traffic {
    fn observe(&self, exchange: u64, part: WirePart<'_>) {
        if let Some(next) = &self.next {
            next.observe(exchange, part);
        }
        match part {
            WirePart::RequestBody(bytes) => self.add_sent(bytes.len()),
            WirePart::ResponseBody(bytes) => self.add_received(bytes.len()),
            _ => {}
        }
    }
}
