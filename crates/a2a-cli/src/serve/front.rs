//! The agent as this command serves it: behind the bearer check and the word `drop`.

use std::sync::Arc;

use a2a_core::{Operation, Request, Result, v1::SendMessageRequest};
use a2a_operations::{Agent, AgentMethod, Call, EventStream, Reply, intercept_agent};
use async_trait::async_trait;

use super::{bearer::Bearer, cut};

/// How many events of a stream pass before `drop` cuts it.
const EVENTS_BEFORE_CUT: usize = 3;

/// An agent that admits callers first, and cuts the streams that ask for it.
#[derive(Clone)]
pub(crate) struct Front {
    pub(crate) agent: Arc<dyn Agent>,
    pub(crate) bearer: Option<Bearer>,
    /// Whether the word `drop` is understood.
    pub(crate) cuts: bool,
}

impl Front {
    async fn admit<R: Request>(&self, operation: Operation, mut call: Call<R>) -> Result<Call<R>> {
        if let Some(bearer) = &self.bearer {
            bearer.admit(operation, &mut call.context).await?;
        }
        Ok(call)
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
        send_message, get_task, list_tasks, cancel_task, subscribe_to_task,
        create_task_push_notification_config, get_task_push_notification_config,
        list_task_push_notification_configs, delete_task_push_notification_config,
        get_extended_agent_card,
    }

    async fn send_streaming_message(
        &self,
        call: Call<SendMessageRequest>,
    ) -> Result<Reply<EventStream>> {
        let call = self.admit(Operation::SendStreamingMessage, call).await?;
        let text = call.request.message.as_ref().map(|message| message.text());
        let first = text.as_deref().and_then(|text| text.split_whitespace().next());
        let is_cut = self.cuts && first == Some("drop");
        let reply = self.agent.send_streaming_message(call).await?;
        Ok(if is_cut { reply.map(|events| cut::after(EVENTS_BEFORE_CUT, events)) } else { reply })
    }
}
