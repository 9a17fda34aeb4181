//! Refuses to send a call's credential to an origin that it is not meant for.

use std::sync::Arc;

use a2a_core::{Error, Operation, Request, Result};
use a2a_kit_auth::client::CredentialError;
use a2a_kit_operations::{Agent, AgentMethod, Call, Reply, intercept_agent};

/// Rejects calls that carry a credential, for an interface at an untrusted origin. The call is not
/// sent without the credential either: the agent's rejection would hide the cause.
pub(crate) struct CredentialGuard {
    pub(crate) agent: Arc<dyn Agent>,
    pub(crate) reason: CredentialError,
}

impl CredentialGuard {
    async fn intercept<R: Request, T>(
        &self,
        _: Operation,
        call: Call<R>,
        next: AgentMethod<R, T>,
    ) -> Result<Reply<T>> {
        if call.context.credential.is_some() {
            return Err(self.reason.clone().into());
        }
        next(&*self.agent, call).await
    }
}

impl Agent for CredentialGuard {
    intercept_agent!(intercept);
}

/// Returns whether the guard rejected a call, in which case nothing was sent.
pub(crate) fn was_blocked(error: &Error) -> bool {
    let source = std::error::Error::source(error);
    let reason = source.and_then(|source| source.downcast_ref::<CredentialError>());
    matches!(reason, Some(CredentialError::CrossOrigin { .. }))
}
