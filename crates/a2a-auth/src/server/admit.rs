//! The wrapper around the agent that refuses, in front of every operation.

use std::sync::{Arc, atomic::Ordering};

use a2a_core::{
    Error, ErrorKind, Operation, Request, Result, Task,
    v1::{
        AgentCard, CancelTaskRequest, DeleteTaskPushNotificationConfigRequest,
        GetExtendedAgentCardRequest, GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
        ListTasksRequest, ListTasksResponse, SendMessageRequest, SendMessageResponse,
        SubscribeToTaskRequest, TaskPushNotificationConfig,
    },
};
use a2a_operations::{Agent, Call, Caller, EventStream, Reply};
use async_trait::async_trait;

use super::{
    Enforcement,
    audit::{self, Circumstances},
    challenge::Challenges,
    enforcement::{Inner, Rule},
    expiry,
    identify::Identified,
    refusal::Refusal,
    requirement::Judgement,
};

/// An agent that is reached by those who may.
pub(super) struct Admitting {
    enforcement: Enforcement,
    agent: Arc<dyn Agent>,
}

impl Admitting {
    pub(super) fn new(enforcement: Enforcement, agent: Arc<dyn Agent>) -> Self {
        Self { enforcement, agent }
    }

    /// Admits a call or refuses it.
    fn admit<R: Request>(
        &self,
        operation: Operation,
        mut call: Call<R>,
        skill: Option<&Rule>,
    ) -> Result<(Call<R>, Arc<Identified>)> {
        let inner = &*self.enforcement.0;
        let identified = call.context.caller.take_evidence::<Identified>();
        let identified = identified.unwrap_or_else(|| Arc::new(Identified::nothing()));
        let mut caller = inner.admit(operation, skill, &identified, call.request.tenant())?;
        if let Some(credential) = call.context.caller.credential() {
            caller = caller.with_credential(credential.clone());
        }
        call.context.caller = caller;
        Ok((call, identified))
    }

    /// The rule of the skill that a message is for.
    fn skill(&self, request: &SendMessageRequest) -> Option<&Rule> {
        let Inner { skill, skills, .. } = &*self.enforcement.0;
        skills.get(&skill.as_ref()?(request)?)
    }

    /// Ends a stream when its caller's credentials do, or are taken back.
    fn bounded(
        &self,
        operation: Operation,
        reply: Reply<EventStream>,
        caller: Caller,
        identified: &Identified,
    ) -> Reply<EventStream> {
        let reviewed = || identified.verified.iter().filter(|one| one.review.is_some());
        if caller.expires().is_none() && reviewed().next().is_none() {
            return reply;
        }
        let (reviewed, address) = (reviewed().cloned().collect(), identified.address);
        let enforcement = self.enforcement.clone();
        let end = async move {
            let refusal = tokio::select! {
                refusal = expiry::expired(caller.expires()) => refusal,
                refusal = expiry::taken_back(reviewed) => {
                    let (subject, operation) = (caller.subject(), Some(operation));
                    let circumstances = Circumstances { subject, address, operation };
                    audit::failed(circumstances, refusal.reason());
                    refusal
                }
            };
            refusal.error(&enforcement.0.any)
        };
        reply.map(|events| expiry::until(events, end))
    }
}

