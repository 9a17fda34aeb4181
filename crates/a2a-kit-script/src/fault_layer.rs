//! The faults of a script, around an agent and its routes.

use std::{any::Any, sync::Arc};

use a2a_core::{Operation, Request, Result, v1::SendMessageRequest};
use a2a_kit_http::card::WELL_KNOWN_PATH;
use a2a_kit_operations::{Agent, AgentMethod, Call, EventStream, Reply, intercept_agent};
use axum::{
    Router,
    extract::{Request as HttpRequest, State},
    middleware::{self, Next},
    response::{IntoResponse as _, Response},
};
use http::StatusCode;

use crate::{
    fault::{Fault, injected},
    schedule::Target,
    script::Script,
};

/// The paths of agent cards: of this revision, and of those before 0.3.
const CARD_PATHS: [&str; 2] = [WELL_KNOWN_PATH, "/.well-known/agent.json"];

/// The faults of a script.
///
/// Which fault applies is decided by [`agent`](Self::agent), which knows the operation and the
/// message; the HTTP response is changed by [`layer`](Self::layer), without which there are errors,
/// delays, and streams that are cut or stall, but no broken bytes.
#[derive(Clone, Debug)]
pub struct Faults(Script);

impl Script {
    /// The agent in this process: its [engine](Self::engine) with the faults of the script.
    pub fn agent(&self) -> Arc<dyn Agent> {
        let engine = Arc::new(self.engine());
        match self.faults() {
            Some(faults) => faults.agent(engine),
            None => engine,
        }
    }

    /// The faults; `None` if the script has none.
    pub fn faults(&self) -> Option<Faults> {
        let has_faults = self.0.rules.have_faults() || !self.0.schedule.is_empty();
        has_faults.then(|| Faults(self.clone()))
    }
}

impl Faults {
    /// Injects the faults into the responses of an agent.
    pub fn agent(&self, agent: Arc<dyn Agent>) -> Arc<dyn Agent> {
        Arc::new(FaultyAgent { agent, script: self.0.clone() })
    }

    /// Injects the faults into the HTTP responses of the bindings that serve
    /// [`agent`](Self::agent).
    pub fn layer(&self, bindings: Router) -> Router {
        let inject = |request, next: Next| injected(next.run(request));
        bindings.layer(middleware::from_fn(inject))
    }

    /// Injects the faults with `on = ["card"]` into the responses with the agent card.
    pub fn card_layer(&self, router: Router) -> Router {
        if !self.0.0.schedule.has_target(Target::Card) {
            return router;
        }
        router.layer(middleware::from_fn_with_state(self.clone(), inject_into_card))
    }
}

async fn inject_into_card(
    State(faults): State<Faults>,
    request: HttpRequest,
    next: Next,
) -> Response {
    let is_card = CARD_PATHS.contains(&request.uri().path());
    let fault = if is_card { faults.0.0.schedule.due(Target::Card) } else { None };
    let Some(fault) = fault else { return next.run(request).await };
    injected(async {
        match fault.arm().await {
            Ok(()) => next.run(request).await,
            // The card has no errors of the protocol.
            Err(error) => StatusCode::from_u16(error.kind().codes().http)
                .unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
                .into_response(),
        }
    })
    .await
}

/// An agent with the faults of a script.
struct FaultyAgent {
    agent: Arc<dyn Agent>,
    script: Script,
}

impl FaultyAgent {
    /// Arms the fault of the response: that of the schedule of the script, or that of the rule for
    /// the message.
    async fn arm<R: Request>(
        &self,
        operation: Operation,
        call: &Call<R>,
    ) -> Result<Option<&Fault>> {
        let script = &self.script.0;
        let sent = (&call.request as &dyn Any).downcast_ref::<SendMessageRequest>();
        let scheduled = script.schedule.due(Target::Operation(operation));
        let fault = scheduled.or_else(|| script.rules.fault(sent?.message.as_ref()?));
        if let Some(fault) = fault {
            fault.arm().await?;
        }
        Ok(fault)
    }

    async fn unary<R: Request, T>(
        &self,
        operation: Operation,
        call: Call<R>,
        method: AgentMethod<R, T>,
    ) -> Result<Reply<T>> {
        self.arm(operation, &call).await?;
        method(&*self.agent, call).await
    }

    async fn stream<R: Request>(
        &self,
        operation: Operation,
        call: Call<R>,
        method: AgentMethod<R, EventStream>,
    ) -> Result<Reply<EventStream>> {
        let fault = self.arm(operation, &call).await?;
        let reply = method(&*self.agent, call).await?;
        Ok(match fault {
            Some(fault) => reply.map(|events| fault.in_stream(events)),
            None => reply,
        })
    }
}

impl Agent for FaultyAgent {
    intercept_agent! { stream; send_streaming_message, subscribe_to_task }
    intercept_agent! {
        unary;
        send_message, get_task, list_tasks, cancel_task,
        create_task_push_notification_config, get_task_push_notification_config,
        list_task_push_notification_configs, delete_task_push_notification_config,
        get_extended_agent_card,
    }
}
