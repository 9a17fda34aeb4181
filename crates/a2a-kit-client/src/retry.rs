//! Retries of requests where that is safe, and their timeouts.

use std::{sync::Arc, time::Duration};

use a2a_core::{Error, ErrorKind, Operation, Request, Result};
use a2a_kit_operations::{Agent, AgentMethod, Call, CallContext, Reply, intercept_agent};

use crate::{
    ClientEvent, RetryPolicy, Timeouts, backoff::Backoff, client_event::Observer,
    failover::was_never_sent,
};

/// Retries calls to an agent after transient errors.
///
/// Read-only calls are retried after any transient error. Other calls are retried only if nothing
/// was sent, or if they have an idempotency key.
pub(crate) struct Retry {
    agent: Arc<dyn Agent>,
    policy: RetryPolicy,
    /// The policy of `GetTask`.
    polls: RetryPolicy,
    timeouts: Timeouts,
    observer: Observer,
}

impl Retry {
    pub(crate) fn new(
        agent: Arc<dyn Agent>,
        policy: RetryPolicy,
        timeouts: Timeouts,
        observer: Observer,
    ) -> Self {
        Self { agent, policy, polls: policy, timeouts, observer }
    }

    /// Sets another policy for reading a task.
    pub(crate) fn with_polls(mut self, polls: RetryPolicy) -> Self {
        self.polls = polls;
        self
    }

    async fn intercept<R: Request, T>(
        &self,
        operation: Operation,
        call: Call<R>,
        next: AgentMethod<R, T>,
    ) -> Result<Reply<T>> {
        let retryable = is_retryable(operation, &call.context);
        let limit = self.limit(operation);
        let policy = if operation == Operation::GetTask { self.polls } else { self.policy };
        let mut backoff = Backoff::new(policy);
        loop {
            let attempt = next(&*self.agent, call.clone());
            let error = match tokio::time::timeout(limit, attempt).await {
                Ok(Ok(reply)) => return Ok(reply),
                Ok(Err(error)) => error,
                // A timeout is not retried: the wait would be as long again.
                Err(elapsed) => return Err(timed_out(operation, limit).with_source(elapsed)),
            };
            let can_retry = (retryable && error.is_transient()) || was_never_sent(&error);
            if !can_retry {
                return Err(error);
            }
            let report = |attempt, delay, error| {
                self.observer.emit(|| {
                    let id = call.request.task_id();
                    let task_id = (!id.is_empty()).then(|| id.to_owned());
                    ClientEvent::Retrying { operation, task_id, attempt, delay, error }
                });
            };
            backoff.wait(error, report).await?;
        }
    }

    fn limit(&self, operation: Operation) -> Duration {
        match operation {
            Operation::SendMessage | Operation::SendStreamingMessage => self.timeouts.send,
            _ => self.timeouts.request,
        }
    }
}

impl Agent for Retry {
    intercept_agent!(intercept);
}

fn timed_out(operation: Operation, limit: Duration) -> Error {
    let message = format!("{} timed out after {limit:?}", operation.name());
    Error::new(ErrorKind::DeadlineExceeded, message)
}

/// Returns whether a call that may have arrived can be retried safely.
fn is_retryable(operation: Operation, context: &CallContext) -> bool {
    match operation {
        Operation::GetTask
        | Operation::ListTasks
        | Operation::SubscribeToTask
        | Operation::GetTaskPushNotificationConfig
        | Operation::ListTaskPushNotificationConfigs
        | Operation::DeleteTaskPushNotificationConfig
        | Operation::GetExtendedAgentCard => true,
        Operation::SendMessage | Operation::SendStreamingMessage => {
            context.idempotency_key.is_some()
        }
        // A second cancel of a canceled task is an error; a second create without an id creates a
        // second webhook.
        Operation::CancelTask | Operation::CreateTaskPushNotificationConfig => false,
    }
}

#[cfg(test)]
mod tests {
    use a2a_core::{
        TaskState,
        v1::{CancelTaskRequest, GetTaskRequest, SendMessageRequest, SendMessageResponse},
    };
    use futures_util::future;
    use tokio::time::Instant;

    use super::*;
    use crate::test_agent::{TestAgent, task};

    fn retry(inner: &TestAgent) -> Retry {
        let (agent, observer) = (Arc::new(inner.clone()), Observer::default());
        Retry::new(agent, RetryPolicy::REQUESTS, Timeouts::default(), observer)
    }

