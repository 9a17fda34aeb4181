//! Commands of other nodes to the node that holds a task.

use std::{slice, sync::Arc, time::Duration};

use a2a_core::{Error, ErrorKind, Result, well_known::Struct};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::{
    engine::{
        runtime::Handle,
        task::{Answer, Checkpoint, Context, Sender, TurnRequest, encode},
    },
    store::Command,
};

/// The delay between attempts to answer a command.
const ANSWER_PAUSE: Duration = Duration::from_millis(200);

/// What a command asks for.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Body {
    Message {
        turn: Box<Checkpoint>,
        return_immediately: bool,
    },
    Cancel {
        context: Context,
        metadata: Option<Struct>,
    },
    /// Asks whether the message of an earlier command is accepted, which may wait for its turn.
    Accepted {
        command: String,
    },
}

impl Body {
    pub(super) fn message(turn: &TurnRequest, return_immediately: bool) -> Self {
        let turn = Checkpoint::of(turn, Some((*turn.message).clone()));
        Self::Message { turn: Box::new(turn), return_immediately }
    }
}

/// The messages among these commands whose senders do not wait: their acceptance may have been
/// acknowledged.
pub(super) fn acknowledged(commands: &[Command]) -> Vec<TurnRequest> {
    let turn = |Command { id, body }: &Command| match serde_json::from_slice(body) {
        Ok(Body::Message { turn, return_immediately: true }) => message_turn(id, *turn).ok(),
        _ => None,
    };
    commands.iter().filter_map(turn).collect()
}

fn message_turn(id: &Arc<str>, mut turn: Checkpoint) -> Result<TurnRequest> {
    let message = turn.message.take().ok_or_else(|| Error::internal("command has no message"))?;
    let mut turn = turn.into_turn(message);
    turn.commands = vec![Arc::clone(id)];
    Ok(turn)
}

impl Handle {
    /// Handles commands that were read from the store under this generation. Senders of messages
    /// to an earlier holder `have_left`, unless they wait for a turn.
    pub(super) async fn execute(&self, commands: Vec<Command>, generation: u64, have_left: bool) {
        let sender = if have_left { Sender::HasLeft } else { Sender::Leaves };
        let mut left = Vec::new();
        for Command { id, body } in commands {
            let body = serde_json::from_slice(&body);
            let cancels = matches!(body, Ok(Body::Cancel { .. }));
            let is_left = matches!(&body, Ok(Body::Accepted { command }) if left.contains(command));
            if is_left || !self.change(|live| live.take_command(generation, &id, cancels)) {
                if self.lock().has_settled_command(&id).is_some() {
                    left.push((*id).to_owned());
                }
                continue;
            }
            if let Err(error) = self.execute_one(&id, body, sender).await {
                // An idle task is released after a rejection, which is still the answer.
                let is_refusal = error.kind() == ErrorKind::ResourceExhausted;
                if !is_refusal && self.lock().is_away() {
                    // The lease was lost; the command is for the next holder.
                    self.change(|live| live.commands().leave(slice::from_ref(&id)));
                } else {
                    self.answer(&id, refused(&error)).await;
                }
            }
        }
    }

    async fn execute_one(
        &self,
        id: &Arc<str>,
        body: serde_json::Result<Body>,
        sender: Sender,
    ) -> Result<()> {
        match body.map_err(Error::internal)? {
            Body::Message { turn, return_immediately } => {
                let turn = message_turn(id, *turn)?;
                let sender = if return_immediately { sender } else { Sender::Waits };
                if self.inner.take_here(self, turn, sender)? == 0 {
                    // An earlier attempt delivered the same message.
                    let (_, last) = self.lock().visible();
                    self.answer(id, encode(&Answer::At(last))).await;
                }
            }
            Body::Cancel { context, metadata } => {
                self.inner.cancel_here(self, Arc::new(context.read()), metadata, Some(id))?;
            }
            // Refusals were answered before.
            Body::Accepted { .. } => {
                let (_, last) = self.lock().visible();
                self.answer(id, encode(&Answer::At(last))).await;
            }
        }
        Ok(())
    }

    /// Answers a command in the store: its caller is waiting, and no other node would.
    pub(crate) async fn answer(&self, id: &Arc<str>, body: Bytes) {
        let inner = &self.inner;
        let deadline = Instant::now() + inner.config.store_retry_timeout;
        while let Err(error) = inner.store.answer_command(id, body.clone()).await {
            tracing::warn!(error = ?error, "failed to answer command");
            if Instant::now() >= deadline {
                break;
            }
            tokio::time::sleep(ANSWER_PAUSE).await;
        }
        self.change(|live| live.commands().finish(id));
        inner.cluster.pending_calls.wake(id);
    }
}

/// The answer to a command that is refused.
pub(super) fn refused(error: &Error) -> Bytes {
    encode(&Answer::Refused {
        status: error.kind().codes().http,
        message: error.message().to_owned(),
        details: error.details(),
    })
}
