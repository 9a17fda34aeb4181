//! Dispatches requests of older revisions to the agent.

use std::{borrow::Cow, sync::Arc};

use a2a_core::{
    Error, ErrorKind, ExtensionSet, Operation, ProtocolVersion, Result, TaskState,
    v1::{
        GetTaskRequest, ListTaskPushNotificationConfigsRequest, StreamResponse,
        send_message_response, stream_response::Payload,
    },
};
use a2a_kit_http::{VersionPolicy, repeated_fields, service_parameters};
use a2a_kit_operations::{
    Agent, Call, CallContext, Event, EventStream, Reply, Scope, list_tasks_within,
    trace::ServerSpan,
};
use futures_util::{StreamExt as _, stream};
use http::{HeaderMap, HeaderValue, request::Parts};
use tracing::Instrument as _;

use super::{
    alias::Aliases,
    options::ServerOptions,
    send_timeout::send_with_timeout,
    stream::{end_stream, split_events},
};
use crate::{
    AnyOutput, AnyRequest, AnyResponse, TaskRevisions, call, card::DRAFT, common::extensions,
    task_revision::Claimed, v0_1::EventSplitter,
};

/// Dispatches a request of an older revision. The response uses the task ids of the client.
///
/// # Errors
///
/// Those of the agent and of validation.
pub(crate) async fn dispatch(
    agent: &dyn Agent,
    binding: &'static str,
    options: &ServerOptions,
    mut context: CallContext,
    request: AnyRequest,
) -> Result<Reply<AnyOutput>> {
    let is_subscription = request.operation() == Operation::SubscribeToTask;
    context.last_event_id = context.last_event_id.filter(|_| is_subscription);
    let mut served = ServerSpan::begin(request.operation(), binding, &mut context);
    served.record_ids(request.task_id(), request.context_id());
    let dispatched = dispatch_aliased(agent, options, context, request);
    let result = dispatched.instrument(served.span().clone()).await;
    if let Ok(Reply { response: AnyOutput::Unary(response), .. }) = &result
        && let Some(task) = response.task()
    {
        served.record_ids(&task.id, &task.context_id);
    }
    served.end(&result);
    let Reply { response, activated } = result?;
    let response = match response {
        AnyOutput::Stream(events) => AnyOutput::Stream(served.keep_open(events)),
        unary @ AnyOutput::Unary(_) => unary,
    };
    Ok(Reply { response, activated })
}

async fn dispatch_aliased(
    agent: &dyn Agent,
    options: &ServerOptions,
    context: CallContext,
    request: AnyRequest,
) -> Result<Reply<AnyOutput>> {
    let revisions = &options.task_revisions;
    let revision = context.version;
    let scope = Scope::new("", &context.caller);
    let client_id = request.task_id().to_owned();
    let (request, claimed) = if revision == ProtocolVersion::V0_1 {
        let aliases = Aliases { agent, context: &context, scope: &scope, options };
        Box::pin(aliases.resolve(&client_id, request)).await?
    } else {
        (request, None)
    };
    let needs_task = needs_task(&request);
    let splitter = match revision {
        ProtocolVersion::V0_1 => Box::pin(splitter(agent, &context, &request)).await?,
        _ => EventSplitter::new(),
    };
    let reply = match Box::pin(dispatch_resolved(agent, options, context, request)).await {
        Ok(reply) => reply,
        Err(error) => {
            if error.kind() == ErrorKind::TaskNotFound && needs_task {
                revisions.remove(&scope, &client_id);
            }
            if let Some(claimed) = claimed {
                claimed.release();
            }
            return Err(error);
        }
    };
    let legacy = (revision == ProtocolVersion::V0_1).then_some(client_id);
    let task_ids =
        TaskIds { revisions: revisions.clone(), scope, revision, legacy, claimed, splitter };
    Ok(reply.map(|output| task_ids.restore(output)))
}