    fn down() -> Error {
        Error::unavailable("connection lost")
    }

    #[tokio::test(start_paused = true)]
    async fn read_is_retried_after_transient_error_and_respects_retry_after() {
        let busy = Error::new(ErrorKind::ResourceExhausted, "slow down");
        let inner = TestAgent::new()
            .then_fail(down())
            .then_fail(busy.with_retry_after(Duration::from_secs(9)))
            .then(Arc::new(task(TaskState::Working)));
        let before = Instant::now();
        retry(&inner).get_task(Call::new(GetTaskRequest::default())).await.unwrap();
        assert!(before.elapsed() >= Duration::from_secs(9));
        assert_eq!(inner.received().len(), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn policy_can_retry_only_what_the_agent_requests() {
        let policy = RetryPolicy::REQUESTS.with_attempts(1).with_only_if_requested(true);
        let busy = |kind| Error::new(kind, "busy").with_retry_after(Duration::from_secs(7));
        for (first, expected, calls) in [
            (busy(ErrorKind::ResourceExhausted), true, 2),
            (busy(ErrorKind::Unavailable), true, 2),
            (down(), false, 1),
            (busy(ErrorKind::Unavailable).with_retry_after(Duration::from_secs(60)), false, 1),
        ] {
            let inner = TestAgent::new().then_fail(first).then(Arc::new(task(TaskState::Working)));
            let (agent, observer) = (Arc::new(inner.clone()), Observer::default());
            let agent = Retry::new(agent, policy, Timeouts::default(), observer);
            let result = agent.get_task(Call::new(GetTaskRequest::default())).await;
            assert_eq!((result.is_ok(), inner.received().len()), (expected, calls));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn read_is_not_retried_after_permanent_error_or_beyond_the_limit() {
        let inner = TestAgent::new().then_fail(Error::task_not_found("t"));
        retry(&inner).get_task(Call::new(GetTaskRequest::default())).await.unwrap_err();
        assert_eq!(inner.received().len(), 1);

        let mut inner = TestAgent::new();
        for _ in 0..4 {
            inner = inner.then_fail(down());
        }
        retry(&inner).get_task(Call::new(GetTaskRequest::default())).await.unwrap_err();
        assert_eq!(inner.received().len(), 4);
    }

    #[tokio::test(start_paused = true)]
    async fn write_without_idempotency_key_is_not_retried() {
        let inner = TestAgent::new().then_fail(down());
        retry(&inner).send_message(Call::new(SendMessageRequest::default())).await.unwrap_err();
        assert_eq!(inner.received().len(), 1);
        let inner = TestAgent::new().then_fail(down());
        retry(&inner).cancel_task(Call::new(CancelTaskRequest::default())).await.unwrap_err();
        assert_eq!(inner.received().len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn send_with_idempotency_key_is_retried_with_the_same_key() {
        let inner = TestAgent::new().then_fail(down()).then(SendMessageResponse::default());
        let mut call = Call::new(SendMessageRequest::default());
        call.context.idempotency_key = Some("k".into());
        retry(&inner).send_message(call).await.unwrap();
        let received = inner.received();
        assert_eq!(received.len(), 2);
        assert!(received.iter().all(|call| call.context.idempotency_key.as_deref() == Some("k")));
    }

    /// Never responds.
    struct Unresponsive;

    impl Unresponsive {
        async fn intercept<R: Request, T>(
            &self,
            _: Operation,
            _: Call<R>,
            _: AgentMethod<R, T>,
        ) -> Result<Reply<T>> {
            future::pending().await
        }
    }

    impl Agent for Unresponsive {
        intercept_agent!(intercept);
    }

    #[tokio::test(start_paused = true)]
    async fn send_times_out_later_than_read() {
        let agent = Arc::new(Unresponsive);
        let (timeouts, observer) = (Timeouts::default(), Observer::default());
        let agent = Retry::new(agent, RetryPolicy::REQUESTS, timeouts, observer);
        for (error, seconds) in [
            (agent.get_task(Call::default()).await.map(drop).unwrap_err(), 30),
            (agent.send_message(Call::default()).await.map(drop).unwrap_err(), 600),
        ] {
            assert_eq!(error.kind(), ErrorKind::DeadlineExceeded);
            assert!(error.message().contains(&format!("{seconds}s")), "{error}");
        }
    }
}
