//! Authentication of calls, and one retry with renewed credentials.

use std::sync::Arc;

use a2a_core::{ErrorKind, Operation, Request, Result};
use a2a_kit_auth::client::AgentCredentials;
use a2a_kit_operations::{Agent, AgentMethod, Call, Reply, intercept_agent};

/// Adds credentials to every call to an agent. A call that fails as unauthenticated is retried once
/// if the credentials can be renewed: a rejected call had no effect.
///
/// A call with its own credential is sent with that credential only.
pub(crate) struct Authenticated {
    agent: Arc<dyn Agent>,
    credentials: AgentCredentials,
}

impl Authenticated {
    /// Wraps an agent; returns it unchanged if there are no credentials to send.
    pub(crate) fn wrap(agent: Arc<dyn Agent>, credentials: AgentCredentials) -> Arc<dyn Agent> {
        if credentials.is_empty() {
            return agent;
        }
        Arc::new(Self { agent, credentials })
    }

    async fn intercept<R: Request, T>(
        &self,
        operation: Operation,
        mut call: Call<R>,
        next: AgentMethod<R, T>,
    ) -> Result<Reply<T>> {
        if call.context.credential.is_some() {
            return next(&*self.agent, call).await;
        }
        let credential = self.credentials.credential().await?;
        call.context.credential = Some(credential.clone());
        let rejected = match next(&*self.agent, call.clone()).await {
            Err(error) if error.kind() == ErrorKind::Unauthenticated => error,
            result => return result,
        };
        match self.credentials.renewed(&credential).await {
            Ok(renewed) if renewed != credential => {
                tracing::debug!(operation = operation.name(), "retrying with renewed credentials");
                call.context.credential = Some(renewed);
                next(&*self.agent, call).await
            }
            Ok(_) => Err(rejected),
            Err(error) => {
                tracing::warn!(%error, "failed to renew rejected credentials");
                Err(rejected)
            }
        }
    }
}

impl Agent for Authenticated {
    intercept_agent!(intercept);
}
