//! The passage of one call: what its caller may name, and what it may see of the answer.

use std::{future::Future, sync::Arc};

use a2a_core::{
    Error, ErrorKind, Message, Request, Result, Task, Validate,
    v1::{
        AgentCard, CancelTaskRequest, DeleteTaskPushNotificationConfigRequest,
        GetExtendedAgentCardRequest, GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
        ListTasksRequest, ListTasksResponse, SendMessageRequest, SendMessageResponse,
        StreamResponse, SubscribeToTaskRequest, TaskPushNotificationConfig, TaskStatus,
        send_message_response::Payload as Answer, stream_response::Payload,
    },
    well_known::Struct,
};
use a2a_kit_operations::{Call, Event, EventStream, Scope};
use futures_util::{StreamExt as _, stream};

use crate::{
    OwnerIndex,
    card::front_card,
    detached,
    owner_index::{Recorded, digest, timed},
    upstream_error::translate_error,
};

/// Maximum number of tasks that a message may refer to.
const MAX_REFERENCES: usize = 100;

/// A request, and whether it names a task.
pub(crate) trait Named: Request + Validate {
    /// Whether the operation is on a task.
    const IS_OF_TASK: bool = true;

    /// The message to send, if it is one.
    fn send(&mut self) -> Option<&mut SendMessageRequest> {
        None
    }
}

impl Named for GetTaskRequest {}
impl Named for CancelTaskRequest {}
impl Named for SubscribeToTaskRequest {}
impl Named for TaskPushNotificationConfig {}
impl Named for GetTaskPushNotificationConfigRequest {}
impl Named for ListTaskPushNotificationConfigsRequest {}
impl Named for DeleteTaskPushNotificationConfigRequest {}

impl Named for GetExtendedAgentCardRequest {
    const IS_OF_TASK: bool = false;
}

impl Named for ListTasksRequest {
    const IS_OF_TASK: bool = false;
}

impl Named for SendMessageRequest {
    const IS_OF_TASK: bool = false;

    fn send(&mut self) -> Option<&mut SendMessageRequest> {
        Some(self)
    }
}

/// How the answer to one call is translated for its caller.
#[derive(Default)]
pub(crate) struct Passage {
    /// The tenant of the caller's request, if tenants are mapped.
    pub(crate) tenant: Option<String>,
    pub(crate) forwards_credentials: bool,
    /// What is the caller's, if the gateway keeps an index of owners.
    pub(crate) owned: Option<Owned>,
}

impl Passage {
    /// Whether the answer may be about a task that is not recorded yet.
    pub(crate) fn begins(&self) -> bool {
        self.owned.as_ref().is_some_and(|owned| owned.may_begin && owned.task.is_none())
    }

    /// The next event of a stream, checked and translated.
    async fn next(mut self, mut events: EventStream) -> Option<(Result<Event>, Rest)> {
        let item = match (events.next().await?, &mut self.owned) {
            (Ok(event), Some(owned)) => owned.event(event).await,
            (Ok(event), None) => Ok(event),
            (Err(error), _) => Err(translate_error(error, self.forwards_credentials)),
        };
        Some((item, (events, self)))
    }
}

/// The rest of a stream.
type Rest = (EventStream, Passage);

/// The tasks and contexts that one call may concern: every request and every answer passes here.
///
/// The rule: ids that a caller names are looked up among its own, and everything that the upstream
/// agent answers is of that task or, for a message, of a task that has no owner yet. Such a task is
/// recorded before the answer leaves the gateway.
pub(crate) struct Owned {
    index: OwnerIndex,
    scope: Scope,
    /// The task that the call is about, once it is known.
    task: Option<Recorded>,
    /// Whether the answer may be about a new task.
    may_begin: bool,
    /// The context of the call, if the upstream agent knows it by another id.
    context: Option<Renamed>,
}

/// A context with two ids.
struct Renamed {
    own: String,
    upstream: String,
}

impl Owned {
    /// Admits a request, and rewrites it for the upstream agent.
    ///
    /// Unknown references of a message are removed, as agents ignore them; an unknown context is
    /// replaced by one that only this owner can name. Idempotency keys become digests of owner and
    /// key.
    ///
    /// # Errors
    ///
    /// `InvalidParams` for an invalid request; `TaskNotFound` for a task that is not the caller's;
    /// errors of the store.
    pub(crate) async fn admit<R: Named>(index: &OwnerIndex, call: &mut Call<R>) -> Result<Self> {
        call.request.validate()?;
        let scope = index.scope(&call.context, &call.request)?;
        if let Some(key) = &mut call.context.idempotency_key {
            *key = digest(&scope, "idempotency-key", key);
        }
        let mut owned =
            Self { index: index.clone(), scope, task: None, may_begin: false, context: None };
        let id = call.request.task_id();
        if R::IS_OF_TASK || !id.is_empty() {
            owned.take(owned.index.find(&owned.scope, id).await?);
        }
        if let Some(request) = call.request.send() {
            owned.admit_send(request).await?;
        }
        Ok(owned)
    }

