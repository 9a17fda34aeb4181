//! The agent as this command serves it: behind the bearer check.

use std::sync::Arc;

use a2a_core::{Operation, Request, Result};
use a2a_kit_operations::{Agent, AgentMethod, Call, Reply, intercept_agent};

use super::bearer::Bearer;

/// An agent that authenticates callers first.
pub(crate) struct Front {
    pub(crate) agent: Arc<dyn Agent>,
    pub(crate) bearer: Bearer,
}

impl Front {
    async fn admit<R: Request, T: 'static>(
        &self,
        operation: Operation,
        mut call: Call<R>,
        method: AgentMethod<R, T>,
    ) -> Result<Reply<T>> {
        self.bearer.admit(operation, &mut call.context).await?;
        method(&*self.agent, call).await
    }
}

impl Agent for Front {
    intercept_agent!(admit);
}
