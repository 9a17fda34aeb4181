//! Streams that are taken up again where they were cut.

use std::sync::Arc;

use a2a_core::{
    AgentCard, Result, Task,
    v1::{
        CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
        GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
        ListTasksRequest, ListTasksResponse, SendMessageRequest, SendMessageResponse,
        SubscribeToTaskRequest, TaskPushNotificationConfig,
    },
};
use a2a_operations::{Agent, Call, EventStream, Reply};
use async_trait::async_trait;

use crate::{
    policy::{RetryPolicy, Tries},
    resuming::{Origin, Resuming},
};

/// An agent whose streams survive a cut connection.
///
/// A stream that ends with `Unavailable` is taken up again by `SubscribeToTask`: after the last
/// event seen where events have positions, else with the task as it is then, which is passed on
/// only if it tells something new. A task that ended meanwhile is read once and closes the
/// stream. So an error at the end of a stream means that the policy's tries are used up, or that
/// there is no way back.
pub(crate) struct Resume {
    agent: Arc<dyn Agent>,
    policy: RetryPolicy,
}

impl Resume {
    pub(crate) fn new(agent: Arc<dyn Agent>, policy: RetryPolicy) -> Self {
        Self { agent, policy }
    }

    fn resuming(&self, origin: Origin, reply: Reply<EventStream>) -> Reply<EventStream> {
        let agent = self.agent.clone();
        let tries = Tries::new(self.policy);
        reply.map(|events| Resuming::new(agent, origin, tries, events).into_stream())
    }
}

#[async_trait]
impl Agent for Resume {
    async fn send_message(
        &self,
        call: Call<SendMessageRequest>,
    ) -> Result<Reply<SendMessageResponse>> {
        self.agent.send_message(call).await
    }

    async fn send_streaming_message(
        &self,
        call: Call<SendMessageRequest>,
    ) -> Result<Reply<EventStream>> {
        let reply = self.agent.send_streaming_message(call.clone()).await?;
        Ok(self.resuming(Origin::Send { call: Box::new(call) }, reply))
    }

    async fn subscribe_to_task(
        &self,
        call: Call<SubscribeToTaskRequest>,
    ) -> Result<Reply<EventStream>> {
        let origin = Origin::Subscription {
            context: call.context.clone(),
            tenant: call.request.tenant.clone(),
            task_id: call.request.id.clone(),
        };
        let reply = self.agent.subscribe_to_task(call).await?;
        Ok(self.resuming(origin, reply))
    }

    async fn get_task(&self, call: Call<GetTaskRequest>) -> Result<Reply<Arc<Task>>> {
        self.agent.get_task(call).await
    }

    async fn list_tasks(&self, call: Call<ListTasksRequest>) -> Result<Reply<ListTasksResponse>> {
        self.agent.list_tasks(call).await
    }

    async fn cancel_task(&self, call: Call<CancelTaskRequest>) -> Result<Reply<Arc<Task>>> {
        self.agent.cancel_task(call).await
    }

    async fn create_task_push_notification_config(
        &self,
        call: Call<TaskPushNotificationConfig>,
    ) -> Result<Reply<TaskPushNotificationConfig>> {
        self.agent.create_task_push_notification_config(call).await
    }

    async fn get_task_push_notification_config(
        &self,
        call: Call<GetTaskPushNotificationConfigRequest>,
    ) -> Result<Reply<TaskPushNotificationConfig>> {
        self.agent.get_task_push_notification_config(call).await
    }

    async fn list_task_push_notification_configs(
        &self,
        call: Call<ListTaskPushNotificationConfigsRequest>,
    ) -> Result<Reply<ListTaskPushNotificationConfigsResponse>> {
        self.agent.list_task_push_notification_configs(call).await
    }

    async fn delete_task_push_notification_config(
        &self,
        call: Call<DeleteTaskPushNotificationConfigRequest>,
    ) -> Result<Reply<()>> {
        self.agent.delete_task_push_notification_config(call).await
    }

