//! Calls that authenticate as the agent's card asks for.

use std::{future::Future, sync::Arc};

use a2a_auth::client::AgentCredentials;
use a2a_core::{ErrorKind, Operation, Request, Result};
use a2a_operations::{Agent, Call, Reply};

use crate::wrap::wrap_agent;

/// An agent whose calls carry credentials. One that is refused is made once more, with fresh ones
/// where there are any: what was refused has done nothing.
///
/// A call that brings a credential of its own goes out with that and nothing else.
pub(crate) struct Authenticated {
    agent: Arc<dyn Agent>,
    credentials: AgentCredentials,
}

impl Authenticated {
    /// Wraps an agent; without anything to send it stays as it is.
    pub(crate) fn wrap(agent: Arc<dyn Agent>, credentials: AgentCredentials) -> Arc<dyn Agent> {
        if credentials.is_empty() {
            return agent;
        }
        Arc::new(Self { agent, credentials })
    }

    async fn through<R, T, F>(
        &self,
        operation: Operation,
        mut call: Call<R>,
        go: impl Fn(Arc<dyn Agent>, Call<R>) -> F + Send + Sync,
    ) -> Result<Reply<T>>
    where
        R: Request + Clone,
        F: Future<Output = Result<Reply<T>>> + Send,
    {
        if call.context.credential.is_some() {
            return go(self.agent.clone(), call).await;
        }
        let credential = self.credentials.credential().await?;
        call.context.credential = Some(credential.clone());
        let refused = match go(self.agent.clone(), call.clone()).await {
            Err(error) if error.kind() == ErrorKind::Unauthenticated => error,
            answer => return answer,
        };
        match self.credentials.renewed(&credential).await {
            Ok(renewed) if renewed != credential => {
                tracing::debug!(operation = operation.name(), "refused, and made again");
                call.context.credential = Some(renewed);
                go(self.agent.clone(), call).await
            }
            Ok(_) => Err(refused),
            Err(error) => {
                tracing::warn!(%error, "refused credentials could not be renewed");
                Err(refused)
            }
        }
    }
}

wrap_agent!(Authenticated);
