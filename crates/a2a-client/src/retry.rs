//! Requests that are made again where that is safe, and given up after a time.

use std::{future::Future, sync::Arc, time::Duration};

use a2a_core::{Error, ErrorKind, Operation, Request, Result};
use a2a_operations::{Agent, Call, CallContext, Reply};

use crate::{
    failover::was_never_sent,
    policy::{RetryPolicy, Timeouts, Tries},
    wrap::wrap_agent,
};

/// An agent whose passing failures are not seen.
///
/// A call that only reads is made again after any passing failure. One that changes something is
/// made again only if it never left, or if an idempotency key joins it with the first try.
pub(crate) struct Retry {
    agent: Arc<dyn Agent>,
    policy: RetryPolicy,
    timeouts: Timeouts,
}

impl Retry {
    pub(crate) fn new(agent: Arc<dyn Agent>, policy: RetryPolicy, timeouts: Timeouts) -> Self {
        Self { agent, policy, timeouts }
    }

    async fn through<R, T, F>(
        &self,
        operation: Operation,
        call: Call<R>,
        go: impl Fn(Arc<dyn Agent>, Call<R>) -> F + Send + Sync,
    ) -> Result<Reply<T>>
    where
        R: Request + Clone,
        F: Future<Output = Result<Reply<T>>> + Send,
    {
        let repeatable = is_repeatable(operation, &call.context);
        let limit = self.limit(operation);
        let mut tries = Tries::new(self.policy);
        loop {
            let attempt = go(self.agent.clone(), call.clone());
            let error = match tokio::time::timeout(limit, attempt).await {
                Ok(Ok(reply)) => return Ok(reply),
                Ok(Err(error)) => error,
                // Whoever waited this long does not want to wait as long again.
                Err(elapsed) => return Err(timed_out(operation, limit).with_source(elapsed)),
            };
            let again = (repeatable && error.is_transient()) || was_never_sent(&error);
            if !again {
                return Err(error);
            }
            tries.pause(error).await?;
        }
    }

    fn limit(&self, operation: Operation) -> Duration {
        match operation {
            Operation::SendMessage | Operation::SendStreamingMessage => self.timeouts.send,
            _ => self.timeouts.request,
        }
    }
}

wrap_agent!(Retry);

fn timed_out(operation: Operation, limit: Duration) -> Error {
    let message = format!("no answer to {} within {limit:?}", operation.name());
    Error::new(ErrorKind::DeadlineExceeded, message)
}

/// Returns whether a call that may have arrived can be made again without harm.
fn is_repeatable(operation: Operation, context: &CallContext) -> bool {
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
        // A second cancel finds the task canceled, which is an error; a second create without
        // an id makes a second webhook.
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
    use crate::script::{Script, task};

    fn retry(script: &Script) -> Retry {
        Retry::new(Arc::new(script.clone()), RetryPolicy::REQUESTS, Timeouts::default())
    }

    fn down() -> Error {
        Error::unavailable("the connection was lost")
    }

    #[tokio::test(start_paused = true)]
    async fn a_read_is_made_again_after_a_passing_failure_and_when_the_peer_said() {
        let busy = Error::new(ErrorKind::ResourceExhausted, "slow down");
        let script = Script::new()
            .then_fail(down())
            .then_fail(busy.with_retry_after(Duration::from_secs(9)))
            .then(Arc::new(task(TaskState::Working)));
        let before = Instant::now();
        retry(&script).get_task(Call::new(GetTaskRequest::default())).await.unwrap();
        assert!(before.elapsed() >= Duration::from_secs(9));
        assert_eq!(script.heard().len(), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn a_read_is_not_made_again_after_an_answer_or_too_often() {
        let script = Script::new().then_fail(Error::task_not_found("t"));
        retry(&script).get_task(Call::new(GetTaskRequest::default())).await.unwrap_err();
        assert_eq!(script.heard().len(), 1);

        let mut script = Script::new();
        for _ in 0..4 {
            script = script.then_fail(down());
        }
        retry(&script).get_task(Call::new(GetTaskRequest::default())).await.unwrap_err();
        assert_eq!(script.heard().len(), 4);
    }

    #[tokio::test(start_paused = true)]
    async fn what_may_have_changed_something_is_not_made_again() {
        let script = Script::new().then_fail(down());
        retry(&script).send_message(Call::new(SendMessageRequest::default())).await.unwrap_err();
        assert_eq!(script.heard().len(), 1);
        let script = Script::new().then_fail(down());
        retry(&script).cancel_task(Call::new(CancelTaskRequest::default())).await.unwrap_err();
        assert_eq!(script.heard().len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_send_under_a_key_is_made_again_under_the_same_key() {
        let script = Script::new().then_fail(down()).then(SendMessageResponse::default());
        let mut call = Call::new(SendMessageRequest::default());
        call.context.idempotency_key = Some("k".into());
        retry(&script).send_message(call).await.unwrap();
        let heard = script.heard();
        assert_eq!(heard.len(), 2);
        assert!(heard.iter().all(|heard| heard.context.idempotency_key.as_deref() == Some("k")));
    }

    /// Never answers anything.
    struct Silent;

    impl Silent {
        async fn through<R, T, F>(
            &self,
            _: Operation,
            _: Call<R>,
            _: impl Fn(Arc<dyn Agent>, Call<R>) -> F + Send + Sync,
        ) -> Result<Reply<T>>
        where
            R: Request + Clone,
            F: Future<Output = Result<Reply<T>>> + Send,
        {
            future::pending().await
        }
    }

    wrap_agent!(Silent);

    #[tokio::test(start_paused = true)]
    async fn a_send_is_waited_for_longer_than_a_read() {
        let agent = Retry::new(Arc::new(Silent), RetryPolicy::REQUESTS, Timeouts::default());
        for (error, seconds) in [
            (agent.get_task(Call::default()).await.map(drop).unwrap_err(), 30),
            (agent.send_message(Call::default()).await.map(drop).unwrap_err(), 600),
        ] {
            assert_eq!(error.kind(), ErrorKind::DeadlineExceeded);
            assert!(error.message().contains(&format!("{seconds}s")), "{error}");
        }
    }
}
