//! An agent, called with the client of an SDK.

use std::{fmt, time::Duration};

use async_trait::async_trait;
use futures::stream::{BoxStream, StreamExt as _};
use serde_json::{Value, json};

use crate::{
    expect::{Result, state_is, text_at},
    message::Ask,
};

/// Poll interval.
const POLL: Duration = Duration::from_millis(50);

/// The error of a call.
#[derive(Debug)]
pub struct Fault {
    /// The reason as the specification names it, such as `TASK_NOT_FOUND`; empty unless the SDK
    /// took it for an error of the protocol.
    pub reason: String,
    /// The error in the words of the SDK.
    pub text: String,
}

impl Fault {
    /// An error that is none of the protocol.
    pub fn other(text: impl fmt::Display) -> Self {
        Self { reason: String::new(), text: text.to_string() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "[{}] {}", self.reason, self.text)
    }
}

impl std::error::Error for Fault {}

/// The response to a call.
pub type Answer<T = Value> = std::result::Result<T, Fault>;

/// The responses of a stream.
pub type Events = BoxStream<'static, Answer>;

/// What a request needs besides its body.
#[derive(Clone, Debug, Default)]
pub struct Session {
    /// The extensions to activate.
    pub extensions: Vec<String>,
    /// The version to send instead of the client's own.
    pub version: Option<String>,
}

/// An agent over one binding. Requests and responses are JSON as in the specification; a send
/// returns `{"task": …}` or `{"message": …}`.
#[async_trait]
pub trait Peer: Send + Sync {
    /// The public card.
    fn card(&self) -> Value;

    /// The same agent, called with what is in `session`.
    async fn with_session(&self, session: Session) -> Result<Box<dyn Peer>>;

    /// Calls `GetExtendedAgentCard`.
    async fn extended_card(&self) -> Answer;

    /// Calls `SendMessage`.
    async fn send(&self, request: Value) -> Answer;

    /// Calls `SendMessage` with a message that the client of the SDK would reject itself.
    async fn send_unchecked(&self, request: Value) -> Answer {
        self.send(request).await
    }

    /// Calls `SendStreamingMessage`.
    async fn stream(&self, request: Value) -> Answer<Events>;

    /// Calls `SubscribeToTask`.
    async fn subscribe(&self, request: Value) -> Answer<Events>;

    /// Calls `GetTask`.
    async fn get(&self, request: Value) -> Answer;

    /// Calls `ListTasks`.
    async fn list(&self, request: Value) -> Answer;

    /// Calls `CancelTask`.
    async fn cancel(&self, request: Value) -> Answer;

    /// Calls `CreateTaskPushNotificationConfig`.
    async fn create_push_config(&self, request: Value) -> Answer;

    /// Calls `GetTaskPushNotificationConfig`.
    async fn get_push_config(&self, request: Value) -> Answer;

    /// Calls `ListTaskPushNotificationConfigs`.
    async fn list_push_configs(&self, request: Value) -> Answer;

    /// Calls `DeleteTaskPushNotificationConfig`.
    async fn delete_push_config(&self, request: Value) -> Answer<()>;

    /// Reads and writes the body of a delivery to a webhook with the SDK.
    fn delivery(&self, body: Value) -> Answer;
}

impl dyn Peer + '_ {
    /// Sends and expects a task.
    pub(crate) async fn task(&self, ask: impl Into<Ask>) -> Result<Value> {
        let mut answer = self.send(ask.into().into()).await?;
        match answer.get_mut("task") {
            Some(task) => Ok(task.take()),
            None => Err(format!("expected a task, got {answer}").into()),
        }
    }

    /// A task that was returned before its end.
    pub(crate) async fn started(&self, text: &str) -> Result<Value> {
        let configuration = json!({"returnImmediately": true});
        self.task(Ask::text(text).with_configuration(configuration)).await
    }

    /// All events of a stream.
    pub(crate) async fn streamed(&self, ask: impl Into<Ask>) -> Answer<Vec<Value>> {
        drain(self.stream(ask.into().into()).await?).await
    }

    /// All events of a subscription.
    pub(crate) async fn subscribed(&self, id: &str) -> Answer<Vec<Value>> {
        drain(self.subscribe(json!({ "id": id })).await?).await
    }

    pub(crate) async fn stored(&self, id: &str) -> Answer {
        self.get(json!({ "id": id })).await
    }

    /// The task once it is in `state`.
    pub(crate) async fn until(&self, id: &str, state: &str) -> Result<Value> {
        loop {
            let task = self.stored(id).await?;
            if state_is(&task, state).is_ok() {
                return Ok(task);
            }
            tokio::time::sleep(POLL).await;
        }
    }

    /// Tasks of a new context, oldest first: the context and their ids.
    pub(crate) async fn several(&self, count: usize) -> Result<(String, Vec<String>)> {
        let context_id = crate::message::fresh_id();
        let mut ids = Vec::new();
        for index in 0..count {
            let ask = Ask::text(&format!("echo {index}")).in_context(&context_id);
            ids.push(text_at(&self.task(ask).await?, "/id").to_owned());
        }
        Ok((context_id, ids))
    }
}

/// The events of a stream until its end.
pub(crate) async fn drain(mut events: Events) -> Answer<Vec<Value>> {
    let mut seen = Vec::new();
    while let Some(event) = events.next().await {
        seen.push(event?);
    }
    Ok(seen)
}

/// Fails unless the call failed with an error of the protocol for this `reason`.
pub(crate) fn fails_with<T: fmt::Debug>(reason: &str, called: Answer<T>) -> Result {
    match called {
        Err(fault) if fault.reason == reason => Ok(()),
        Err(fault) => Err(format!("expected {reason}, got {fault}").into()),
        Ok(answer) => Err(format!("expected {reason}, got an answer: {answer:?}").into()),
    }
}

/// Reads a type of an SDK.
pub fn read<T: serde::de::DeserializeOwned>(value: Value) -> Answer<T> {
    serde_json::from_value(value).map_err(|error| Fault::other(format!("unreadable: {error}")))
}

/// Writes a type of an SDK.
pub fn write<T: serde::Serialize>(value: &T) -> Answer {
    serde_json::to_value(value).map_err(|error| Fault::other(format!("unwritable: {error}")))
}
