//! Task ids of 0.1, which clients choose and which map to the agent's task ids.

use std::time::Duration;

use a2a_core::{Error, ProtocolVersion, Result};
use a2a_kit_operations::{Agent, CallContext, Scope};
use tokio::time::{Instant, timeout};

use super::{options::ServerOptions, send_timeout::find_task};
use crate::{
    AnyRequest,
    task_revision::{Claim, Claimed, MessageKey, Unresolved},
};

/// Longest id that a client may choose, in bytes.
const MAX_ID_BYTES: usize = 1 << 10;

/// First and longest interval of polling for the task of a send in progress.
const POLL_INTERVAL: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));

/// Resolves the task ids that one caller chose.
pub(super) struct Aliases<'a> {
    pub(super) agent: &'a dyn Agent,
    pub(super) context: &'a CallContext,
    pub(super) scope: &'a Scope,
    pub(super) options: &'a ServerOptions,
}

impl Aliases<'_> {
    /// Replaces the id that the client chose by the agent's task id. A send with a new id creates a
    /// task, and claims the id.
    ///
    /// # Errors
    ///
    /// [`InvalidParams`](a2a_core::ErrorKind::InvalidParams) for an id that is too long;
    /// [`Unavailable`](a2a_core::ErrorKind::Unavailable) if another send with the id created no
    /// task within the timeout.
    pub(super) async fn resolve(
        &self,
        id: &str,
        mut request: AnyRequest,
    ) -> Result<(AnyRequest, Option<Claimed>)> {
        if id.len() > MAX_ID_BYTES {
            let why = format!("must have at most {MAX_ID_BYTES} bytes");
            return Err(Error::invalid_params("id", why));
        }
        let Some(message) = request.message_mut() else {
            return Ok((self.resolve_existing(id, request).await, None));
        };
        let mut key = MessageKey {
            context_id: message.context_id.clone(),
            message_id: message.message_id.clone(),
        };
        // A task whose id is not known yet is searched for by its context.
        if key.context_id.is_empty() {
            key.context_id = a2a_core::fresh_id();
        }
        let max_wait = self.options.legacy_send_timeout;
        let started = Instant::now();
        let mut interval = POLL_INTERVAL.0;
        loop {
            match self.options.task_revisions.claim(self.scope, id, ProtocolVersion::V0_1, &key) {
                Claim::Known(origin) => {
                    return Ok((request.with_task_id(&origin.task_id), None));
                }
                Claim::New(claimed) => {
                    if let Some(message) = request.message_mut() {
                        message.context_id = key.context_id;
                    }
                    return Ok((request.with_task_id(""), Some(claimed)));
                }
                Claim::Unresolved(mut other) => {
                    if self.find(id, &other).await.is_some() {
                        continue;
                    }
                    if !other.is_in_progress() {
                        self.options.task_revisions.abandon(self.scope, id, &other);
                        continue;
                    }
                    if started.elapsed() >= max_wait {
                        let message = format!("another request is still creating task {id:?}");
                        return Err(Error::unavailable(message));
                    }
                    // Ends early if the other send finishes.
                    let _ = timeout(interval, other.finished()).await;
                    interval = POLL_INTERVAL.1.min(interval * 2);
                }
            }
        }
    }

    /// Replaces the id in a request for a task that may exist.
    async fn resolve_existing(&self, id: &str, request: AnyRequest) -> AnyRequest {
        let origins = &self.options.task_revisions;
        let task_id = match origins.find(self.scope, id) {
            Some(origin) => Some(origin.task_id),
            None => match origins.unresolved(self.scope, id) {
                Some(unresolved) => self.find(id, &unresolved).await,
                None => None,
            },
        };
        match task_id {
            Some(task_id) => request.with_task_id(&task_id),
            None => request,
        }
    }

    /// Finds and records the task of a send that has not returned.
    async fn find(&self, id: &str, send: &Unresolved) -> Option<String> {
        let context = self.context.clone();
        match find_task(self.agent, context, &send.key.context_id, &send.key.message_id).await {
            Ok(task_id) => {
                let task_id = task_id?;
                self.options.task_revisions.insert(self.scope, id, send.revision, &task_id);
                Some(task_id)
            }
            Err(error) => {
                tracing::debug!(%error, "failed to find the task of a send");
                None
            }
        }
    }
}
