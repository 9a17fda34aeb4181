//! Calls whose credential would leave the origin that it is for.

use std::{future::Future, sync::Arc};

use a2a_auth::client::CredentialError;
use a2a_core::{Error, Operation, Request, Result};
use a2a_operations::{Agent, Call, Reply};

use crate::wrap::wrap_agent;

/// An agent at an interface that no credentials may be sent to: a call that brings one is refused
/// here. It is not made without, as the refusal of the agent would tell nobody why.
pub(crate) struct KeptBack {
    agent: Arc<dyn Agent>,
    why: CredentialError,
}

impl KeptBack {
    pub(crate) fn new(agent: Arc<dyn Agent>, why: CredentialError) -> Self {
        Self { agent, why }
    }

    async fn through<R, T, F>(
        &self,
        _: Operation,
        call: Call<R>,
        go: impl Fn(Arc<dyn Agent>, Call<R>) -> F + Send + Sync,
    ) -> Result<Reply<T>>
    where
        R: Request + Clone,
        F: Future<Output = Result<Reply<T>>> + Send,
    {
        if call.context.credential.is_some() {
            return Err(self.why.clone().into());
        }
        go(self.agent.clone(), call).await
    }
}

wrap_agent!(KeptBack);

/// Returns whether a call was refused here for its credential: nothing of it was sent.
pub(crate) fn was_kept_back(error: &Error) -> bool {
    let source = std::error::Error::source(error);
    let why = source.and_then(|source| source.downcast_ref::<CredentialError>());
    matches!(why, Some(CredentialError::Elsewhere { .. }))
}
