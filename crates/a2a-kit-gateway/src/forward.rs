//! Forwarding of operations to an upstream agent.

use std::{fmt, sync::Arc};

use a2a_core::{
    Operation, Request, Result, fresh_id,
    v1::{
        AgentCard, ListTaskPushNotificationConfigsResponse, ListTasksResponse, SendMessageResponse,
        Task, TaskPushNotificationConfig,
    },
};
use a2a_kit_operations::{
    Agent, AgentMethod, Call, CallContext, Caller, EventStream, Reply, intercept_agent,
};
use futures_util::StreamExt as _;

use crate::{card::front_card, loop_detection, upstream_error::translate_error};

/// The default of [`with_max_hops`](Forward::with_max_hops).
const MAX_HOPS: usize = 8;

/// Parameters that are never forwarded, in case a layer has added them.
const NOT_FORWARDED: [&str; 3] = ["authorization", "cookie", "proxy-authorization"];

/// Forwards every call to an upstream agent.
///
/// Requests, responses, events with their positions, extensions, idempotency keys, parameters and
/// error kinds are unchanged, with these exceptions:
///
/// - The caller is not forwarded: the upstream agent sees the gateway.
/// - Each call lists the gateways that it has passed (`X-A2A-Via`). A loop or too many hops are
///   rejected with `UnsupportedOperation`.
/// - Errors between gateway and upstream agent are translated: rejected credentials and an
///   unsupported protocol version are `Internal` for callers, and addresses are not disclosed.
/// - The extended card is rewritten like the public card: see [`front_card`](Self::front_card).
///
/// Dropping a call or a stream drops the upstream one, which does not cancel the task. If the
/// upstream stream is interrupted, so is the caller's; a caller that resumes with the position of
/// its last event resumes upstream at that position.
#[derive(Clone)]
pub struct Forward<A> {
    agent: A,
    id: Arc<str>,
    max_hops: usize,
    tenants: Option<Arc<Tenants>>,
    forwards_credentials: bool,
}

type Tenants = dyn Fn(&Caller, &str) -> Result<String> + Send + Sync;

impl<A: Agent> Forward<A> {
    /// Creates a gateway for the upstream agent `agent`.
    pub fn new(agent: A) -> Self {
        let id = fresh_id().into();
        Self { agent, id, max_hops: MAX_HOPS, tenants: None, forwards_credentials: false }
    }

    /// Sets the maximum number of gateways that a call may pass, including this one. Default: 8.
    #[must_use]
    pub fn with_max_hops(mut self, max_hops: usize) -> Self {
        self.max_hops = max_hops;
        self
    }

    /// Maps the caller and the requested tenant to the tenant of the upstream agent; an error
    /// rejects the call. By default the tenant is unchanged.
    #[must_use]
    pub fn with_tenants(
        mut self,
        tenants: impl Fn(&Caller, &str) -> Result<String> + Send + Sync + 'static,
    ) -> Self {
        self.tenants = Some(Arc::new(tenants));
        self
    }

    /// Forwards the caller's credential, as stored in the [`Caller`] by an authentication layer,
    /// and reports its rejection by the upstream agent to the caller. By default no credential of
    /// the caller is forwarded.
    #[must_use]
    pub fn with_callers_credentials(mut self) -> Self {
        self.forwards_credentials = true;
        self
    }

    /// Returns the card of this gateway for the upstream agent with the card `upstream`.
    ///
    /// Description, capabilities and skills are kept, including extensions, as all calls are
    /// forwarded. Interfaces are removed; the gateway's server sets its own. Signatures are removed
    /// because they sign the original card. Security schemes and requirements, also of skills, are
    /// removed because only the gateway authenticates at the upstream agent; with
    /// [`with_callers_credentials`](Self::with_callers_credentials) they are kept.
    pub fn front_card(&self, upstream: &AgentCard) -> AgentCard {
        front_card(upstream, self.forwards_credentials)
    }

