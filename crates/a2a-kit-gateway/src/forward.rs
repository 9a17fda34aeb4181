//! Forwarding of operations to an upstream agent.

use std::{sync::Arc, time::Duration};

use a2a_core::{
    ErrorKind, Operation, Request, Result, Task, Validate, fresh_id,
    v1::{AgentCard, GetTaskRequest, ListTasksRequest, ListTasksResponse},
};
use a2a_kit_operations::{
    Agent, AgentMethod, Call, CallContext, Reply, ReplyFuture, Scope, intercept_agent,
    store::TaskView,
};
use futures_util::{StreamExt as _, stream};

use crate::{
    Isolation, OwnerIndex,
    card::front_card,
    detached, loop_detection,
    owned::Owned,
    passage::{Deliver, Passage},
    upstream_error::translate_error,
};

/// The default of [`with_max_hops`](Forward::with_max_hops).
const MAX_HOPS: usize = 8;

/// Parameters that are never forwarded, in case a layer has added them.
const NOT_FORWARDED: [&str; 3] = ["authorization", "cookie", "proxy-authorization"];

/// Maximum number of tasks that a list reads from the upstream agent: unfinished ones before the
/// first page, and those of a page with history or artifacts.
const MAX_READ: usize = 25;
/// How many of them are read at a time.
const READ_AT_ONCE: usize = 8;
/// How long a list waits for the state of unfinished tasks.
const REFRESH_TIMEOUT: Duration = Duration::from_secs(5);
/// The page size of a list that names none (spec §3.1.4).
const DEFAULT_PAGE_SIZE: i32 = 50;

/// Forwards every call to an upstream agent.
///
/// Callers are [isolated](Isolation): by default with an index in memory. Requests, responses,
/// events with their positions, extensions, parameters and error kinds are unchanged, with these
/// exceptions:
///
/// - The caller is not forwarded: the upstream agent sees the gateway.
/// - Each call lists the gateways that it has passed (`X-A2A-Via`). A loop or too many hops are
///   rejected with `UnsupportedOperation`.
/// - Errors between gateway and upstream agent are translated: rejected credentials and an
///   unsupported protocol version are `Internal` for callers, and addresses are not disclosed.
/// - The extended card is rewritten like the public card: see [`front_card`](Self::front_card).
/// - With an index of owners, idempotency keys become digests of the owner and the key, a context
///   that the caller makes up gets another id at the upstream agent, and lists are answered from
///   the index: the newest 25 unfinished tasks are read from the upstream agent before the first
///   page, and a page with history or artifacts has at most 25 tasks.
///
/// Dropping a call or a stream drops the upstream one, which does not cancel the task. With an index
/// of owners, the answer to a dropped send is awaited for up to 30 s, so that lists show its task. If
/// the upstream stream is interrupted, so is the caller's; a caller that resumes with the position of
/// its last event resumes upstream at that position.
pub struct Forward<A> {
    agent: Arc<A>,
    id: Arc<str>,
    max_hops: usize,
    isolation: Isolation,
}

impl<A: Agent> Forward<A> {
    /// Creates a gateway for the upstream agent `agent`.
    pub fn new(agent: A) -> Self {
        let id = fresh_id().into();
        let agent = Arc::new(agent);
        Self { agent, id, max_hops: MAX_HOPS, isolation: Isolation::default() }
    }

    /// Sets the maximum number of gateways that a call may pass, including this one. Default: 8.
    #[must_use]
    pub fn with_max_hops(mut self, max_hops: usize) -> Self {
        self.max_hops = max_hops;
        self
    }

    /// Sets how callers are kept apart. Default: an index in memory.
    #[must_use]
    pub fn with_isolation(mut self, isolation: Isolation) -> Self {
        self.isolation = isolation;
        self
    }

    /// Returns the card of this gateway for the upstream agent with the card `upstream`.
    ///
    /// Description, capabilities and skills are kept, including extensions, as all calls are
    /// forwarded. Interfaces are removed; the gateway's server sets its own. Signatures are removed
    /// because they sign the original card. Security schemes and requirements, also of skills, are
    /// removed because only the gateway authenticates at the upstream agent; with
    /// [`Isolation::ForwardAuth`] they are kept.
    pub fn front_card(&self, upstream: &AgentCard) -> AgentCard {
        front_card(upstream, self.forwards_credentials())
    }

    fn forwards_credentials(&self) -> bool {
        matches!(self.isolation, Isolation::ForwardAuth)
    }

