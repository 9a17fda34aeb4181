//! What one node asks of the node that holds a task: to handle a message, or to cancel.

use std::{sync::Arc, time::Duration};

use a2a_core::{
    Error, ErrorKind, Message, Result, fresh_id, v1::CancelTaskRequest, well_known::Struct,
};
use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::pending_calls::Expecting;
use crate::{
    CallContext,
    engine::{
        Inner,
        runtime::Handle,
        task::{Answer, Context, LiveTask, Record, TurnRequest, encode},
    },
    store::Command,
};

/// How long a message that wants no answer waits to hear that it was taken.
const AT_ONCE: Duration = Duration::from_secs(1);

/// How often an answer is looked for that nobody signalled. Only a fault makes that necessary.
const SAFETY_NET: Duration = Duration::from_secs(10);

/// The pause between two tries to answer a command.
const ANSWER_PAUSE: Duration = Duration::from_millis(200);

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Body {
    Message { turn: Box<Record>, return_immediately: bool },
    Cancel { context: Context, metadata: Option<Struct> },
}

fn refused(error: &Error) -> Bytes {
    encode(&Answer::Refused {
        status: error.kind().codes().http,
        message: error.message().to_owned(),
        details: error.details(),
    })
}

impl Inner {
    /// Hands a message to the node that holds the task, and returns the position of the event
    /// that began its turn; `None` if no node holds the task any more.
    pub(in crate::engine) async fn hand_over(
        &self,
        handle: &Handle,
        turn: &TurnRequest,
        return_immediately: bool,
    ) -> Result<Option<u64>> {
        let message = Some(Message::clone(&turn.message));
        let body = Body::Message { turn: Box::new(Record::of(turn, message)), return_immediately };
        let patience = return_immediately.then_some(AT_ONCE);
        self.order(handle, &body, patience).await
    }

    /// Has the node that holds the task cancel it, and waits until it has ended; `None` if no
    /// node holds the task any more.
    pub(in crate::engine) async fn hand_over_cancel(
        &self,
        handle: &Handle,
        context: &CallContext,
        request: &CancelTaskRequest,
    ) -> Result<Option<u64>> {
        let context = Context::of(context);
        let body = Body::Cancel { context, metadata: request.metadata.clone() };
        self.order(handle, &body, None).await
    }

    /// Takes a message that queues on this node, which holds the task, as if another node had
    /// sent it: it is stored first, so that it outlives this node. `None` where the task was let
    /// go in between.
    pub(in crate::engine) async fn queue_stored(
        self: &Arc<Self>,
        handle: &Handle,
        turn: &TurnRequest,
    ) -> Result<Option<u64>> {
        let id: Arc<str> = fresh_id().into();
        let message = Some(Message::clone(&turn.message));
        let body =
            Body::Message { turn: Box::new(Record::of(turn, message)), return_immediately: true };
        // Whoever reads the commands of the task leaves this one alone.
        handle.change(|live| live.commands.take(&id));
        let command = Command { id: Arc::clone(&id), body: encode(&body) };
        let posted = self.store.post(&handle.scope, &handle.task_id, command).await;
        if !matches!(posted, Ok(true)) {
            handle.change(|live| live.commands.leave(&[id]));
            return posted.map(|_| None).map_err(Error::from);
        }
        let turn = TurnRequest { commands: vec![Arc::clone(&id)], ..turn.clone() };
        let ticket = match self.take_here(handle, turn, true) {
            Ok(ticket) => ticket,
            Err(error)
                if error.kind() != ErrorKind::ResourceExhausted && handle.lock().is_away() =>
            {
                // It was lost or let go just now, and the message is for whoever has it next.
                handle.change(|live| live.commands.leave(&[id]));
                self.serve_commands(handle);
                return Ok(Some(0));
            }
            Err(error) => {
                answer(self, handle, &id, refused(&error)).await;
                self.forget_answer(id);
                return Err(error);
            }
        };
        let (inner, handle) = (Arc::clone(self), handle.clone());
        self.tasks.spawn(async move {
            if ticket == 0 {
                // An earlier try has brought it.
                let last = handle.lock().log.last();
                answer(&inner, &handle, &id, encode(&Answer::At(last))).await;
            } else {
                let generation = handle.lock().ownership.generation;
                let is_over = |live: &mut LiveTask| {
                    let is_gone = live.listens(generation).is_err() || !live.run.is_running();
                    (live.has_begun(ticket) || is_gone).then_some(())
                };
                handle.wait(is_over).await;
            }
            inner.forget_answer(id);
        });
        Ok(Some(ticket))
    }

    async fn order(
        &self,
        handle: &Handle,
        body: &Body,
        patience: Option<Duration>,
    ) -> Result<Option<u64>> {
        let expecting = Expecting::new(&self.cluster.expected);
        let command = Command { id: Arc::clone(&expecting.id), body: encode(body) };
        let posted = self.store.post(&handle.scope, &handle.task_id, command).await;
        if !posted.map_err(Error::from)? {
            return Ok(None);
        }
        // The task may be one that nobody has taken over yet.
        self.cluster.look_around.notify_one();
        let answer = self.answer_to(handle, &expecting);
        let answer = match patience {
            None => answer.await?,
            Some(patience) => match tokio::time::timeout(patience, answer).await {
                Ok(answer) => answer?,
                // It is stored and will be done; that is all this caller wants to know.
                Err(_elapsed) => return Ok(Some(handle.lock().log.last())),
            },
        };
        match answer {
            Answer::At(position) => Ok(Some(position)),
            Answer::Refused { status, message, details } => {
                Err(Error::from_wire(ErrorKind::from_http(status), message, details))
            }
        }
    }

