//! Accepting messages: a new task, a known one, or a retry.

use std::{
    future::{Ready, ready},
    num::NonZeroUsize,
    sync::{Arc, atomic::Ordering},
};

use crate::{
    CallContext, Scope, Webhook,
    caller_counts::{Count, Counted},
    engine::{
        CallerLimits, Inner,
        cluster::Forwarded,
        limits::exhausted,
        moment, now,
        operations::{
            key::{KeyClaim, fingerprint, is_definite},
            response::{Accepted, Remote},
        },
        runtime::{Entry, Handle},
        task::{
            AdmissionLimits, Creation, Holder, Reception, Refusal, RemoteTurn, Sender, Size,
            TurnRequest, task_ended,
        },
    },
    trace::TraceContext,
};
use a2a_core::{
    Error, ErrorKind, Result, Role, TaskState, fresh_id,
    v1::{
        SendMessageConfiguration, SendMessageRequest, Task, TaskPushNotificationConfig, TaskStatus,
    },
};
use futures_util::future::{BoxFuture, Either};

/// The fraction of the running tasks reserved for callers with none.
const RESERVED_FRACTION: usize = 16;

impl Inner {
    /// Accepts a message: creates a task, continues one, or joins that of an earlier attempt. Most
    /// messages begin a task, and nothing is awaited for that. What the others need is in a box, so
    /// that the future is small.
    pub(crate) fn accept<'a>(
        self: &'a Arc<Self>,
        context: CallContext,
        request: &'a mut SendMessageRequest,
        streams: bool,
    ) -> Either<Ready<Result<Accepted>>, BoxFuture<'a, Result<Accepted>>> {
        if self.begins_at_once(&context, request) {
            Either::Left(ready(self.accept_new(context, request, streams)))
        } else {
            Either::Right(Box::pin(self.accept_any(context, request, streams)))
        }
    }

    /// Returns whether a message begins a task, and nothing has to be awaited before.
    fn begins_at_once(&self, context: &CallContext, request: &SendMessageRequest) -> bool {
        let message = request.message.as_ref();
        let configuration = request.configuration.as_ref();
        let limits = &self.config.caller_limits;
        message.is_some_and(|message| message.task_id.is_empty())
            && configuration.is_none_or(|asked| asked.task_push_notification_config.is_none())
            && context.extensions.is_empty()
            && context.idempotency_key.is_none()
            && !self.config.dedupe_by_message_id
            && limits.open_tasks.is_none()
            && limits.stored_bytes.is_none()
    }

    fn accept_new(
        self: &Arc<Self>,
        context: CallContext,
        request: &mut SendMessageRequest,
        streams: bool,
    ) -> Result<Accepted> {
        self.check_send(request)?;
        let scope = Scope::new(&request.tenant, &context.caller);
        let turn = turn_of(context, request, streams)?;
        self.check_capacity(&scope.owner)?;
        self.begin(scope, fresh_id(), turn, request.configuration.as_mut(), None)
    }

    async fn accept_any(
        self: &Arc<Self>,
        mut context: CallContext,
        request: &mut SendMessageRequest,
        streams: bool,
    ) -> Result<Accepted> {
        self.check_send(request)?;
        let scope = Scope::new(&request.tenant, &context.caller);
        // Computed before extensions modify the request, which they may do differently each time.
        let may_join = context.idempotency_key.is_some() || self.config.dedupe_by_message_id;
        let fingerprint = may_join.then(|| fingerprint(request));
        self.agent.extensions.receive(&mut context, request).await?;
        let mut turn = turn_of(context, request, streams)?;
        let configuration = request.configuration.as_mut();
        if let Some(asked) = &configuration
            && let Some(config) = &asked.task_push_notification_config
        {
            let field = "configuration.taskPushNotificationConfig.";
            self.check_webhook(config, field).await?;
        }

        let key = self.key_of(&turn.call, &turn.message).filter(|_| may_join);
        let is_new = turn.message.task_id.is_empty();
        let task_id = if is_new { fresh_id() } else { turn.message.task_id.clone() };
        // What is known before the key is claimed, so that no attempt under it is missed.
        let known_messages = match is_new || key.is_none() {
            true => 0,
            false => self.client_messages(&scope, &task_id).await?,
        };
        let claimed = match (&key, fingerprint) {
            (Some(key), Some(fingerprint)) => {
                Some(self.claim(&scope, key, fingerprint, &task_id).await?)
            }
            _ => None,
        };
        let (is_claimed, is_known) = match claimed {
            Some(KeyClaim::Known(joined)) if is_new => {
                return Ok(Accepted::here(joined, 0));
            }
            // A further message does not create its task; whether the task already has the message
            // is decided by its holder.
            Some(KeyClaim::Known(_)) => (false, true),
            Some(KeyClaim::New) => (true, false),
            None => (false, false),
        };
        // Clients reuse message ids: a new key means a new message. It may still be delivered
        // twice, to another node and by a retry.
        turn.joins_from = match is_known || self.config.dedupe_by_message_id {
            true => Some(0),
            false => key.is_some().then_some(known_messages),
        };
        turn.key = key.as_deref().map(Arc::from);
        let claimed_for = is_claimed.then(|| task_id.clone());
        let accepted = if is_new {
            self.begin_limited(scope.clone(), task_id, turn, configuration).await
        } else {
            self.continue_task(&scope, task_id, turn, configuration).await
        };
        if let (Err(error), Some(key), Some(task_id)) = (&accepted, &key, &claimed_for)
            && (is_new || is_definite(error))
        {
            // Nothing was done under this key, so a corrected request may use it.
            self.store.release_key(&scope, key, task_id).await.map_err(Error::from)?;
        }
        accepted
    }

    /// The number of client messages of a task, or of those known to this node.
    async fn client_messages(self: &Arc<Self>, scope: &Scope, task_id: &str) -> Result<usize> {
        let handle = self.find_or_load(scope, task_id).await?;
        let handle = handle.ok_or_else(|| Error::task_not_found(task_id))?;
        let (task, _) = handle.lock().visible();
        Ok(task.history.iter().filter(|message| message.role() == Role::User).count())
    }

    /// Begins a task within the limits of its caller.
    async fn begin_limited(
        self: &Arc<Self>,
        scope: Scope,
        task_id: String,
        turn: TurnRequest,
        configuration: Option<&mut SendMessageConfiguration>,
    ) -> Result<Accepted> {
        self.check_capacity(&scope.owner)?;
        let limits = self.config.caller_limits.of(&scope.owner);
        let draft = self.check_usage(&scope.owner, limits, true).await?;
        self.begin(scope, task_id, turn, configuration, draft)
    }

    fn begin(
        self: &Arc<Self>,
        scope: Scope,
        task_id: String,
        mut turn: TurnRequest,
        configuration: Option<&mut SendMessageConfiguration>,
        draft: Option<Count>,
    ) -> Result<Accepted> {
        let limits = self.config.caller_limits.of(&scope.owner);
        let counts = &self.load.counts;
        let running = counts.take(&scope.owner, Counted::RunningTask, limits.running_tasks);
        let running = running.ok_or_else(|| too_many_running(limits))?;
        let message = Arc::make_mut(&mut turn.message);
        let context_id =
            if message.context_id.is_empty() { fresh_id() } else { message.context_id.clone() };
        message.task_id.clone_from(&task_id);
        message.context_id.clone_from(&context_id);
        let (webhook, returns) = asked_of(configuration);
        let webhook = webhook.map(|config| webhook_of(&task_id, config, &turn.call));
        let limits = &self.config.task_limits;
        if let Some(limit) = Size::default().refuses([&*message].into_iter(), limits) {
            return Err(limit.refusal(limits));
        }
        let task = Task {
            id: task_id,
            context_id,
            status: Some(TaskStatus::now(TaskState::Submitted, None)),
            history: vec![message.clone()],
            ..Task::default()
        };
        let entry = self.entries.insert(Entry::draft(self, scope, task, (running, draft)));
        let handle = Handle::new(entry);
        let creation = Creation {
            webhooks: webhook.into_iter().collect(),
            key: turn.key.as_deref().map(str::to_owned),
            is_streamed: turn.streams,
        };
        handle.change_silently(|live| live.begin(turn, creation, !returns, now()));
        Ok(Accepted::here(handle, 1))
    }

    async fn continue_task(
        self: &Arc<Self>,
        scope: &Scope,
        task_id: String,
        mut turn: TurnRequest,
        configuration: Option<&mut SendMessageConfiguration>,
    ) -> Result<Accepted> {
        let message = Arc::make_mut(&mut turn.message);
        let handle = self
            .find_or_load(scope, &task_id)
            .await?
            .ok_or_else(|| Error::task_not_found(&task_id))?;
        if !message.context_id.is_empty() && *message.context_id != *handle.context_id {
            return Err(Error::invalid_params(
                "message.contextId",
                "does not match the context of the task",
            ));
        }
        message.context_id = (*handle.context_id).to_owned();
        self.check_capacity(&scope.owner)?;
        self.check_usage(&scope.owner, self.config.caller_limits.of(&scope.owner), false).await?;
        let (webhook, return_immediately) = asked_of(configuration);
        let webhook = webhook.map(|config| webhook_of(&task_id, config, &turn.call));
        let (inner, scope) = (Arc::clone(self), scope.clone());
        // Runs to completion even if the caller disconnects.
        self.detached(async move {
            let Some(webhook) = webhook else {
                return inner.route_message(handle, turn, return_immediately).await;
            };
            // Stored before the message is admitted, so that it misses no event of the turn.
            let replaced = inner.put_webhook(&scope, webhook).await?;
            let routed = inner.route_message(handle, turn, return_immediately).await;
            if routed.is_err() {
                inner.restore_webhook(&scope, replaced).await;
            }
            routed
        })
        .await?
    }

    /// Routes a message for an existing task, to this node or to the one that holds it.
    async fn route_message(
        self: &Arc<Self>,
        handle: Handle,
        turn: TurnRequest,
        return_immediately: bool,
    ) -> Result<Accepted> {
        loop {
            match handle.wait(|live| live.reception(&turn)).await {
                Reception::Joined(ticket) => return Ok(Accepted::here(handle, ticket)),
                Reception::Ended => return Err(task_ended(&handle.task_id)),
                Reception::Open => {}
            }
            match handle.acquire_lease().await? {
                Holder::Here if return_immediately && handle.lock().queues_messages() => {
                    // No caller would retry it if this node failed before its turn.
                    if let Some(ticket) = self.queue_stored(&handle, &turn).await? {
                        return Ok(Accepted::here(handle, ticket));
                    }
                }
                Holder::Here => {
                    let sender = if return_immediately { Sender::Leaves } else { Sender::Waits };
                    match self.try_take_here(&handle, turn.clone(), sender) {
                        Ok(ticket) => return Ok(Accepted::here(handle, ticket)),
                        // An executor has just begun to work, or the task to end.
                        Err((Refusal::NotStored | Refusal::Ending, _)) => {}
                        // The lease was lost; retry with the new holder. An idle task is also
                        // released after a rejection.
                        Err((_, error))
                            if error.kind() != ErrorKind::ResourceExhausted
                                && handle.lock().is_away() => {}
                        Err((_, error)) => return Err(error),
                    }
                }
                Holder::Elsewhere | Holder::Nobody => {
                    let (before, last) = handle.lock().visible();
                    let forwarded = if turn.streams {
                        self.forward_streamed(&handle, &turn).await?
                    } else {
                        let begun = self.forward_message(&handle, &turn, return_immediately);
                        begun.await?.map(Forwarded::Begun)
                    };
                    let remote = match forwarded {
                        // The lease was released in the meantime.
                        None => continue,
                        Some(Forwarded::Begun(begun)) => {
                            Remote::Turn(RemoteTurn { begun, before, last, message: turn.message })
                        }
                        Some(Forwarded::Queued(answer)) => Remote::Queued(answer),
                    };
                    return Ok(Accepted { handle, ticket: 0, remote: Some(remote) });
                }
            }
        }
    }

    /// Takes a message for a task that this node holds.
    pub(crate) fn take_here(
        &self,
        handle: &Handle,
        turn: TurnRequest,
        sender: Sender,
    ) -> Result<u64> {
        self.try_take_here(handle, turn, sender).map_err(|(_, error)| error)
    }

    fn try_take_here(
        &self,
        handle: &Handle,
        turn: TurnRequest,
        sender: Sender,
    ) -> Result<u64, (Refusal, Error)> {
        let owner = &handle.scope.owner;
        let limits = self.config.caller_limits.of(owner);
        let (max_queued, max_running) = match sender {
            Sender::HasLeft => (usize::MAX, None),
            _ => (self.config.max_queued_messages, limits.running_tasks),
        };
        let taken = handle.admit(max_running, |live, may_run| {
            let limits = AdmissionLimits { task: &self.config.task_limits, max_queued, may_run };
            live.take(turn, sender, limits, moment())
        });
        taken.map_err(|refusal| {
            let error = match &refusal {
                Refusal::Failed(failure) => failure.error(&handle.task_id),
                Refusal::Ending | Refusal::Ended => task_ended(&handle.task_id),
                Refusal::NotHolder => {
                    Error::unavailable("another node took over the task; retry the request")
                }
                Refusal::NotStored => Error::unavailable("the agent is busy; retry the request"),
                Refusal::AtWork => Error::unsupported(format!(
                    "the agent takes no message while it works on task {0}; send it when the task \
                     waits for input, or without taskId",
                    handle.task_id
                ))
                .with_metadata("taskId", &*handle.task_id),
                Refusal::QueueFull(queued) => Error::new(
                    ErrorKind::ResourceExhausted,
                    format!("{queued} messages are already queued for this task"),
                ),
                Refusal::Limit(limit) => limit.refusal(&self.config.task_limits),
                Refusal::TooManyRunning => too_many_running(limits),
            };
            (refusal, error)
        })
    }

    fn check_capacity(&self, owner: &Arc<str>) -> Result<()> {
        if self.draining.is_cancelled() {
            return Err(Error::unavailable("the server is shutting down"));
        }
        let max = self.config.max_running;
        let running = self.load.running.load(Ordering::Relaxed);
        // The last slots are reserved for callers with no running task.
        let has_running = || self.load.counts.of(owner, Counted::RunningTask) > 0;
        if running >= max || running >= max - max / RESERVED_FRACTION && has_running() {
            return Err(Error::new(
                ErrorKind::ResourceExhausted,
                format!("{running} tasks are already running"),
            ));
        }
        Ok(())
    }

    /// Checks the stored usage of a caller, and counts a new task until it is stored.
    async fn check_usage(
        &self,
        owner: &Arc<str>,
        limits: CallerLimits,
        is_new: bool,
    ) -> Result<Option<Count>> {
        let open = limits.open_tasks.filter(|_| is_new);
        if open.is_none() && limits.stored_bytes.is_none() {
            return Ok(None);
        }
        let draft = open.and_then(|_| self.load.counts.take(owner, Counted::Draft, None));
        let number = draft.as_ref().map(|draft| draft.number);
        limits.check_usage(&*self.store, owner, number).await?;
        Ok(draft)
    }
}

