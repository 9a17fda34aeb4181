//! The agent as this command serves it: behind the bearer check and the faults of its script.

use std::sync::Arc;

use a2a_core::{
    Operation, Request, Result,
    v1::{SendMessageRequest, SendMessageResponse},
};
use a2a_kit_operations::{Agent, AgentMethod, Call, EventStream, Reply, intercept_agent};
use async_trait::async_trait;

use super::bearer::Bearer;
use crate::script::{Fault, Script};

/// An agent that authenticates callers first, and injects the faults of its script.
#[derive(Clone)]
pub(crate) struct Front {
    pub(crate) agent: Arc<dyn Agent>,
    pub(crate) bearer: Option<Bearer>,
    /// The script, if it has faults.
    pub(crate) script: Option<Arc<Script>>,
}

impl Front {
    async fn admit<R: Request>(&self, operation: Operation, mut call: Call<R>) -> Result<Call<R>> {
        if let Some(bearer) = &self.bearer {
            bearer.admit(operation, &mut call.context).await?;
        }
        Ok(call)
    }

    fn fault(&self, call: &Call<SendMessageRequest>) -> Option<&Fault> {
        self.script.as_ref()?.rules.fault(call.request.message.as_ref()?)
    }

    async fn admitted<R: Request, T>(
        &self,
        operation: Operation,
        call: Call<R>,
        method: AgentMethod<R, T>,
    ) -> Result<Reply<T>> {
        let call = self.admit(operation, call).await?;
        method(&*self.agent, call).await
    }
}

#[async_trait]
impl Agent for Front {
    intercept_agent! {
        admitted;
        get_task, list_tasks, cancel_task, subscribe_to_task,
        create_task_push_notification_config, get_task_push_notification_config,
        list_task_push_notification_configs, delete_task_push_notification_config,
        get_extended_agent_card,
    }

    async fn send_message(
        &self,
        call: Call<SendMessageRequest>,
    ) -> Result<Reply<SendMessageResponse>> {
        let call = self.admit(Operation::SendMessage, call).await?;
        self.fault(&call).map(Fault::arm).transpose()?;
        self.agent.send_message(call).await
    }

    async fn send_streaming_message(
        &self,
        call: Call<SendMessageRequest>,
    ) -> Result<Reply<EventStream>> {
        let call = self.admit(Operation::SendStreamingMessage, call).await?;
        let fault = self.fault(&call);
        fault.map(Fault::arm).transpose()?;
        let reply = self.agent.send_streaming_message(call).await?;
        Ok(match fault {
            Some(fault) => reply.map(|events| fault.in_stream(events)),
            None => reply,
        })
    }
}