    async fn answer_to(&self, handle: &Handle, expecting: &Expecting<'_>) -> Result<Answer> {
        let mut ended = false;
        loop {
            match self.store.read_answer(&expecting.id).await {
                Ok(Some(answer)) => {
                    self.forget_answer(Arc::clone(&expecting.id));
                    return serde_json::from_slice(&answer).map_err(Error::internal);
                }
                Ok(None) => {}
                Err(error) => {
                    tracing::warn!(error = ?error, "the answer to a command could not be read");
                }
            }
            tokio::select! {
                () = expecting.answered.notified() => {}
                () = tokio::time::sleep(SAFETY_NET) => {}
                // The node that ended the task may be gone before it saw the command.
                () = handle.wait(|live| live.has_ended().then_some(())), if !ended => {
                    ended = true;
                    handle.inner.serve_commands(handle);
                }
            }
        }
    }

    /// Has the store forget an answer that was read; the store does so by itself, only later.
    fn forget_answer(&self, id: Arc<str>) {
        let store = Arc::clone(&self.store);
        self.tasks.spawn(async move {
            if let Err(error) = store.forget_answer(&id).await {
                tracing::debug!(error = ?error, "an answer that was read is still in the store");
            }
        });
    }

    /// Does what other nodes have asked of the one that holds this task, without waiting for it.
    pub(in crate::engine) fn serve_commands(self: &Arc<Self>, handle: &Handle) {
        if handle.change(|live| live.commands.begin_serving()) {
            self.tasks.spawn(serve(Arc::clone(self), handle.clone()));
        }
    }
}

async fn serve(inner: Arc<Inner>, handle: Handle) {
    loop {
        let generation = handle.change(|live| {
            live.commands.read();
            live.ownership.generation
        });
        match inner.store.commands(&handle.task_id).await {
            Ok(commands) => {
                for command in commands {
                    obey(&inner, &handle, generation, command).await;
                }
            }
            Err(error) => {
                tracing::warn!(error = ?error, "commands could not be read");
                tokio::time::sleep(Duration::from_secs(1)).await;
                handle.change(|live| {
                    if live.ownership.generation == generation {
                        live.commands.read_again();
                    }
                });
            }
        }
        let done = handle.change(|live| {
            if live.ownership.generation != generation {
                // What was read may have been done by whoever had the task meanwhile.
                return !live.commands.begin_serving();
            }
            live.commands.end_serving()
        });
        if done {
            handle.let_go_if_idle();
            return;
        }
    }
}

async fn obey(inner: &Arc<Inner>, handle: &Handle, generation: u64, command: Command) {
    let Command { id, body } = command;
    let body = serde_json::from_slice(&body);
    let cancels = matches!(body, Ok(Body::Cancel { .. }));
    let take = handle.change(|live| live.take_command(generation, &id, cancels));
    if !take {
        return;
    }
    let result = match body {
        Ok(Body::Message { mut turn, return_immediately }) => match turn.message.take() {
            Some(message) => {
                let mut turn = turn.into_turn(message);
                turn.commands = vec![Arc::clone(&id)];
                match inner.take_here(handle, turn, return_immediately) {
                    // An earlier try has brought it.
                    Ok(0) => {
                        let last = handle.lock().log.last();
                        answer(inner, handle, &id, encode(&Answer::At(last))).await;
                        Ok(())
                    }
                    taken => taken.map(|_ticket| ()),
                }
            }
            None => Err(Error::internal("a command without its message")),
        },
        Ok(Body::Cancel { context, metadata }) => inner
            .cancel_here(handle, Arc::new(context.read()), metadata, Some(&id))
            .map(|_cancel| ()),
        Err(error) => Err(Error::internal(error)),
    };
    if let Err(error) = result {
        // A task that nobody works on is let go with a refusal, which is the answer still.
        let is_refusal = error.kind() == ErrorKind::ResourceExhausted;
        if !is_refusal && handle.lock().is_away() {
            // It was lost just now, and is for whoever has it.
            handle.change(|live| live.commands.leave(&[id]));
            return;
        }
        answer(inner, handle, &id, refused(&error)).await;
    }
}

async fn answer(inner: &Inner, handle: &Handle, id: &Arc<str>, body: Bytes) {
    // Somebody waits for it, and nobody else would say it again.
    let deadline = tokio::time::Instant::now() + inner.config.store_patience;
    while let Err(error) = inner.store.answer(id, body.clone()).await {
        tracing::warn!(error = ?error, "a command could not be answered");
        if tokio::time::Instant::now() >= deadline {
            break;
        }
        tokio::time::sleep(ANSWER_PAUSE).await;
    }
    handle.change(|live| live.commands.finish(id));
    inner.cluster.expected.wake(id);
}

/// Answers commands for whose messages no further write comes: they were sent again while the
/// first try was written.
pub(in crate::engine) fn answer_late(handle: &Handle) {
    let late = handle.change(|live| match live.changes.pending.is_empty() {
        true => live.commands.answers(None),
        false => Vec::new(),
    });
    for (id, body) in late {
        let handle = handle.clone();
        let inner = Arc::clone(&handle.inner);
        inner.tasks.clone().spawn(async move { answer(&inner, &handle, &id, body).await });
    }
}
