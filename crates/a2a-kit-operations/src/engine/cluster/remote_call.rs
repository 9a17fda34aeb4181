//! Calls to the node that holds a task: to handle a message, or to cancel.

use std::{slice, sync::Arc, time::Duration};

use a2a_core::{Error, ErrorKind, Result, fresh_id, v1::CancelTaskRequest};
use tokio::{sync::oneshot, time::timeout};

use super::{
    commands::{Body, refused},
    pending_calls::PendingCall,
};
use crate::{
    CallContext,
    engine::{
        Inner,
        runtime::Handle,
        task::{Answer, Context, LiveTask, Sender, TurnRequest, encode},
    },
    store::{Command, StoreError},
};

/// How long a message with `returnImmediately` waits for its turn before its sender asks whether it
/// is accepted.
const TURN_TIMEOUT: Duration = Duration::from_millis(250);

/// How long a stream waits for the beginning of its turn, or for its refusal, before it opens with
/// the current task.
const OPENING_TIMEOUT: Duration = Duration::from_millis(250);

/// Interval at which answers are polled, in case a signal was lost.
const ANSWER_POLL: Duration = Duration::from_secs(3);

/// A streamed message on another node.
pub(crate) enum Forwarded {
    /// Its turn has begun with the event at this position.
    Begun(u64),
    /// Its turn has not begun; that is announced.
    Queued(oneshot::Receiver<Result<u64>>),
}

impl Inner {
    /// Forwards a message to the node that holds the task, and returns the position of the event
    /// that began its turn; `None` if the task is unleased.
    pub(crate) async fn forward_message(
        &self,
        handle: &Handle,
        turn: &TurnRequest,
        return_immediately: bool,
    ) -> Result<Option<u64>> {
        let body = Body::message(turn, return_immediately);
        let Some(call) = self.post(handle, &body).await? else { return Ok(None) };
        if !return_immediately {
            return position(self.wait_for_answer(handle, &call).await?);
        }
        match timeout(TURN_TIMEOUT, self.wait_for_answer(handle, &call)).await {
            Ok(answer) => position(answer?),
            Err(_elapsed) => self.wait_for_acceptance(handle, &call).await,
        }
    }

    /// Waits until the holder has accepted the message of this call, or has answered the call.
    async fn wait_for_acceptance(
        &self,
        handle: &Handle,
        call: &PendingCall<'_>,
    ) -> Result<Option<u64>> {
        let body = Body::Accepted { command: (*call.id).to_owned() };
        let asked = self.post(handle, &body).await?;
        let Some(asked) = asked else {
            // The lease was released, after all commands were answered.
            return position(self.wait_for_answer(handle, call).await?);
        };
        tokio::select! {
            biased;
            answer = self.wait_for_answer(handle, call) => position(answer?),
            accepted = self.wait_for_answer(handle, &asked) => {
                accepted?;
                match self.read_answer(call).await.map_err(Error::from)? {
                    Some(answer) => position(answer?),
                    None => {
                        handle.catch_up().await?;
                        Ok(Some(handle.lock().visible().1))
                    }
                }
            }
        }
    }

    /// Forwards a message whose sender reads a stream, which opens before the turn begins. `None` if
    /// the task is unleased.
    pub(crate) async fn forward_streamed(
        self: &Arc<Self>,
        handle: &Handle,
        turn: &TurnRequest,
    ) -> Result<Option<Forwarded>> {
        let (sender, mut answer) = oneshot::channel();
        let (inner, handle, turn) = (Arc::clone(self), handle.clone(), turn.clone());
        // The stream may be dropped before its turn; the message is handled nevertheless.
        self.tasks.spawn(async move {
            match inner.forward_message(&handle, &turn, false).await {
                // Dropping the sender says that there is no lease.
                Ok(None) => {}
                Ok(Some(begun)) => {
                    let _ = sender.send(Ok(begun));
                }
                Err(error) => {
                    let _ = sender.send(Err(error));
                }
            }
        });
        tokio::select! {
            biased;
            answered = &mut answer => match answered {
                Ok(answered) => answered.map(Forwarded::Begun).map(Some),
                Err(_unleased) => Ok(None),
            },
            () = tokio::time::sleep(OPENING_TIMEOUT) => Ok(Some(Forwarded::Queued(answer))),
        }
    }

    /// Forwards a cancel to the node that holds the task, and waits for its end; `None` if the task
    /// is unleased.
    pub(crate) async fn forward_cancel(
        &self,
        handle: &Handle,
        context: &CallContext,
        request: &CancelTaskRequest,
    ) -> Result<Option<u64>> {
        let context = Context::of(context);
        let body = Body::Cancel { context, metadata: request.metadata.clone() };
        let Some(call) = self.post(handle, &body).await? else { return Ok(None) };
        position(self.wait_for_answer(handle, &call).await?)
    }