    async fn admit_send(&mut self, request: &mut SendMessageRequest) -> Result<()> {
        self.may_begin = true;
        let config = request.configuration.as_ref();
        let config = config.and_then(|config| config.task_push_notification_config.as_ref());
        if let Some(config) = config.filter(|config| !config.task_id.is_empty())
            && !self.is_task(&config.task_id)
        {
            return Err(Error::task_not_found(&config.task_id));
        }
        let Some(message) = &mut request.message else { return Ok(()) };
        if message.reference_task_ids.len() > MAX_REFERENCES {
            let problem = format!("has more than {MAX_REFERENCES} tasks");
            return Err(Error::invalid_params("message.referenceTaskIds", problem));
        }
        let mut references = Vec::new();
        for id in std::mem::take(&mut message.reference_task_ids) {
            if self.index.get(&self.scope, &id).await?.is_some() {
                references.push(id);
            }
        }
        message.reference_task_ids = references;
        let own = std::mem::take(&mut message.context_id);
        if own.is_empty() {
            return Ok(());
        }
        let of_task = self.task.as_ref().map(|task| task.task().context_id.as_str());
        if of_task.is_some_and(|context| !context.is_empty() && context != own) {
            return Err(Error::invalid_params("message.contextId", "is not that of the task"));
        }
        let upstream = match &self.context {
            Some(context) => context.upstream.clone(),
            None if of_task.is_some_and(|context| !context.is_empty()) => own.clone(),
            None => self.index.upstream_context(&self.scope, &own).await?,
        };
        message.context_id.clone_from(&upstream);
        if upstream != own {
            self.context = Some(Renamed { own, upstream });
        }
        Ok(())
    }

    /// Makes a task that of the call.
    fn take(&mut self, task: Recorded) {
        if let Some(upstream) = task.upstream_context() {
            let own = task.task().context_id.clone();
            self.context = Some(Renamed { own, upstream: upstream.to_owned() });
        }
        self.task = Some(task);
    }

    fn is_task(&self, id: &str) -> bool {
        self.task.as_ref().is_some_and(|task| task.task().id == id)
    }

    /// Checks that an answer is about the task of the call, and records what it says of it.
    ///
    /// # Errors
    ///
    /// `InvalidAgentResponse` for another task, and errors of the store if a new task can't be
    /// recorded.
    async fn see(
        &mut self,
        id: &str,
        context_id: &str,
        status: Option<&TaskStatus>,
        metadata: Option<&Struct>,
    ) -> Result<()> {
        if let Some(task) = self.task.as_mut().filter(|task| task.task().id == id) {
            let known = task.task();
            let has_changed = status.is_some_and(|status| status.state() != known.state())
                || metadata.is_some_and(|metadata| Some(metadata) != known.metadata.as_ref());
            // An answer from before the end may come after it.
            if has_changed && !known.state().is_terminal() {
                self.index.update(&self.scope, task, status, metadata).await;
            }
            return Ok(());
        }
        if !self.may_begin {
            return Err(foreign());
        }
        let renamed = self.context.as_ref().filter(|context| context.upstream == context_id);
        let (own, upstream) = match renamed {
            Some(context) => (context.own.as_str(), context_id),
            None => (context_id, ""),
        };
        let task = Task {
            id: id.to_owned(),
            context_id: own.to_owned(),
            status: timed(status),
            metadata: metadata.cloned(),
            ..Task::default()
        };
        let recorded = self.index.insert(&self.scope, task, upstream).await?;
        self.take(recorded.ok_or_else(foreign)?);
        Ok(())
    }

    async fn task(&mut self, task: &Task) -> Result<()> {
        self.see(&task.id, &task.context_id, task.status.as_ref(), task.metadata.as_ref()).await
    }

    /// Checks a message that is an answer. One of the upstream agent's contexts becomes the
    /// caller's; a task that is not the caller's is not named.
    async fn message(&mut self, message: &mut Message) -> Result<()> {
        if !message.task_id.is_empty()
            && !self.is_task(&message.task_id)
            && self.index.get(&self.scope, &message.task_id).await?.is_none()
        {
            message.task_id.clear();
        }
        let is_renamed =
            self.context.as_ref().is_some_and(|context| context.upstream == message.context_id);
        if self.task.is_none() && !is_renamed && !message.context_id.is_empty() {
            self.index.keep_context(&self.scope, &message.context_id).await?;
        }
        self.rename_message(message);
        Ok(())
    }

