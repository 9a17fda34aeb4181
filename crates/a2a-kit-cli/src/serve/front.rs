//! The agent as this command serves it: behind the bearer check and the faults of its script.

use std::sync::Arc;

use a2a_core::{
    Message, Operation, Request, Result,
    v1::{SendMessageRequest, SendMessageResponse, SubscribeToTaskRequest},
};
use a2a_kit_operations::{Agent, AgentMethod, Call, EventStream, Reply, intercept_agent};

use super::bearer::Bearer;
use crate::script::{Fault, Script, Target};

/// An agent that authenticates callers first, and injects the faults of its script.
#[derive(Clone)]
pub(crate) struct Front {
    pub(crate) agent: Arc<dyn Agent>,
    pub(crate) bearer: Option<Bearer>,
    /// The script, if it has faults.
    pub(crate) script: Option<Arc<Script>>,
}

impl Front {
    /// Authenticates the caller, and arms the fault of the response: that of the schedule of the
    /// script, or that of the rule for the message.
    async fn admit<R: Request>(
        &self,
        operation: Operation,
        call: &mut Call<R>,
        message: impl FnOnce(&R) -> Option<&Message>,
    ) -> Result<Option<&Fault>> {
        if let Some(bearer) = &self.bearer {
            bearer.admit(operation, &mut call.context).await?;
        }
        let Some(script) = &self.script else { return Ok(None) };
        let scheduled = script.schedule.due(Target::Operation(operation));
        let fault = scheduled.or_else(|| script.rules.fault(message(&call.request)?));
        if let Some(fault) = fault {
            fault.arm().await?;
        }
        Ok(fault)
    }

    async fn unary<R: Request, T>(
        &self,
        operation: Operation,
        mut call: Call<R>,
        method: AgentMethod<R, T>,
    ) -> Result<Reply<T>> {
        self.admit(operation, &mut call, |_| None).await?;
        method(&*self.agent, call).await
    }

    async fn send(
        &self,
        operation: Operation,
        mut call: Call<SendMessageRequest>,
        method: AgentMethod<SendMessageRequest, SendMessageResponse>,
    ) -> Result<Reply<SendMessageResponse>> {
        self.admit(operation, &mut call, |request| request.message.as_ref()).await?;
        method(&*self.agent, call).await
    }

    async fn send_streaming(
        &self,
        operation: Operation,
        mut call: Call<SendMessageRequest>,
        method: AgentMethod<SendMessageRequest, EventStream>,
    ) -> Result<Reply<EventStream>> {
        let fault = self.admit(operation, &mut call, |request| request.message.as_ref()).await?;
        Ok(faulty(method(&*self.agent, call).await?, fault))
    }

    async fn subscribe(
        &self,
        operation: Operation,
        mut call: Call<SubscribeToTaskRequest>,
        method: AgentMethod<SubscribeToTaskRequest, EventStream>,
    ) -> Result<Reply<EventStream>> {
        let fault = self.admit(operation, &mut call, |_| None).await?;
        Ok(faulty(method(&*self.agent, call).await?, fault))
    }
}

fn faulty(reply: Reply<EventStream>, fault: Option<&Fault>) -> Reply<EventStream> {
    match fault {
        Some(fault) => reply.map(|events| fault.in_stream(events)),
        None => reply,
    }
}

impl Agent for Front {
    intercept_agent! { send; send_message }
    intercept_agent! { send_streaming; send_streaming_message }
    intercept_agent! { subscribe; subscribe_to_task }
    intercept_agent! {
        unary;
        get_task, list_tasks, cancel_task,
        create_task_push_notification_config, get_task_push_notification_config,
        list_task_push_notification_configs, delete_task_push_notification_config,
        get_extended_agent_card,
    }
}