    async fn intercept<R: Request, T: IntoDownstream>(
        &self,
        _: Operation,
        mut call: Call<R>,
        next: AgentMethod<R, T>,
    ) -> Result<Reply<T>> {
        let requested_tenant = call.request.tenant().to_owned();
        if let Some(tenants) = &self.tenants {
            let tenant = tenants(&call.context.caller, &requested_tenant)?;
            call.request.set_tenant(tenant);
        }
        self.rewrite_context(&mut call.context)?;
        let reply = next(&self.agent, call)
            .await
            .map_err(|error| translate_error(error, self.forwards_credentials))?;
        let downstream = Downstream {
            tenant: self.tenants.as_ref().map(|_| &*requested_tenant),
            forwards_credentials: self.forwards_credentials,
        };
        Ok(reply.map(|response| response.into_downstream(downstream)))
    }

    /// Rewrites the context of a call for the upstream agent.
    fn rewrite_context(&self, context: &mut CallContext) -> Result<()> {
        let caller = std::mem::take(&mut context.caller);
        context.credential = caller.credential().filter(|_| self.forwards_credentials).cloned();
        for name in NOT_FORWARDED {
            context.parameters.remove(name);
        }
        loop_detection::add_hop(&mut context.parameters, &self.id, self.max_hops)
    }
}

impl<A: Agent> Agent for Forward<A> {
    intercept_agent!(intercept);
}

impl<A> fmt::Debug for Forward<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Forward")
            .field("id", &self.id)
            .field("max_hops", &self.max_hops)
            .field("forwards_credentials", &self.forwards_credentials)
            .finish_non_exhaustive()
    }
}

/// How responses are translated for the caller.
#[derive(Clone, Copy)]
struct Downstream<'a> {
    /// The tenant of the caller's request, if tenants are mapped.
    tenant: Option<&'a str>,
    forwards_credentials: bool,
}

