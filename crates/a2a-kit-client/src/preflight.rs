//! Checks and completes requests before they are sent.

use std::{
    any::Any,
    sync::{Arc, PoisonError, RwLock},
};

use a2a_core::{
    AgentCard, Error, ErrorKind, Operation, Request, Result, fresh_id, v1::SendMessageRequest,
};
use a2a_kit_operations::{
    Agent, AgentMethod, Call, Reply, extension::IDEMPOTENCY_KEY, intercept_agent,
};

/// The card that a client uses, which an extended card can replace.
pub(crate) type SharedCard = Arc<RwLock<Arc<AgentCard>>>;

/// Rejects operations that the agent's card does not support, and adds an idempotency key to sends
/// if the card declares the extension.
pub(crate) struct Preflight {
    pub(crate) agent: Arc<dyn Agent>,
    pub(crate) card: SharedCard,
}

impl Preflight {
    async fn intercept<R: Request, T>(
        &self,
        operation: Operation,
        mut call: Call<R>,
        next: AgentMethod<R, T>,
    ) -> Result<Reply<T>> {
        let card = self.card.read().unwrap_or_else(PoisonError::into_inner).clone();
        check_capability(&card, operation, &call.request)?;
        if matches!(operation, Operation::SendMessage | Operation::SendStreamingMessage)
            && call.context.idempotency_key.is_none()
            && card.extensions().iter().any(|extension| extension.uri == IDEMPOTENCY_KEY)
        {
            call.context.idempotency_key = Some(fresh_id());
        }
        next(&*self.agent, call).await
    }
}

impl Agent for Preflight {
    intercept_agent!(intercept);
}

/// Rejects unsupported operations without calling the agent (spec §3.3.4).
fn check_capability(card: &AgentCard, operation: Operation, request: &dyn Any) -> Result<()> {
    let push = || {
        if card.can_push() {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::PushNotificationNotSupported,
            "agent card does not declare push notifications",
        ))
    };
    match operation {
        Operation::SendStreamingMessage | Operation::SubscribeToTask if !card.can_stream() => {
            Err(Error::unsupported("agent card does not declare streaming"))
        }
        Operation::SendMessage | Operation::SendStreamingMessage => {
            let send = request.downcast_ref::<SendMessageRequest>();
            let configuration = send.and_then(|send| send.configuration.as_ref());
            match configuration.map(|configuration| &configuration.task_push_notification_config) {
                Some(Some(_)) => push(),
                _ => Ok(()),
            }
        }
        Operation::CreateTaskPushNotificationConfig
        | Operation::GetTaskPushNotificationConfig
        | Operation::ListTaskPushNotificationConfigs
        | Operation::DeleteTaskPushNotificationConfig => push(),
        Operation::GetExtendedAgentCard if !card.has_extended_card() => {
            Err(Error::unsupported("agent card does not declare an extended card"))
        }
        Operation::GetTask
        | Operation::ListTasks
        | Operation::CancelTask
        | Operation::SubscribeToTask
        | Operation::GetExtendedAgentCard => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use a2a_core::{
        Message, TaskState,
        v1::{
            AgentExtension, GetTaskRequest, ListTasksResponse, SendMessageConfiguration,
            SendMessageResponse, TaskPushNotificationConfig,
        },
    };

    use super::*;
    use crate::test_agent::{TestAgent, call_every_operation, task};

    fn preflight(inner: &TestAgent, card: AgentCard) -> Preflight {
        Preflight { agent: Arc::new(inner.clone()), card: Arc::new(RwLock::new(Arc::new(card))) }
    }

    //
    #[tokio::test]
    async fn unsupported_operation_is_rejected_without_a_call() {
        let inner = TestAgent::new()
            .then(SendMessageResponse::default())
            .then(Arc::new(task(TaskState::Working)))
            .then(ListTasksResponse::default())
            .then(Arc::new(task(TaskState::Canceled)));
        let card = AgentCard::new("a", "b").with_streaming(false);
        let unsupported = Some(ErrorKind::UnsupportedOperation);
        let no_push = Some(ErrorKind::PushNotificationNotSupported);
        assert_eq!(
            call_every_operation(&preflight(&inner, card)).await,
            [
                None,
                unsupported,
                None,
                None,
                None,
                unsupported,
                no_push,
                no_push,
                no_push,
                no_push,
                unsupported
            ]
        );
        assert_eq!(inner.received().len(), 4);
    }

    #[tokio::test]
    async fn send_with_webhook_is_rejected_if_card_declares_no_push() {
        let inner = TestAgent::new().then(SendMessageResponse::default());
        let request = SendMessageRequest {
            message: Some(Message::user("go")),
            configuration: Some(SendMessageConfiguration {
                task_push_notification_config: Some(TaskPushNotificationConfig::default()),
                ..SendMessageConfiguration::default()
            }),
            ..SendMessageRequest::default()
        };
        let card = AgentCard::new("a", "b");
        let agent = preflight(&inner, card.clone());
        let error = agent.send_message(Call::new(request.clone())).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PushNotificationNotSupported);
        let agent = preflight(&inner, card.with_push_notifications(true));
        agent.send_message(Call::new(request)).await.unwrap();
    }

    #[tokio::test]
    async fn sends_get_unique_idempotency_keys_if_card_declares_extension() {
        let inner = TestAgent::new()
            .then(SendMessageResponse::default())
            .then(SendMessageResponse::default())
            .then(Arc::new(task(TaskState::Working)))
            .then(SendMessageResponse::default());
        let extension = AgentExtension::new(IDEMPOTENCY_KEY, "deduplicates retried sends");
        let agent = preflight(&inner, AgentCard::new("a", "b").with_extension(extension));
        for _ in 0..2 {
            agent.send_message(Call::new(SendMessageRequest::default())).await.unwrap();
        }
        agent.get_task(Call::new(GetTaskRequest::default())).await.unwrap();
        let agent = preflight(&inner, AgentCard::new("a", "b"));
        agent.send_message(Call::new(SendMessageRequest::default())).await.unwrap();
        let received = inner.received();
        let keys: Vec<_> = received.iter().map(|call| &call.context.idempotency_key).collect();
        assert!(keys[0].is_some() && keys[1].is_some() && keys[0] != keys[1]);
        assert!(keys[2].is_none() && keys[3].is_none());
    }
}