    async fn intercept<R: Request + Validate, T: Deliver + Send + 'static>(
        &self,
        operation: Operation,
        mut call: Call<R>,
        next: AgentMethod<R, T>,
    ) -> Result<Reply<T>> {
        let passage = self.admit(operation, &mut call).await?;
        self.rewrite_context(&mut call.context)?;
        let (agent, begins) = (Arc::clone(&self.agent), passage.begins());
        let work = async move {
            let reply = next(&*agent, call)
                .await
                .map_err(|error| translate_error(error, passage.forwards_credentials))?;
            let response = reply.response.deliver(passage).await?;
            Ok(Reply { response, activated: reply.activated })
        };
        if begins { detached::run(work).await? } else { work.await }
    }

    /// Admits a call of a caller: the only way to the upstream agent.
    async fn admit<R: Request + Validate>(
        &self,
        operation: Operation,
        call: &mut Call<R>,
    ) -> Result<Passage> {
        let forwards_credentials = self.forwards_credentials();
        let mut passage = Passage { forwards_credentials, ..Passage::default() };
        match &self.isolation {
            Isolation::Store(index) => {
                let is_send =
                    matches!(operation, Operation::SendMessage | Operation::SendStreamingMessage);
                if is_send && call.request.task_id().is_empty() {
                    self.check_usage(index, call).await?;
                }
                passage.owned = Some(Owned::admit(index, operation, call).await?);
            }
            Isolation::Tenant(tenants) => {
                let requested = call.request.tenant().to_owned();
                call.request.set_tenant(tenants.of(&call.context.caller, &requested)?);
                passage.tenant = Some(requested);
            }
            Isolation::ForwardAuth | Isolation::Shared => {}
        }
        Ok(passage)
    }

    /// Checks the limits of a caller that begins a task. At a limit, its unfinished tasks are read
    /// again: some may have ended unseen.
    async fn check_usage<R: Request>(&self, index: &OwnerIndex, call: &Call<R>) -> Result<()> {
        let scope = index.scope(&call.context, &call.request)?;
        match index.check_usage(&scope.owner).await {
            Err(error) if error.kind() == ErrorKind::ResourceExhausted => {
                self.refresh(index, &scope, &call.context).await;
                index.check_usage(&scope.owner).await
            }
            checked => checked,
        }
    }

    async fn list(
        &self,
        _: Operation,
        mut call: Call<ListTasksRequest>,
        next: AgentMethod<ListTasksRequest, ListTasksResponse>,
    ) -> Result<Reply<ListTasksResponse>> {
        let Isolation::Store(index) = &self.isolation else {
            return self.intercept(Operation::ListTasks, call, next).await;
        };
        call.request.validate()?;
        let scope = index.scope(&call.context, &call.request)?;
        if call.request.page_token.is_empty() {
            self.refresh(index, &scope, &call.context).await;
        }
        let view = TaskView::default()
            .with_history(call.request.history_length.unwrap_or(0).try_into().unwrap_or(0))
            .with_artifacts(call.request.include_artifacts());
        let page_size = call.request.page_size;
        let is_read = view.history > 0 || view.artifacts;
        if is_read && page_size.is_none_or(|size| (26..=100).contains(&size)) {
            call.request.page_size = i32::try_from(MAX_READ).ok();
        }
        let mut response = index.list(&call).await?;
        if is_read {
            let ids = response.tasks.iter().map(|task| task.id.clone());
            let read = self.read(&scope, &call.context, ids, call.request.history_length).await;
            for (task, read) in response.tasks.iter_mut().zip(read) {
                // As last seen, if the upstream agent does not answer.
                if let Ok(reply) = read {
                    *task = view.apply(reply.response);
                }
            }
            response.page_size = page_size.unwrap_or(DEFAULT_PAGE_SIZE);
        }
        Ok(Reply::new(response))
    }

    /// Reads the newest unfinished tasks of an owner, which updates the index.
    async fn refresh(&self, index: &OwnerIndex, scope: &Scope, context: &CallContext) {
        let open = index.open(scope, MAX_READ).await;
        if open.is_empty() {
            return;
        }
        let read = self.read(scope, context, open.iter().cloned(), Some(0));
        let Ok(read) = tokio::time::timeout(REFRESH_TIMEOUT, read).await else { return };
        for (id, read) in open.iter().zip(read) {
            if read.is_err_and(|error| error.kind() == ErrorKind::TaskNotFound) {
                index.end_lost(scope, id).await;
            }
        }
    }

    /// Reads tasks of an owner from the upstream agent, some at a time, in their order.
    async fn read(
        &self,
        scope: &Scope,
        context: &CallContext,
        ids: impl Iterator<Item = String>,
        history_length: Option<i32>,
    ) -> Vec<Result<Reply<Arc<Task>>>> {
        let mut context = context.clone();
        (context.idempotency_key, context.last_event_id) = (None, None);
        let get = |id| {
            let tenant = scope.tenant.to_string();
            let request = GetTaskRequest { tenant, id, history_length };
            self.get_task(Call::from_parts(context.clone(), request))
        };
        let calls: Vec<ReplyFuture<'_, _>> = ids.map(get).collect();
        stream::iter(calls).buffered(READ_AT_ONCE).collect().await
    }

    /// Rewrites the context of a call for the upstream agent.
    fn rewrite_context(&self, context: &mut CallContext) -> Result<()> {
        let caller = std::mem::take(&mut context.caller);
        context.credential = caller.credential().filter(|_| self.forwards_credentials()).cloned();
        for name in NOT_FORWARDED {
            context.parameters.remove(name);
        }
        loop_detection::add_hop(&mut context.parameters, &self.id, self.max_hops)
    }
}

