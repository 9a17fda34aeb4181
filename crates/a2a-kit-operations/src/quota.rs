//! Limits per caller in front of an agent.

mod running;

use std::{num::NonZeroUsize, sync::Arc};

use a2a_core::{
    Error, ErrorKind, Operation, Request, Result,
    v1::{
        SendMessageRequest, SendMessageResponse, SubscribeToTaskRequest,
        send_message_response::Payload,
    },
};
use async_trait::async_trait;
use derive_setters::Setters;
use tokio::task::JoinError;

use self::running::{RunningTask, counted, is_working};
use crate::{
    Agent, AgentMethod, Call, CallContext, Caller, EventStream, Reply,
    caller_counts::{CallerCounts, Count, Counted},
    intercept_agent, metrics,
    rate::{Rate, Rates},
};

/// Limits per caller: rate, running tasks and open streams.
///
/// Callers are identified by their [subject](Caller::subject). All unauthenticated callers count as
/// one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Setters)]
#[non_exhaustive]
#[setters(prefix = "with_", into)]
pub struct QuotaConfig {
    /// Request rate per caller, all operations together. Default: none.
    pub rate: Option<Rate>,
    /// Maximum number of running tasks per caller, for agents that run elsewhere. Tasks are tracked
    /// by subscribing, or by polling if the agent does not stream. A task waiting for user input or
    /// credentials does not count. Default: none.
    pub running_tasks: Option<NonZeroUsize>,
    /// Maximum number of open streams per caller. Default: none.
    pub open_streams: Option<NonZeroUsize>,
    /// Whether unauthenticated callers are exempt. Default: no.
    #[setters(rename = "with_anonymous_exempt", into = false)]
    pub exempts_anonymous: bool,
}

/// Maximum number of callers whose rate is remembered.
const MAX_CALLERS: usize = 65_536;

/// Limits callers of an agent. Requests beyond a limit are rejected with
/// [`ResourceExhausted`](ErrorKind::ResourceExhausted), others are forwarded.
///
/// For agents that run elsewhere, inside the authentication layer; an [engine](crate::Engine)
/// enforces [its own limits](crate::EngineConfig::caller_limits). A permit is released when the
/// task stops working or the stream ends, fails or is dropped. A disconnected caller's task still
/// counts.
#[derive(Clone)]
pub struct Quota {
    agent: Arc<dyn Agent>,
    config: Arc<QuotaConfig>,
    rates: Option<Arc<Rates<Arc<str>>>>,
    counts: CallerCounts,
}

impl Quota {
    /// Wraps an agent.
    pub fn new(agent: impl Agent, config: QuotaConfig) -> Self {
        Self {
            agent: Arc::new(agent),
            rates: config.rate.map(|rate| Arc::new(Rates::new(rate, MAX_CALLERS))),
            config: Arc::new(config),
            counts: CallerCounts::default(),
        }
    }

    /// The number of callers with tasks or streams.
    pub fn callers(&self) -> usize {
        self.counts.callers()
    }

    fn is_exempt(&self, caller: &Caller) -> bool {
        self.config.exempts_anonymous && caller.subject().is_none()
    }

    fn admit(&self, context: &CallContext) -> Result<()> {
        let Some(rates) = &self.rates else { return Ok(()) };
        if self.is_exempt(&context.caller) {
            return Ok(());
        }
        let subject = context.caller.subject().unwrap_or_default();
        rates.check(subject.into()).map_err(|wait| {
            metrics::refused("rate");
            let message = format!("too many requests: a caller may make {}", rates.rate());
            Error::new(ErrorKind::ResourceExhausted, message).with_retry_after(wait)
        })
    }

    /// Checks the rate and forwards the call.
    async fn forward_admitted<R: Request, T>(
        &self,
        _: Operation,
        call: Call<R>,
        method: AgentMethod<R, T>,
    ) -> Result<Reply<T>> {
        self.admit(&call.context)?;
        method(&*self.agent, call).await
    }

