//! An agent that is another one.

use std::{fmt, sync::Arc};

use a2a_core::{
    Operation, Request, Result, fresh_id,
    v1::{
        AgentCard, ListTaskPushNotificationConfigsResponse, ListTasksResponse, SendMessageResponse,
        Task, TaskPushNotificationConfig,
    },
};
use a2a_operations::{Agent, Call, CallContext, Caller, EventStream, Reply};
use futures_util::StreamExt as _;

use crate::{card::front_card, hop, origin, wrap::Answer, wrap::wrap_agent};

/// The most gateways that a call goes through without
/// [`with_max_hops`](Forward::with_max_hops).
const MAX_HOPS: usize = 8;

/// What is never sent to the agent behind, should a layer have put it among the parameters.
const NOT_FORWARDED: [&str; 3] = ["authorization", "cookie", "proxy-authorization"];

/// An agent that passes every call on to another, and its answers back.
///
/// Requests, answers, events with their positions, extensions, idempotency keys, parameters and
/// the kinds of errors stay what they are. These things change:
///
/// - The caller is not passed on: the agent behind sees the gateway.
/// - Each call carries the way that it has come (`X-A2A-Via`). One that comes by a second time, or
///   has come through too many gateways, is refused with `UnsupportedOperation`.
/// - An error that is about the gateway becomes the gateway's: refused credentials and a refused
///   version are `Internal` for callers, and addresses are not told.
/// - The extended card is rewritten like the public one: see [`front_card`](Self::front_card).
///
/// Dropping a call or a stream drops that of the agent behind, which cancels nothing. A stream
/// that is cut there is cut here; its reader comes back with the position of its last event, and
/// that is passed on too.
#[derive(Clone)]
pub struct Forward<A> {
    agent: A,
    id: Arc<str>,
    max_hops: usize,
    tenants: Option<Arc<Tenants>>,
    callers_credentials: bool,
}

type Tenants = dyn Fn(&Caller, &str) -> Result<String> + Send + Sync;

impl<A: Agent> Forward<A> {
    /// Creates a gateway in front of `agent`.
    pub fn new(agent: A) -> Self {
        let id = fresh_id().into();
        Self { agent, id, max_hops: MAX_HOPS, tenants: None, callers_credentials: false }
    }

    /// Sets through how many gateways a call may go, up to and with this one. Default: 8.
    #[must_use]
    pub fn with_max_hops(mut self, max_hops: usize) -> Self {
        self.max_hops = max_hops;
        self
    }

    /// Sets which tenant of the agent behind a call is for, by its caller and the tenant that it
    /// names in front; an error refuses the call. Without this the tenant stays as it is.
    #[must_use]
    pub fn with_tenants(
        mut self,
        tenants: impl Fn(&Caller, &str) -> Result<String> + Send + Sync + 'static,
    ) -> Self {
        self.tenants = Some(Arc::new(tenants));
        self
    }

    /// Lets callers authenticate at the agent behind: passes on the credential that a layer in
    /// front kept in the [`Caller`], and a refusal of it. Without this none is passed on.
    #[must_use]
    pub fn with_callers_credentials(mut self) -> Self {
        self.callers_credentials = true;
        self
    }

    /// Returns the card of this gateway, in front of the agent whose card is `upstream`.
    ///
    /// What the agent is and can do is kept, extensions included: everything passes. Interfaces
    /// are left out, for the server in front to fill in its own. So are signatures, which are
    /// over the card as it was, and security, of skills too: it says how to authenticate at the
    /// agent, which only the gateway does. [With the callers'
    /// credentials](Self::with_callers_credentials) it is kept.
    pub fn front_card(&self, upstream: &AgentCard) -> AgentCard {
        front_card(upstream, self.callers_credentials)
    }