/// Returns the splitter for the stream of a request of 0.1, which knows the artifacts that the task
/// has already: their order determines the indexes.
///
/// # Errors
///
/// Those of reading the task of a subscription.
async fn splitter(
    agent: &dyn Agent,
    context: &CallContext,
    request: &AnyRequest,
) -> Result<EventSplitter> {
    let id = match request {
        AnyRequest::SubscribeToTask(request) => &request.id,
        AnyRequest::SendStreamingMessage(request) => {
            let id = request.message.as_ref().map(|message| &message.task_id);
            match id.filter(|id| !id.is_empty()) {
                Some(id) => id,
                None => return Ok(EventSplitter::new()),
            }
        }
        _ => return Ok(EventSplitter::new()),
    };
    let read = GetTaskRequest { id: id.clone(), history_length: Some(0), ..Default::default() };
    let task = agent.get_task(Call::from_parts(context.clone(), read)).await?.response;
    let is_subscription = matches!(request, AnyRequest::SubscribeToTask(_));
    Ok(EventSplitter::new().with_known(&task.artifacts).with_snapshots(is_subscription))
}

/// Dispatches a request with the agent's task id.
async fn dispatch_resolved(
    agent: &dyn Agent,
    options: &ServerOptions,
    context: CallContext,
    request: AnyRequest,
) -> Result<Reply<AnyOutput>> {
    let revision = context.version;
    // `with_config_id` fills in an empty id.
    if !matches!(request, AnyRequest::GetTaskPushNotificationConfig(_)) {
        request.validate()?;
    }
    let subscribed = match &request {
        AnyRequest::SubscribeToTask(request) => Some(request.id.clone()),
        _ => None,
    };
    let request = with_config_id(agent, &context, request).await?;
    let called = match request {
        AnyRequest::SendMessage(request) if revision == ProtocolVersion::V0_1 => {
            let timeout = options.legacy_send_timeout;
            let sent = send_with_timeout(timeout, agent, context.clone(), request);
            Box::pin(sent).await
        }
        AnyRequest::ListTasks(request) => {
            let listed = list_tasks_within(agent, Call::from_parts(context.clone(), request));
            let page = |page| AnyOutput::Unary(AnyResponse::Tasks(page));
            Box::pin(listed).await.map(|reply| reply.map(page))
        }
        request => call(agent, context.clone(), request).await,
    };
    match called {
        // In older revisions, subscribing to an ended task returns the task and closes the stream.
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

/// Whether `TaskNotFound` means that the task does not exist. For webhook requests, it can also
/// mean that the webhook does not exist.
fn needs_task(request: &AnyRequest) -> bool {
    matches!(
        request,
        AnyRequest::SendMessage(_)
            | AnyRequest::SendStreamingMessage(_)
            | AnyRequest::GetTask(_)
            | AnyRequest::CancelTask(_)
            | AnyRequest::SubscribeToTask(_)
    )
}

/// The requested version, from the header or the query. The binding rejects an invalid query.
pub(super) fn requested_version(parts: &Parts) -> Option<Cow<'_, str>> {
    let header =
        parts.headers.get(service_parameters::VERSION).and_then(|value| value.to_str().ok());
    header.map(Cow::Borrowed).or_else(|| {
        service_parameters::query_version(parts.uri.query()).ok().flatten().map(Cow::Owned)
    })
}

/// Reads the service parameters of a request of an older revision.
pub(crate) fn context(parts: &Parts, revision: ProtocolVersion) -> Result<CallContext> {
    repeated_fields::check(&parts.headers)?;
    service_parameters::query_version(parts.uri.query())?;
    // The current binding would reject older versions; the caller has read the version already.
    let mut headers = parts.headers.clone();
    headers.remove(service_parameters::VERSION);
    let mut context = service_parameters::read(&headers, None, VersionPolicy::Lenient, &[])?;
    service_parameters::identify(&mut context, &parts.extensions);
    context.version = revision;
    Ok(context)
}

/// Names the revision in which a request was read, in the header of a response.
pub(crate) fn name_revision(revision: ProtocolVersion, headers: &mut HeaderMap) {
    let name = match revision {
        // Its version on the wire is 1.0.
        ProtocolVersion::V1Draft => DRAFT,
        revision => revision.as_str(),
    };
    headers.insert(service_parameters::VERSION, HeaderValue::from_static(name));
}

/// Names the revision, and writes the activated extensions to the header that the revision uses.
pub(crate) fn write_activated(
    revision: ProtocolVersion,
    activated: &ExtensionSet,
    headers: &mut HeaderMap,
) {
    name_revision(revision, headers);
    service_parameters::write_activated(activated, headers);
    extensions::rename_header(revision, headers);
}

/// Fills in the webhook id of a request without one.
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
    rejection: Error,
) -> Result<Reply<AnyOutput>> {
    let request = GetTaskRequest { id, ..GetTaskRequest::default() };
    let call = Call::from_parts(context.clone(), request);
    let reply = agent.get_task(call).await?;
    if !reply.response.state().is_terminal() {
        return Err(rejection);
    }
    Ok(reply.map(|task| {
        let payload = Some(Payload::Task(Arc::unwrap_or_clone(task)));
        let event = Event::new(None, StreamResponse { payload });
        AnyOutput::Stream(EventStream::new(stream::iter([Ok(event)])))
    }))
}

