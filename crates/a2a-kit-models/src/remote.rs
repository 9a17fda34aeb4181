//! Another agent as a tool: each call is a task of that agent.

use std::{convert::Infallible, fmt, time::Duration};

use a2a_core::{
    AgentCard, Artifact, Error, ErrorKind, Message, Part, Role, Task, TaskState,
    escape::escape_hidden, v1::TaskStatus, well_known::Struct,
};
use a2a_kit_client::{Client, MessageRequest, SendOutcome, WaitOptions};
use a2a_kit_operations::{
    AgentError, BoxError,
    extension::{Delegation, ModelEventsExtension, UsageExtension, UsageReport},
    trace::{TRACEPARENT, TRACESTATE},
};
use futures_core::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio::{
    sync::{OnceCell, watch},
    time::{Instant, sleep, timeout, timeout_at},
};

use crate::{
    exchange::{cut, text_of},
    model::ToolDefinition,
    tool::{InvalidArguments, Tool, ToolContext, ToolResult},
};

/// Maximum length of what a card tells a model, in bytes.
const MAX_DESCRIPTION: usize = 2 << 10;
/// Maximum length of a result, in bytes.
const MAX_RESULT: usize = 32 << 10;
/// How long a send in flight is awaited after a cancel, to learn which task to cancel.
const SEND_AFTER_CANCEL: Duration = Duration::from_secs(1);
/// How long a remote task may take to be canceled.
const CANCEL: Duration = Duration::from_secs(2);
/// How long some agents show a task as it was before the answer to its question.
const OUTDATED: Duration = Duration::from_secs(2);
const LIMIT_REACHED: &str = "delegation limit reached; answer without this agent";

type Connect = dyn Fn() -> BoxFuture<'static, Result<Client, BoxError>> + Send + Sync;

/// A tool that sends a message to another agent, and returns its answer.
///
/// A question of the agent is put to the caller, and the answer goes to the agent. Further calls in
/// a task continue the conversation with the agent. A crash does not repeat a message, and a cancel
/// cancels the task of the agent. Neither caller nor credentials are passed on: the agent sees those
/// of the [`Client`].
pub struct RemoteAgent {
    name: String,
    client: OnceCell<Client>,
    connect: Box<Connect>,
}

impl RemoteAgent {
    /// An agent, as a tool with a name.
    pub fn new(name: impl Into<String>, client: Client) -> Self {
        let connect = || -> BoxFuture<'static, _> { Box::pin(async { Err("no client".into()) }) };
        let client = OnceCell::new_with(Some(client));
        Self { name: name.into(), client, connect: Box::new(connect) }
    }

    /// An agent that is connected to at the first call, and until then has no description.
    pub fn connecting(
        name: impl Into<String>,
        connect: impl Fn() -> BoxFuture<'static, Result<Client, BoxError>> + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), client: OnceCell::new(), connect: Box::new(connect) }
    }
}

impl Tool for RemoteAgent {
    fn definition(&self) -> ToolDefinition {
        let mut description =
            "Sends a message to another agent, and returns its answer.".to_owned();
        if let Some(client) = self.client.get() {
            description.push_str(" Described by the remote agent itself:\n");
            description.push_str(&described(&client.card()));
        }
        let schema = json!({
            "type": "object",
            "properties": {"message": {"type": "string"}, "data": {"type": "object"}},
            "required": ["message"],
        });
        ToolDefinition::new(&*self.name, description, schema)
    }

    fn call(
        &self,
        arguments: Value,
        context: ToolContext,
    ) -> BoxFuture<'_, Result<ToolResult, BoxError>> {
        Box::pin(async move {
            let arguments = InvalidArguments::check(arguments)?;
            let call = DelegatedCall { agent: self, open: watch::Sender::default(), context };
            call.run(arguments).await
        })
    }

    fn asks(&self) -> bool {
        true
    }
}

impl fmt::Debug for RemoteAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteAgent").field("name", &self.name).finish_non_exhaustive()
    }
}

/// What a card says of its agent, escaped and bounded.
fn described(card: &AgentCard) -> String {
    let line = |name: &str, text: &str| format!("{}: {}", escape_hidden(name), escape_hidden(text));
    let mut text = line(&card.name, &card.description);
    for skill in &card.skills {
        text.push_str("\n- ");
        text.push_str(&line(&skill.name, &skill.description));
        if text.len() > MAX_DESCRIPTION {
            break;
        }
    }
    let end = (0..=MAX_DESCRIPTION.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    text.truncate(end.unwrap_or(0));
    text
}

#[derive(Deserialize)]
struct Arguments {
    message: String,
    #[serde(default)]
    data: Option<Map<String, Value>>,
}

/// What came of the first message, as it is journaled.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
enum Sent {
    Task { id: String, context_id: String },
    Message { text: String, context_id: String },
    Failed(String),
}

/// What a remote task stopped at, as it is journaled.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Settled {
    status: TaskStatus,
    /// The result, or why there is none, for the model.
    text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    usage: Option<UsageReport>,
}