/// A response that can be translated for the caller.
trait IntoDownstream: Sized {
    /// Translates the response for the caller.
    fn into_downstream(self, downstream: Downstream<'_>) -> Self;
}

macro_rules! unchanged {
    ($($response:ty),*) => {
        $(
            impl IntoDownstream for $response {
                fn into_downstream(self, _: Downstream<'_>) -> Self {
                    self
                }
            }
        )*
    };
}

unchanged!(SendMessageResponse, Arc<Task>, ListTasksResponse, ());

impl IntoDownstream for EventStream {
    fn into_downstream(self, downstream: Downstream<'_>) -> Self {
        let forwards_credentials = downstream.forwards_credentials;
        Self::new(
            self.map(move |item| {
                item.map_err(|error| translate_error(error, forwards_credentials))
            }),
        )
    }
}

impl IntoDownstream for TaskPushNotificationConfig {
    fn into_downstream(mut self, downstream: Downstream<'_>) -> Self {
        if let Some(tenant) = downstream.tenant {
            tenant.clone_into(&mut self.tenant);
        }
        self
    }
}

impl IntoDownstream for ListTaskPushNotificationConfigsResponse {
    fn into_downstream(mut self, downstream: Downstream<'_>) -> Self {
        self.configs =
            self.configs.into_iter().map(|config| config.into_downstream(downstream)).collect();
        self
    }
}

impl IntoDownstream for AgentCard {
    fn into_downstream(self, downstream: Downstream<'_>) -> Self {
        front_card(&self, downstream.forwards_credentials)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use a2a_core::{Error, ErrorKind, Message, v1::SendMessageRequest};
    use a2a_kit_operations::{Credential, Engine, agent_fn};

    use super::*;

    /// Records the context and tenant of each call.
    struct Spy<A> {
        agent: A,
        calls: Mutex<Vec<(CallContext, String)>>,
    }

    impl<A: Agent> Spy<A> {
        async fn intercept<R: Request, T>(
            &self,
            _: Operation,
            call: Call<R>,
            next: AgentMethod<R, T>,
        ) -> Result<Reply<T>> {
            let received = (call.context.clone(), call.request.tenant().to_owned());
            self.calls.lock().unwrap().push(received);
            next(&self.agent, call).await
        }
    }

    impl<A: Agent> Agent for Spy<A> {
        intercept_agent!(intercept);
    }

    fn spy() -> Arc<Spy<Engine>> {
        let card = AgentCard::new("Echo", "Repeats messages").with_extended_card(true);
        let extended = card.clone().with_interface(a2a_core::card::GRPC, "upstream:1");
        let engine = Engine::builder(card, agent_fn(async |text: String| text));
        let agent = engine.extended_card(extended).build();
        Arc::new(Spy { agent, calls: Mutex::default() })
    }

    fn call() -> Call<SendMessageRequest> {
        let message = Some(Message::user("hello"));
        let mut call = Call::new(SendMessageRequest { message, ..Default::default() });
        call.request.tenant = "caller".into();
        call.context.caller =
            Caller::authenticated("me").with_credential(Credential::new("Bearer mine"));
        call
    }

    #[tokio::test]
    async fn caller_is_not_forwarded_but_context_is() {
        let spy = spy();
        let mut call = call();
        call.context.idempotency_key = Some("key".into());
        call.context.extensions.insert("urn:x");
        for name in ["authorization", "cookie", "a2a-budget", "traceparent"] {
            call.context.parameters.insert(name.into(), "7".into());
        }
        Forward::new(spy.clone()).send_message(call).await.unwrap();
        let calls = spy.calls.lock().unwrap();
        let (context, tenant) = &calls[0];
        assert_eq!((&context.caller, tenant.as_str()), (&Caller::ANONYMOUS, "caller"));
        assert_eq!(context.credential, None);
        assert_eq!(context.idempotency_key.as_deref(), Some("key"));
        assert!(context.extensions.contains("urn:x"));
        let names: Vec<_> = context.parameters.keys().map(String::as_str).collect();
        assert_eq!(names, ["a2a-budget", "traceparent", "x-a2a-via"]);
    }

    #[tokio::test]
    async fn caller_credential_is_forwarded_if_enabled() {
        let spy = spy();
        let forward = Forward::new(spy.clone()).with_callers_credentials();
        forward.send_message(call()).await.unwrap();
        let mut anonymous = call();
        anonymous.context.caller = Caller::ANONYMOUS;
        anonymous.context.credential = Some(Credential::new("Bearer other"));
        forward.send_message(anonymous).await.unwrap();
        let calls = spy.calls.lock().unwrap();
        let credentials: Vec<_> = calls
            .iter()
            .map(|(context, _)| context.credential.as_ref().and_then(Credential::authorization))
            .collect();
        assert_eq!(credentials, [Some("Bearer mine"), None]);
        assert!(calls.iter().all(|(context, _)| context.caller == Caller::ANONYMOUS));
    }

    #[tokio::test]
    async fn tenant_is_mapped_by_caller_and_rejected_without_a_call() {
        let spy = spy();
        let forward = Forward::new(spy.clone()).with_tenants(|caller, tenant| {
            let subject = caller.subject().ok_or_else(|| {
                Error::new(ErrorKind::Unauthenticated, "authentication required")
                    .with_challenge("Bearer")
            })?;
            Ok(format!("{tenant}-{subject}"))
        });
        forward.send_message(call()).await.unwrap();
        let mut anonymous = call();
        anonymous.context.caller = Caller::ANONYMOUS;
        let error = forward.send_message(anonymous).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unauthenticated, "rejected by the gateway");
        let calls = spy.calls.lock().unwrap();
        let tenants: Vec<_> = calls.iter().map(|(_, tenant)| tenant.as_str()).collect();
        assert_eq!(tenants, ["caller-me"]);
    }

    #[test]
    fn webhook_is_returned_with_the_tenant_of_the_caller() {
        let webhook =
            TaskPushNotificationConfig { tenant: "upstream".into(), ..Default::default() };
        let downstream = |tenant| Downstream { tenant, forwards_credentials: false };
        assert_eq!(webhook.clone().into_downstream(downstream(None)).tenant, "upstream");
        let list = ListTaskPushNotificationConfigsResponse {
            configs: vec![webhook],
            ..ListTaskPushNotificationConfigsResponse::default()
        };
        assert_eq!(list.into_downstream(downstream(Some("caller"))).configs[0].tenant, "caller");
    }

    #[tokio::test]
    async fn extended_card_has_no_upstream_interface() {
        let reply = Forward::new(spy()).get_extended_agent_card(Call::default()).await.unwrap();
        assert_eq!(reply.response.name, "Echo");
        assert!(reply.response.supported_interfaces.is_empty());
    }

    #[tokio::test]
    async fn chain_of_gateways_respects_max_hops_of_each() {
        let chain = Forward::new(Forward::new(Forward::new(spy()).with_max_hops(2)));
        let error = chain.send_message(call()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnsupportedOperation);
        let chain = Forward::new(Forward::new(Forward::new(spy()).with_max_hops(3)));
        chain.send_message(call()).await.unwrap();
    }
}
