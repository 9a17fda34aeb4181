//! The tasks and contexts of one call.

use std::{any::Any, collections::HashMap};

use a2a_core::{
    Error, ErrorKind, Message, Operation, Request, Result, Task, Validate,
    v1::{
        SendMessageRequest, StreamResponse, TaskPushNotificationConfig, TaskStatus,
        stream_response::Payload,
    },
    well_known::Struct,
};
use a2a_kit_operations::{Call, Event, Scope, store::MAX_ID_BYTES};

use crate::{
    OwnerIndex,
    owner_index::{Recorded, digest, foreign, timed},
};

/// Maximum number of tasks that a message may refer to, and of those that are looked up because the
/// messages of an answer or a stream mention them.
const MAX_REFERENCES: usize = 100;

/// Returns whether an operation is on a task that its request names.
pub(crate) fn is_of_task(operation: Operation) -> bool {
    match operation {
        Operation::SendMessage
        | Operation::SendStreamingMessage
        | Operation::ListTasks
        | Operation::GetExtendedAgentCard => false,
        Operation::GetTask
        | Operation::CancelTask
        | Operation::SubscribeToTask
        | Operation::CreateTaskPushNotificationConfig
        | Operation::GetTaskPushNotificationConfig
        | Operation::ListTaskPushNotificationConfigs
        | Operation::DeleteTaskPushNotificationConfig => true,
    }
}

/// The tasks and contexts that one call may concern: every request and every answer passes here.
///
/// The rule: ids that a caller names are looked up among its own, and everything that the upstream
/// agent answers is of that task or, for a message, of one task that has no owner yet, in a context
/// that is of no other owner. Such a task is recorded before the answer leaves the gateway.
pub(crate) struct Owned {
    index: OwnerIndex,
    scope: Scope,
    /// The task that the call is about, once it is known.
    task: Option<Recorded>,
    /// Whether the answer may be about a new task.
    may_begin: bool,
    /// The context of the call, once it is known.
    context: Option<Context>,
    /// Other tasks that messages of the answer mention, and whether they are the caller's.
    mentioned: HashMap<String, bool>,
}

/// The ids of a context: the same, unless the caller has made up its own.
struct Context {
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
    /// errors of the store, for messages also if it does not accept writes.
    pub(crate) async fn admit<R: Request + Validate>(
        index: &OwnerIndex,
        operation: Operation,
        call: &mut Call<R>,
    ) -> Result<Self> {
        call.request.validate()?;
        let scope = index.scope(&call.context, &call.request)?;
        if let Some(key) = &mut call.context.idempotency_key {
            *key = digest(&scope, "idempotency-key", key);
        }
        let mut owned = Self {
            index: index.clone(),
            scope,
            task: None,
            may_begin: false,
            context: None,
            mentioned: HashMap::new(),
        };
        let id = call.request.task_id();
        if is_of_task(operation) || !id.is_empty() {
            owned.take(owned.index.find(&owned.scope, id).await?);
        }
        if let Some(request) = (&mut call.request as &mut dyn Any).downcast_mut() {
            owned.admit_send(request).await?;
        }
        Ok(owned)
    }