/// What a cancel has to undo.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Open {
    #[default]
    Nothing,
    Sending,
    Task(String),
}

struct DelegatedCall<'a> {
    agent: &'a RemoteAgent,
    context: ToolContext,
    open: watch::Sender<Open>,
}

impl DelegatedCall<'_> {
    async fn run(&self, arguments: Arguments) -> Result<ToolResult, BoxError> {
        let mut work = std::pin::pin!(self.work(arguments));
        tokio::select! {
            biased;
            result = &mut work => return result,
            () = self.context.cancelled() => {}
        }
        let mut open = self.open.subscribe();
        if *open.borrow_and_update() == Open::Sending {
            tokio::select! {
                _ = &mut work => {}
                _ = open.changed() => {}
                () = sleep(SEND_AFTER_CANCEL) => {}
            }
        }
        let opened = open.borrow().clone();
        if let (Open::Task(id), Ok(client)) = (opened, self.client().await) {
            match timeout(CANCEL, client.cancel(id)).await {
                Ok(Ok(task)) => {
                    let usage = UsageExtension::read(task.metadata.as_ref());
                    self.context.delegations.state().usage.push(usage);
                }
                Ok(Err(error)) => tracing::info!(%error, "delegated task not canceled"),
                Err(_elapsed) => tracing::info!("delegated task not canceled in time"),
            }
        }
        Err(AgentError::new("canceled").into())
    }

    async fn work(&self, arguments: Arguments) -> Result<ToolResult, BoxError> {
        let Self { agent: RemoteAgent { name, .. }, context, .. } = self;
        let updates = &context.updates;
        let journal = format!("agent/{}", context.position);
        let begin = async { Ok::<_, Infallible>(Box::pin(self.begin(arguments)).await) };
        let sent = updates.once(&format!("{journal}/task"), begin).await?;
        let (id, context_id) = match sent {
            Sent::Failed(text) => return Err(AgentError::new(text).into()),
            Sent::Message { text, context_id } => {
                self.remember(context_id);
                context.delegations.state().usage.push(None);
                return Ok(text.into());
            }
            Sent::Task { id, context_id } => (id, context_id),
        };
        self.remember(context_id.clone());
        self.open.send_replace(Open::Task(id.clone()));
        let mut before = None;
        for number in 0_u32.. {
            let settle = async {
                let settled =
                    context.request.wait_for(Box::pin(self.settle(&id, before.as_ref()))).await;
                settled.or_else(|failure| match failure {
                    Failure::Remote(text) => Ok(failed(text)),
                    Failure::Update(error) => Err(error),
                })
            };
            let settled: Settled =
                updates.once(&format!("{journal}/outcome/{number}"), settle).await?;
            if settled.status.state() != TaskState::InputRequired {
                self.open.send_replace(Open::Nothing);
                context.delegations.state().usage.push(settled.usage);
                return match settled.status.state() {
                    TaskState::Completed => Ok(settled.text.into()),
                    _ => Err(AgentError::new(settled.text).into()),
                };
            }
            let answer = context.ask(question(name, "asks", &settled.status)).await?;
            let reply = Message::new(Role::User, answer.parts);
            let request =
                MessageRequest::from(reply).to_task(id.clone()).in_context(context_id.clone());
            let key = format!("{}/{number}", context.idempotency_key());
            let send = async {
                Ok::<_, Infallible>(self.send(request, key).await.err().map(|error| error.text()))
            };
            let error: Option<String> =
                updates.once(&format!("{journal}/answer/{number}"), send).await?;
            if let Some(text) = error {
                return Err(AgentError::new(text).into());
            }
            before = Some(settled.status);
        }
        Err(AgentError::new(format!("{name} asked too often")).into())
    }

    /// Sends the first message.
    async fn begin(&self, Arguments { message, data }: Arguments) -> Sent {
        let mut request = MessageRequest::from(message);
        if let Some(data) = data {
            request = request.with_part(Part::data(Value::Object(data)));
        }
        let known = self.context.delegations.state().contexts.get(&self.agent.name).cloned();
        if let Some(context_id) = known {
            request = request.in_context(context_id);
        }
        self.open.send_replace(Open::Sending);
        let sent = self.send(request, self.context.idempotency_key().to_owned()).await;
        let (open, sent) = match sent {
            Ok(SendOutcome::Task(Task { id, context_id, .. })) => {
                (Open::Task(id.clone()), Sent::Task { id, context_id })
            }
            Ok(SendOutcome::Message(Message { parts, context_id, .. })) => {
                let sent = match self.result(&parts).await {
                    Ok(text) => Sent::Message { text, context_id },
                    Err(failure) => Sent::Failed(failure.text()),
                };
                (Open::Nothing, sent)
            }
            Err(failure) => (Open::Nothing, Sent::Failed(failure.text())),
        };
        self.open.send_replace(open);
        sent
    }

    /// Sends a message, one deeper than the request of the task, under an idempotency key.
    async fn send(&self, request: MessageRequest, key: String) -> Result<SendOutcome, Failure> {
        let Self { context, .. } = self;
        let metadata = context.delegations.delegation.next(context.request.metadata());
        let metadata = metadata.ok_or_else(|| Failure::Remote(LIMIT_REACHED.to_owned()))?;
        let client = self.client().await?;
        let card = client.card();
        let has = |uri: &str| card.extensions().iter().any(|extension| extension.uri == uri);
        let mut call = client.context().clone();
        let uris = [UsageExtension::URI, Delegation::URI];
        uris.into_iter().filter(|uri| has(uri)).for_each(|uri| {
            call.extensions.insert(uri);
        });
        for name in [TRACEPARENT, TRACESTATE] {
            if let Some(value) = context.request.call().parameters.get(name) {
                call.parameters.entry(name.to_owned()).or_insert_with(|| value.clone());
            }
        }
        call.idempotency_key = Some(key.clone());
        let mut request =
            request.returning_immediately().with_metadata(match has(Delegation::URI) {
                true => metadata,
                false => Struct::new(),
            });
        request = with_message_id(request, key);
        client.with_context(call).send(request).await.map_err(|error| self.failure(&error))
    }

    /// Waits until the remote task ends, or asks something else than `before`.
    async fn settle(&self, id: &str, before: Option<&TaskStatus>) -> Result<Settled, Failure> {
        let updates = &self.context.updates;
        let client = self.client().await?;
        let mut watch = client.watch(id, WaitOptions::default().with_stop_at([]));
        let mut outdated_until = before.map(|_| Instant::now() + OUTDATED);
        let mut needs_auth = false;
        loop {
            let event = match outdated_until {
                None => watch.next().await,
                Some(end) => match timeout_at(end, watch.next()).await {
                    Ok(event) => event,
                    Err(_elapsed) => {
                        outdated_until = None;
                        match watch.task().and_then(|task| task.status.clone()) {
                            Some(status) if status.state() == TaskState::InputRequired => {
                                return Ok(asking(status));
                            }
                            _ => continue,
                        }
                    }
                },
            };
            let Some(event) = event else { break };
            event.map_err(|error| self.failure(&error))?;
            let Some(status) = watch.task().and_then(|task| task.status.clone()) else { continue };
            match status.state() {
                TaskState::InputRequired if outdated_until.is_none() || before != Some(&status) => {
                    return Ok(asking(status));
                }
                TaskState::AuthRequired if !needs_auth => {
                    needs_auth = true;
                    let question = question(&self.agent.name, "needs authorization", &status);
                    updates.require_auth(question).await?;
                }
                TaskState::Submitted | TaskState::Working if needs_auth => {
                    needs_auth = false;
                    updates.start().await?;
                }
                _ => {}
            }
        }
        if needs_auth {
            updates.start().await?;
        }
        match watch.outcome().await.map_err(|error| self.failure(&error))? {
            SendOutcome::Task(task) => self.ended(task).await,
            SendOutcome::Message(message) => {
                let text = self.result(&message.parts).await?;
                Ok(Settled { text, ..completed() })
            }
        }
    }

    /// The outcome of a task that has ended.
    async fn ended(&self, task: Task) -> Result<Settled, Failure> {
        let status = task.status.clone().unwrap_or_default();
        let artifacts =
            task.artifacts.iter().filter(|one| ModelEventsExtension::kind(one).is_none());
        let mut parts: Vec<_> = artifacts.flat_map(|artifact| artifact.parts.clone()).collect();
        let message = status.message.as_ref().map_or(&[][..], |message| &message.parts);
        let state = status.state();
        if parts.is_empty() || state != TaskState::Completed {
            parts.extend_from_slice(message);
        }
        let mut text = self.result(&parts).await?;
        if state != TaskState::Completed {
            let state = state.as_str_name().trim_start_matches("TASK_STATE_");
            text = format!("the task of {} is {state}: {text}", self.agent.name);
        }
        let usage = UsageExtension::read(task.metadata.as_ref());
        Ok(Settled { status: TaskStatus { message: None, ..status }, text, usage })
    }

    /// The parts as text for the model; files become artifacts of the task.
    async fn result(&self, parts: &[Part]) -> Result<String, Failure> {
        for (number, part) in parts.iter().filter(|part| part.is_file()).enumerate() {
            let position = self.context.position.replace('/', "-");
            let mut artifact = Artifact::new(format!("agent-{position}-{number}"), part.clone());
            artifact.name.clone_from(&part.filename);
            self.context.updates.artifact(artifact).await?;
        }
        let mut text = text_of(parts);
        if text.len() > MAX_RESULT {
            cut(&mut text, MAX_RESULT);
        }
        Ok(text)
    }

    fn remember(&self, context_id: String) {
        if !context_id.is_empty() {
            let mut state = self.context.delegations.state();
            state.contexts.insert(self.agent.name.clone(), context_id);
        }
    }

    async fn client(&self) -> Result<&Client, Failure> {
        let RemoteAgent { name, client, connect } = self.agent;
        client.get_or_try_init(connect).await.map_err(|error| {
            tracing::warn!(agent = name, error = &*error, "remote agent is unreachable");
            Failure::Remote(format!("{name} is unavailable"))
        })
    }

    /// Why a request failed, for the model.
    fn failure(&self, error: &Error) -> Failure {
        let name = &self.agent.name;
        tracing::warn!(agent = name, task.id = self.context.task_id(), %error, "delegated call failed");
        Failure::Remote(match error.kind() {
            ErrorKind::Unavailable | ErrorKind::DeadlineExceeded => {
                format!("{name} is unavailable")
            }
            ErrorKind::Unauthenticated | ErrorKind::PermissionDenied => {
                format!("{name} refused the credentials of this agent")
            }
            ErrorKind::UnsupportedOperation if error.metadata().contains_key("delegationDepth") => {
                LIMIT_REACHED.to_owned()
            }
            _ => {
                let mut text = error.message().to_owned();
                if text.len() > MAX_DESCRIPTION {
                    cut(&mut text, MAX_DESCRIPTION);
                }
                format!("{name} did not take the message: {text}")
            }
        })
    }
}

