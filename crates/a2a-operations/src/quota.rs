//! What one caller may have of an agent.

mod held;
mod running;

use std::{fmt, num::NonZeroUsize, sync::Arc};

use a2a_core::{
    Error, ErrorKind, Result, Task, TaskState,
    v1::{
        AgentCard, CancelTaskRequest, DeleteTaskPushNotificationConfigRequest,
        GetExtendedAgentCardRequest, GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
        ListTasksRequest, ListTasksResponse, SendMessageRequest, SendMessageResponse,
        SubscribeToTaskRequest, TaskPushNotificationConfig, send_message_response::Payload,
    },
};
use async_trait::async_trait;
use tokio::task::JoinError;

use self::{
    held::{Held, Kind, Share},
    running::{Followed, Guarded},
};
use crate::{
    Agent, Call, CallContext, Caller, EventStream, Reply, metrics,
    rate::{Rate, Rates},
};

/// What one caller may have of an agent at a time, and how often it may call.
///
/// Callers are told apart by their [subject](Caller::subject). Those that have not authenticated
/// are one caller together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct QuotaConfig {
    /// How often a caller may call, all operations together. Default: no bound.
    pub rate: Option<Rate>,
    /// Most tasks of a caller that work at a time, for agents that run elsewhere: they are
    /// followed, or asked for where they don't stream. One that waits for its user, or for
    /// credentials, does not work. Default: no bound.
    pub running_tasks: Option<NonZeroUsize>,
    /// Most streams that a caller has open at a time. Default: no bound.
    pub open_streams: Option<NonZeroUsize>,
    /// Whether callers that have not authenticated are let through without any bound.
    /// Default: no.
    pub exempts_anonymous: bool,
}

impl QuotaConfig {
    /// Sets how often a caller may call.
    #[must_use]
    pub fn with_rate(mut self, rate: impl Into<Option<Rate>>) -> Self {
        self.rate = rate.into();
        self
    }

    /// Sets how many tasks of a caller may work at a time.
    #[must_use]
    pub fn with_running_tasks(mut self, tasks: impl Into<Option<NonZeroUsize>>) -> Self {
        self.running_tasks = tasks.into();
        self
    }

    /// Sets how many streams a caller may have open at a time.
    #[must_use]
    pub fn with_open_streams(mut self, streams: impl Into<Option<NonZeroUsize>>) -> Self {
        self.open_streams = streams.into();
        self
    }

    /// Lets callers through that have not authenticated, without any bound.
    #[must_use]
    pub fn with_anonymous_exempt(mut self, exempt: bool) -> Self {
        self.exempts_anonymous = exempt;
        self
    }
}

/// Most callers whose rate is remembered.
const MAX_CALLERS: usize = 65_536;

/// An agent that gives each caller its part: what is beyond is refused with
/// [`ResourceExhausted`](ErrorKind::ResourceExhausted), and all else is the agent's.
///
/// It goes around an agent that runs elsewhere, inside of what authenticates; an
/// [engine](crate::Engine) counts the tasks it runs [by itself](crate::EngineConfig::caller_limits).
/// What a caller holds is given back when its task stops working and its stream ends, whether it fails, is dropped or comes
/// to its end; that a caller hangs up does not make its task stop.
#[derive(Clone)]
pub struct Quota {
    agent: Arc<dyn Agent>,
    config: Arc<QuotaConfig>,
    rates: Option<Arc<Rates<Arc<str>>>>,
    held: Held,
}

impl Quota {
    /// Holds the callers of `agent` to their part.
    pub fn new(agent: impl Agent, config: QuotaConfig) -> Self {
        Self {
            agent: Arc::new(agent),
            rates: config.rate.map(|rate| Arc::new(Rates::new(rate, MAX_CALLERS))),
            config: Arc::new(config),
            held: Held::default(),
        }
    }

