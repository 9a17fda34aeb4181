//! How a message reaches an executor, and how its sender waits for what comes of it.

use std::{
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::{Arc, atomic::Ordering},
};

use a2a_core::{
    Error, ErrorKind, Message, ProtocolVersion, Result, TaskState, fresh_id,
    v1::{
        SendMessageConfiguration, SendMessageRequest, SendMessageResponse, Task,
        TaskPushNotificationConfig, TaskStatus, send_message_response, stream_response::Payload,
    },
};
use prost::Message as _;
use tokio_util::sync::CancellationToken;

use super::{
    Inner,
    entry::{Entry, Handle, Queued, State, TurnRequest},
    reader::{Reader, Until, snapshot},
    reply_limited,
};
use crate::{CallContext, EventStream, Scope, Webhook, store::Claim};

/// A message that was accepted, and the task it works on.
pub(super) struct Accepted {
    handle: Handle,
    /// The number of the message within its task; 0 joins whatever goes on.
    ticket: u64,
}

impl Inner {
    /// Accepts a message: makes a task, continues one, or joins the one that an earlier try made.
    pub(super) async fn accept(
        self: &Arc<Self>,
        context: CallContext,
        request: SendMessageRequest,
        streams: bool,
    ) -> Result<Accepted> {
        self.check_send(&context, &request)?;
        let scope = Scope::new(&request.tenant, &context.caller);
        let fingerprint = fingerprint(&request);
        let SendMessageRequest { message, configuration, metadata, .. } = request;
        let message = message.ok_or_else(|| Error::invalid_params("message", "is required"))?;
        let configuration = configuration.unwrap_or_default();
        if let Some(config) = &configuration.task_push_notification_config {
            self.check_webhook(config, "configuration.taskPushNotificationConfig.").await?;
        }

        let key = self.key_of(&context, &message);
        let is_new = message.task_id.is_empty();
        let task_id = if is_new { fresh_id() } else { message.task_id.clone() };
        if let Some(key) = &key
            && let Some(joined) = self.join(&scope, key, fingerprint, &task_id).await?
        {
            return Ok(Accepted { handle: joined, ticket: 0 });
        }
        let turn = TurnRequest {
            message: Arc::new(message),
            call: Arc::new(context),
            accepted_output_modes: configuration.accepted_output_modes.clone().into(),
            metadata: metadata.map(Arc::new),
            streams,
        };
        let accepted = if is_new {
            self.begin(scope.clone(), task_id, turn, &configuration).await
        } else {
            self.continue_task(&scope, task_id, turn, &configuration).await
        };
        if let (Err(_), Some(key)) = (&accepted, &key) {
            // Nothing was done under this key, so a better request may use it.
            self.store.release(&scope, key).await.map_err(Error::from)?;
        }
        accepted
    }

    fn key_of(&self, context: &CallContext, message: &Message) -> Option<String> {
        let by_message =
            || self.config.join_by_message_id.then(|| format!("message:{}", message.message_id));
        context.idempotency_key.as_ref().map(|key| format!("key:{key}")).or_else(by_message)
    }

    /// Finds the task of an earlier try with the same key.
    async fn join(
        self: &Arc<Self>,
        scope: &Scope,
        key: &str,
        fingerprint: u64,
        task_id: &str,
    ) -> Result<Option<Handle>> {
        let claim = self.store.claim(scope, key, fingerprint, task_id).await;
        let known = match claim.map_err(Error::from)? {
            Claim::New => return Ok(None),
            Claim::Known { fingerprint: known, .. } if known != fingerprint => {
                return Err(Error::invalid_params(
                    "",
                    "the idempotency key was used for another message",
                ));
            }
            Claim::Known { task_id, .. } => task_id,
        };
        if let Some(handle) = self.find_or_load(scope, &known).await? {
            return Ok(Some(handle));
        }
        // The first try left no task: a message answered it. Answer this one the same way.
        self.store.release(scope, key).await.map_err(Error::from)?;
        self.store.claim(scope, key, fingerprint, task_id).await.map_err(Error::from)?;
        Ok(None)
    }