/// Why there is no result of the remote agent.
enum Failure {
    /// The text for the model.
    Remote(String),
    /// The task of this agent takes no updates.
    Update(a2a_kit_operations::UpdateError),
}

impl Failure {
    fn text(self) -> String {
        match self {
            Self::Remote(text) => text,
            Self::Update(error) => error.to_string(),
        }
    }
}

impl From<a2a_kit_operations::UpdateError> for Failure {
    fn from(error: a2a_kit_operations::UpdateError) -> Self {
        Self::Update(error)
    }
}

fn with_message_id(request: MessageRequest, id: String) -> MessageRequest {
    let mut request = request.into_request();
    if let Some(message) = &mut request.message {
        message.message_id = id;
    }
    request.into()
}

fn completed() -> Settled {
    let status = TaskStatus { state: TaskState::Completed.into(), ..TaskStatus::default() };
    Settled { status, text: String::new(), usage: None }
}

fn failed(text: String) -> Settled {
    let status = TaskStatus { state: TaskState::Failed.into(), ..TaskStatus::default() };
    Settled { status, text, usage: None }
}

fn asking(status: TaskStatus) -> Settled {
    Settled { status, text: String::new(), usage: None }
}

/// What a remote agent asks, as a question of this one.
fn question(name: &str, does: &str, status: &TaskStatus) -> Message {
    let parts = status.message.as_ref().map_or(&[][..], |message| &message.parts);
    let texts: Vec<_> = parts.iter().filter_map(Part::as_text).collect();
    let mut text = texts.join("\n");
    if text.len() > MAX_RESULT {
        cut(&mut text, MAX_RESULT);
    }
    let others = parts.iter().filter(|part| part.as_text().is_none()).cloned();
    let parts = [Part::text(format!("{name} {does}: {text}"))].into_iter().chain(others);
    Message::new(Role::Agent, parts.collect())
}
