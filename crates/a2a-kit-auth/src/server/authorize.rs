//! The wrapper around the agent that authorizes every operation.

use std::sync::{Arc, atomic::Ordering};

use a2a_core::{
    Error, ErrorKind, Operation, Request, Result,
    v1::{SendMessageRequest, SendMessageResponse, SubscribeToTaskRequest},
};
use a2a_kit_operations::{Agent, AgentMethod, Call, Caller, EventStream, Reply, intercept_agent};
use async_trait::async_trait;

use super::{
    audit::{self, AuditContext},
    auth_failure::AuthFailure,
    authenticate::Authentication,
    challenge::Challenges,
    enforced_card::{EnforcedCard, Rule},
    expiry,
    requirement::Decision,
};

/// Authorizes calls and forwards them to an agent.
pub(super) struct AuthorizingAgent {
    card: Arc<EnforcedCard>,
    agent: Arc<dyn Agent>,
}

impl AuthorizingAgent {
    pub(super) fn new(card: Arc<EnforcedCard>, agent: Arc<dyn Agent>) -> Self {
        Self { card, agent }
    }

    /// Authorizes a call, and returns it with its caller.
    fn authorize<R: Request>(
        &self,
        operation: Operation,
        mut call: Call<R>,
        skill: Option<&Rule>,
    ) -> Result<(Call<R>, Arc<Authentication>)> {
        let authentication = call.context.caller.take_evidence::<Authentication>();
        let authentication = authentication.unwrap_or_else(|| Arc::new(Authentication::none()));
        let mut caller =
            self.card.authorize(operation, skill, &authentication, call.request.tenant())?;
        if let Some(credential) = call.context.caller.credential() {
            caller = caller.with_credential(credential.clone());
        }
        call.context.caller = caller;
        Ok((call, authentication))
    }

    /// Authorizes a call and forwards it.
    async fn authorized<R: Request, T>(
        &self,
        operation: Operation,
        call: Call<R>,
        method: AgentMethod<R, T>,
    ) -> Result<Reply<T>> {
        let (call, _) = self.authorize(operation, call, None)?;
        method(&*self.agent, call).await
    }

    /// The rule for the skill that a message invokes.
    fn skill(&self, request: &SendMessageRequest) -> Option<&Rule> {
        let EnforcedCard { skill, skills, .. } = &*self.card;
        skills.get(&skill.as_ref()?(request)?)
    }

    /// Ends a stream when its caller's credentials expire or are revoked.
    fn bounded(
        &self,
        operation: Operation,
        reply: Reply<EventStream>,
        caller: Caller,
        authentication: &Authentication,
    ) -> Reply<EventStream> {
        let revalidated =
            || authentication.verified.iter().filter(|one| one.revalidation.is_some());
        let is_bounded = caller.expires().is_some() || revalidated().next().is_some();
        if self.card.protects_extended_card_only || !is_bounded {
            return reply;
        }
        let (revalidated, address) = (revalidated().cloned().collect(), authentication.address);
        let card = Arc::clone(&self.card);
        let end = async move {
            let failure = tokio::select! {
                failure = expiry::expired(caller.expires()) => failure,
                failure = expiry::revoked(revalidated) => {
                    let (subject, operation) = (caller.subject(), Some(operation));
                    let audit_context = AuditContext { subject, address, operation };
                    audit::failed(audit_context, failure.reason());
                    failure
                }
            };
            failure.error(&card.any)
        };
        reply.map(|events| expiry::until(events, end))
    }
}

impl EnforcedCard {
    fn authorize(
        &self,
        operation: Operation,
        skill: Option<&Rule>,
        authentication: &Authentication,
        tenant: &str,
    ) -> Result<Caller> {
        if self.protects_extended_card_only && operation != Operation::GetExtendedAgentCard {
            return Ok(Caller::ANONYMOUS);
        }
        let audit_context = AuditContext {
            subject: None,
            address: authentication.address,
            operation: Some(operation),
        };
        let reject = |failure: &AuthFailure, challenges: &Challenges| {
            authentication.is_rejected.store(true, Ordering::Relaxed);
            match failure {
                AuthFailure::InsufficientScope(_) => {
                    let subject =
                        authentication.verified.first().and_then(|one| one.caller.subject());
                    audit::denied(AuditContext { subject, ..audit_context }, failure.reason());
                }
                _ => audit::failed(audit_context, failure.reason()),
            }
            Err(failure.error(challenges))
        };
        if let Some(failure) = &authentication.failure {
            if self.protects_extended_card_only && matches!(failure, AuthFailure::Invalid(_)) {
                self.auth_history.record_failure(authentication.address);
            }
            return reject(failure, &self.agent.challenges);
        }
        let mut caller = Caller::ANONYMOUS;
        // The agent's requirements come last: they determine the caller.
        for rule in skill.into_iter().chain([&self.agent]) {
            match rule.requirements.evaluate(&authentication.verified) {
                Decision::Granted(admitted) => caller = admitted,
                Decision::InsufficientScope(scopes) => {
                    return reject(&AuthFailure::InsufficientScope(scopes), &rule.challenges);
                }
                Decision::Unauthenticated => {
                    return reject(&AuthFailure::Missing, &rule.challenges);
                }
            }
        }
        if operation == Operation::GetExtendedAgentCard
            && !self.schemes.is_empty()
            && caller.subject().is_none()
        {
            return reject(&AuthFailure::Missing, &self.any);
        }
        let audit_context = AuditContext { subject: caller.subject(), ..audit_context };
        if self.tenants.as_ref().is_some_and(|tenants| !tenants(&caller, tenant)) {
            audit::denied(audit_context, "tenant not allowed");
            return Err(Error::new(
                ErrorKind::PermissionDenied,
                "the caller is not allowed to use this tenant",
            ));
        }
        if let Some(policy) = &self.policy {
            policy(&caller, operation, tenant)
                .inspect_err(|_| audit::denied(audit_context, "denied by policy"))?;
        }
        if let Some(subject) = caller.subject()
            && self.auth_history.record_subject(subject)
        {
            audit::succeeded(audit_context);
        }
        Ok(caller)
    }
}

#[async_trait]
impl Agent for AuthorizingAgent {
    intercept_agent! {
        authorized;
        get_task, list_tasks, cancel_task, create_task_push_notification_config,
        get_task_push_notification_config, list_task_push_notification_configs,
        delete_task_push_notification_config, get_extended_agent_card,
    }

    async fn send_message(
        &self,
        call: Call<SendMessageRequest>,
    ) -> Result<Reply<SendMessageResponse>> {
        let skill = self.skill(&call.request);
        let (call, _) = self.authorize(Operation::SendMessage, call, skill)?;
        self.agent.send_message(call).await
    }

    async fn send_streaming_message(
        &self,
        call: Call<SendMessageRequest>,
    ) -> Result<Reply<EventStream>> {
        let skill = self.skill(&call.request);
        let operation = Operation::SendStreamingMessage;
        let (call, authentication) = self.authorize(operation, call, skill)?;
        let caller = call.context.caller.clone();
        let reply = self.agent.send_streaming_message(call).await?;
        Ok(self.bounded(operation, reply, caller, &authentication))
    }

    async fn subscribe_to_task(
        &self,
        call: Call<SubscribeToTaskRequest>,
    ) -> Result<Reply<EventStream>> {
        let operation = Operation::SubscribeToTask;
        let (call, authentication) = self.authorize(operation, call, None)?;
        let caller = call.context.caller.clone();
        let reply = self.agent.subscribe_to_task(call).await?;
        Ok(self.bounded(operation, reply, caller, &authentication))
    }
}