    async fn begin(
        self: &Arc<Self>,
        scope: Scope,
        task_id: String,
        mut turn: TurnRequest,
        configuration: &SendMessageConfiguration,
    ) -> Result<Accepted> {
        self.check_capacity()?;
        let message = Arc::make_mut(&mut turn.message);
        let context_id =
            if message.context_id.is_empty() { fresh_id() } else { message.context_id.clone() };
        message.task_id.clone_from(&task_id);
        message.context_id.clone_from(&context_id);
        if let Some(config) = &configuration.task_push_notification_config {
            self.put_config(&scope, &task_id, config.clone(), turn.call.version).await?;
        }
        let task = Task {
            id: task_id,
            context_id,
            status: Some(TaskStatus::now(TaskState::Submitted, None)),
            history: vec![message.clone()],
            ..Task::default()
        };
        let entry = self.entries.insert(Entry::draft(self, scope, task));
        let handle = Handle::new(Arc::clone(self), entry);
        {
            let mut state = handle.lock();
            state.running = true;
            state.last_ticket = 1;
            state.turn = 1;
            if configuration.return_immediately {
                state.appear();
            }
        }
        if configuration.return_immediately {
            handle.write();
        }
        if configuration.task_push_notification_config.is_some() {
            handle.spawn_push(1);
        }
        handle.spawn_run(turn);
        Ok(Accepted { handle, ticket: 1 })
    }

    async fn continue_task(
        self: &Arc<Self>,
        scope: &Scope,
        task_id: String,
        mut turn: TurnRequest,
        configuration: &SendMessageConfiguration,
    ) -> Result<Accepted> {
        let message = Arc::make_mut(&mut turn.message);
        let handle = self
            .find_or_load(scope, &task_id)
            .await?
            .ok_or_else(|| Error::task_not_found(&task_id))?;
        if !message.context_id.is_empty() && *message.context_id != *handle.context_id {
            return Err(Error::invalid_params(
                "message.contextId",
                "is not the context of the task",
            ));
        }
        message.context_id = (*handle.context_id).to_owned();
        self.check_capacity()?;
        if let Some(config) = &configuration.task_push_notification_config {
            self.put_config(scope, &task_id, config.clone(), turn.call.version).await?;
        }
        let has_webhooks = self.push.is_some() && !self.webhooks(scope, &task_id).await?.is_empty();
        // From here on nothing is awaited: a caller that hangs up leaves no half of it behind.
        let (ticket, run) = handle
            .change(|state| self.take(&handle, state, turn, configuration.return_immediately))?;
        handle.write();
        if let Some(turn) = run {
            if has_webhooks {
                let start = handle.lock().turn_start;
                handle.spawn_push(start);
            }
            handle.spawn_run(turn);
        }
        Ok(Accepted { handle, ticket })
    }

    /// Takes a message for a task that exists: hands it to an executor that asks, queues it
    /// behind one that works, or returns it for a new executor.
    fn take(
        &self,
        handle: &Handle,
        state: &mut State,
        turn: TurnRequest,
        return_immediately: bool,
    ) -> Result<(u64, Option<TurnRequest>)> {
        if state.broken {
            return Err(Error::unavailable("the task could not be stored"));
        }
        if state.is_over() || state.canceling {
            return Err(ended(&handle.task_id));
        }
        let asks = state.asking && !state.kill.is_cancelled();
        if state.running && !asks {
            if return_immediately && !state.queue.is_empty() {
                return Err(Error::new(
                    ErrorKind::ResourceExhausted,
                    "another message waits already; send again without returnImmediately",
                ));
            }
            if state.queue.len() >= self.config.max_queued_messages {
                return Err(Error::new(
                    ErrorKind::ResourceExhausted,
                    format!("{} messages wait already for this task", state.queue.len()),
                ));
            }
        }
        state.last_ticket += 1;
        let ticket = state.last_ticket;
        if asks {
            handle.begin_turn(state, ticket, &turn);
            state.asking = false;
            state.handed = Some(Message::clone(&turn.message));
            return Ok((ticket, None));
        }
        if state.running {
            state.queue.push_back(Queued { ticket, turn });
            return Ok((ticket, None));
        }
        state.running = true;
        state.cancel = CancellationToken::new();
        state.kill = CancellationToken::new();
        handle.begin_turn(state, ticket, &turn);
        Ok((ticket, Some(turn)))
    }

    fn check_capacity(&self) -> Result<()> {
        if self.draining.is_cancelled() {
            return Err(Error::unavailable("the server is shutting down"));
        }
        if self.running.load(Ordering::Relaxed) >= self.config.max_running {
            return Err(Error::new(
                ErrorKind::ResourceExhausted,
                format!("{} tasks are being worked on already", self.config.max_running),
            ));
        }
        Ok(())
    }

