//! The ids that clients of 0.1 choose for their tasks, which the agent knows by others.

use std::time::Duration;

use a2a_core::{Error, ProtocolVersion, Result};
use a2a_operations::{Agent, CallContext, Scope};
use tokio::time::{Instant, timeout};

use super::{FrontOptions, patience::find_task};
use crate::{
    AnyRequest,
    origin::{Claim, Claimed, MessageKey, Unresolved},
    v0_1::{message_of, with_task_id},
};

/// Longest id that a client may choose, in bytes: many of them are kept.
const MAX_CHOSEN_ID: usize = 1 << 10;

/// The first and the longest time between two looks for the task of a send that is underway.
const LOOK_AGAIN: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));

/// Translates the ids that one caller chose.
pub(super) struct Aliases<'a> {
    pub(super) agent: &'a dyn Agent,
    pub(super) context: &'a CallContext,
    pub(super) scope: &'a Scope,
    pub(super) options: &'a FrontOptions,
}

impl Aliases<'_> {
    /// Replaces the id that the client chose by the one that the agent knows. A send under a new
    /// id makes a task, and has the claim to that id.
    ///
    /// # Errors
    ///
    /// [`InvalidParams`](a2a_core::ErrorKind::InvalidParams) for an id that is too long, and
    /// [`Unavailable`](a2a_core::ErrorKind::Unavailable) where another send under the id has made
    /// no task for too long.
    pub(super) async fn resolve(
        &self,
        id: &str,
        mut request: AnyRequest,
    ) -> Result<(AnyRequest, Option<Claimed>)> {
        if id.len() > MAX_CHOSEN_ID {
            let why = format!("must have at most {MAX_CHOSEN_ID} bytes");
            return Err(Error::invalid_params("id", why));
        }
        let Some(message) = message_of(&mut request) else {
            return Ok((self.of_existing(id, request).await, None));
        };
        let mut key = MessageKey {
            context_id: message.context_id.clone(),
            message_id: message.message_id.clone(),
        };
        // The conversation is what a task that is not known yet is found by.
        if key.context_id.is_empty() {
            key.context_id = a2a_core::fresh_id();
        }
        let patience = self.options.patience;
        let begun = Instant::now();
        let mut pause = LOOK_AGAIN.0;
        loop {
            match self.options.origins.claim(self.scope, id, ProtocolVersion::V0_1, &key) {
                Claim::Known(origin) => {
                    return Ok((with_task_id(request, &origin.task_id), None));
                }
                Claim::New(claimed) => {
                    if let Some(message) = message_of(&mut request) {
                        message.context_id = key.context_id;
                    }
                    return Ok((with_task_id(request, ""), Some(claimed)));
                }
                Claim::Unresolved(mut other) => {
                    if self.find(id, &other).await.is_some() {
                        continue;
                    }
                    if !other.is_underway() {
                        self.options.origins.abandon(self.scope, id, &other);
                        continue;
                    }
                    if begun.elapsed() >= patience {
                        let message = format!("another request for task {id:?} is still starting");
                        return Err(Error::unavailable(message));
                    }
                    // It ends earlier where the other send does.
                    let _ = timeout(pause, other.over()).await;
                    pause = LOOK_AGAIN.1.min(pause * 2);
                }
            }
        }
    }

    /// Replaces the id in a request for a task that exists, or may exist.
    async fn of_existing(&self, id: &str, request: AnyRequest) -> AnyRequest {
        let origins = &self.options.origins;
        let task_id = match origins.find(self.scope, id) {
            Some(origin) => Some(origin.task_id),
            None => match origins.unresolved(self.scope, id) {
                Some(unresolved) => self.find(id, &unresolved).await,
                None => None,
            },
        };
        match task_id {
            Some(task_id) => with_task_id(request, &task_id),
            None => request,
        }
    }

    /// Finds the task of a send that has not been answered, and remembers it.
    async fn find(&self, id: &str, send: &Unresolved) -> Option<String> {
        let context = self.context.clone();
        match find_task(self.agent, context, &send.key.context_id, &send.key.message_id).await {
            Ok(task_id) => {
                let task_id = task_id?;
                self.options.origins.remember(self.scope, id, send.revision, &task_id);
                Some(task_id)
            }
            Err(error) => {
                tracing::debug!(%error, "failed to look for the task of a send");
                None
            }
        }
    }
}