impl Inner {
    fn admit(
        &self,
        operation: Operation,
        skill: Option<&Rule>,
        identified: &Identified,
        tenant: &str,
    ) -> Result<Caller> {
        let circumstances = Circumstances {
            subject: None,
            address: identified.address,
            operation: Some(operation),
        };
        let refused = |refusal: &Refusal, challenges: &Challenges| {
            identified.is_answered.store(true, Ordering::Relaxed);
            match refusal {
                Refusal::Scopes(_) => {
                    let subject = identified.verified.first().and_then(|one| one.caller.subject());
                    audit::denied(Circumstances { subject, ..circumstances }, refusal.reason());
                }
                _ => audit::failed(circumstances, refusal.reason()),
            }
            Err(refusal.error(challenges))
        };
        if let Some(refusal) = &identified.refusal {
            return refused(refusal, &self.agent.challenges);
        }
        let mut caller = Caller::ANONYMOUS;
        // The caller is who the agent's own requirements make it.
        for rule in skill.into_iter().chain([&self.agent]) {
            match rule.requirements.judge(&identified.verified) {
                Judgement::Admitted(admitted) => caller = admitted,
                Judgement::Lacking(scopes) => {
                    return refused(&Refusal::Scopes(scopes), &rule.challenges);
                }
                Judgement::Unauthenticated => return refused(&Refusal::Missing, &rule.challenges),
            }
        }
        if operation == Operation::GetExtendedAgentCard
            && !self.schemes.is_empty()
            && caller.subject().is_none()
        {
            return refused(&Refusal::Missing, &self.any);
        }
        let circumstances = Circumstances { subject: caller.subject(), ..circumstances };
        if self.tenants.as_ref().is_some_and(|tenants| !tenants(&caller, tenant)) {
            audit::denied(circumstances, "the tenant is not one of the caller's");
            return Err(Error::new(
                ErrorKind::PermissionDenied,
                "the caller may not use this tenant",
            ));
        }
        if let Some(policy) = &self.policy {
            policy(&caller, operation, tenant)
                .inspect_err(|_| audit::denied(circumstances, "the policy forbids it"))?;
        }
        if let Some(subject) = caller.subject()
            && self.memory.is_new(subject)
        {
            audit::succeeded(circumstances);
        }
        Ok(caller)
    }
}

/// Admits the call and hands it on.
macro_rules! admitted {
    ($($method:ident $operation:ident ($request:ty) -> $response:ty;)*) => {
        #[async_trait]
        impl Agent for Admitting {
            $(
                async fn $method(&self, call: Call<$request>) -> Result<Reply<$response>> {
                    let (call, _) = self.admit(Operation::$operation, call, None)?;
                    self.agent.$method(call).await
                }
            )*

            async fn send_message(
                &self,
                call: Call<SendMessageRequest>,
            ) -> Result<Reply<SendMessageResponse>> {
                let skill = self.skill(&call.request);
                let (call, _) = self.admit(Operation::SendMessage, call, skill)?;
                self.agent.send_message(call).await
            }

            async fn send_streaming_message(
                &self,
                call: Call<SendMessageRequest>,
            ) -> Result<Reply<EventStream>> {
                let skill = self.skill(&call.request);
                let operation = Operation::SendStreamingMessage;
                let (call, identified) = self.admit(operation, call, skill)?;
                let caller = call.context.caller.clone();
                let reply = self.agent.send_streaming_message(call).await?;
                Ok(self.bounded(operation, reply, caller, &identified))
            }

            async fn subscribe_to_task(
                &self,
                call: Call<SubscribeToTaskRequest>,
            ) -> Result<Reply<EventStream>> {
                let operation = Operation::SubscribeToTask;
                let (call, identified) = self.admit(operation, call, None)?;
                let caller = call.context.caller.clone();
                let reply = self.agent.subscribe_to_task(call).await?;
                Ok(self.bounded(operation, reply, caller, &identified))
            }
        }
    };
}

admitted! {
    get_task GetTask(GetTaskRequest) -> Arc<Task>;
    list_tasks ListTasks(ListTasksRequest) -> ListTasksResponse;
    cancel_task CancelTask(CancelTaskRequest) -> Arc<Task>;
    create_task_push_notification_config CreateTaskPushNotificationConfig(TaskPushNotificationConfig)
        -> TaskPushNotificationConfig;
    get_task_push_notification_config GetTaskPushNotificationConfig(GetTaskPushNotificationConfigRequest)
        -> TaskPushNotificationConfig;
    list_task_push_notification_configs ListTaskPushNotificationConfigs(
        ListTaskPushNotificationConfigsRequest
    ) -> ListTaskPushNotificationConfigsResponse;
    delete_task_push_notification_config DeleteTaskPushNotificationConfig(
        DeleteTaskPushNotificationConfigRequest
    ) -> ();
    get_extended_agent_card GetExtendedAgentCard(GetExtendedAgentCardRequest) -> AgentCard;
}
