//! What every front does between reading a request and writing its answer.

use std::sync::Arc;

use a2a_core::{
    Error, ErrorKind, ExtensionSet, ProtocolVersion, Result, Validate,
    v1::{
        GetTaskRequest, ListTaskPushNotificationConfigsRequest, StreamResponse,
        send_message_response, stream_response::Payload,
    },
};
use a2a_http::{VersionPolicy, parameters};
use a2a_operations::{Agent, Call, CallContext, Event, EventStream, Reply, Scope, trace::Served};
use futures_util::{StreamExt as _, stream};
use http::{HeaderMap, HeaderName, request::Parts};
use tracing::Instrument as _;

use super::{
    FrontOptions,
    patience::send_within,
    stream::{ended, unfolded},
};
use crate::{
    AnyAnswer, AnyRequest, AnyResponse, Origins, call,
    v0_1::{chosen_id, with_task_id},
};

/// The name of `A2A-Extensions` before 1.0.
const X_EXTENSIONS: HeaderName = HeaderName::from_static("x-a2a-extensions");

/// Longest id that a client of 0.1 may choose, in bytes: [`Origins`] keeps many of them.
const MAX_CHOSEN_ID: usize = 1 << 10;

/// Performs a request of an older revision, which has its answer in the names that its client
/// knows: what comes between reading the request and writing the answer.
///
/// # Errors
///
/// Those of the agent, and of a request that breaks rules.
pub(crate) async fn perform(
    agent: &dyn Agent,
    binding: &'static str,
    options: &FrontOptions,
    mut context: CallContext,
    request: AnyRequest,
) -> Result<Reply<AnyAnswer>> {
    let mut served = Served::begin(request.operation(), binding, &mut context);
    let performed = perform_here(agent, options, context, request);
    let result = performed.instrument(served.span().clone()).await;
    served.end(&result);
    let Reply { response, activated } = result?;
    let response = match response {
        AnyAnswer::Events(events) => AnyAnswer::Events(served.keep_open(events)),
        one @ AnyAnswer::One(_) => one,
    };
    Ok(Reply { response, activated })
}

async fn perform_here(
    agent: &dyn Agent,
    options: &FrontOptions,
    context: CallContext,
    request: AnyRequest,
) -> Result<Reply<AnyAnswer>> {
    let origins = &options.origins;
    let revision = context.version;
    let scope = Scope::new("", &context.caller);
    let (request, legacy) = up(origins, &scope, revision, request)?;
    validate(&request)?;
    let subscribed = match &request {
        AnyRequest::SubscribeToTask(request) => Some(request.id.clone()),
        _ => None,
    };
    let request = with_config_id(agent, &context, request).await?;
    let called = match request {
        AnyRequest::SendMessage(request) if revision == ProtocolVersion::V0_1 => {
            let sent = send_within(options.patience, agent, context.clone(), request);
            Box::pin(sent).await
        }
        request => call(agent, context.clone(), request).await,
    };
    let reply = match called {
        // Older revisions show an ended task to a late reader, and close.
        Err(error)
            if error.kind() == ErrorKind::UnsupportedOperation
                && revision != ProtocolVersion::V1Draft
                && subscribed.is_some() =>
        {
            ended_task(agent, &context, subscribed.unwrap_or_default(), error).await?
        }
        other => other?,
    };
    let names = Names { origins: origins.clone(), scope, revision, legacy };
    Ok(reply.map(|answer| names.down(answer)))
}

/// The version that a request says it is in.
pub(super) fn asked_version(parts: &Parts) -> Option<&str> {
    let header = parts.headers.get(parameters::VERSION).and_then(|value| value.to_str().ok());
    let query = || {
        let pairs = parts.uri.query()?.split('&');
        pairs.filter_map(|pair| pair.split_once('=')).find_map(|(name, value)| {
            name.eq_ignore_ascii_case(parameters::VERSION.as_str()).then_some(value)
        })
    };
    header.or_else(query)
}

/// Reads what comes beside a request of an older revision.
pub(crate) fn context(parts: &Parts, revision: ProtocolVersion) -> Result<CallContext> {
    // The version has been looked at; older values of it are not for the current binding's eyes.
    let mut headers = parts.headers.clone();
    headers.remove(parameters::VERSION);
    let mut context = parameters::read(&headers, None, VersionPolicy::Lenient)?;
    context.caller = parameters::caller(&parts.extensions);
    context.version = revision;
    Ok(context)
}

/// Writes the extensions that were used for an answer, under the name that they have in its
/// revision.
pub(crate) fn write_activated(
    revision: ProtocolVersion,
    activated: &ExtensionSet,
    headers: &mut HeaderMap,
) {
    parameters::write_activated(activated, headers);
    if revision < ProtocolVersion::V1Draft
        && let Some(value) = headers.remove(parameters::EXTENSIONS)
    {
        headers.insert(X_EXTENSIONS, value);
    }
}

fn validate(request: &AnyRequest) -> Result<()> {
    match request {
        AnyRequest::SendMessage(request) | AnyRequest::SendStreamingMessage(request) => {
            request.validate()
        }
        AnyRequest::GetTask(request) => request.validate(),
        AnyRequest::ListTasks(request) => request.validate(),
        AnyRequest::CancelTask(request) => request.validate(),
        AnyRequest::SubscribeToTask(request) => request.validate(),
        AnyRequest::CreateTaskPushNotificationConfig(config) => config.validate(),
        // The id may be empty here: it is found out afterwards.
        AnyRequest::GetTaskPushNotificationConfig(_) => Ok(()),
        AnyRequest::ListTaskPushNotificationConfigs(request) => request.validate(),
        AnyRequest::DeleteTaskPushNotificationConfig(request) => request.validate(),
        AnyRequest::GetExtendedAgentCard(request) => request.validate(),
    }
}

