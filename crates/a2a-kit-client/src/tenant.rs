//! The tenant of an interface.

use std::sync::Arc;

use a2a_core::{Operation, Request, Result};
use a2a_kit_operations::{Agent, AgentMethod, Call, Reply, intercept_agent};

/// Sets the tenant of every request to that of the interface, exactly as in the card (spec §8.3.2).
pub(crate) struct WithTenant {
    agent: Arc<dyn Agent>,
    tenant: String,
}

impl WithTenant {
    /// Wraps an agent; returns it unchanged if the tenant is empty.
    pub(crate) fn wrap(agent: Arc<dyn Agent>, tenant: &str) -> Arc<dyn Agent> {
        if tenant.is_empty() {
            return agent;
        }
        Arc::new(Self { agent, tenant: tenant.to_owned() })
    }

    async fn intercept<R: Request, T>(
        &self,
        _: Operation,
        mut call: Call<R>,
        next: AgentMethod<R, T>,
    ) -> Result<Reply<T>> {
        call.request.set_tenant(self.tenant.clone());
        next(&*self.agent, call).await
    }
}

impl Agent for WithTenant {
    intercept_agent!(intercept);
}

#[cfg(test)]
mod tests {
    use a2a_core::{
        AgentCard, TaskState,
        v1::{
            GetTaskRequest, ListTaskPushNotificationConfigsResponse, ListTasksResponse,
            SendMessageResponse, TaskPushNotificationConfig,
        },
    };

    use super::*;
    use crate::test_agent::{TestAgent, call_every_operation, snapshot, task};

    //
    #[tokio::test]
    async fn interface_tenant_is_sent_with_every_operation() {
        let inner = TestAgent::new()
            .then(SendMessageResponse::default())
            .then_stream([snapshot(1, task(TaskState::Completed))])
            .then(Arc::new(task(TaskState::Working)))
            .then(ListTasksResponse::default())
            .then(Arc::new(task(TaskState::Canceled)))
            .then_stream([snapshot(1, task(TaskState::Completed))])
            .then(TaskPushNotificationConfig::default())
            .then(TaskPushNotificationConfig::default())
            .then(ListTaskPushNotificationConfigsResponse::default())
            .then(())
            .then(AgentCard::default());
        let agent = WithTenant::wrap(Arc::new(inner.clone()), "acme");
        assert_eq!(call_every_operation(&agent).await, [None; 11]);
        assert_eq!(inner.operations(), Operation::ALL);
        assert!(inner.received().iter().all(|call| call.tenant == "acme"));

        let inner = TestAgent::new().then(Arc::new(task(TaskState::Working)));
        let agent = WithTenant::wrap(Arc::new(inner.clone()), "");
        agent.get_task(Call::new(GetTaskRequest::default())).await.unwrap();
        assert_eq!(inner.received()[0].tenant, "");
    }
}