/// Maps the agent's task ids to those of the client, and records task revisions.
struct TaskIds {
    revisions: TaskRevisions,
    scope: Scope,
    revision: ProtocolVersion,
    /// The id that the client chose, for 0.1.
    legacy: Option<String>,
    /// The claim to that id, until the task is known.
    claimed: Option<Claimed>,
    /// Numbers the artifacts of a stream of 0.1.
    splitter: EventSplitter,
}

impl TaskIds {
    /// Records the origin of the task, and restores the id that its client chose.
    fn restore(mut self, output: AnyOutput) -> AnyOutput {
        match output {
            AnyOutput::Unary(mut response) => {
                match &mut response {
                    AnyResponse::Sent(response) => match &mut response.payload {
                        Some(send_message_response::Payload::Task(task)) => {
                            self.record(&task.id);
                            self.record_state(&task.id, Some(task.state()));
                            self.rename(&mut task.id);
                        }
                        // No task was created.
                        Some(send_message_response::Payload::Message(_)) | None => {
                            if let Some(claimed) = self.claimed.take() {
                                claimed.release();
                            }
                        }
                    },
                    AnyResponse::Task(task) => {
                        self.record_state(&task.id, Some(task.state()));
                        if self.legacy.is_some() {
                            self.rename(&mut Arc::make_mut(task).id);
                        }
                    }
                    AnyResponse::Config(config) => self.rename(&mut config.task_id),
                    _ => {}
                }
                AnyOutput::Unary(response)
            }
            AnyOutput::Stream(events) => {
                let revision = self.revision;
                let splitter = std::mem::take(&mut self.splitter);
                let events = events.map(move |event| event.map(|event| self.event(event)));
                let events = end_stream(revision, EventStream::new(events));
                AnyOutput::Stream(match revision {
                    ProtocolVersion::V0_1 => split_events(splitter, events),
                    _ => events,
                })
            }
        }
    }

    fn event(&self, event: Event) -> Event {
        if let Some(task) = event.task() {
            self.record(&task.id);
        }
        if let Some(id) = event.response().task_id() {
            self.record_state(id, event.state());
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

    fn record(&self, task_id: &str) {
        let id = self.legacy.as_deref().unwrap_or(task_id);
        self.revisions.insert(&self.scope, id, self.revision, task_id);
    }

    /// Marks the task as ended if the state is terminal.
    fn record_state(&self, task_id: &str, state: Option<TaskState>) {
        if state.is_some_and(TaskState::is_terminal) {
            self.revisions.mark_ended(&self.scope, self.legacy.as_deref().unwrap_or(task_id));
        }
    }

    fn rename(&self, id: &mut String) {
        if let Some(legacy) = &self.legacy {
            id.clone_from(legacy);
        }
    }
}