    /// Takes a permit for a running task.
    fn task(&self, caller: &Caller) -> Result<Option<Count>> {
        self.take(caller, Counted::RunningTask, "running tasks", self.config.running_tasks)
    }

    fn stream(&self, caller: &Caller) -> Result<Option<Count>> {
        self.take(caller, Counted::Stream, "open streams", self.config.open_streams)
    }

    fn take(
        &self,
        caller: &Caller,
        counted: Counted,
        name: &'static str,
        most: Option<NonZeroUsize>,
    ) -> Result<Option<Count>> {
        let Some(most) = most.filter(|_| !self.is_exempt(caller)) else { return Ok(None) };
        let subject = caller.subject().unwrap_or_default().into();
        self.counts.take(&subject, counted, Some(most)).map(Some).ok_or_else(|| {
            metrics::refused("quota");
            let message = format!("a caller may have {most} {name} at a time");
            Error::new(ErrorKind::ResourceExhausted, message)
                .with_metadata("limit", name)
                .with_metadata("max", most.to_string())
        })
    }
}

#[async_trait]
impl Agent for Quota {
    async fn send_message(
        &self,
        call: Call<SendMessageRequest>,
    ) -> Result<Reply<SendMessageResponse>> {
        self.admit(&call.context)?;
        let Some(permit) = self.task(&call.context.caller)? else {
            return self.agent.send_message(call).await;
        };
        let agent = Arc::clone(&self.agent);
        // Spawned, because the task of a disconnected caller keeps running and has to be counted.
        let sent = tokio::spawn(async move {
            let (context, tenant) = (call.context.clone(), call.request.tenant.clone());
            let followed = RunningTask::new(Arc::clone(&agent), context, tenant, permit);
            let reply = agent.send_message(call).await?;
            if let Some(Payload::Task(task)) = &reply.response.payload
                && is_working(task)
            {
                tokio::spawn(followed.of_task(&task.id).follow(None));
            }
            Ok(reply)
        });
        sent.await.unwrap_or_else(|failed| Err(lost(failed)))
    }

    async fn send_streaming_message(
        &self,
        call: Call<SendMessageRequest>,
    ) -> Result<Reply<EventStream>> {
        self.admit(&call.context)?;
        let stream = self.stream(&call.context.caller)?;
        let Some(task) = self.task(&call.context.caller)? else {
            let reply = self.agent.send_streaming_message(call).await?;
            return Ok(reply.map(|events| counted(events, stream, None)));
        };
        let agent = Arc::clone(&self.agent);
        // As above: the first event may take long.
        let sent = tokio::spawn(async move {
            let (context, tenant) = (call.context.clone(), call.request.tenant.clone());
            let task = RunningTask::new(Arc::clone(&agent), context, tenant, task);
            let reply = agent.send_streaming_message(call).await?;
            Ok(reply.map(|events| counted(events, stream, Some(task))))
        });
        sent.await.unwrap_or_else(|failed| Err(lost(failed)))
    }

    async fn subscribe_to_task(
        &self,
        call: Call<SubscribeToTaskRequest>,
    ) -> Result<Reply<EventStream>> {
        self.admit(&call.context)?;
        let stream = self.stream(&call.context.caller)?;
        let reply = self.agent.subscribe_to_task(call).await?;
        Ok(reply.map(|events| counted(events, stream, None)))
    }

    intercept_agent! {
        forward_admitted;
        get_task, list_tasks, cancel_task, create_task_push_notification_config,
        get_task_push_notification_config, list_task_push_notification_configs,
        delete_task_push_notification_config, get_extended_agent_card,
    }
}

/// The spawned call was lost: it panicked, or the runtime is shutting down.
fn lost(failed: JoinError) -> Error {
    if failed.is_panic() {
        Error::internal(failed)
    } else {
        Error::unavailable("the server is shutting down").with_source(failed)
    }
}

a2a_core::debug_fields!(Quota { config, .. });
