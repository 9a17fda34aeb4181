//! Waiting for the response to a message.

use std::{collections::VecDeque, sync::Arc};

use a2a_core::{
    Error, Message, Result,
    v1::{SendMessageResponse, Task, send_message_response, stream_response::Payload},
};

use crate::{
    Event, EventStream,
    engine::{
        runtime::{Handle, Reader, Until},
        task::{Change, LiveTask, snapshot},
    },
};

/// An accepted message and its task.
pub(in crate::engine) struct Accepted {
    pub(in crate::engine) handle: Handle,
    /// The ticket of the message within its task; 0 joins the task as it is.
    pub(in crate::engine) ticket: u64,
    /// The turn of the message, if another node handles it.
    pub(in crate::engine) remote: Option<RemoteTurn>,
}

/// A turn on another node.
pub(in crate::engine) struct RemoteTurn {
    /// The position of its first event.
    pub(in crate::engine) begun: u64,
    /// The task before the turn, its position, and the message.
    pub(in crate::engine) before: Arc<Task>,
    pub(in crate::engine) last: u64,
    pub(in crate::engine) message: Arc<Message>,
}

impl RemoteTurn {
    /// The task at the start of the turn, if nothing else happened in between.
    fn opening(&self, live: &LiveTask) -> Option<Task> {
        let mut events = VecDeque::new();
        let next = self.last + 1 == self.begun;
        if !next || live.log.read(self.begun, 1, &mut events).is_err() {
            return None;
        }
        let mut task = Task::clone(&self.before);
        Change::Event(events.pop_front()?).apply(&mut task);
        Change::History(Arc::clone(&self.message)).apply(&mut task);
        Some(task)
    }

    /// Streams the turn from its first event.
    async fn stream(self, handle: Handle) -> Result<EventStream> {
        let opening = handle
            .wait(|live| {
                if live.persistence.has_failed() {
                    return Some(Err(live.failure()));
                }
                (live.log.last() >= self.begun).then(|| Ok(self.opening(live)))
            })
            .await?;
        let reader = match opening {
            Some(task) => {
                let reader = Reader::new(handle, Until::Answered, self.begun + 1);
                reader.after(vec![snapshot(self.begun, &task)])
            }
            None => Reader::from_now(handle, Until::Answered),
        };
        Ok(reader.into_stream())
    }
}

impl Accepted {
    /// Waits for the response: a message, or the task when it settles, or immediately if the caller
    /// asks for that.
    pub(in crate::engine) async fn response(
        self,
        return_immediately: bool,
        history_length: Option<usize>,
    ) -> Result<SendMessageResponse> {
        let ticket = self.ticket;
        let remote = self.remote.map(|remote| remote.begun);
        let task_id = Arc::clone(&self.handle.task_id);
        let outcome = self
            .handle
            .wait(|live| {
                if let Some(reply) = &live.reply {
                    return Some(Ok(Outcome::Reply(reply.clone())));
                }
                if let Some(task_id) = live.persistence.superseded() {
                    return Some(Ok(Outcome::Superseded(Arc::clone(task_id))));
                }
                if live.persistence.has_failed() {
                    return Some(Err(live.failure()));
                }
                let is_settled = live.task.state().is_settled();
                if let Some(begun) = remote {
                    let seen = live.log.last() >= begun;
                    let answered = is_settled || !live.run.is_running();
                    let ready = seen && (return_immediately || answered);
                    return ready.then(|| Ok(Outcome::Task(Arc::clone(&live.task))));
                }
                if let Some(refused) = refused(live, ticket, &task_id) {
                    return Some(Err(refused));
                }
                // A later turn becomes visible only after all of this one.
                let turn_is_seen = live.has_begun(ticket);
                let answered = turn_is_seen && live.turns.current > ticket && ticket > 0
                    || is_settled
                    || !live.run.is_running() && live.is_shown();
                let at_once = return_immediately;
                let ready = live.is_stored() && (at_once || turn_is_seen && answered);
                ready.then(|| Ok(Outcome::Task(Arc::clone(&live.task))))
            })
            .await?;
        let payload = match outcome {
            Outcome::Reply(event) => match event.into_response().payload {
                Some(Payload::Message(message)) => send_message_response::Payload::Message(message),
                _ => return Err(Error::internal("reply is not a message")),
            },
            Outcome::Task(task) => {
                // Releases the entry first, so that the task of a finished send is moved, not
                // cloned.
                drop(self.handle);
                send_message_response::Payload::Task(limit_history(task, history_length))
            }
            Outcome::Superseded(task_id) => {
                let joined = self.handle.inner.follow_key(&self.handle.scope, &task_id).await?;
                return Box::pin(joined.response(return_immediately, history_length)).await;
            }
        };
        Ok(SendMessageResponse { payload: Some(payload) })
    }