    async fn through<'a, R: Request, T: Returned>(
        &'a self,
        _: Operation,
        mut call: Call<R>,
        go: impl FnOnce(&'a A, Call<R>) -> Answer<'a, T> + Send,
    ) -> Result<Reply<T>> {
        let in_front = call.request.tenant().to_owned();
        if let Some(tenants) = &self.tenants {
            let behind = tenants(&call.context.caller, &in_front)?;
            call.request.set_tenant(behind);
        }
        self.pass(&mut call.context)?;
        let reply = go(&self.agent, call)
            .await
            .map_err(|error| origin::translated(error, self.callers_credentials))?;
        let front = Front {
            tenant: self.tenants.as_ref().map(|_| &*in_front),
            callers_credentials: self.callers_credentials,
        };
        Ok(reply.map(|response| response.returned(front)))
    }

    /// Makes the context of a caller that of the gateway.
    fn pass(&self, context: &mut CallContext) -> Result<()> {
        let caller = std::mem::take(&mut context.caller);
        context.credential = caller.credential().filter(|_| self.callers_credentials).cloned();
        for name in NOT_FORWARDED {
            context.parameters.remove(name);
        }
        hop::pass(&mut context.parameters, &self.id, self.max_hops)
    }
}

wrap_agent!(Forward);

impl<A> fmt::Debug for Forward<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Forward")
            .field("id", &self.id)
            .field("max_hops", &self.max_hops)
            .field("callers_credentials", &self.callers_credentials)
            .finish_non_exhaustive()
    }
}

/// What an answer has to be in front.
#[derive(Clone, Copy)]
struct Front<'a> {
    /// The tenant that the caller named, where it is another one behind.
    tenant: Option<&'a str>,
    callers_credentials: bool,
}

/// An answer on its way back to the caller.
trait Returned: Sized {
    /// Returns the answer as it is in front.
    fn returned(self, front: Front<'_>) -> Self;
}

macro_rules! unchanged {
    ($($response:ty),*) => {
        $(
            impl Returned for $response {
                fn returned(self, _: Front<'_>) -> Self {
                    self
                }
            }
        )*
    };
}

unchanged!(SendMessageResponse, Arc<Task>, ListTasksResponse, ());

impl Returned for EventStream {
    fn returned(self, front: Front<'_>) -> Self {
        let callers = front.callers_credentials;
        Self::new(self.map(move |item| item.map_err(|error| origin::translated(error, callers))))
    }
}

impl Returned for TaskPushNotificationConfig {
    fn returned(mut self, front: Front<'_>) -> Self {
        if let Some(tenant) = front.tenant {
            tenant.clone_into(&mut self.tenant);
        }
        self
    }
}

impl Returned for ListTaskPushNotificationConfigsResponse {
    fn returned(mut self, front: Front<'_>) -> Self {
        self.configs = self.configs.into_iter().map(|config| config.returned(front)).collect();
        self
    }
}

impl Returned for AgentCard {
    fn returned(self, front: Front<'_>) -> Self {
        front_card(&self, front.callers_credentials)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use a2a_core::{Error, ErrorKind, Message, v1::SendMessageRequest};
    use a2a_operations::{Credential, Engine, agent_fn};

    use super::*;

    /// An engine that notes how it is called.
    struct Spy<A> {
        agent: A,
        heard: Mutex<Vec<(CallContext, String)>>,
    }

    impl<A: Agent> Spy<A> {
        async fn through<'a, R: Request, T>(
            &'a self,
            _: Operation,
            call: Call<R>,
            go: impl FnOnce(&'a A, Call<R>) -> Answer<'a, T> + Send,
        ) -> Result<Reply<T>> {
            let heard = (call.context.clone(), call.request.tenant().to_owned());
            self.heard.lock().unwrap().push(heard);
            go(&self.agent, call).await
        }
    }

    wrap_agent!(Spy);

    fn spy() -> Arc<Spy<Engine>> {
        let card = AgentCard::new("Echo", "Says what it hears").with_extended_card(true);
        let extended = card.clone().with_interface(a2a_core::card::GRPC, "inside:1");
        let engine = Engine::builder(card, agent_fn(async |text: String| text));
        let agent = engine.extended_card(extended).build();
        Arc::new(Spy { agent, heard: Mutex::default() })
    }

    fn call() -> Call<SendMessageRequest> {
        let message = Some(Message::user("hello"));
        let mut call = Call::new(SendMessageRequest { message, ..Default::default() });
        call.request.tenant = "front".into();
        call.context.caller =
            Caller::authenticated("me").with_credential(Credential::new("Bearer mine"));
        call
    }

    #[tokio::test]
    async fn the_caller_stays_in_front_and_everything_else_goes_through() {
        let spy = spy();
        let mut call = call();
        call.context.idempotency_key = Some("key".into());
        call.context.extensions.insert("urn:x");
        for name in ["authorization", "cookie", "a2a-budget", "traceparent"] {
            call.context.parameters.insert(name.into(), "7".into());
        }
        Forward::new(spy.clone()).send_message(call).await.unwrap();
        let heard = spy.heard.lock().unwrap();
        let (context, tenant) = &heard[0];
        assert_eq!((&context.caller, tenant.as_str()), (&Caller::ANONYMOUS, "front"));
        assert_eq!(context.credential, None);
        assert_eq!(context.idempotency_key.as_deref(), Some("key"));
        assert!(context.extensions.contains("urn:x"));
        let names: Vec<_> = context.parameters.keys().map(String::as_str).collect();
        assert_eq!(names, ["a2a-budget", "traceparent", "x-a2a-via"]);
    }

    #[tokio::test]
    async fn a_credential_of_the_caller_goes_through_where_it_is_wanted() {
        let spy = spy();
        let forward = Forward::new(spy.clone()).with_callers_credentials();
        forward.send_message(call()).await.unwrap();
        let mut anonymous = call();
        anonymous.context.caller = Caller::ANONYMOUS;
        anonymous.context.credential = Some(Credential::new("Bearer of nobody"));
        forward.send_message(anonymous).await.unwrap();
        let heard = spy.heard.lock().unwrap();
        let credentials: Vec<_> = heard
            .iter()
            .map(|(context, _)| context.credential.as_ref().and_then(Credential::authorization))
            .collect();
        assert_eq!(credentials, [Some("Bearer mine"), None]);
        assert!(heard.iter().all(|(context, _)| context.caller == Caller::ANONYMOUS));
    }

    #[tokio::test]
    async fn a_tenant_is_mapped_by_caller_and_refused_without_a_call() {
        let spy = spy();
        let forward = Forward::new(spy.clone()).with_tenants(|caller, tenant| {
            let subject = caller.subject().ok_or_else(|| {
                Error::new(ErrorKind::Unauthenticated, "who are you").with_challenge("Bearer")
            })?;
            Ok(format!("{tenant}-{subject}"))
        });
        forward.send_message(call()).await.unwrap();
        let mut unknown = call();
        unknown.context.caller = Caller::ANONYMOUS;
        let refused = forward.send_message(unknown).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Unauthenticated, "it is the front that refuses");
        let heard = spy.heard.lock().unwrap();
        let tenants: Vec<_> = heard.iter().map(|(_, tenant)| tenant.as_str()).collect();
        assert_eq!(tenants, ["front-me"]);
    }