    /// Checks an event, and translates it for the caller.
    async fn event(&mut self, event: Event) -> Result<Event> {
        match event.payload() {
            Some(Payload::Task(task)) => self.task(task).await?,
            Some(Payload::StatusUpdate(update)) => {
                let (id, context) = (&update.task_id, &update.context_id);
                self.see(id, context, update.status.as_ref(), None).await?;
            }
            Some(Payload::ArtifactUpdate(update)) => {
                self.see(&update.task_id, &update.context_id, None, None).await?;
            }
            Some(Payload::Message(_)) | None => {}
        }
        // Shared encodings are kept if nothing changes.
        if self.context.is_none() && !matches!(event.payload(), Some(Payload::Message(_))) {
            return Ok(event);
        }
        let id = event.id();
        let mut response: StreamResponse = event.into_response();
        match &mut response.payload {
            Some(Payload::Task(task)) => self.rename_task(task),
            Some(Payload::StatusUpdate(update)) => {
                self.rename(&mut update.context_id);
                let status = update.status.as_mut();
                if let Some(message) = status.and_then(|status| status.message.as_mut()) {
                    self.rename_message(message);
                }
            }
            Some(Payload::ArtifactUpdate(update)) => self.rename(&mut update.context_id),
            Some(Payload::Message(message)) => self.message(message).await?,
            None => {}
        }
        Ok(Event::new(id, response))
    }

    /// Checks that a webhook is one of the task of the call.
    fn webhook(&self, config: &TaskPushNotificationConfig) -> Result<()> {
        let is_own = config.task_id.is_empty() || self.is_task(&config.task_id);
        if is_own { Ok(()) } else { Err(foreign()) }
    }

    /// Replaces the upstream agent's id of the context by the caller's.
    fn rename(&self, context_id: &mut String) {
        if let Some(context) = &self.context
            && *context_id == context.upstream
        {
            context_id.clone_from(&context.own);
        }
    }

    fn rename_message(&self, message: &mut Message) {
        self.rename(&mut message.context_id);
    }

    fn rename_task(&self, task: &mut Task) {
        self.rename(&mut task.context_id);
        let status = task.status.as_mut().and_then(|status| status.message.as_mut());
        for message in task.history.iter_mut().chain(status) {
            self.rename_message(message);
        }
    }
}

/// The error for an answer about a task that the call is not about.
fn foreign() -> Error {
    Error::new(ErrorKind::InvalidAgentResponse, "the upstream agent answered with another task")
}

/// An answer that can be translated for the caller.
pub(crate) trait Deliver: Sized {
    /// Checks the answer, and translates it for the caller.
    fn deliver(self, passage: Passage) -> impl Future<Output = Result<Self>> + Send;
}

impl Deliver for () {
    async fn deliver(self, _: Passage) -> Result<Self> {
        Ok(())
    }
}

impl Deliver for Arc<Task> {
    async fn deliver(mut self, passage: Passage) -> Result<Self> {
        if let Some(mut owned) = passage.owned {
            owned.task(&self).await?;
            if owned.context.is_some() {
                owned.rename_task(Self::make_mut(&mut self));
            }
        }
        Ok(self)
    }
}

impl Deliver for SendMessageResponse {
    async fn deliver(mut self, passage: Passage) -> Result<Self> {
        let Some(mut owned) = passage.owned else { return Ok(self) };
        match &mut self.payload {
            Some(Answer::Task(task)) => {
                owned.task(task).await?;
                owned.rename_task(task);
            }
            Some(Answer::Message(message)) => owned.message(message).await?,
            None => {}
        }
        Ok(self)
    }
}

impl Deliver for EventStream {
    async fn deliver(self, passage: Passage) -> Result<Self> {
        Ok(Self::new(stream::unfold((self, passage), |(events, passage): Rest| async move {
            if !passage.begins() {
                return passage.next(events).await;
            }
            // The first event is recorded, also if its reader has gone.
            detached::run(passage.next(events)).await.ok().flatten()
        })))
    }
}

/// Lists are answered from the index; one of the upstream agent passes only without an index.
impl Deliver for ListTasksResponse {
    async fn deliver(self, passage: Passage) -> Result<Self> {
        if passage.owned.is_some() { Err(foreign()) } else { Ok(self) }
    }
}

impl Deliver for TaskPushNotificationConfig {
    async fn deliver(mut self, passage: Passage) -> Result<Self> {
        if let Some(owned) = &passage.owned {
            owned.webhook(&self)?;
        }
        if let Some(tenant) = passage.tenant {
            self.tenant = tenant;
        }
        Ok(self)
    }
}

impl Deliver for ListTaskPushNotificationConfigsResponse {
    async fn deliver(mut self, passage: Passage) -> Result<Self> {
        for config in &mut self.configs {
            if let Some(owned) = &passage.owned {
                owned.webhook(config)?;
            }
            if let Some(tenant) = &passage.tenant {
                config.tenant.clone_from(tenant);
            }
        }
        Ok(self)
    }
}

impl Deliver for AgentCard {
    async fn deliver(self, passage: Passage) -> Result<Self> {
        Ok(front_card(&self, passage.forwards_credentials))
    }
}