    /// Waits for the turn of the message, and streams it.
    pub(in crate::engine) async fn stream(self) -> Result<EventStream> {
        let ticket = self.ticket;
        if let Some(remote) = self.remote {
            return remote.stream(self.handle).await;
        }
        if ticket == 1 && self.handle.lock().turns.start <= 1 {
            if let Some(task_id) = self.superseded().await {
                let joined = self.handle.inner.follow_key(&self.handle.scope, &task_id).await?;
                return Box::pin(joined.stream()).await;
            }
            return Ok(self.first_turn());
        }
        let task_id = Arc::clone(&self.handle.task_id);
        let opening = self
            .handle
            .wait(|live| {
                if live.persistence.has_failed() {
                    return Some(Err(live.failure()));
                }
                if let Some(refused) = refused(live, ticket, &task_id) {
                    return Some(Err(refused));
                }
                let begun = if ticket == 0 {
                    live.is_stored() || live.reply.is_some()
                } else {
                    live.has_begun(ticket)
                };
                let opening = || {
                    let opening = live.turns.opening.clone();
                    let opening = opening.filter(|_| live.turns.current == ticket)?;
                    Some((opening, live.turns.start))
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

    /// Waits until a new task is stored, and returns the task that took over its idempotency key,
    /// if any.
    async fn superseded(&self) -> Option<Arc<str>> {
        let may_be =
            self.handle.inner.cluster.is_shared && self.handle.lock().creation.key.is_some();
        if !may_be {
            return None;
        }
        let known = |live: &mut LiveTask| {
            let known = live.is_stored() || live.reply.is_some() || live.persistence.has_failed();
            known.then(|| live.persistence.superseded().cloned())
        };
        self.handle.wait(known).await
    }

    fn first_turn(self) -> EventStream {
        Reader::new(self.handle, Until::Answered, 1).into_stream()
    }
}

enum Outcome {
    Reply(Event),
    Task(Arc<Task>),
    /// The task that took over the idempotency key responds instead.
    Superseded(Arc<str>),
}

/// The reason why a queued message never got its turn.
fn refused(live: &LiveTask, ticket: u64, task_id: &str) -> Option<Error> {
    if live.turns.is_lost(ticket) {
        return Some(Error::unavailable("another node took over the task; retry the request"));
    }
    let waits = ticket > live.turns.current;
    let never = waits && (live.has_ended() || !live.run.is_running());
    never.then(|| if live.changes.head.is_terminal() { ended(task_id) } else { left() })
}

/// The turn of a message never came because this node is shutting down.
fn left() -> Error {
    Error::unavailable("the server is shutting down; retry the request")
}

/// Returns the task with the newest `limit` messages of its history; cloned if it is shared.
pub(super) fn limit_history(task: Arc<Task>, limit: Option<usize>) -> Task {
    let skip = limit.map_or(0, |limit| task.history.len().saturating_sub(limit));
    match Arc::try_unwrap(task) {
        Ok(mut task) => {
            task.history.drain(..skip);
            task
        }
        Err(task) => Task {
            id: task.id.clone(),
            context_id: task.context_id.clone(),
            status: task.status.clone(),
            artifacts: task.artifacts.clone(),
            history: task.history[skip..].to_vec(),
            metadata: task.metadata.clone(),
        },
    }
}

/// The task has ended, so it takes no further message.
pub(super) fn ended(task_id: &str) -> Error {
    Error::unsupported(format!("task {task_id} has ended; send a message without taskId"))
        .with_metadata("taskId", task_id)
}