    async fn get_extended_agent_card(
        &self,
        call: Call<GetExtendedAgentCardRequest>,
    ) -> Result<Reply<AgentCard>> {
        self.agent.get_extended_agent_card(call).await
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use a2a_core::{Artifact, Error, ErrorKind, Message, Operation, TaskState};
    use a2a_operations::CallContext;
    use futures_util::{StreamExt as _, stream};

    use super::*;
    use crate::script::{Script, chunk, snapshot, status, task, word};

    const SUBSCRIBE: Operation = Operation::SubscribeToTask;
    const SEND: Operation = Operation::SendStreamingMessage;

    /// Reads a stream to its end.
    async fn read(stream: Result<Reply<EventStream>>) -> (Vec<String>, Option<Error>) {
        let mut words = Vec::new();
        let mut events = stream.unwrap().response;
        while let Some(item) = events.next().await {
            match item {
                Ok(event) => words.push(word(&event)),
                Err(error) => return (words, Some(error)),
            }
        }
        (words, None)
    }

    async fn send(script: &Script) -> (Vec<String>, Option<Error>) {
        send_with(script, CallContext::default()).await
    }

    async fn send_with(script: &Script, context: CallContext) -> (Vec<String>, Option<Error>) {
        let agent = Resume::new(Arc::new(script.clone()), RetryPolicy::STREAMS);
        let request = SendMessageRequest {
            tenant: "acme".into(),
            message: Some(Message::user("go")),
            ..SendMessageRequest::default()
        };
        read(agent.send_streaming_message(Call::with_context(context, request)).await).await
    }

    async fn subscribe(script: &Script) -> (Vec<String>, Option<Error>) {
        let agent = Resume::new(Arc::new(script.clone()), RetryPolicy::STREAMS);
        let request = SubscribeToTaskRequest { id: "t".into(), ..Default::default() };
        read(agent.subscribe_to_task(Call::new(request)).await).await
    }

    fn with_text(state: TaskState, text: &str) -> Task {
        let artifacts = vec![Artifact::new("a", text).with_id("a")];
        Task { artifacts, ..task(state) }
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_with_positions_goes_on_after_the_last_event_seen() {
        let script = Script::new()
            .then_stream([snapshot(1, task(TaskState::Working)), chunk(2, "1"), chunk(3, "2")])
            .then_fail(Error::unavailable("still restarting"))
            .then_stream([chunk(3, "2"), chunk(4, "3")])
            .then_stream([chunk(5, "4"), status(6, TaskState::Completed)]);
        let (words, error) = send(&script).await;
        assert_eq!(words, ["task WORKING \"\"", "1", "2", "3", "4", "status COMPLETED"]);
        assert!(error.is_none());
        let heard = script.heard();
        assert_eq!(script.operations(), [SEND, SUBSCRIBE, SUBSCRIBE, SUBSCRIBE]);
        let positions: Vec<_> = heard.iter().map(|heard| heard.last_event_id()).collect();
        assert_eq!(positions, [None, Some(3), Some(3), Some(4)]);
        assert!(heard.iter().all(|heard| heard.tenant == "acme"));
        assert_eq!(heard[1].task_id.as_deref(), Some("t"));
    }

    #[tokio::test(start_paused = true)]
    async fn without_positions_a_snapshot_is_passed_on_only_if_it_tells_something_new() {
        let script = Script::new()
            .then_stream([snapshot(0, task(TaskState::Working)), chunk(0, "1"), chunk(0, "2")])
            .then_stream([snapshot(0, with_text(TaskState::Working, "123")), chunk(0, "4")])
            .then_stream([snapshot(0, task(TaskState::Working))]);
        let (words, _) = {
            // The third snapshot is news again; the stream behind it is cut five times over.
            let mut script = script.clone();
            for _ in 0..5 {
                script = script.then_stream([snapshot(0, task(TaskState::Working))]);
            }
            send(&script).await
        };
        assert_eq!(
            words,
            ["task WORKING \"\"", "1", "2", "task WORKING \"123\"", "4", "task WORKING \"\""]
        );

        let same = Task {
            artifacts: vec![Artifact::new("a", "1").with_id("a").with_part("2")],
            ..task(TaskState::Working)
        };
        let script = Script::new()
            .then_stream([snapshot(0, task(TaskState::Working)), chunk(0, "1"), chunk(0, "2")])
            .then_stream([snapshot(0, same), status(0, TaskState::Completed)]);
        let (words, error) = send(&script).await;
        assert_eq!(words, ["task WORKING \"\"", "1", "2", "status COMPLETED"]);
        assert!(error.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn ids_that_begin_anew_on_each_connection_hide_no_event() {
        let script = Script::new()
            .then_stream([snapshot(4, task(TaskState::Working)), chunk(5, "1")])
            .then_stream([
                snapshot(1, with_text(TaskState::Working, "1")),
                chunk(2, "2"),
                status(3, TaskState::Completed),
            ]);
        let (words, error) = subscribe(&script).await;
        assert_eq!(
            words,
            ["task WORKING \"\"", "1", "task WORKING \"1\"", "2", "status COMPLETED"]
        );
        assert!(error.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn ids_that_come_twice_on_a_connection_hide_no_event() {
        let script = Script::new().then_stream([
            snapshot(7, task(TaskState::Working)),
            chunk(7, "1"),
            chunk(9, "2"),
            status(9, TaskState::Completed),
        ]);
        let (words, error) = send(&script).await;
        assert_eq!(words, ["task WORKING \"\"", "1", "2", "status COMPLETED"]);
        assert!(error.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_task_that_ended_meanwhile_is_read_once_and_ends_the_stream() {
        for refusal in [ErrorKind::UnsupportedOperation, ErrorKind::TaskNotFound] {
            let script = Script::new()
                .then_stream([snapshot(0, task(TaskState::Working)), chunk(0, "1")])
                .then_fail(Error::new(refusal, "it has ended"))
                .then(Arc::new(with_text(TaskState::Completed, "12")));
            let (words, error) = subscribe(&script).await;
            assert_eq!(words, ["task WORKING \"\"", "1", "task COMPLETED \"12\""]);
            assert!(error.is_none());
            assert_eq!(script.operations(), [SUBSCRIBE, SUBSCRIBE, Operation::GetTask]);

            let inside = [Err(Error::new(refusal, "it has ended"))];
            let script = Script::new()
                .then_stream([snapshot(0, task(TaskState::Working))])
                .then(EventStream::new(stream::iter(inside)))
                .then(Arc::new(with_text(TaskState::Completed, "1")));
            let (words, error) = subscribe(&script).await;
            assert_eq!(words, ["task WORKING \"\"", "task COMPLETED \"1\""]);
            assert!(error.is_none());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_refusal_of_a_task_that_goes_on_is_the_end() {
        let script = Script::new()
            .then_stream([snapshot(0, task(TaskState::Working))])
            .then_fail(Error::unsupported("no streaming any more"))
            .then(Arc::new(task(TaskState::Working)));
        let (words, error) = subscribe(&script).await;
        assert_eq!(words.len(), 1);
        assert_eq!(error.unwrap().message(), "no streaming any more");
    }

    #[tokio::test(start_paused = true)]
    async fn the_tries_are_bounded_and_an_event_makes_them_whole_again() {
        let mut script = Script::new().then_stream([snapshot(1, task(TaskState::Working))]);
        for _ in 0..4 {
            script = script.then_fail(Error::unavailable("down"));
        }
        script = script.then_stream([chunk(2, "1")]);
        for _ in 0..5 {
            script = script.then_fail(Error::unavailable("down for good"));
        }
        let (words, error) = send(&script).await;
        assert_eq!(words, ["task WORKING \"\"", "1"]);
        let error = error.unwrap();
        assert_eq!((error.kind(), error.message()), (ErrorKind::Unavailable, "down for good"));
        assert_eq!(script.heard().len(), 11);
    }

    #[tokio::test(start_paused = true)]
    async fn a_send_cut_before_its_first_event_is_repeated_only_under_a_key() {
        let script = Script::new().then_stream([]);
        let (words, error) = send(&script).await;
        assert!(words.is_empty());
        assert_eq!(error.unwrap().kind(), ErrorKind::Unavailable);
        assert_eq!(script.operations(), [SEND]);

        let script = Script::new()
            .then_stream([])
            .then_stream([snapshot(1, task(TaskState::Working)), status(2, TaskState::Completed)]);
        let mut context = CallContext::default();
        context.idempotency_key = Some("k".into());
        let (words, error) = send_with(&script, context).await;
        assert_eq!(words.len(), 2);
        assert!(error.is_none());
        assert_eq!(script.operations(), [SEND, SEND]);
        let keys = script.heard().into_iter().map(|heard| heard.context.idempotency_key);
        assert_eq!(keys.collect::<Vec<_>>(), [Some("k".into()), Some("k".into())]);
    }

    #[tokio::test(start_paused = true)]
    async fn an_error_that_will_not_pass_is_not_tried_again() {
        let denied = Error::new(ErrorKind::PermissionDenied, "not any more");
        let events = [Ok(snapshot(1, task(TaskState::Working))), Err(denied)];
        let script = Script::new().then(EventStream::new(stream::iter(events)));
        let (words, error) = send(&script).await;
        assert_eq!(words.len(), 1);
        assert_eq!(error.unwrap().kind(), ErrorKind::PermissionDenied);
        assert_eq!(script.operations(), [SEND]);
    }

    //
    #[tokio::test(start_paused = true)]
    async fn a_stream_that_an_agent_forgets_to_end_ends_with_its_task() {
        let script = Script::new().then_endless([
            snapshot(1, task(TaskState::Working)),
            status(2, TaskState::Completed),
            snapshot(3, task(TaskState::Completed)),
        ]);
        let (words, error) = send(&script).await;
        assert_eq!(words.len(), 3);
        assert!(error.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_subscription_outlives_a_cut_while_the_task_waits_for_input() {
        let cut = [Ok(status(1, TaskState::InputRequired)), Err(Error::unavailable("cut"))];
        let script = Script::new()
            .then(EventStream::new(stream::iter(cut)))
            .then_stream([status(2, TaskState::Working), status(3, TaskState::Completed)]);
        let (words, error) = subscribe(&script).await;
        assert_eq!(words, ["status INPUT_REQUIRED", "status WORKING", "status COMPLETED"]);
        assert!(error.is_none());

        let cut = [Ok(status(1, TaskState::InputRequired)), Err(Error::unavailable("cut"))];
        let script = Script::new().then(EventStream::new(stream::iter(cut)));
        let (words, error) = send(&script).await;
        assert_eq!(words, ["status INPUT_REQUIRED"]);
        assert!(error.is_none(), "the stream of a send is over then");
    }

    #[tokio::test(start_paused = true)]
    async fn connections_that_stand_for_a_while_are_no_failures() {
        let mut script = Script::new().then_stream([snapshot(1, task(TaskState::Working))]);
        for _ in 0..20 {
            let silent = stream::once(async {
                tokio::time::sleep(Duration::from_secs(30)).await;
                Err(Error::unavailable("a proxy cuts after 30 s"))
            });
            script = script.then(EventStream::new(silent));
        }
        script = script.then_stream([status(2, TaskState::Completed)]);
        let (words, error) = send(&script).await;
        assert_eq!(words, ["task WORKING \"\"", "status COMPLETED"]);
        assert!(error.is_none());
    }
}
