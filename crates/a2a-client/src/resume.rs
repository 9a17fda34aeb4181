//! Streams that are taken up again where they were cut.

use std::{mem, sync::Arc, time::Duration};

use a2a_core::{
    AgentCard, Error, ErrorKind, Result, Task,
    v1::{
        CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
        GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
        ListTasksRequest, ListTasksResponse, SendMessageRequest, SendMessageResponse,
        StreamResponse, SubscribeToTaskRequest, TaskPushNotificationConfig,
        stream_response::Payload,
    },
};
use a2a_operations::{Agent, Call, CallContext, Event, EventId, EventStream, Reply, Settled};
use async_trait::async_trait;
use futures_util::{StreamExt as _, stream};
use tokio::time::Instant;

use crate::{
    policy::{RetryPolicy, Tries},
    snapshot::Snapshot,
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

/// What a stream came from, as far as it is needed to open it again.
enum Origin {
    /// A subscription.
    Subscription { context: CallContext, tenant: String, task_id: String },
    /// A send. It can be repeated only if a key joins it with the first one.
    Send { call: Box<Call<SendMessageRequest>> },
}

impl Origin {
    fn context(&self) -> CallContext {
        let mut context = match self {
            Self::Subscription { context, .. } => context.clone(),
            Self::Send { call } => call.context.clone(),
        };
        context.last_event_id = None;
        context.idempotency_key = None;
        context
    }

    fn tenant(&self) -> &str {
        match self {
            Self::Subscription { tenant, .. } => tenant,
            Self::Send { call } => &call.request.tenant,
        }
    }
}

/// How long an agent may take to end a stream after the task has ended: some send one more
/// `Task`, and a connection that was read to its end can be used again.
const LINGER: Duration = Duration::from_secs(1);

struct Resuming {
    agent: Arc<dyn Agent>,
    origin: Origin,
    tries: Tries,
    events: EventStream,
    task_id: Option<String>,
    last_event_id: Option<EventId>,
    /// The last event when this connection was opened: up to it, the connection repeats. Ids that
    /// come twice within one are no reason to leave an event out, as some agents number them by
    /// the clock.
    repeated: Option<EventId>,
    /// Kept only while events have no positions: then it tells what a new snapshot adds.
    seen: Snapshot,
    settled: Settled,
    opened: Instant,
    /// Whether the next event is the first one after a cut.
    resumed: bool,
    done: bool,
}

/// How a stream goes on after a cut.
enum Next {
    Events(EventStream),
    /// The task has ended: its last state, where that is news.
    End(Option<Event>),
}

impl Resuming {
    fn new(agent: Arc<dyn Agent>, origin: Origin, tries: Tries, events: EventStream) -> Self {
        let (task_id, last_event_id) = match &origin {
            Origin::Subscription { context, task_id, .. } => {
                (Some(task_id.clone()), context.last_event_id)
            }
            Origin::Send { .. } => (None, None),
        };
        Self {
            agent,
            origin,
            tries,
            events,
            task_id,
            last_event_id,
            repeated: last_event_id,
            seen: Snapshot::new(),
            settled: Settled::No,
            opened: Instant::now(),
            resumed: false,
            done: false,
        }
    }

    fn into_stream(self) -> EventStream {
        EventStream::new(stream::unfold(self, |mut resuming| async move {
            resuming.next().await.map(|item| (item, resuming))
        }))
    }

    async fn next(&mut self) -> Option<Result<Event>> {
        while !self.done {
            let next = self.events.next();
            let item = if self.settled == Settled::Finally {
                tokio::time::timeout(LINGER, next).await.unwrap_or_default()
            } else {
                next.await
            };
            match item {
                Some(Ok(event)) => {
                    if let Some(event) = self.accept(event) {
                        return Some(Ok(event));
                    }
                }
                // The stream's own law: it ended where it may end.
                None => self.done = true,
                Some(Err(_)) if self.is_finished() => self.done = true,
                Some(Err(error)) => match self.reopen(error).await {
                    Ok(Next::Events(events)) => {
                        self.events = events;
                        self.opened = Instant::now();
                        self.resumed = true;
                        self.repeated = self.last_event_id;
                    }
                    Ok(Next::End(last)) => {
                        self.done = true;
                        return last.map(Ok);
                    }
                    Err(error) => {
                        self.done = true;
                        return Some(Err(error));
                    }
                },
            }
        }
        None
    }

    /// Returns whether nothing was lost when the connection broke just now: the task has ended,
    /// or it asked for an answer and the stream of a send is over with that.
    fn is_finished(&self) -> bool {
        match (self.settled, &self.origin) {
            (Settled::Finally, _) | (Settled::Interrupted(_), Origin::Send { .. }) => true,
            (Settled::Interrupted(_), Origin::Subscription { .. }) | (Settled::No, _) => false,
        }
    }

    /// Notes what an event tells, and returns it if it is news.
    fn accept(&mut self, event: Event) -> Option<Event> {
        let resumed = mem::take(&mut self.resumed);
        if let Some(id) = event.id() {
            match self.repeated {
                // Ids that begin anew on each connection are no positions.
                Some(last) if resumed && id < last => {
                    self.repeated = None;
                    self.last_event_id = None;
                }
                Some(last) if id <= last => return None,
                _ => self.last_event_id = Some(id),
            }
        } else if resumed
            && let Some(task) = event.task()
            && self.seen.knows(task)
        {
            return None;
        }
        match event.payload() {
            Some(Payload::Task(task)) => self.task_id = Some(task.id.clone()),
            Some(Payload::StatusUpdate(update)) => self.task_id = Some(update.task_id.clone()),
            Some(Payload::ArtifactUpdate(update)) => self.task_id = Some(update.task_id.clone()),
            Some(Payload::Message(_)) | None => {}
        }
        if self.last_event_id.is_none() {
            self.seen.apply(&event);
        }
        self.settled = event.settled();
        self.tries.reset();
        Some(event)
    }

    /// Finds a way to go on after `error`, or returns the error to end with.
    async fn reopen(&mut self, mut error: Error) -> Result<Next> {
        self.tries.held(self.opened.elapsed());
        // Some agents open a stream only to refuse it inside.
        if mem::take(&mut self.resumed)
            && is_refusal(&error)
            && let Some(task_id) = self.task_id.clone()
        {
            error = match self.read_end(&task_id, error).await {
                Ok(next) => return Ok(next),
                Err(again) => again,
            };
        }
        loop {
            if !error.is_transient() || !self.can_reopen() {
                return Err(error);
            }
            self.tries.pause(error).await?;
            error = match self.try_reopen().await {
                Ok(next) => return Ok(next),
                Err(again) => again,
            };
        }
    }

    fn can_reopen(&self) -> bool {
        match (&self.task_id, &self.origin) {
            (Some(id), _) => !id.is_empty(),
            (None, Origin::Send { call }) => call.context.idempotency_key.is_some(),
            (None, Origin::Subscription { .. }) => false,
        }
    }

    async fn try_reopen(&mut self) -> Result<Next> {
        let Some(task_id) = self.task_id.clone() else {
            return match &self.origin {
                Origin::Send { call } => {
                    let reply = self.agent.send_streaming_message((**call).clone()).await?;
                    Ok(Next::Events(reply.response))
                }
                Origin::Subscription { .. } => Err(Error::unavailable("the task is not known")),
            };
        };
        let mut context = self.origin.context();
        context.last_event_id = self.last_event_id;
        let tenant = self.origin.tenant();
        let request = SubscribeToTaskRequest { tenant: tenant.into(), id: task_id.clone() };
        match self.agent.subscribe_to_task(Call::with_context(context, request)).await {
            Ok(reply) => Ok(Next::Events(reply.response)),
            Err(refused) if is_refusal(&refused) => self.read_end(&task_id, refused).await,
            Err(error) => Err(error),
        }
    }

    /// Reads a task that can't be subscribed to, and returns it if that is because it has ended.
    async fn read_end(&mut self, task_id: &str, refused: Error) -> Result<Next> {
        let request = GetTaskRequest {
            tenant: self.origin.tenant().to_owned(),
            id: task_id.to_owned(),
            ..GetTaskRequest::default()
        };
        let call = Call::with_context(self.origin.context(), request);
        let task = match self.agent.get_task(call).await {
            Ok(reply) => reply.response,
            Err(error) if error.is_transient() => return Err(error),
            Err(_) => return Err(refused),
        };
        if !task.state().is_settled() {
            return Err(refused);
        }
        if self.last_event_id.is_none() && self.seen.knows(&task) {
            return Ok(Next::End(None));
        }
        let task = Arc::unwrap_or_clone(task);
        let last = StreamResponse { payload: Some(Payload::Task(task)) };
        Ok(Next::End(Some(Event::new(None, last))))
    }
}

/// Returns whether an agent may refuse like this to be asked for the events of a task that has
/// ended; some do as if there were no such task.
fn is_refusal(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::UnsupportedOperation | ErrorKind::TaskNotFound | ErrorKind::MethodNotFound
    )
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
    use a2a_core::{Artifact, Message, Operation, TaskState};

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
