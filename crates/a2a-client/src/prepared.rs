//! What is done to every request before it goes out.

use std::{
    any::Any,
    future::Future,
    sync::{Arc, PoisonError, RwLock},
};

use a2a_core::{
    AgentCard, Error, ErrorKind, Operation, Request, Result, fresh_id, v1::SendMessageRequest,
};
use a2a_operations::{Agent, Call, Reply, extension::IDEMPOTENCY_KEY};

use crate::wrap::wrap_agent;

/// The card that a client goes by, which an extended card can replace.
pub(crate) type SharedCard = Arc<RwLock<Arc<AgentCard>>>;

/// An agent of which nothing is asked that its card rules out, and whose sends can be repeated
/// where its card says so.
pub(crate) struct Prepared {
    agent: Arc<dyn Agent>,
    card: SharedCard,
}

impl Prepared {
    pub(crate) fn new(agent: Arc<dyn Agent>, card: SharedCard) -> Self {
        Self { agent, card }
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
        let card = self.card.read().unwrap_or_else(PoisonError::into_inner).clone();
        check_capability(&card, operation, &call.request)?;
        if matches!(operation, Operation::SendMessage | Operation::SendStreamingMessage)
            && call.context.idempotency_key.is_none()
            && card.extensions().iter().any(|extension| extension.uri == IDEMPOTENCY_KEY)
        {
            call.context.idempotency_key = Some(fresh_id());
        }
        go(self.agent.clone(), call).await
    }
}

wrap_agent!(Prepared);

/// Refuses what the card rules out, without asking the agent (spec §3.3.4).
fn check_capability(card: &AgentCard, operation: Operation, request: &dyn Any) -> Result<()> {
    let push = || {
        if card.can_push() {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::PushNotificationNotSupported,
            "the agent card declares no push notifications",
        ))
    };
    match operation {
        Operation::SendStreamingMessage | Operation::SubscribeToTask if !card.can_stream() => {
            Err(Error::unsupported("the agent card declares no streaming"))
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
            Err(Error::unsupported("the agent card declares no extended card"))
        }
        Operation::GetTask
        | Operation::ListTasks
        | Operation::CancelTask
        | Operation::SubscribeToTask
        | Operation::GetExtendedAgentCard => Ok(()),
    }
}

/// An agent behind an interface that names a tenant: the tenant goes with every request, exactly
/// as the card has it (spec §8.3.2).
pub(crate) struct Tenanted {
    agent: Arc<dyn Agent>,
    tenant: String,
}

impl Tenanted {
    /// Wraps an agent; an empty tenant is none.
    pub(crate) fn wrap(agent: Arc<dyn Agent>, tenant: &str) -> Arc<dyn Agent> {
        if tenant.is_empty() {
            return agent;
        }
        Arc::new(Self { agent, tenant: tenant.to_owned() })
    }

    async fn through<R, T, F>(
        &self,
        _: Operation,
        mut call: Call<R>,
        go: impl Fn(Arc<dyn Agent>, Call<R>) -> F + Send + Sync,
    ) -> Result<Reply<T>>
    where
        R: Request + Clone,
        F: Future<Output = Result<Reply<T>>> + Send,
    {
        call.request.set_tenant(self.tenant.clone());
        go(self.agent.clone(), call).await
    }
}

wrap_agent!(Tenanted);

#[cfg(test)]
mod tests {
    use a2a_core::{
        Message, TaskState,
        v1::{
            AgentExtension, CancelTaskRequest, DeleteTaskPushNotificationConfigRequest,
            GetExtendedAgentCardRequest, GetTaskPushNotificationConfigRequest, GetTaskRequest,
            ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
            ListTasksRequest, ListTasksResponse, SendMessageConfiguration, SendMessageResponse,
            SubscribeToTaskRequest, TaskPushNotificationConfig,
        },
    };

    use super::*;
    use crate::{
        client::shared,
        script::{Script, snapshot, task},
    };

    fn prepared(script: &Script, card: AgentCard) -> Prepared {
        Prepared::new(Arc::new(script.clone()), shared(Arc::new(card)))
    }