/// Turns the id that a client of 0.1 chose into ours, and returns it.
///
/// # Errors
///
/// [`InvalidParams`](ErrorKind::InvalidParams) for one that is too long to be remembered.
fn up(
    origins: &Origins,
    scope: &Scope,
    revision: ProtocolVersion,
    request: AnyRequest,
) -> Result<(AnyRequest, Option<String>)> {
    if revision != ProtocolVersion::V0_1 {
        return Ok((request, None));
    }
    let legacy = chosen_id(&request).to_owned();
    if legacy.len() > MAX_CHOSEN_ID {
        let why = format!("must have at most {MAX_CHOSEN_ID} bytes");
        return Err(Error::invalid_params("id", why));
    }
    let sends = matches!(request, AnyRequest::SendMessage(_) | AnyRequest::SendStreamingMessage(_));
    let request = match origins.find(scope, &legacy) {
        Some(origin) => with_task_id(request, &origin.task_id),
        // A send under a new id makes a task.
        None if sends => with_task_id(request, ""),
        None => request,
    };
    Ok((request, Some(legacy)))
}

/// Finds the webhook that is meant where a request names none.
async fn with_config_id(
    agent: &dyn Agent,
    context: &CallContext,
    request: AnyRequest,
) -> Result<AnyRequest> {
    let AnyRequest::GetTaskPushNotificationConfig(mut request) = request else {
        return Ok(request);
    };
    if request.id.is_empty() || request.id == request.task_id {
        let list = ListTaskPushNotificationConfigsRequest {
            task_id: request.task_id.clone(),
            ..ListTaskPushNotificationConfigsRequest::default()
        };
        let call = Call::with_context(context.clone(), list);
        let configs = agent.list_task_push_notification_configs(call).await?;
        let configs = configs.response.configs;
        let own = configs.iter().find(|config| config.id == request.task_id);
        if let Some(config) = own.or_else(|| configs.first()) {
            request.id.clone_from(&config.id);
        } else if request.id.is_empty() {
            request.id.clone_from(&request.task_id);
        }
    }
    Ok(AnyRequest::GetTaskPushNotificationConfig(request))
}

async fn ended_task(
    agent: &dyn Agent,
    context: &CallContext,
    id: String,
    refused: Error,
) -> Result<Reply<AnyAnswer>> {
    let request = GetTaskRequest { id, ..GetTaskRequest::default() };
    let call = Call::with_context(context.clone(), request);
    let reply = agent.get_task(call).await?;
    if !reply.response.state().is_terminal() {
        return Err(refused);
    }
    Ok(reply.map(|task| {
        let payload = Some(Payload::Task(Arc::unwrap_or_clone(task)));
        let event = Event::new(None, StreamResponse { payload });
        AnyAnswer::Events(EventStream::new(stream::iter([Ok(event)])))
    }))
}

/// What makes an answer one about the task as the client knows it.
struct Names {
    origins: Origins,
    scope: Scope,
    revision: ProtocolVersion,
    /// The id that the client chose, in 0.1.
    legacy: Option<String>,
}

impl Names {
    /// Remembers where a task comes from, and gives it back the name that its client chose.
    fn down(self, answer: AnyAnswer) -> AnyAnswer {
        match answer {
            AnyAnswer::One(mut answer) => {
                match &mut answer {
                    AnyResponse::Sent(response) => match &mut response.payload {
                        Some(send_message_response::Payload::Task(task)) => {
                            self.remember(&task.id);
                            self.rename(&mut task.id);
                        }
                        Some(send_message_response::Payload::Message(_)) | None => {}
                    },
                    AnyResponse::Task(task) if self.legacy.is_some() => {
                        self.rename(&mut Arc::make_mut(task).id);
                    }
                    AnyResponse::Config(config) => self.rename(&mut config.task_id),
                    AnyResponse::Task(_)
                    | AnyResponse::Tasks(_)
                    | AnyResponse::Configs(_)
                    | AnyResponse::Deleted
                    | AnyResponse::Card(_) => {}
                }
                AnyAnswer::One(answer)
            }
            AnyAnswer::Events(events) => {
                let revision = self.revision;
                let events = events.map(move |event| event.map(|event| self.event(event)));
                let events = ended(revision, EventStream::new(events));
                AnyAnswer::Events(match revision {
                    ProtocolVersion::V0_1 => unfolded(events),
                    _ => events,
                })
            }
        }
    }

    fn event(&self, event: Event) -> Event {
        if let Some(task) = event.task() {
            self.remember(&task.id);
        }
        if self.legacy.is_none() {
            return event;
        }
        let id = event.id();
        let mut response = event.into_response();
        match &mut response.payload {
            Some(Payload::Task(task)) => self.rename(&mut task.id),
            Some(Payload::StatusUpdate(update)) => self.rename(&mut update.task_id),
            Some(Payload::ArtifactUpdate(update)) => self.rename(&mut update.task_id),
            Some(Payload::Message(_)) | None => {}
        }
        Event::new(id, response)
    }

    fn remember(&self, task_id: &str) {
        let id = self.legacy.as_deref().unwrap_or(task_id);
        self.origins.remember(&self.scope, id, self.revision, task_id);
    }

    fn rename(&self, id: &mut String) {
        if let Some(legacy) = &self.legacy {
            id.clone_from(legacy);
        }
    }
}