    async fn put_config(
        &self,
        scope: &Scope,
        task_id: &str,
        mut config: TaskPushNotificationConfig,
        revision: ProtocolVersion,
    ) -> Result<()> {
        task_id.clone_into(&mut config.task_id);
        if config.id.is_empty() {
            config.id = fresh_id();
        }
        let webhook = Webhook { config, revision };
        self.store.put_config(scope, webhook).await.map_err(Error::from)
    }
}

impl Accepted {
    /// Waits for the answer: a message, or the task when it settles, or at once where the caller
    /// wants that.
    pub(super) async fn answer(
        self,
        return_immediately: bool,
        history_length: Option<usize>,
    ) -> Result<SendMessageResponse> {
        let ticket = self.ticket;
        let task_id = Arc::clone(&self.handle.task_id);
        let outcome = self
            .handle
            .wait(|state| {
                if let Some(reply) = &state.reply {
                    return Some(Ok(Answer::Reply(reply.clone())));
                }
                if state.broken {
                    return Some(Err(Error::unavailable("the task could not be stored")));
                }
                if let Some(refused) = refused(state, ticket, &task_id) {
                    return Some(Err(refused));
                }
                let turn_is_seen = state.turn > ticket
                    || state.turn == ticket && state.log.last() >= state.turn_start
                    || ticket == 0;
                let answered = state.turn > ticket && ticket > 0
                    || state.task.state().is_settled()
                    || !state.running && state.is_shown();
                let at_once = return_immediately;
                let ready = state.appeared && (at_once || turn_is_seen && answered);
                ready.then(|| Ok(Answer::Task(Arc::clone(&state.task))))
            })
            .await?;
        let payload = match outcome {
            Answer::Reply(event) => match event.into_response().payload {
                Some(Payload::Message(message)) => send_message_response::Payload::Message(message),
                _ => return Err(Error::internal("a reply that is not a message")),
            },
            Answer::Task(task) => {
                send_message_response::Payload::Task(reply_limited(&task, history_length))
            }
        };
        Ok(SendMessageResponse { payload: Some(payload) })
    }

    /// Waits for the turn of the message and streams what comes of it.
    pub(super) async fn stream(self) -> Result<EventStream> {
        let ticket = self.ticket;
        if ticket == 1 {
            return Ok(self.first_turn());
        }
        let task_id = Arc::clone(&self.handle.task_id);
        let opening = self
            .handle
            .wait(|state| {
                if state.broken {
                    return Some(Err(Error::unavailable("the task could not be stored")));
                }
                if let Some(refused) = refused(state, ticket, &task_id) {
                    return Some(Err(refused));
                }
                let begun = state.turn > ticket
                    || state.turn == ticket && state.log.last() >= state.turn_start
                    || ticket == 0 && (state.appeared || state.reply.is_some());
                let opening = || {
                    let opening = state.turn_opening.clone().filter(|_| state.turn == ticket)?;
                    Some((opening, state.turn_start))
                };
                begun.then(|| Ok(opening()))
            })
            .await?;
        if ticket == 0 && self.handle.lock().reply.is_some() {
            return Ok(self.first_turn());
        }
        let reader = match opening {
            Some((task, start)) => {
                let reader = Reader::new(self.handle, Until::Answered, start + 1);
                reader.after(vec![snapshot(start, &task)])
            }
            None => Reader::from_now(self.handle, Until::Answered),
        };
        Ok(reader.into_stream())
    }

    fn first_turn(self) -> EventStream {
        Reader::new(self.handle, Until::Answered, 1).into_stream()
    }
}

enum Answer {
    Reply(crate::Event),
    Task(Arc<Task>),
}

/// Why a message that queued never got its turn.
fn refused(state: &State, ticket: u64, task_id: &str) -> Option<Error> {
    let waits = ticket > state.turn;
    (waits && (state.task.state().is_terminal() || !state.running)).then(|| ended(task_id))
}

fn ended(task_id: &str) -> Error {
    Error::unsupported(format!("task {task_id} has ended; send a message without its id"))
        .with_metadata("taskId", task_id)
}

fn fingerprint(request: &SendMessageRequest) -> u64 {
    let mut hasher = DefaultHasher::new();
    request.encode_to_vec().hash(&mut hasher);
    hasher.finish()
}