impl<A: Agent> Agent for Forward<A> {
    intercept_agent! { list; list_tasks }
    intercept_agent! {
        intercept;
        send_message, send_streaming_message, get_task, cancel_task, subscribe_to_task,
        create_task_push_notification_config, get_task_push_notification_config,
        list_task_push_notification_configs, delete_task_push_notification_config,
        get_extended_agent_card,
    }
}

impl<A> Clone for Forward<A> {
    fn clone(&self) -> Self {
        let Self { agent, id, max_hops, isolation } = self;
        let (agent, id) = (Arc::clone(agent), Arc::clone(id));
        Self { agent, id, max_hops: *max_hops, isolation: isolation.clone() }
    }
}

a2a_core::debug_fields!(Forward<A> { id, max_hops, isolation, .. });

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use a2a_core::{
        Error, Message, Request,
        v1::{
            ListTaskPushNotificationConfigsResponse, SendMessageRequest, TaskPushNotificationConfig,
        },
    };
    use a2a_kit_operations::{Caller, Credential, Engine, agent_fn};

    use super::*;
    use crate::Tenants;

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
        assert_eq!(context.idempotency_key.as_ref().map(String::len), Some(32), "of the owner");
        assert!(context.extensions.contains("urn:x"));
        let names: Vec<_> = context.parameters.keys().map(String::as_str).collect();
        assert_eq!(names, ["a2a-budget", "traceparent", "x-a2a-via"]);
    }

    #[tokio::test]
    async fn caller_credential_is_forwarded_if_enabled() {
        let spy = spy();
        let forward = Forward::new(spy.clone()).with_isolation(Isolation::ForwardAuth);
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
        let tenants = Tenants::new(|caller, tenant| {
            let subject = caller.subject().ok_or_else(|| {
                Error::new(ErrorKind::Unauthenticated, "authentication required")
                    .with_challenge("Bearer")
            })?;
            Ok(format!("{tenant}-{subject}"))
        });
        let forward = Forward::new(spy.clone()).with_isolation(Isolation::Tenant(tenants));
        forward.send_message(call()).await.unwrap();
        let mut anonymous = call();
        anonymous.context.caller = Caller::ANONYMOUS;
        let error = forward.send_message(anonymous).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unauthenticated, "rejected by the gateway");
        let calls = spy.calls.lock().unwrap();
        let tenants: Vec<_> = calls.iter().map(|(_, tenant)| tenant.as_str()).collect();
        assert_eq!(tenants, ["caller-me"]);
    }

    #[tokio::test]
    async fn webhook_is_returned_with_the_tenant_of_the_caller() {
        let webhook =
            TaskPushNotificationConfig { tenant: "upstream".into(), ..Default::default() };
        let passage = |tenant: Option<&str>| Passage {
            tenant: tenant.map(str::to_owned),
            ..Passage::default()
        };
        assert_eq!(webhook.clone().deliver(passage(None)).await.unwrap().tenant, "upstream");
        let list = ListTaskPushNotificationConfigsResponse {
            configs: vec![webhook],
            ..ListTaskPushNotificationConfigsResponse::default()
        };
        let list = list.deliver(passage(Some("caller"))).await.unwrap();
        assert_eq!(list.configs[0].tenant, "caller");
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