/// Takes the turn of a message, without a key, from its request.
fn turn_of(
    context: CallContext,
    request: &mut SendMessageRequest,
    streams: bool,
) -> Result<TurnRequest> {
    let SendMessageRequest { message, configuration, metadata, .. } = request;
    let message = message.take().ok_or_else(|| Error::invalid_params("message", "is required"))?;
    let output_modes = configuration.as_mut().map(|asked| &mut asked.accepted_output_modes);
    let output_modes = output_modes.map(std::mem::take).unwrap_or_default();
    Ok(TurnRequest {
        message: Arc::new(message),
        call: Arc::new(context),
        accepted_output_modes: match output_modes.is_empty() {
            true => Arc::default(),
            false => output_modes.into(),
        },
        metadata: metadata.take().map(Arc::new),
        streams,
        joins_from: None,
        key: None,
        rerun: false,
        is_lost: false,
        commands: Vec::new(),
    })
}

/// Takes the webhook that is asked for, and returns whether to return immediately.
fn asked_of(
    configuration: Option<&mut SendMessageConfiguration>,
) -> (Option<TaskPushNotificationConfig>, bool) {
    configuration.map_or((None, false), |asked| {
        (asked.task_push_notification_config.take(), asked.return_immediately)
    })
}

fn too_many_running(limits: CallerLimits) -> Error {
    let max = limits.running_tasks.map_or(0, NonZeroUsize::get);
    exhausted("running tasks", &format!("{max} running tasks"), max)
}

/// A webhook as stored.
fn webhook_of(
    task_id: &str,
    mut config: TaskPushNotificationConfig,
    call: &CallContext,
) -> Webhook {
    task_id.clone_into(&mut config.task_id);
    if config.id.is_empty() {
        config.id = fresh_id();
    }
    let trace = TraceContext::of(&call.parameters);
    Webhook { config, revision: call.version, trace }
}
