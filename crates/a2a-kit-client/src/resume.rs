//! Resumption of interrupted streams.

use std::{sync::Arc, time::Duration};

use a2a_core::{
    Result,
    v1::{SendMessageRequest, SubscribeToTaskRequest},
};
use a2a_kit_operations::{Agent, Call, EventStream, Reply, forward_agent};
use async_trait::async_trait;

use crate::{
    RetryPolicy,
    backoff::Backoff,
    client_event::Observer,
    resumable_stream::{ResumableStream, StreamRequest, Upstream},
};

/// Resumes streams of an agent after a lost connection.
///
/// A stream that ends with `Unavailable` is reopened with `SubscribeToTask`: after the last event
/// received if events have positions, else with a snapshot of the task, which is passed on only if
/// it differs from what is known. A task that has ended meanwhile is fetched once and closes the
/// stream. So an error at the end of a stream means that the retries are exhausted, that several
/// streams in a row were short and the task is better polled, or that the stream can't be resumed.
pub(crate) struct Resume {
    upstream: Upstream,
    policy: RetryPolicy,
}

impl Resume {
    /// `timeout` limits each attempt to reopen a stream.
    pub(crate) fn new(
        agent: Arc<dyn Agent>,
        policy: RetryPolicy,
        timeout: Duration,
        observer: Observer,
    ) -> Self {
        Self { upstream: Upstream { agent, timeout, observer }, policy }
    }

    fn resumable(&self, request: StreamRequest, reply: Reply<EventStream>) -> Reply<EventStream> {
        let upstream = self.upstream.clone();
        let backoff = Backoff::new(self.policy);
        reply.map(|events| ResumableStream::new(upstream, request, backoff, events).into_stream())
    }
}

#[async_trait]
impl Agent for Resume {
    async fn send_streaming_message(
        &self,
        call: Call<SendMessageRequest>,
    ) -> Result<Reply<EventStream>> {
        let reply = self.upstream.agent.send_streaming_message(call.clone()).await?;
        Ok(self.resumable(StreamRequest::Send { call: Box::new(call) }, reply))
    }

    async fn subscribe_to_task(
        &self,
        call: Call<SubscribeToTaskRequest>,
    ) -> Result<Reply<EventStream>> {
        let request = StreamRequest::Subscription {
            context: Box::new(call.context.clone()),
            tenant: call.request.tenant.clone(),
            task_id: call.request.id.clone(),
        };
        let reply = self.upstream.agent.subscribe_to_task(call).await?;
        Ok(self.resumable(request, reply))
    }

