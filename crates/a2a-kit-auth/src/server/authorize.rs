//! The wrapper around the agent that authorizes every operation.

use std::{
    future::ready,
    ptr,
    sync::{Arc, atomic::Ordering},
};

use a2a_core::{
    Error, ErrorKind, Operation, Request, Result,
    v1::{SendMessageRequest, SendMessageResponse, SubscribeToTaskRequest},
};
use a2a_kit_operations::{
    Agent, AgentMethod, Call, Caller, EventStream, Reply, ReplyFuture, intercept_agent,
};
use async_trait::async_trait;

use super::{
    audit::{self, AuditContext},
    auth_failure::AuthFailure,
    authenticate::Authentication,
    challenge::Challenges,
    enforced_card::{EnforcedCard, Rule},
    expiry,
};

/// Authorizes calls and forwards them to an agent.
pub(super) struct AuthorizingAgent {
    pub(super) card: Arc<EnforcedCard>,
    pub(super) agent: Arc<dyn Agent>,
}

impl AuthorizingAgent {
    /// Authorizes a call, and sets its caller.
    fn authorize<R: Request>(
        &self,
        operation: Operation,
        call: &mut Call<R>,
        skill: Option<&Rule>,
    ) -> Result<Arc<Authentication>> {
        let authentication: Arc<Authentication> =
            call.context.caller.take_evidence().unwrap_or_default();
        let mut caller =
            self.card.authorize(operation, skill, &authentication, call.request.tenant())?;
        if let Some(credential) = call.context.caller.credential() {
            caller = caller.with_credential(credential.clone());
        }
        call.context.caller = caller;
        Ok(authentication)
    }

    /// Authorizes a call and forwards it.
    async fn authorized<R: Request, T>(
        &self,
        operation: Operation,
        mut call: Call<R>,
        method: AgentMethod<R, T>,
    ) -> Result<Reply<T>> {
        self.authorize(operation, &mut call, None)?;
        method(&*self.agent, call).await
    }

    /// The rule for the skill that a message invokes.
    fn skill(&self, request: &SendMessageRequest) -> Option<&Rule> {
        let EnforcedCard { guard, skills, .. } = &*self.card;
        skills.get(&guard.skill.as_ref()?(request)?)
    }

    /// Authorizes a call that opens a stream, and forwards it. The stream ends when the credentials of
    /// its caller expire or are revoked.
    async fn streamed<R: Request>(
        &self,
        operation: Operation,
        mut call: Call<R>,
        skill: Option<&Rule>,
        method: AgentMethod<R, EventStream>,
    ) -> Result<Reply<EventStream>> {
        let authentication = self.authorize(operation, &mut call, skill)?;
        let caller = call.context.caller.clone();
        let reply = method(&*self.agent, call).await?;
        let revalidated =
            || authentication.verified.iter().filter(|one| one.revalidation.is_some());
        let is_bounded = caller.expires().is_some() || revalidated().next().is_some();
        if self.card.guard.protects_extended_card_only || !is_bounded {
            return Ok(reply);
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
        Ok(reply.map(|events| expiry::until(events, end)))
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
        if self.guard.protects_extended_card_only && operation != Operation::GetExtendedAgentCard {
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
            if self.guard.protects_extended_card_only && matches!(failure, AuthFailure::Invalid(_))
            {
                self.guard.auth_history().record_failure(authentication.address);
            }
            return reject(failure, &self.agent.challenges);
        }
        if let Some(rule) = skill
            && let Err(failure) = rule.requirements.evaluate(&authentication.verified)
        {
            return reject(&failure, &rule.challenges);
        }
        // The agent's requirements determine the caller, as the layer of this card did.
        let caller = match &authentication.card {
            Some(card) if ptr::eq(&**card, self) => authentication.caller.clone(),
            _ => match self.agent.requirements.evaluate(&authentication.verified) {
                Ok(caller) => caller,
                Err(failure) => return reject(&failure, &self.agent.challenges),
            },
        };
        if operation == Operation::GetExtendedAgentCard
            && !self.schemes.is_empty()
            && caller.subject().is_none()
        {
            return reject(&AuthFailure::Missing, &self.any);
        }
        let audit_context = AuditContext { subject: caller.subject(), ..audit_context };
        if self.guard.tenants.as_ref().is_some_and(|tenants| !tenants(&caller, tenant)) {
            audit::denied(audit_context, "tenant not allowed");
            return Err(Error::new(
                ErrorKind::PermissionDenied,
                "the caller is not allowed to use this tenant",
            ));
        }
        if let Some(policy) = &self.guard.policy {
            policy(&caller, operation, tenant)
                .inspect_err(|_| audit::denied(audit_context, "denied by policy"))?;
        }
        if let Some(subject) = caller.subject()
            && self.guard.auth_history().record_subject(subject)
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

    fn send_message<'agent, 'future>(
        &'agent self,
        mut call: Call<SendMessageRequest>,
    ) -> ReplyFuture<'future, SendMessageResponse>
    where
        'agent: 'future,
        Self: 'future,
    {
        let skill = self.skill(&call.request);
        match self.authorize(Operation::SendMessage, &mut call, skill) {
            Ok(_) => self.agent.send_message(call),
            Err(error) => Box::pin(ready(Err(error))),
        }
    }

    async fn send_streaming_message(
        &self,
        call: Call<SendMessageRequest>,
    ) -> Result<Reply<EventStream>> {
        let skill = self.skill(&call.request);
        let operation = Operation::SendStreamingMessage;
        self.streamed(operation, call, skill, |agent, call| agent.send_streaming_message(call))
            .await
    }

    async fn subscribe_to_task(
        &self,
        call: Call<SubscribeToTaskRequest>,
    ) -> Result<Reply<EventStream>> {
        let operation = Operation::SubscribeToTask;
        self.streamed(operation, call, None, |agent, call| agent.subscribe_to_task(call)).await
    }
}