    /// Makes one call of each operation and returns the kinds of the failures.
    async fn call_everything(agent: &dyn Agent) -> Vec<Option<ErrorKind>> {
        fn kind<T>(result: Result<T>) -> Option<ErrorKind> {
            result.err().map(|error| error.kind())
        }
        vec![
            kind(agent.send_message(Call::new(SendMessageRequest::default())).await),
            kind(agent.send_streaming_message(Call::new(SendMessageRequest::default())).await),
            kind(agent.get_task(Call::new(GetTaskRequest::default())).await),
            kind(agent.list_tasks(Call::new(ListTasksRequest::default())).await),
            kind(agent.cancel_task(Call::new(CancelTaskRequest::default())).await),
            kind(agent.subscribe_to_task(Call::new(SubscribeToTaskRequest::default())).await),
            kind(
                agent
                    .create_task_push_notification_config(Call::new(
                        TaskPushNotificationConfig::default(),
                    ))
                    .await,
            ),
            kind(
                agent
                    .get_task_push_notification_config(Call::new(
                        GetTaskPushNotificationConfigRequest::default(),
                    ))
                    .await,
            ),
            kind(
                agent
                    .list_task_push_notification_configs(Call::new(
                        ListTaskPushNotificationConfigsRequest::default(),
                    ))
                    .await,
            ),
            kind(
                agent
                    .delete_task_push_notification_config(Call::new(
                        DeleteTaskPushNotificationConfigRequest::default(),
                    ))
                    .await,
            ),
            kind(
                agent
                    .get_extended_agent_card(Call::new(GetExtendedAgentCardRequest::default()))
                    .await,
            ),
        ]
    }

    //
    #[tokio::test]
    async fn the_tenant_of_the_interface_goes_with_every_operation() {
        let script = Script::new()
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
        let agent = Tenanted::wrap(Arc::new(script.clone()), "acme");
        assert_eq!(call_everything(&agent).await, [None; 11]);
        assert_eq!(script.operations(), Operation::ALL);
        assert!(script.heard().iter().all(|heard| heard.tenant == "acme"));

        let script = Script::new().then(Arc::new(task(TaskState::Working)));
        let agent = Tenanted::wrap(Arc::new(script.clone()), "");
        agent.get_task(Call::new(GetTaskRequest::default())).await.unwrap();
        assert_eq!(script.heard()[0].tenant, "");
    }

    //
    #[tokio::test]
    async fn what_the_card_rules_out_is_refused_without_a_call() {
        let script = Script::new()
            .then(SendMessageResponse::default())
            .then(Arc::new(task(TaskState::Working)))
            .then(ListTasksResponse::default())
            .then(Arc::new(task(TaskState::Canceled)));
        let card = AgentCard::new("a", "b").with_streaming(false);
        let unsupported = Some(ErrorKind::UnsupportedOperation);
        let no_push = Some(ErrorKind::PushNotificationNotSupported);
        assert_eq!(
            call_everything(&prepared(&script, card)).await,
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
        assert_eq!(script.heard().len(), 4);
    }

    #[tokio::test]
    async fn a_webhook_inside_a_send_is_refused_where_the_card_declares_none() {
        let script = Script::new().then(SendMessageResponse::default());
        let request = SendMessageRequest {
            message: Some(Message::user("go")),
            configuration: Some(SendMessageConfiguration {
                task_push_notification_config: Some(TaskPushNotificationConfig::default()),
                ..SendMessageConfiguration::default()
            }),
            ..SendMessageRequest::default()
        };
        let card = AgentCard::new("a", "b");
        let agent = prepared(&script, card.clone());
        let error = agent.send_message(Call::new(request.clone())).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PushNotificationNotSupported);
        let agent = prepared(&script, card.with_push_notifications(true));
        agent.send_message(Call::new(request)).await.unwrap();
    }

    #[tokio::test]
    async fn sends_have_a_key_of_their_own_where_the_card_says_so() {
        let script = Script::new()
            .then(SendMessageResponse::default())
            .then(SendMessageResponse::default())
            .then(Arc::new(task(TaskState::Working)))
            .then(SendMessageResponse::default());
        let extension = AgentExtension::new(IDEMPOTENCY_KEY, "joins repeated sends");
        let agent = prepared(&script, AgentCard::new("a", "b").with_extension(extension));
        for _ in 0..2 {
            agent.send_message(Call::new(SendMessageRequest::default())).await.unwrap();
        }
        agent.get_task(Call::new(GetTaskRequest::default())).await.unwrap();
        let agent = prepared(&script, AgentCard::new("a", "b"));
        agent.send_message(Call::new(SendMessageRequest::default())).await.unwrap();
        let heard = script.heard();
        let keys: Vec<_> = heard.iter().map(|heard| &heard.context.idempotency_key).collect();
        assert!(keys[0].is_some() && keys[1].is_some() && keys[0] != keys[1]);
        assert!(keys[2].is_none() && keys[3].is_none());
    }
}