    forward_agent! {
        this => *this.upstream.agent;
        send_message, get_task, list_tasks, cancel_task, create_task_push_notification_config,
        get_task_push_notification_config, list_task_push_notification_configs,
        delete_task_push_notification_config, get_extended_agent_card,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use a2a_core::{Artifact, Error, ErrorKind, Message, Operation, Task, TaskState};
    use a2a_kit_operations::{CallContext, EventId};
    use futures_util::{StreamExt as _, stream};

    use super::*;
    use crate::{
        ClientEvent,
        test_agent::{TestAgent, chunk, describe, snapshot, status, task},
    };

    const SUBSCRIBE: Operation = Operation::SubscribeToTask;
    const SEND: Operation = Operation::SendStreamingMessage;

    /// Reads a stream to the end.
    async fn read(stream: Result<Reply<EventStream>>) -> (Vec<String>, Option<Error>) {
        let mut seen = Vec::new();
        let mut events = stream.unwrap().response;
        while let Some(item) = events.next().await {
            match item {
                Ok(event) => seen.push(describe(&event)),
                Err(error) => return (seen, Some(error)),
            }
        }
        (seen, None)
    }

    async fn send(inner: &TestAgent) -> (Vec<String>, Option<Error>) {
        send_with(inner, CallContext::default()).await
    }

    fn resume(inner: &TestAgent) -> Resume {
        let (agent, observer) = (Arc::new(inner.clone()), Observer::default());
        Resume::new(agent, RetryPolicy::STREAMS, Duration::from_secs(30), observer)
    }

    async fn send_with(inner: &TestAgent, context: CallContext) -> (Vec<String>, Option<Error>) {
        let agent = resume(inner);
        let request = SendMessageRequest {
            tenant: "acme".into(),
            message: Some(Message::user("go")),
            ..SendMessageRequest::default()
        };
        read(agent.send_streaming_message(Call::from_parts(context, request)).await).await
    }

    async fn subscribe(inner: &TestAgent) -> (Vec<String>, Option<Error>) {
        let agent = resume(inner);
        let request = SubscribeToTaskRequest { id: "t".into(), ..Default::default() };
        read(agent.subscribe_to_task(Call::new(request)).await).await
    }

    fn with_text(state: TaskState, text: &str) -> Task {
        let artifacts = vec![Artifact::new("a", text).with_id("a")];
        Task { artifacts, ..task(state) }
    }

    #[tokio::test(start_paused = true)]
    async fn dropped_stream_resumes_after_last_event() {
        let inner = TestAgent::new()
            .then_stream([snapshot(1, task(TaskState::Working)), chunk(2, "1"), chunk(3, "2")])
            .then_fail(Error::unavailable("still restarting"))
            .then_stream([chunk(3, "2"), chunk(4, "3")])
            .then_stream([chunk(5, "4"), status(6, TaskState::Completed)]);
        let (events, error) = send(&inner).await;
        assert_eq!(events, ["task WORKING \"\"", "1", "2", "3", "4", "status COMPLETED"]);
        assert!(error.is_none());
        let calls = inner.received();
        assert_eq!(inner.operations(), [SEND, SUBSCRIBE, SUBSCRIBE, SUBSCRIBE]);
        let positions: Vec<_> = calls.iter().map(|call| call.last_event_id()).collect();
        assert_eq!(positions, [None, Some(3), Some(3), Some(4)]);
        assert!(calls.iter().all(|call| call.tenant == "acme"));
        assert_eq!(calls[1].task_id.as_deref(), Some("t"));
    }

    #[tokio::test(start_paused = true)]
    async fn resume_without_positions_skips_unchanged_snapshot() {
        let inner = TestAgent::new()
            .then_stream([snapshot(0, task(TaskState::Working)), chunk(0, "1"), chunk(0, "2")])
            .then_stream([snapshot(0, with_text(TaskState::Working, "123")), chunk(0, "4")])
            .then_stream([snapshot(0, with_text(TaskState::Working, "5"))]);
        let (events, _) = {
            // The third snapshot differs again; its stream is then dropped five times.
            let mut inner = inner.clone();
            for _ in 0..5 {
                inner = inner.then_stream([snapshot(0, with_text(TaskState::Working, "5"))]);
            }
            send(&inner).await
        };
        assert_eq!(
            events,
            ["task WORKING \"\"", "1", "2", "task WORKING \"123\"", "4", "task WORKING \"5\""]
        );

        let same = Task {
            artifacts: vec![Artifact::new("a", "1").with_id("a").with_part("2")],
            ..task(TaskState::Working)
        };
        let inner = TestAgent::new()
            .then_stream([snapshot(0, task(TaskState::Working)), chunk(0, "1"), chunk(0, "2")])
            .then_stream([snapshot(0, same), status(0, TaskState::Completed)]);
        let (events, error) = send(&inner).await;
        assert_eq!(events, ["task WORKING \"\"", "1", "2", "status COMPLETED"]);
        assert!(error.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn event_ids_that_restart_per_connection_lose_no_event() {
        let inner = TestAgent::new()
            .then_stream([snapshot(4, task(TaskState::Working)), chunk(5, "1")])
            .then_stream([
                snapshot(1, with_text(TaskState::Working, "1")),
                chunk(2, "2"),
                status(3, TaskState::Completed),
            ]);
        let (events, error) = subscribe(&inner).await;
        assert_eq!(
            events,
            ["task WORKING \"\"", "1", "task WORKING \"1\"", "2", "status COMPLETED"]
        );
        assert!(error.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn event_ids_that_restart_after_a_given_position_lose_no_event() {
        let inner = TestAgent::new().then_stream([
            snapshot(1, with_text(TaskState::Working, "1")),
            chunk(2, "2"),
            status(3, TaskState::Completed),
        ]);
        let agent = resume(&inner);
        let mut context = CallContext::default();
        context.last_event_id = EventId::new(5);
        let request = SubscribeToTaskRequest { id: "t".into(), ..Default::default() };
        let stream = agent.subscribe_to_task(Call::from_parts(context, request)).await;
        let (events, error) = read(stream).await;
        assert_eq!(events, ["task WORKING \"1\"", "2", "status COMPLETED"]);
        assert!(error.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn stream_whose_snapshot_has_no_position_resumes_from_a_snapshot() {
        let inner = TestAgent::new()
            .then_stream([snapshot(0, task(TaskState::Working)), chunk(1, "1"), chunk(2, "2")])
            .then_stream([
                snapshot(0, with_text(TaskState::Working, "123")),
                status(4, TaskState::Completed),
            ]);
        let (events, error) = send(&inner).await;
        assert_eq!(
            events,
            ["task WORKING \"\"", "1", "2", "task WORKING \"123\"", "status COMPLETED"]
        );
        assert!(error.is_none());
        assert_eq!(inner.received()[1].last_event_id(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn duplicate_event_ids_on_one_connection_lose_no_event() {
        let inner = TestAgent::new().then_stream([
            snapshot(7, task(TaskState::Working)),
            chunk(7, "1"),
            chunk(9, "2"),
            status(9, TaskState::Completed),
        ]);
        let (events, error) = send(&inner).await;
        assert_eq!(events, ["task WORKING \"\"", "1", "2", "status COMPLETED"]);
        assert!(error.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn task_that_ended_while_disconnected_is_fetched_once_and_ends_the_stream() {
        for refusal in [ErrorKind::UnsupportedOperation, ErrorKind::TaskNotFound] {
            let inner = TestAgent::new()
                .then_stream([snapshot(0, task(TaskState::Working)), chunk(0, "1")])
                .then_fail(Error::new(refusal, "task has ended"))
                .then(Arc::new(with_text(TaskState::Completed, "12")));
            let (events, error) = subscribe(&inner).await;
            assert_eq!(events, ["task WORKING \"\"", "1", "task COMPLETED \"12\""]);
            assert!(error.is_none());
            assert_eq!(inner.operations(), [SUBSCRIBE, SUBSCRIBE, Operation::GetTask]);

            let rejected = [Err(Error::new(refusal, "task has ended"))];
            let inner = TestAgent::new()
                .then_stream([snapshot(0, task(TaskState::Working))])
                .then(EventStream::new(stream::iter(rejected)))
                .then(Arc::new(with_text(TaskState::Completed, "1")));
            let (events, error) = subscribe(&inner).await;
            assert_eq!(events, ["task WORKING \"\"", "task COMPLETED \"1\""]);
            assert!(error.is_none());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn rejected_resubscription_to_running_task_ends_the_stream_with_the_error() {
        let inner = TestAgent::new()
            .then_stream([snapshot(0, task(TaskState::Working))])
            .then_fail(Error::unsupported("streaming disabled"))
            .then(Arc::new(task(TaskState::Working)));
        let (events, error) = subscribe(&inner).await;
        assert_eq!(events.len(), 1);
        assert_eq!(error.unwrap().message(), "streaming disabled");
    }

    #[tokio::test(start_paused = true)]
    async fn retries_are_limited_and_reset_by_an_event() {
        let mut inner = TestAgent::new().then_stream([snapshot(1, task(TaskState::Working))]);
        for _ in 0..4 {
            inner = inner.then_fail(Error::unavailable("down"));
        }
        inner = inner.then_stream([chunk(2, "1")]);
        for _ in 0..5 {
            inner = inner.then_fail(Error::unavailable("still down"));
        }
        let policy = RetryPolicy::STREAMS.with_within(Duration::from_secs(120));
        let agent = Arc::new(inner.clone());
        let agent = Resume::new(agent, policy, Duration::from_secs(30), Observer::default());
        let stream = agent.send_streaming_message(Call::default()).await;
        let (events, error) = read(stream).await;
        assert_eq!(events, ["task WORKING \"\"", "1"]);
        let error = error.unwrap();
        assert_eq!((error.kind(), error.message()), (ErrorKind::Unavailable, "still down"));
        assert_eq!(inner.received().len(), 11);
    }

    #[tokio::test(start_paused = true)]
    async fn send_dropped_before_first_event_is_retried_only_with_idempotency_key() {
        let inner = TestAgent::new().then_stream([]);
        let (events, error) = send(&inner).await;
        assert!(events.is_empty());
        assert_eq!(error.unwrap().kind(), ErrorKind::Unavailable);
        assert_eq!(inner.operations(), [SEND]);

        let inner = TestAgent::new()
            .then_stream([])
            .then_stream([snapshot(1, task(TaskState::Working)), status(2, TaskState::Completed)]);
        let mut context = CallContext::default();
        context.idempotency_key = Some("k".into());
        let (events, error) = send_with(&inner, context).await;
        assert_eq!(events.len(), 2);
        assert!(error.is_none());
        assert_eq!(inner.operations(), [SEND, SEND]);
        let keys = inner.received().into_iter().map(|call| call.context.idempotency_key);
        assert_eq!(keys.collect::<Vec<_>>(), [Some("k".into()), Some("k".into())]);
    }

    #[tokio::test(start_paused = true)]
    async fn permanent_error_is_not_retried() {
        let denied = Error::new(ErrorKind::PermissionDenied, "access revoked");
        let events = [Ok(snapshot(1, task(TaskState::Working))), Err(denied)];
        let inner = TestAgent::new().then(EventStream::new(stream::iter(events)));
        let (events, error) = send(&inner).await;
        assert_eq!(events.len(), 1);
        assert_eq!(error.unwrap().kind(), ErrorKind::PermissionDenied);
        assert_eq!(inner.operations(), [SEND]);
    }

    //
    #[tokio::test(start_paused = true)]
    async fn stream_left_open_by_agent_ends_with_the_task() {
        let inner = TestAgent::new().then_open_stream([
            snapshot(1, task(TaskState::Working)),
            status(2, TaskState::Completed),
            snapshot(3, task(TaskState::Completed)),
        ]);
        let (events, error) = send(&inner).await;
        assert_eq!(events.len(), 3);
        assert!(error.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn dropped_subscription_resumes_while_task_awaits_input() {
        let dropped =
            [Ok(status(1, TaskState::InputRequired)), Err(Error::unavailable("connection lost"))];
        let inner = TestAgent::new()
            .then(EventStream::new(stream::iter(dropped)))
            .then_stream([status(2, TaskState::Working), status(3, TaskState::Completed)]);
        let (events, error) = subscribe(&inner).await;
        assert_eq!(events, ["status INPUT_REQUIRED", "status WORKING", "status COMPLETED"]);
        assert!(error.is_none());

        let dropped =
            [Ok(status(1, TaskState::InputRequired)), Err(Error::unavailable("connection lost"))];
        let inner = TestAgent::new().then(EventStream::new(stream::iter(dropped)));
        let (events, error) = send(&inner).await;
        assert_eq!(events, ["status INPUT_REQUIRED"]);
        assert!(error.is_none(), "a send stream ends at an interrupted state");
    }

    #[tokio::test(start_paused = true)]
    async fn long_lived_connections_do_not_count_as_failed_attempts() {
        let mut inner = TestAgent::new().then_stream([snapshot(1, task(TaskState::Working))]);
        for _ in 0..20 {
            let idle = stream::once(async {
                tokio::time::sleep(Duration::from_secs(30)).await;
                Err(Error::unavailable("proxy closed the connection after 30 s"))
            });
            inner = inner.then(EventStream::new(idle));
        }
        inner = inner.then_stream([status(2, TaskState::Completed)]);
        let (events, error) = send(&inner).await;
        assert_eq!(events, ["task WORKING \"\"", "status COMPLETED"]);
        assert!(error.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn each_attempt_and_each_resumption_is_observed_in_order() {
        let inner = TestAgent::new()
            .then_stream([])
            .then_stream([snapshot(1, task(TaskState::Working))])
            .then_fail(Error::unavailable("restarting"))
            .then_stream([chunk(2, "1"), status(3, TaskState::Completed)]);
        let observed = Arc::<Mutex<Vec<String>>>::default();
        let recorded = observed.clone();
        let observer = Observer::new(move |event| {
            let line = match event {
                ClientEvent::Reconnecting { task_id, attempt, delay, error } => {
                    format!("reconnecting {task_id:?} {attempt} {delay:?}: {}", error.message())
                }
                ClientEvent::Resumed { task_id } => format!("resumed {task_id:?}"),
                other => format!("{other:?}"),
            };
            recorded.lock().unwrap().push(line);
        });
        let policy = RetryPolicy::STREAMS.with_jitter(false);
        let agent = Arc::new(inner.clone());
        let agent = Resume::new(agent, policy, Duration::from_secs(30), observer);
        let mut call = Call::new(SendMessageRequest::default());
        call.context.idempotency_key = Some("k".into());
        let (events, error) = read(agent.send_streaming_message(call).await).await;
        assert_eq!(events, ["task WORKING \"\"", "1", "status COMPLETED"]);
        assert!(error.is_none());
        let lost = "the stream was interrupted before the task settled";
        assert_eq!(
            *observed.lock().unwrap(),
            [
                format!("reconnecting None 1 500ms: {lost}"),
                "resumed None".to_owned(),
                format!("reconnecting Some(\"t\") 1 1s: {lost}"),
                "reconnecting Some(\"t\") 2 2s: restarting".to_owned(),
                "resumed Some(\"t\")".to_owned(),
            ]
        );
    }

    #[tokio::test(start_paused = true)]
    async fn attempt_without_a_response_times_out_and_is_retried() {
        let inner = TestAgent::new()
            .then_stream([snapshot(1, task(TaskState::Working))])
            .then_no_response()
            .then_stream([status(2, TaskState::Completed)]);
        let (events, error) = send(&inner).await;
        assert_eq!(events, ["task WORKING \"\"", "status COMPLETED"]);
        assert!(error.is_none());
    }
}