    /// How many callers hold anything now.
    pub fn callers(&self) -> usize {
        self.held.callers()
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

    /// Takes the place of one more task that works.
    fn task(&self, caller: &Caller) -> Result<Option<Share>> {
        self.take(caller, Kind::Task, self.config.running_tasks)
    }

    fn stream(&self, caller: &Caller) -> Result<Option<Share>> {
        self.take(caller, Kind::Stream, self.config.open_streams)
    }

    fn take(
        &self,
        caller: &Caller,
        kind: Kind,
        most: Option<NonZeroUsize>,
    ) -> Result<Option<Share>> {
        let Some(most) = most.filter(|_| !self.is_exempt(caller)) else { return Ok(None) };
        let subject = caller.subject().unwrap_or_default();
        self.held.take(subject, kind, most.get()).map(Some).ok_or_else(|| {
            metrics::refused("quota");
            let message = format!("a caller may have {most} {} at a time", kind.name());
            Error::new(ErrorKind::ResourceExhausted, message)
                .with_metadata("limit", kind.name())
                .with_metadata("max", most.to_string())
        })
    }
}

/// Counts the call and hands it on.
macro_rules! counted {
    ($($method:ident ($request:ty) -> $response:ty;)*) => {
        #[async_trait]
        impl Agent for Quota {
            $(
                async fn $method(&self, call: Call<$request>) -> Result<Reply<$response>> {
                    self.admit(&call.context)?;
                    self.agent.$method(call).await
                }
            )*

            async fn send_message(
                &self,
                call: Call<SendMessageRequest>,
            ) -> Result<Reply<SendMessageResponse>> {
                self.admit(&call.context)?;
                let Some(share) = self.task(&call.context.caller)? else {
                    return self.agent.send_message(call).await;
                };
                let agent = Arc::clone(&self.agent);
                // A task of its own: a caller that hangs up leaves its task working, and what
                // that works is to be counted still.
                let sent = tokio::spawn(async move {
                    let (context, tenant) = (call.context.clone(), call.request.tenant.clone());
                    let followed = Followed::new(Arc::clone(&agent), context, tenant, share);
                    let reply = agent.send_message(call).await?;
                    if let Some(Payload::Task(task)) = &reply.response.payload
                        && works(task)
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
                    return Ok(reply.map(|events| Guarded::new(events, stream, None).into()));
                };
                let agent = Arc::clone(&self.agent);
                // As above: the first event may be long in coming.
                let sent = tokio::spawn(async move {
                    let (context, tenant) = (call.context.clone(), call.request.tenant.clone());
                    let task = Followed::new(Arc::clone(&agent), context, tenant, task);
                    let reply = agent.send_streaming_message(call).await?;
                    Ok(reply.map(|events| Guarded::new(events, stream, Some(task))))
                });
                let reply = sent.await.unwrap_or_else(|failed| Err(lost(failed)))?;
                Ok(reply.map(EventStream::from))
            }

            async fn subscribe_to_task(
                &self,
                call: Call<SubscribeToTaskRequest>,
            ) -> Result<Reply<EventStream>> {
                self.admit(&call.context)?;
                let stream = self.stream(&call.context.caller)?;
                let reply = self.agent.subscribe_to_task(call).await?;
                Ok(reply.map(|events| Guarded::new(events, stream, None).into()))
            }
        }
    };
}

counted! {
    get_task(GetTaskRequest) -> Arc<Task>;
    list_tasks(ListTasksRequest) -> ListTasksResponse;
    cancel_task(CancelTaskRequest) -> Arc<Task>;
    create_task_push_notification_config(TaskPushNotificationConfig)
        -> TaskPushNotificationConfig;
    get_task_push_notification_config(GetTaskPushNotificationConfigRequest)
        -> TaskPushNotificationConfig;
    list_task_push_notification_configs(ListTaskPushNotificationConfigsRequest)
        -> ListTaskPushNotificationConfigsResponse;
    delete_task_push_notification_config(DeleteTaskPushNotificationConfigRequest) -> ();
    get_extended_agent_card(GetExtendedAgentCardRequest) -> AgentCard;
}

/// Returns whether a task goes on by itself.
fn works(task: &Task) -> bool {
    let state = task.status.as_ref().map_or(TaskState::Unspecified, |status| status.state());
    !state.is_terminal() && !state.is_interrupted()
}

/// A call whose task was lost: it panicked, or the runtime is going away.
fn lost(failed: JoinError) -> Error {
    if failed.is_panic() {
        Error::internal(failed)
    } else {
        Error::unavailable("the server is shutting down").with_source(failed)
    }
}

impl fmt::Debug for Quota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Quota").field("config", &self.config).finish_non_exhaustive()
    }
}
