//! The extended card, with the served interfaces.

use std::sync::Arc;

use a2a_core::{
    Result,
    v1::{AgentCard, AgentInterface, GetExtendedAgentCardRequest},
};
use a2a_kit_operations::{Agent, Call, CardSigner, Reply, forward_agent};
use async_trait::async_trait;

/// Adds the interfaces of the public card to an extended card without interfaces, and signs it if
/// the public card is signed.
pub(crate) struct Extended {
    agent: Arc<dyn Agent>,
    interfaces: Vec<AgentInterface>,
    signer: Option<Arc<dyn CardSigner>>,
}

impl Extended {
    pub(crate) fn new(
        agent: Arc<dyn Agent>,
        interfaces: Vec<AgentInterface>,
        signer: Option<Arc<dyn CardSigner>>,
    ) -> Self {
        Self { agent, interfaces, signer }
    }
}

#[async_trait]
impl Agent for Extended {
    async fn get_extended_agent_card(
        &self,
        call: Call<GetExtendedAgentCardRequest>,
    ) -> Result<Reply<AgentCard>> {
        let mut reply = self.agent.get_extended_agent_card(call).await?;
        if reply.response.supported_interfaces.is_empty() {
            reply.response.supported_interfaces.clone_from(&self.interfaces);
        }
        if let Some(signer) = &self.signer {
            reply.response = signer.sign(reply.response)?;
        }
        Ok(reply)
    }

    forward_agent! {
        this => this.agent;
        send_message, send_streaming_message, get_task, list_tasks, cancel_task,
        subscribe_to_task, create_task_push_notification_config,
        get_task_push_notification_config, list_task_push_notification_configs,
        delete_task_push_notification_config,
    }
}