    #[test]
    fn a_webhook_comes_back_under_the_tenant_that_the_caller_knows() {
        let behind = TaskPushNotificationConfig { tenant: "behind".into(), ..Default::default() };
        let front = |tenant| Front { tenant, callers_credentials: false };
        assert_eq!(behind.clone().returned(front(None)).tenant, "behind");
        let list = ListTaskPushNotificationConfigsResponse {
            configs: vec![behind],
            ..ListTaskPushNotificationConfigsResponse::default()
        };
        assert_eq!(list.returned(front(Some("front"))).configs[0].tenant, "front");
    }

    #[tokio::test]
    async fn the_extended_card_names_no_interface_of_the_agent_behind() {
        let reply = Forward::new(spy()).get_extended_agent_card(Call::default()).await.unwrap();
        assert_eq!(reply.response.name, "Echo");
        assert!(reply.response.supported_interfaces.is_empty());
    }

    #[tokio::test]
    async fn a_chain_of_gateways_is_as_long_as_each_of_them_allows() {
        let chain = Forward::new(Forward::new(Forward::new(spy()).with_max_hops(2)));
        let refused = chain.send_message(call()).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::UnsupportedOperation);
        let chain = Forward::new(Forward::new(Forward::new(spy()).with_max_hops(3)));
        chain.send_message(call()).await.unwrap();
    }
}
