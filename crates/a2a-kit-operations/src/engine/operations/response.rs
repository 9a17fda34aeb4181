//! Waiting for the response to a message.

use std::{collections::VecDeque, sync::Arc};

use a2a_core::{
    Error, Message, Result,
    v1::{SendMessageResponse, Task, send_message_response, stream_response::Payload},
};

use crate::{
    Event, EventStream,
    engine::{
        runtime::{Begin, Handle, Reader, Until},
        task::{Change, LiveTask, newest_messages},
    },
};

/// An accepted message and its task.
pub(in crate::engine) struct Accepted {
    pub(in crate::engine) handle: Handle,
    /// The ticket of the message within its task; 0 joins the task as it is.
    pub(in crate::engine) ticket: u64,
    /// The turn of the message, if another node handles it.
    pub(in crate::engine) remote: Option<Remote>,
}

/// A message that another node handles.
pub(in crate::engine) enum Remote {
    Turn(RemoteTurn),
    /// It waits for its turn; its sender reads a stream.
    Queued(Begin),
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
    async fn stream(self, handle: Handle) -> Result<Reader> {
        let opening = handle
            .wait(|live| {
                if let Some(error) = live.failure() {
                    return Some(Err(error));
                }
                (live.log.last() >= self.begun).then(|| Ok(self.opening(live)))
            })
            .await?;
        Ok(match opening {
            Some(task) => Reader::from_task(handle, Until::Answered, self.begun, &task),
            None => Reader::from_now(handle, Until::Answered),
        })
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
        let remote = match self.remote {
            Some(Remote::Turn(turn)) => Some(turn.begun),
            Some(Remote::Queued(_)) | None => None,
        };
        if ticket == 0 && remote.is_none() {
            // A retry: this entry may show the task before its message.
            self.handle.catch_up_if_behind().await?;
        }
        let outcome = self
            .handle
            .wait(|live| {
                if let Some(reply) = &live.reply {
                    return Some(Ok(Outcome::Reply(reply.clone())));
                }
                if let Some(task_id) = live.persistence.superseded() {
                    return Some(Ok(Outcome::Superseded(Arc::clone(task_id))));
                }
                if let Some(error) = live.failure() {
                    return Some(Err(error));
                }
                let is_settled = live.task.state().is_settled();
                if let Some(begun) = remote {
                    let seen = live.log.last() >= begun;
                    let answered = is_settled || !live.run.is_running();
                    return match (seen, return_immediately) {
                        (true, true) => Some(Ok(Outcome::Newest)),
                        (true, false) if answered => {
                            Some(Ok(Outcome::Task(Arc::clone(&live.task))))
                        }
                        _ => None,
                    };
                }
                if let Some(refused) = live.never_begins(ticket) {
                    return Some(Err(refused));
                }
                // A later turn becomes visible only after all of this one.
                let turn_is_seen = live.has_begun(ticket);
                let answered = turn_is_seen && live.turns.current > ticket && ticket > 0
                    || is_settled
                    || !live.run.is_running() && live.is_shown();
                if return_immediately {
                    // What is acknowledged is stored: its turn, or the command that carries it.
                    let is_kept = turn_is_seen || live.turns.is_acknowledged(ticket);
                    return (live.is_stored() && is_kept).then_some(Ok(Outcome::Newest));
                }
                let ready = live.is_stored() && turn_is_seen && answered;
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
            Outcome::Newest => {
                let newest = self.handle.newest().await?;
                let (task, _) =
                    newest.ok_or_else(|| Error::task_not_found(&self.handle.task_id))?;
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

    /// Streams the turn of the message. The stream of a message that is queued opens with the
    /// current task, and ends with an error if its turn never comes.
    pub(in crate::engine) async fn stream(self, history: Option<usize>) -> Result<EventStream> {
        Ok(self.reader().await?.with_history(history).into_stream())
    }

    async fn reader(self) -> Result<Reader> {
        let ticket = self.ticket;
        match self.remote {
            Some(Remote::Turn(turn)) => return turn.stream(self.handle).await,
            Some(Remote::Queued(begin)) => return queued(self.handle, begin).await,
            None if ticket > self.handle.lock().turns.current => {
                return queued(self.handle, Begin::Queued(ticket)).await;
            }
            None => {}
        }
        if ticket == 1 && self.handle.lock().turns.start <= 1 {
            if let Some(task_id) = self.superseded().await {
                let joined = self.handle.inner.follow_key(&self.handle.scope, &task_id).await?;
                return Box::pin(joined.reader()).await;
            }
            return Ok(self.first_turn());
        }
        let opening = self
            .handle
            .wait(|live| {
                if let Some(error) = live.failure() {
                    return Some(Err(error));
                }
                if let Some(refused) = live.never_begins(ticket) {
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
        if let Some((task, start)) = opening {
            return Ok(Reader::from_task(self.handle, Until::Answered, start, &task));
        }
        let newest = self.handle.newest().await?;
        let (task, last) = newest.ok_or_else(|| Error::task_not_found(&self.handle.task_id))?;
        Ok(Reader::from_task(self.handle, Until::Answered, last, &task))
    }

    /// Waits until a new task is stored, and returns the task that took over its idempotency key,
    /// if any.
    async fn superseded(&self) -> Option<Arc<str>> {
        let may_be =
            self.handle.inner.cluster.is_shared && self.handle.lock().creation.key.is_some();
        if !may_be {
            return None;
        }
        let known = |live: &LiveTask| {
            let known = live.is_stored() || live.reply.is_some() || live.persistence.has_failed();
            known.then(|| live.persistence.superseded().cloned())
        };
        self.handle.wait(known).await
    }

    fn first_turn(self) -> Reader {
        Reader::new(self.handle, Until::Answered, 1)
    }
}

/// Streams the task as it is now, and then a turn that has not begun yet.
async fn queued(handle: Handle, begin: Begin) -> Result<Reader> {
    let newest = handle.newest().await?;
    let (task, _) = newest.ok_or_else(|| Error::task_not_found(&handle.task_id))?;
    Ok(Reader::queued(handle, &task, begin))
}

enum Outcome {
    Reply(Event),
    Task(Arc<Task>),
    /// The task as it is now.
    Newest,
    /// The task that took over the idempotency key responds instead.
    Superseded(Arc<str>),
}

/// Returns the task with the newest `limit` messages of its history; cloned if it is shared.
pub(super) fn limit_history(task: Arc<Task>, limit: Option<usize>) -> Task {
    let skip = limit.map_or(0, |limit| task.history.len().saturating_sub(limit));
    match Arc::try_unwrap(task) {
        Ok(mut task) => {
            task.history.drain(..skip);
            task
        }
        Err(task) => newest_messages(&task, task.history.len() - skip),
    }
}
