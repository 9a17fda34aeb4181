//! Idempotency keys of messages.

use std::{hash::Hasher as _, sync::Arc, time::Duration};

use a2a_core::{Error, ErrorKind, Message, Result, v1::SendMessageRequest};
use prost::Message as _;
use siphasher::sip::SipHasher13;

use crate::{
    CallContext, Scope,
    engine::{Inner, operations::response::Accepted, runtime::Handle},
    store::{Claim, StoreError},
};

/// How long another node may take to store a visible task.
const REMOTE_STORE_DELAY: Duration = Duration::from_millis(500);

/// How often a message may take over its idempotency key before it is rejected; each takeover means
/// a concurrent send.
const MAX_KEY_TAKEOVERS: usize = 8;

/// The state of an idempotency key for an attempt.
pub(super) enum KeyClaim {
    /// This attempt has claimed it.
    New,
    /// An earlier attempt at the same message has, and its task exists.
    Known(Handle),
}

/// Returns whether an error means that the message was refused. After any other one, it may have
/// been stored.
pub(super) fn is_definite(error: &Error) -> bool {
    !matches!(
        error.kind(),
        ErrorKind::Unavailable | ErrorKind::DeadlineExceeded | ErrorKind::Internal
    )
}

impl Inner {
    /// The key of a message, with a prefix for its kind.
    pub(super) fn key_of(&self, context: &CallContext, message: &Message) -> Option<String> {
        let by_message =
            || self.config.dedupe_by_message_id.then(|| format!("message:{}", message.message_id));
        context.idempotency_key.as_ref().map(|key| format!("key:{key}")).or_else(by_message)
    }

    /// Claims an idempotency key, or finds the task of an earlier attempt with it.
    pub(super) async fn claim(
        self: &Arc<Self>,
        scope: &Scope,
        key: &str,
        fingerprint: u64,
        task_id: &str,
    ) -> Result<KeyClaim> {
        let mut claim = self.store.claim_key(scope, key, fingerprint, task_id).await;
        for _ in 0..MAX_KEY_TAKEOVERS {
            let known = match claim.map_err(Error::from)? {
                Claim::New => return Ok(KeyClaim::New),
                Claim::Known { fingerprint: known, .. } if known != fingerprint => {
                    return Err(Error::invalid_params(
                        "",
                        "the idempotency key was used for a different message",
                    ));
                }
                Claim::Known { task_id, .. } => task_id,
            };
            if let Some(handle) = self.find_in_time(scope, &known).await? {
                return Ok(KeyClaim::Known(handle));
            }
            // The first attempt left no task: it was answered with a message, or its node failed.
            // Start over; should that node resume, it cannot store its task under the key.
            claim = self.store.take_over_key(scope, key, fingerprint, &known, task_id).await;
        }
        Err(Error::unavailable("too many concurrent sends with this idempotency key; retry later"))
    }

    /// Finds a task that another node may be about to store.
    async fn find_in_time(self: &Arc<Self>, scope: &Scope, id: &str) -> Result<Option<Handle>> {
        let found = self.find_or_load(scope, id).await?;
        if found.is_some() || !self.cluster.is_shared {
            return Ok(found);
        }
        tokio::time::sleep(self.config.submitted_after + REMOTE_STORE_DELAY).await;
        self.find_or_load(scope, id).await
    }

    /// Joins the task that took over the idempotency key.
    pub(crate) async fn follow_key(
        self: &Arc<Self>,
        scope: &Scope,
        task_id: &str,
    ) -> Result<Accepted> {
        let found = self.find_in_time(scope, task_id).await?;
        let handle = found
            .ok_or_else(|| Error::from(StoreError::Claimed { task_id: task_id.to_owned() }))?;
        Ok(Accepted::here(handle, 0))
    }
}

/// A hash of a request, which distinguishes a retry from another request under the same key.
pub(super) fn fingerprint(request: &SendMessageRequest) -> u64 {
    // Stored, so it must not depend on the version of this crate or of the compiler.
    let mut hasher = SipHasher13::new();
    hasher.write(&request.encode_to_vec());
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_fingerprint_is_stable() {
        let message = Message { message_id: "1".to_owned(), ..Message::user("hello") };
        let request = SendMessageRequest { message: Some(message), ..Default::default() };
        assert_eq!(fingerprint(&request), 13_274_202_233_751_590_019);
    }
}
