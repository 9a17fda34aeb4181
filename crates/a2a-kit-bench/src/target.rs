//! The benchmarked interface.

use std::{fmt, sync::Arc, time::Duration};

use a2a_core::{
    Error, ErrorKind, Message, Part, Result, TaskState,
    v1::{
        AgentInterface, GetTaskRequest, ListTasksRequest, Role, SendMessageRequest,
        SendMessageResponse, StreamResponse, Task, send_message_response, stream_response::Payload,
    },
};
use a2a_kit_client::{Client, ClientSettings, Transport};
use a2a_kit_http::client::HttpClient;
use bytes::Bytes;
use futures_util::StreamExt as _;
use http::{Request, Uri};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::{
    Summary,
    measurement::{Exchange, Outcome},
    traffic::Traffic,
};

/// Maximum number of clients, each with connections of its own: over gRPC one connection, over
/// HTTP/1.1 one for each request in flight.
const MAX_CLIENTS: usize = 16;

/// Requests in flight for each client.
const PER_CLIENT: usize = 4;

/// An interface that is called, or the server of a card.
pub struct Target {
    kind: Kind,
    operation: Operation,
    payload: usize,
    timeout: Duration,
    traffic: Arc<Traffic>,
    error_name: Arc<dyn Fn(&Error) -> &'static str + Send + Sync>,
    /// Binding, version and URL, for reports.
    name: [String; 3],
}

enum Kind {
    Card { http: Box<HttpClient>, url: Uri },
    Agent { clients: Vec<Client>, counts_messages: bool, text: String, task_id: String },
}

/// One client, which may be of an agent in the same process.
impl From<Client> for Target {
    fn from(client: Client) -> Self {
        let interface = client.interface().cloned().unwrap_or_default();
        Self::of_clients(vec![client], true, interface, Arc::default())
    }
}

impl Target {
    /// The server of the card at a URL, which is fetched with clients of these settings.
    ///
    /// # Errors
    ///
    /// An internal error if the URL is invalid, or the HTTP client can't be set up.
    pub fn of_card(url: &str, http: ClientSettings) -> Result<Self> {
        let traffic = Arc::new(Traffic::before(http.observer.clone()));
        let http = http.with_observer(traffic.clone() as Arc<_>).with_request_timeout(None);
        let failure = |error: &dyn fmt::Display| Error::new(ErrorKind::Internal, error.to_string());
        let http = Box::new(HttpClient::new(http).map_err(|error| failure(&error))?);
        let name = ["card".to_owned(), String::new(), url.to_owned()];
        let url = url.parse().map_err(|error| failure(&error))?;
        Ok(Self::new(Kind::Card { http, url }, name, traffic))
    }

    /// An interface that `connect` creates clients of, each with connections of its own: as many as
    /// `concurrency` requests in flight need. Its argument is `http` with a counter of the bytes.
    ///
    /// # Errors
    ///
    /// The error of `connect`.
    pub fn of_interface<E>(
        interface: AgentInterface,
        concurrency: usize,
        http: ClientSettings,
        connect: impl Fn(ClientSettings) -> std::result::Result<Client, E>,
    ) -> std::result::Result<Self, E> {
        let is_grpc = interface.protocol_binding.parse() == Ok(Transport::Grpc);
        let traffic = Arc::new(Traffic::before(http.observer.clone()));
        // Over gRPC an observer is shown JSON; there, the lengths of the messages are added up.
        let http = if is_grpc { http } else { http.with_observer(traffic.clone() as Arc<_>) };
        let count = concurrency.div_ceil(PER_CLIENT).clamp(1, MAX_CLIENTS);
        let clients =
            (0..count).map(|_| connect(http.clone())).collect::<std::result::Result<_, _>>()?;
        Ok(Self::of_clients(clients, is_grpc, interface, traffic))
    }

    fn of_clients(
        clients: Vec<Client>,
        counts_messages: bool,
        interface: AgentInterface,
        traffic: Arc<Traffic>,
    ) -> Self {
        let (text, task_id) = (String::new(), String::new());
        let name = [interface.protocol_binding, interface.protocol_version, interface.url];
        Self::new(Kind::Agent { clients, counts_messages, text, task_id }, name, traffic)
    }

    fn new(kind: Kind, name: [String; 3], traffic: Arc<Traffic>) -> Self {
        Self {
            kind,
            operation: Operation::Send,
            payload: 64,
            timeout: Duration::from_secs(30),
            traffic,
            error_name: Arc::new(|error| error.kind().codes().reason),
            name,
        }
    }

    /// Sets the operation of an agent. Default: [`Operation::Send`].
    #[must_use]
    pub fn with_operation(self, operation: Operation) -> Self {
        Self { operation, ..self }
    }

    /// Sets the length of the text of messages, in bytes. Default: 64.
    #[must_use]
    pub fn with_payload(self, payload: usize) -> Self {
        Self { payload, ..self }
    }