    async fn admit_send(&mut self, request: &mut SendMessageRequest) -> Result<()> {
        self.index.probe().await?;
        self.may_begin = self.task.is_none();
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
        self.keep_own(&mut message.reference_task_ids).await?;
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
            None => self.index.upstream_context(&self.scope, &own).await?,
        };
        message.context_id.clone_from(&upstream);
        self.context = Some(Context { own, upstream });
        Ok(())
    }

    /// Makes a task that of the call.
    fn take(&mut self, task: Recorded) {
        let own = &task.task().context_id;
        if !own.is_empty() {
            let upstream = task.upstream_context().unwrap_or(own).to_owned();
            self.context = Some(Context { own: own.clone(), upstream });
        }
        self.task = Some(task);
    }

    fn is_task(&self, id: &str) -> bool {
        self.task.as_ref().is_some_and(|task| task.task().id == id)
    }

    /// Whether the answer may be about a task that is not recorded yet.
    pub(crate) fn begins(&self) -> bool {
        self.may_begin && self.task.is_none()
    }

    /// The error for the rest of a stream whose task was removed from the index.
    pub(crate) async fn removed(&self) -> Option<Error> {
        let id = &self.task.as_ref()?.task().id;
        let found = self.index.find(&self.scope, id).await;
        found.err().filter(|error| error.kind() == ErrorKind::TaskNotFound)
    }

    /// Checks that an answer is about the task of the call, and records what it says of it.
    ///
    /// # Errors
    ///
    /// `InvalidAgentResponse` for another task, or a context of another task or owner; `TaskNotFound`
    /// if the task was removed; errors of the store if a new task or context can't be recorded.
    async fn see(
        &mut self,
        id: &str,
        context_id: &str,
        status: Option<&TaskStatus>,
        metadata: Option<&Struct>,
    ) -> Result<()> {
        if !self.is_task(id) && (id.is_empty() || !self.begins()) {
            return Err(foreign("task"));
        }
        if !context_id.is_empty() && !self.is_context(context_id) {
            // A task stays in its context.
            if self.task.is_some() && self.context.is_some() {
                return Err(foreign("context"));
            }
            self.index.keep_context(&self.scope, context_id).await?;
        }
        if let Some(task) = &mut self.task {
            let known = task.task();
            let has_changed = status.is_some_and(|status| status.state() != known.state())
                || metadata.is_some_and(|metadata| Some(metadata) != known.metadata.as_ref());
            // An answer from before the end may come after it.
            if has_changed && (!known.state().is_terminal() || task.is_lost()) {
                self.index.update(&self.scope, task, status, metadata).await?;
            }
            return Ok(());
        }
        let context = self.context.as_ref().filter(|context| context.upstream == context_id);
        let (own, upstream) = match context {
            Some(context) if context.own != context.upstream => (context.own.as_str(), context_id),
            _ => (context_id, ""),
        };
        let task = Task {
            id: id.to_owned(),
            context_id: own.to_owned(),
            status: timed(status),
            metadata: metadata.cloned(),
            ..Task::default()
        };
        let recorded = self.index.insert(&self.scope, task, upstream).await?;
        self.take(recorded.ok_or_else(|| foreign("task"))?);
        Ok(())
    }

    fn is_context(&self, upstream: &str) -> bool {
        self.context.as_ref().is_some_and(|context| context.upstream == upstream)
    }

    /// Translates a task that is checked.
    pub(crate) async fn task(&mut self, task: &mut Task) -> Result<()> {
        self.rename(&mut task.context_id);
        let status = task.status.as_mut().and_then(|status| status.message.as_mut());
        for message in task.history.iter_mut().chain(status) {
            self.mentions(message).await?;
        }
        Ok(())
    }

    /// Checks a task, and returns whether it has to be translated.
    pub(crate) async fn see_task(&mut self, task: &Task) -> Result<bool> {
        self.see(&task.id, &task.context_id, task.status.as_ref(), task.metadata.as_ref()).await?;
        let status = task.status.as_ref().and_then(|status| status.message.as_ref());
        let mut messages = task.history.iter().chain(status);
        Ok(self.renames() || messages.any(|message| self.mentions_others(message)))
    }

    /// Checks a message that is an answer, and translates it for the caller. One of the upstream
    /// agent's contexts becomes the caller's; a task that is not the caller's is not named.
    pub(crate) async fn message(&mut self, message: &mut Message) -> Result<()> {
        let is_known = self.task.is_some() || self.renames();
        let context = &message.context_id;
        let is_own = context.is_empty() || is_known && self.is_context(context);
        if !is_own {
            self.index.keep_context(&self.scope, &message.context_id).await?;
        }
        let context_id = message.context_id.clone();
        self.mentions(message).await?;
        message.context_id = context_id;
        self.rename(&mut message.context_id);
        Ok(())
    }

    /// Checks an event, and translates it for the caller.
    pub(crate) async fn event(&mut self, event: Event) -> Result<Event> {
        // Shared encodings are kept if nothing changes.
        let changes = match event.payload() {
            Some(Payload::Task(task)) => self.see_task(task).await?,
            Some(Payload::StatusUpdate(update)) => {
                let (id, context) = (&update.task_id, &update.context_id);
                self.see(id, context, update.status.as_ref(), None).await?;
                let message = update.status.as_ref().and_then(|status| status.message.as_ref());
                self.renames() || message.is_some_and(|message| self.mentions_others(message))
            }
            Some(Payload::ArtifactUpdate(update)) => {
                self.see(&update.task_id, &update.context_id, None, None).await?;
                self.renames()
            }
            Some(Payload::Message(_)) => true,
            None => false,
        };
        if !changes {
            return Ok(event);
        }
        let id = event.id();
        let mut response: StreamResponse = event.into_response();
        match &mut response.payload {
            Some(Payload::Task(task)) => self.task(task).await?,
            Some(Payload::StatusUpdate(update)) => {
                self.rename(&mut update.context_id);
                let status = update.status.as_mut();
                if let Some(message) = status.and_then(|status| status.message.as_mut()) {
                    self.mentions(message).await?;
                }
            }
            Some(Payload::ArtifactUpdate(update)) => self.rename(&mut update.context_id),
            Some(Payload::Message(message)) => self.message(message).await?,
            None => {}
        }
        Ok(Event::new(id, response))
    }

    /// Checks that a webhook is one of the task of the call.
    pub(crate) fn webhook(&self, config: &TaskPushNotificationConfig) -> Result<()> {
        if self.is_task(&config.task_id) { Ok(()) } else { Err(foreign("task")) }
    }

    /// Whether the caller has another id of the context than the upstream agent.
    fn renames(&self) -> bool {
        self.context.as_ref().is_some_and(|context| context.own != context.upstream)
    }

    /// Replaces the upstream agent's id of the context by the caller's.
    fn rename(&self, context_id: &mut String) {
        if let Some(context) = &self.context
            && *context_id == context.upstream
        {
            context_id.clone_from(&context.own);
        }
    }

    /// Whether a message names another task or context than that of the call.
    fn mentions_others(&self, message: &Message) -> bool {
        let is_other = |id: &String| !id.is_empty() && !self.is_task(id);
        is_other(&message.task_id)
            || message.reference_task_ids.iter().any(is_other)
            || !message.context_id.is_empty() && !self.is_context(&message.context_id)
    }

    /// Removes from a message the tasks that are not the caller's, and a context that is not that of
    /// the call, which gets the caller's id.
    async fn mentions(&mut self, message: &mut Message) -> Result<()> {
        if self.mentions_others(message) {
            if !message.task_id.is_empty() && !self.owns(&message.task_id).await? {
                message.task_id.clear();
            }
            self.keep_own(&mut message.reference_task_ids).await?;
            if !self.is_context(&message.context_id) {
                message.context_id.clear();
            }
        }
        self.rename(&mut message.context_id);
        Ok(())
    }

    async fn keep_own(&mut self, ids: &mut Vec<String>) -> Result<()> {
        let mut own = Vec::new();
        for id in std::mem::take(ids) {
            if self.owns(&id).await? {
                own.push(id);
            }
        }
        *ids = own;
        Ok(())
    }

    async fn owns(&mut self, id: &str) -> Result<bool> {
        if self.is_task(id) {
            return Ok(true);
        }
        if let Some(is_own) = self.mentioned.get(id) {
            return Ok(*is_own);
        }
        if id.len() > MAX_ID_BYTES || self.mentioned.len() >= MAX_REFERENCES {
            return Ok(false);
        }
        let is_own = self.index.get(&self.scope, id).await?.is_some();
        self.mentioned.insert(id.to_owned(), is_own);
        Ok(is_own)
    }
}
