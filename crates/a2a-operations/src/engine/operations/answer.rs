//! How the sender of a message waits for what comes of it.

use std::{collections::VecDeque, sync::Arc};

use a2a_core::{
    Error, Message, Result,
    v1::{SendMessageResponse, Task, send_message_response, stream_response::Payload},
};

use crate::{
    Event, EventStream,
    engine::{
        operations::{limit_history, send::ended},
        runtime::{Handle, Reader, Until},
        task::{Change, LiveTask, snapshot},
    },
};

/// A message that was accepted, and the task it works on.
pub(in crate::engine) struct Accepted {
    pub(in crate::engine) handle: Handle,
    /// The number of the message within its task; 0 joins whatever goes on.
    pub(in crate::engine) ticket: u64,
    /// Where the turn of the message began, if another node has taken it.
    pub(in crate::engine) elsewhere: Option<Elsewhere>,
}

/// A turn that another node works on.
pub(in crate::engine) struct Elsewhere {
    /// The position of the event that began it.
    pub(in crate::engine) begun: u64,
    /// The task before it, the position of that, and the message.
    pub(in crate::engine) before: Arc<Task>,
    pub(in crate::engine) last: u64,
    pub(in crate::engine) message: Arc<Message>,
}

impl Elsewhere {
    /// The task as the turn began, if nothing else came in between.
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

    /// Streams the turn from its first event on.
    async fn stream(self, handle: Handle) -> Result<EventStream> {
        let opening = handle
            .wait(|live| {
                if live.disk.has_failed() {
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
    /// Waits for the answer: a message, or the task when it settles, or at once where the caller
    /// wants that.
    pub(in crate::engine) async fn answer(
        self,
        return_immediately: bool,
        history_length: Option<usize>,
    ) -> Result<SendMessageResponse> {
        let ticket = self.ticket;
        let elsewhere = self.elsewhere.map(|elsewhere| elsewhere.begun);
        let task_id = Arc::clone(&self.handle.task_id);
        let outcome = self
            .handle
            .wait(|live| {
                if let Some(reply) = &live.reply {
                    return Some(Ok(Outcome::Reply(reply.clone())));
                }
                if let Some(task_id) = live.disk.superseded() {
                    return Some(Ok(Outcome::Superseded(Arc::clone(task_id))));
                }
                if live.disk.has_failed() {
                    return Some(Err(live.failure()));
                }
                let is_settled = live.task.state().is_settled();
                if let Some(begun) = elsewhere {
                    let seen = live.log.last() >= begun;
                    let answered = is_settled || !live.run.is_running();
                    let ready = seen && (return_immediately || answered);
                    return ready.then(|| Ok(Outcome::Task(Arc::clone(&live.task))));
                }
                if let Some(refused) = refused(live, ticket, &task_id) {
                    return Some(Err(refused));
                }
                // A later turn is seen only after all of this one.
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
                _ => return Err(Error::internal("a reply that is not a message")),
            },
            Outcome::Task(task) => {
                // Releases the entry first, so that the task of a finished send is moved, not cloned.
                drop(self.handle);
                send_message_response::Payload::Task(limit_history(task, history_length))
            }
            Outcome::Superseded(task_id) => {
                let joined = self.handle.inner.follow_key(&self.handle.scope, &task_id).await?;
                return Box::pin(joined.answer(return_immediately, history_length)).await;
            }
        };
        Ok(SendMessageResponse { payload: Some(payload) })
    }

    /// Waits for the turn of the message and streams what comes of it.
    pub(in crate::engine) async fn stream(self) -> Result<EventStream> {
        let ticket = self.ticket;
        if let Some(elsewhere) = self.elsewhere {
            return elsewhere.stream(self.handle).await;
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
                if live.disk.has_failed() {
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

    /// Waits until it is known whether a new task is the one that its idempotency key names.
    async fn superseded(&self) -> Option<Arc<str>> {
        let may_be = self.handle.inner.cluster.is_shared && self.handle.lock().birth.key.is_some();
        if !may_be {
            return None;
        }
        let known = |live: &mut LiveTask| {
            let known = live.is_stored() || live.reply.is_some() || live.disk.has_failed();
            known.then(|| live.disk.superseded().cloned())
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
    /// It is the answer of another task.
    Superseded(Arc<str>),
}

/// Why a message that queued never got its turn.
fn refused(live: &LiveTask, ticket: u64, task_id: &str) -> Option<Error> {
    if live.turns.is_lost(ticket) {
        return Some(Error::unavailable("another node took the task over; send again"));
    }
    let waits = ticket > live.turns.current;
    let never = waits && (live.has_ended() || !live.run.is_running());
    never.then(|| if live.changes.head.is_terminal() { ended(task_id) } else { left() })
}

/// A message whose turn never came though the task goes on: this node stops.
fn left() -> Error {
    Error::unavailable("the server is shutting down; send again")
}