    /// Sets the timeout of a request, and of a whole stream. Default: 30 s.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// Sets the names of errors in the summary. Default: the reasons of the protocol, such as
    /// `TASK_NOT_FOUND`.
    #[must_use]
    pub fn with_error_names(
        self,
        name: impl Fn(&Error) -> &'static str + Send + Sync + 'static,
    ) -> Self {
        Self { error_name: Arc::new(name), ..self }
    }

    /// Creates the messages and, for [`Operation::Get`], the task that is read.
    ///
    /// # Errors
    ///
    /// [`PrepareError`] if the task is not created.
    pub async fn prepare(mut self) -> std::result::Result<Self, PrepareError> {
        let timeout = self.timeout;
        let Kind::Agent { clients, text, task_id, .. } = &mut self.kind else { return Ok(self) };
        *text = text_of(self.payload);
        let (Operation::Get, Some(client)) = (self.operation, clients.first()) else {
            return Ok(self);
        };
        let agent = client.agent();
        let sent = tokio::time::timeout(timeout, agent.send_message(client.call(message(text))));
        let response = sent.await.map_err(|_elapsed| PrepareError::TimedOut(timeout))??.response;
        let Some(send_message_response::Payload::Task(task)) = response.payload else {
            return Err(PrepareError::NoTask);
        };
        *task_id = task.id;
        Ok(self)
    }

    /// The name for progress and reports: the binding and the version.
    pub fn label(&self) -> String {
        let [binding, version, _] = &self.name;
        format!("{binding} {version}").trim_end().to_owned()
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

    async fn call(&self, worker: usize, first: &mut Option<Instant>) -> Called {
        match &self.kind {
            Kind::Card { http, url } => {
                let mut request = Request::new(Bytes::new());
                request.uri_mut().clone_from(url);
                let response = http.send(request).await?;
                if response.status().is_success() {
                    Ok(())
                } else {
                    Err(Failed::Named("HTTP_STATUS"))
                }
            }
            Kind::Agent { clients, counts_messages, text, task_id } => {
                let client = &clients[worker % clients.len()];
                let bytes = counts_messages.then_some(&*self.traffic);
                let call = OneCall { client, bytes, first };
                match self.operation {
                    Operation::Send => call.send(text).await,
                    Operation::Stream => call.stream(text).await,
                    Operation::Get => call.get(task_id).await,
                    Operation::List | Operation::Card => call.list().await,
                }
            }
        }
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Target").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Exchange for Target {
    async fn perform(&self, worker: usize) -> Outcome {
        let mut first_event = None;
        let call = self.call(worker, &mut first_event);
        let called = tokio::time::timeout(self.timeout, call).await.unwrap_or_else(|elapsed| {
            let error = Error::new(ErrorKind::DeadlineExceeded, "timed out").with_source(elapsed);
            Err(Failed::Call(error))
        });
        let error = called.err().map(|error| match error {
            Failed::Call(error) => (self.error_name)(&error),
            Failed::Named(name) => name,
        });
        Outcome { error, first_event }
    }
}

/// Why [`Target::prepare`] created no task.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum PrepareError {
    /// The agent rejected the message, or can't be reached.
    #[error(transparent)]
    Call(#[from] Error),
    /// The agent did not respond in the timeout of a request.
    #[error("no response to the first message in {0:?}")]
    TimedOut(Duration),
    /// The agent responded with a message.
    #[error("the agent responds without a task")]
    NoTask,
}

a2a_core::debug_as_chain!(PrepareError);

type Called = std::result::Result<(), Failed>;

/// Why a request counts as failed.
enum Failed {
    Call(Error),
    /// The response is one of a failure.
    Named(&'static str),
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self::Call(error)
    }
}

/// One call of a client.
struct OneCall<'a> {
    client: &'a Client,
    /// Counts the bytes of messages, over gRPC.
    bytes: Option<&'a Traffic>,
    first: &'a mut Option<Instant>,
}

impl OneCall<'_> {
    async fn send(self, text: &str) -> Called {
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

    async fn stream(self, text: &str) -> Called {
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

    async fn get(self, id: &str) -> Called {
        let request = GetTaskRequest { id: id.to_owned(), ..Default::default() };
        self.sent(&request);
        let task = self.client.agent().get_task(self.client.call(request)).await?.response;
        self.received::<Task>(&task);
        Ok(())
    }

    async fn list(self) -> Called {
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
fn settled(state: TaskState) -> Called {
    match state {
        TaskState::Failed => Err(Failed::Named("TASK_STATE_FAILED")),
        TaskState::Rejected => Err(Failed::Named("TASK_STATE_REJECTED")),
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
fn text_of(length: usize) -> String {
    const START: &str = "echo ";
    let filling = "benchmark ".chars().cycle();
    START.chars().chain(filling).take(length.max(1)).collect()
}

/// An operation that can be measured.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    /// Sending a message.
    Send,
    /// Sending a message, until the stream of its events ends.
    Stream,
    /// Reading one task, which [`Target::prepare`] creates.
    Get,
    /// Reading the first page of tasks.
    List,
    /// Fetching the card, of [`Target::of_card`].
    Card,
}