    /// Queues a message on this node, which holds the task, through a stored command, so that it
    /// survives this node. `None` if the lease was released in the meantime.
    pub(crate) async fn queue_stored(
        self: &Arc<Self>,
        handle: &Handle,
        turn: &TurnRequest,
    ) -> Result<Option<u64>> {
        let id: Arc<str> = fresh_id().into();
        let body = Body::message(turn, true);
        // Reserves the command, so that reading the commands of the task skips it.
        handle.change(|live| live.commands().take(&id));
        let command = Command { id: Arc::clone(&id), body: encode(&body) };
        let posted = self.store.post_command(&handle.scope, &handle.task_id, command).await;
        if !matches!(posted, Ok(true)) {
            handle.change(|live| live.commands().leave(slice::from_ref(&id)));
            return posted.map(|_| None).map_err(Error::from);
        }
        let turn = TurnRequest { commands: vec![Arc::clone(&id)], ..turn.clone() };
        let ticket = match self.take_here(handle, turn, Sender::Leaves) {
            Ok(ticket) => ticket,
            Err(error)
                if error.kind() != ErrorKind::ResourceExhausted && handle.lock().is_away() =>
            {
                // The lease was lost or released; the next holder handles the message.
                handle.change(|live| {
                    live.commands().leave(&[id]);
                    live.notice_commands();
                });
                return Ok(Some(0));
            }
            Err(error) => {
                handle.answer(&id, refused(&error)).await;
                self.delete_answer(id);
                return Err(error);
            }
        };
        let (inner, handle) = (Arc::clone(self), handle.clone());
        self.tasks.spawn(async move {
            if ticket == 0 {
                // An earlier attempt delivered the same message.
                let (_, last) = handle.lock().visible();
                handle.answer(&id, encode(&Answer::At(last))).await;
            } else {
                handle.wait(|live| live.has_settled_command(&id)).await;
            }
            inner.delete_answer(id);
        });
        Ok(Some(ticket))
    }

    /// Posts a command to the holder of a task; `None` if the task is unleased.
    async fn post(&self, handle: &Handle, body: &Body) -> Result<Option<PendingCall<'_>>> {
        let call = PendingCall::new(&self.cluster.pending_calls);
        let command = Command { id: Arc::clone(&call.id), body: encode(body) };
        let posted = self.store.post_command(&handle.scope, &handle.task_id, command).await;
        if !posted.map_err(Error::from)? {
            return Ok(None);
        }
        // The task may still be waiting for a takeover, or was taken over by this node meanwhile.
        self.cluster.takeover_notify.notify_one();
        handle.change_silently(LiveTask::notice_commands);
        Ok(Some(call))
    }

    async fn wait_for_answer(&self, handle: &Handle, call: &PendingCall<'_>) -> Result<Answer> {
        let mut ended = false;
        loop {
            match self.read_answer(call).await {
                Ok(Some(answer)) => return answer,
                Ok(None) => {}
                Err(error) => {
                    tracing::warn!(error = ?error, "failed to read command answer");
                }
            }
            tokio::select! {
                () = call.answered.notified() => {}
                () = tokio::time::sleep(ANSWER_POLL) => {}
                // The node that ended the task may have failed before it read the command.
                () = handle.wait(|live| live.has_ended().then_some(())), if !ended => {
                    ended = true;
                    handle.change_silently(LiveTask::notice_commands);
                }
            }
        }
    }

    /// Reads the answer to a call, if there is one.
    async fn read_answer(
        &self,
        call: &PendingCall<'_>,
    ) -> Result<Option<Result<Answer>>, StoreError> {
        let answer = self.store.read_answer(&call.id).await?;
        Ok(answer.map(|answer| {
            self.delete_answer(Arc::clone(&call.id));
            serde_json::from_slice(&answer).map_err(Error::internal)
        }))
    }

    /// Deletes an answer that was read; the store would do so later.
    fn delete_answer(&self, id: Arc<str>) {
        let store = Arc::clone(&self.store);
        self.tasks.spawn(async move {
            if let Err(error) = store.delete_answer(&id).await {
                tracing::debug!(error = ?error, "failed to delete command answer");
            }
        });
    }
}

fn position(answer: Answer) -> Result<Option<u64>> {
    match answer {
        Answer::At(position) => Ok(Some(position)),
        Answer::Refused { status, message, details } => {
            Err(Error::from_wire(ErrorKind::from_http(status), message, details))
        }
    }
}
