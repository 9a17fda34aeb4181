//! What every front does between reading a request and writing its answer.

use std::sync::Arc;

use a2a_core::{
    Error, ErrorKind, ExtensionSet, ProtocolVersion, Result, TaskState, Validate,
    v1::{
        GetTaskRequest, ListTaskPushNotificationConfigsRequest, StreamResponse,
        send_message_response, stream_response::Payload,
    },
};
use a2a_http::{VersionPolicy, service_parameters};
use a2a_operations::{
    Agent, Call, CallContext, Event, EventStream, Reply, Scope, trace::ServerSpan,
};
use futures_util::{StreamExt as _, stream};
use http::{HeaderMap, HeaderName, request::Parts};
use tracing::Instrument as _;

use super::{
    FrontOptions,
    alias::Aliases,
    patience::send_within,
    stream::{ended, unfolded},
};
use crate::{AnyAnswer, AnyRequest, AnyResponse, Origins, call, origin::Claimed, v0_1::chosen_id};

/// The name of `A2A-Extensions` before 1.0.
const X_EXTENSIONS: HeaderName = HeaderName::from_static("x-a2a-extensions");

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
    let mut served = ServerSpan::begin(request.operation(), binding, &mut context);
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
    let client_id = chosen_id(&request).to_owned();
    let (request, claimed) = if revision == ProtocolVersion::V0_1 {
        let aliases = Aliases { agent, context: &context, scope: &scope, options };
        Box::pin(aliases.resolve(&client_id, request)).await?
    } else {
        (request, None)
    };
    let is_of_task = is_of_task(&request);
    let reply = match Box::pin(perform_resolved(agent, options, context, request)).await {
        Ok(reply) => reply,
        Err(error) => {
            if error.kind() == ErrorKind::TaskNotFound && is_of_task {
                origins.forget(&scope, &client_id);
            }
            if let Some(claimed) = claimed {
                claimed.release();
            }
            return Err(error);
        }
    };
    let legacy = (revision == ProtocolVersion::V0_1).then_some(client_id);
    let names = Names { origins: origins.clone(), scope, revision, legacy, claimed };
    Ok(reply.map(|answer| names.down(answer)))
}

/// Performs a request that names its task as the agent does.
async fn perform_resolved(
    agent: &dyn Agent,
    options: &FrontOptions,
    context: CallContext,
    request: AnyRequest,
) -> Result<Reply<AnyAnswer>> {
    let revision = context.version;
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
    match called {
        // Older revisions show an ended task to a late reader, and close.
        Err(error)
            if error.kind() == ErrorKind::UnsupportedOperation
                && revision != ProtocolVersion::V1Draft
                && subscribed.is_some() =>
        {
            ended_task(agent, &context, subscribed.unwrap_or_default(), error).await
        }
        other => other,
    }
}

/// Whether a request for a task that is gone is answered with "task not found". Requests for a
/// webhook are answered so where there is no webhook, too.
fn is_of_task(request: &AnyRequest) -> bool {
    matches!(
        request,
        AnyRequest::SendMessage(_)
            | AnyRequest::SendStreamingMessage(_)
            | AnyRequest::GetTask(_)
            | AnyRequest::CancelTask(_)
            | AnyRequest::SubscribeToTask(_)
    )
}

/// The version that a request says it is in.
pub(super) fn asked_version(parts: &Parts) -> Option<&str> {
    let header =
        parts.headers.get(service_parameters::VERSION).and_then(|value| value.to_str().ok());
    let query = || {
        let pairs = parts.uri.query()?.split('&');
        pairs.filter_map(|pair| pair.split_once('=')).find_map(|(name, value)| {
            name.eq_ignore_ascii_case(service_parameters::VERSION.as_str()).then_some(value)
        })
    };
    header.or_else(query)
}

/// Reads what comes beside a request of an older revision.
pub(crate) fn context(parts: &Parts, revision: ProtocolVersion) -> Result<CallContext> {
    // The version has been looked at; older values of it are not for the current binding's eyes.
    let mut headers = parts.headers.clone();
    headers.remove(service_parameters::VERSION);
    let mut context = service_parameters::read(&headers, None, VersionPolicy::Lenient)?;
    context.caller = service_parameters::caller(&parts.extensions);
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
    service_parameters::write_activated(activated, headers);
    if revision < ProtocolVersion::V1Draft
        && let Some(value) = headers.remove(service_parameters::EXTENSIONS)
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
        let call = Call::from_parts(context.clone(), list);
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
    let call = Call::from_parts(context.clone(), request);
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
    /// The right to make the task of that id, until the task is known.
    claimed: Option<Claimed>,
}

impl Names {
    /// Remembers where a task comes from, and gives it back the name that its client chose.
    fn down(mut self, answer: AnyAnswer) -> AnyAnswer {
        match answer {
            AnyAnswer::One(mut answer) => {
                match &mut answer {
                    AnyResponse::Sent(response) => match &mut response.payload {
                        Some(send_message_response::Payload::Task(task)) => {
                            self.remember(&task.id);
                            self.note_state(&task.id, Some(task.state()));
                            self.rename(&mut task.id);
                        }
                        // There is no task of this id.
                        Some(send_message_response::Payload::Message(_)) | None => {
                            if let Some(claimed) = self.claimed.take() {
                                claimed.release();
                            }
                        }
                    },
                    AnyResponse::Task(task) => {
                        self.note_state(&task.id, Some(task.state()));
                        if self.legacy.is_some() {
                            self.rename(&mut Arc::make_mut(task).id);
                        }
                    }
                    AnyResponse::Config(config) => self.rename(&mut config.task_id),
                    AnyResponse::Tasks(_)
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
        match event.payload() {
            Some(Payload::Task(task)) => self.note_state(&task.id, event.state()),
            Some(Payload::StatusUpdate(update)) => {
                self.note_state(&update.task_id, event.state());
            }
            Some(Payload::Message(_) | Payload::ArtifactUpdate(_)) | None => {}
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

    /// Notes the end of a task.
    fn note_state(&self, task_id: &str, state: Option<TaskState>) {
        if state.is_some_and(TaskState::is_terminal) {
            self.origins.end(&self.scope, self.legacy.as_deref().unwrap_or(task_id));
        }
    }

    fn rename(&self, id: &mut String) {
        if let Some(legacy) = &self.legacy {
            id.clone_from(legacy);
        }
    }
}
