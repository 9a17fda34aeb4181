//! Subscribing to a task of an agent whose event streams need not start with the task.
//!
//! Before the draft of 1.0, `tasks/resubscribe` returns only new events. The client has to read the
//! task first, and to detect events missed between reading the task and subscribing.

use std::{future::Future, pin::Pin, sync::Arc, time::Duration};

use a2a_core::{
    Error, Result, Task,
    v1::{GetTaskRequest, StreamResponse, SubscribeToTaskRequest, stream_response::Payload},
};
use a2a_kit_operations::{CallContext, Event, EventStream, Reply, StreamEnd};
use futures_util::{FutureExt as _, StreamExt as _, stream};

use super::Transport;
use crate::{AnyRequest, AnyResponse};

/// Time to wait for the stream before the task is returned: a rejection arrives immediately, but an
/// agent over gRPC may open its stream only with the first event.
const OPEN_TIMEOUT: Duration = Duration::from_secs(1);

type Opening = Pin<Box<dyn Future<Output = Result<Reply<EventStream>>> + Send>>;

/// Subscribes to a task. The stream starts with the current task, even if that of the agent does
/// not, and ends with the complete task if events were missed.
///
/// # Errors
///
/// Those of the agent.
pub(crate) async fn subscribe_with_snapshot<T: Transport>(
    transport: T,
    context: CallContext,
    request: SubscribeToTaskRequest,
) -> Result<Reply<EventStream>> {
    let reader = TaskReader {
        transport: transport.clone(),
        context: context.clone(),
        request: request.clone(),
    };
    // The task is read before its events: in the opposite order, chunks of an artifact in between
    // would be applied twice, which is not detectable.
    let Reply { response: task, activated } = reader.read().await?;
    if task.state().is_terminal() {
        return Ok(Reply { response: single(task), activated });
    }
    let mut opening: Opening =
        Box::pin(
            async move { transport.stream(context, AnyRequest::SubscribeToTask(request)).await },
        );
    let (activated, events) = match tokio::time::timeout(OPEN_TIMEOUT, &mut opening).await {
        Ok(Ok(reply)) => (reply.activated, reply.response),
        Ok(Err(error)) => return reader.after_rejection(error).await,
        Err(_elapsed) => (activated, deferred(opening)),
    };
    Ok(Reply { response: Subscription::new(reader, task, events).into_stream(), activated })
}

/// Reads the task of a subscription.
struct TaskReader<T> {
    transport: T,
    context: CallContext,
    request: SubscribeToTaskRequest,
}

impl<T: Transport> TaskReader<T> {
    async fn read(&self) -> Result<Reply<Arc<Task>>> {
        let SubscribeToTaskRequest { tenant, id } = self.request.clone();
        let request = AnyRequest::GetTask(GetTaskRequest { tenant, id, history_length: None });
        let reply = self.transport.unary(self.context.clone(), request).await?;
        match reply.response {
            AnyResponse::Task(response) => Ok(Reply { response, activated: reply.activated }),
            _ => Err(Error::invalid_response("the response is not a task")),
        }
    }

    /// Returns the task if the subscription was rejected because the task has ended or been
    /// interrupted in the meantime.
    async fn after_rejection(&self, rejection: Error) -> Result<Reply<EventStream>> {
        if rejection.is_transient() {
            return Err(rejection);
        }
        match self.read().await {
            Ok(reply) if reply.response.state().is_settled() => Ok(reply.map(single)),
            Ok(_) | Err(_) => Err(rejection),
        }
    }

    /// Replaces the last event by the task if its artifacts differ from those of the events.
    async fn complete(&self, known: &Task, last: Event) -> Event {
        match self.read().await {
            Ok(reply)
                if reply.response.state() == known.state()
                    && reply.response.artifacts != known.artifacts =>
            {
                snapshot(Some(&last), Arc::unwrap_or_clone(reply.response))
            }
            Ok(_) => last,
            Err(error) => {
                tracing::debug!(%error, "failed to read the task at the end of its stream");
                last
            }
        }
    }
}

/// A stream of a single task.
fn single(task: Arc<Task>) -> EventStream {
    EventStream::new(stream::iter([Ok(snapshot(None, Arc::unwrap_or_clone(task)))]))
}

fn snapshot(replaced: Option<&Event>, task: Task) -> Event {
    let id = replaced.and_then(Event::id);
    Event::new(id, StreamResponse { payload: Some(Payload::Task(task)) })
}

fn deferred(opening: Opening) -> EventStream {
    let events = opening.map(|opened| match opened {
        Ok(reply) => reply.response.left_stream(),
        Err(error) => stream::iter([Err(error)]).right_stream(),
    });
    EventStream::new(events.flatten_stream())
}

/// A stream of updates, and the task with these updates applied.
struct Subscription<T> {
    reader: TaskReader<T>,
    events: EventStream,
    task: Task,
    /// The event to return before those of the stream.
    next: Option<Event>,
    /// Whether the agent sent the task itself, so that no update can be missing.
    is_complete: bool,
}

impl<T: Transport> Subscription<T> {
    fn new(reader: TaskReader<T>, task: Arc<Task>, mut events: EventStream) -> Self {
        let task = Arc::unwrap_or_clone(task);
        let first = events.next().now_or_never().flatten();
        match first {
            Some(Ok(event)) if event.task().is_some() => {
                Self { reader, events, task, next: Some(event), is_complete: true }
            }
            first => {
                let events = EventStream::new(stream::iter(first).chain(events));
                let next = Some(snapshot(None, task.clone()));
                Self { reader, events, task, next, is_complete: false }
            }
        }
    }

    fn into_stream(self) -> EventStream {
        EventStream::new(stream::unfold(self, |mut subscription| async move {
            subscription.next().await.map(|item| (item, subscription))
        }))
    }

    async fn next(&mut self) -> Option<Result<Event>> {
        if let Some(event) = self.next.take() {
            return Some(Ok(event));
        }
        let event = match self.events.next().await? {
            Ok(event) => event,
            Err(error) => return Some(Err(error)),
        };
        if !self.is_complete {
            self.apply(&event);
            if event.stream_end() != StreamEnd::Open {
                return Some(Ok(self.reader.complete(&self.task, event).await));
            }
        }
        Some(Ok(event))
    }

    fn apply(&mut self, event: &Event) {
        match event.payload() {
            Some(Payload::Task(task)) => {
                self.task = task.clone();
                self.is_complete = true;
            }
            Some(Payload::StatusUpdate(update)) => self.task.apply_status(update),
            Some(Payload::ArtifactUpdate(update)) => self.task.apply_artifact(update),
            Some(Payload::Message(_)) | None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        collections::VecDeque,
        sync::{Mutex, PoisonError},
    };

    use a2a_core::{
        Artifact, ErrorKind, Operation, ProtocolVersion, TaskState,
        v1::{TaskArtifactUpdateEvent, TaskStatus, TaskStatusUpdateEvent},
    };
    use async_trait::async_trait;

    use super::*;

    /// A transport with scripted responses.
    #[derive(Clone)]
    struct ScriptedTransport {
        tasks: Arc<Mutex<VecDeque<Task>>>,
        stream: Arc<Mutex<Option<Result<Vec<StreamResponse>>>>>,
    }

    impl ScriptedTransport {
        fn new(tasks: impl IntoIterator<Item = Task>, stream: Result<Vec<StreamResponse>>) -> Self {
            let tasks = tasks.into_iter().collect();
            Self { tasks: Arc::new(Mutex::new(tasks)), stream: Arc::new(Mutex::new(Some(stream))) }
        }

        async fn subscribe(&self) -> Result<Vec<String>> {
            let request = SubscribeToTaskRequest { id: "t".into(), ..Default::default() };
            let reply =
                subscribe_with_snapshot(self.clone(), CallContext::default(), request).await?;
            let words = reply.response.map(|item| word(&item.unwrap())).collect().await;
            assert!(self.tasks.lock().unwrap().is_empty(), "{words:?}");
            Ok(words)
        }
    }

    #[async_trait]
    impl Transport for ScriptedTransport {
        fn revision(&self) -> ProtocolVersion {
            ProtocolVersion::V0_3
        }

        async fn unary(&self, _: CallContext, request: AnyRequest) -> Result<Reply<AnyResponse>> {
            assert_eq!(request.operation(), Operation::GetTask);
            let task = self.tasks.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            Ok(Reply::new(AnyResponse::Task(Arc::new(task.unwrap()))))
        }

        async fn stream(&self, _: CallContext, _: AnyRequest) -> Result<Reply<EventStream>> {
            let events = self.stream.lock().unwrap().take().unwrap()?;
            let events = events.into_iter().map(|event| Ok(Event::new(None, event)));
            Ok(Reply::new(EventStream::new(stream::iter(events.collect::<Vec<_>>()))))
        }
    }

    fn task(state: TaskState, texts: &[&str]) -> Task {
        let status = Some(TaskStatus { state: state.into(), ..TaskStatus::default() });
        let mut task = Task { id: "t".into(), context_id: "c".into(), status, ..Task::default() };
        texts.iter().for_each(|text| task.apply_artifact(&update(text)));
        task
    }

    fn update(text: &str) -> TaskArtifactUpdateEvent {
        TaskArtifactUpdateEvent {
            task_id: "t".into(),
            artifact: Some(Artifact::new("a", text).with_id("a")),
            append: true,
            ..TaskArtifactUpdateEvent::default()
        }
    }

    fn of(payload: Payload) -> StreamResponse {
        StreamResponse { payload: Some(payload) }
    }

    fn chunk(text: &str) -> StreamResponse {
        of(Payload::ArtifactUpdate(update(text)))
    }

    fn status(state: TaskState) -> StreamResponse {
        of(Payload::StatusUpdate(TaskStatusUpdateEvent {
            task_id: "t".into(),
            status: task(state, &[]).status,
            ..TaskStatusUpdateEvent::default()
        }))
    }

    fn word(event: &Event) -> String {
        match event.payload() {
            Some(Payload::Task(task)) => format!("{} {}", task.state().as_str_name(), task.text()),
            Some(Payload::ArtifactUpdate(update)) => update.artifact.clone().unwrap().text(),
            _ => event.state().unwrap().as_str_name().to_owned(),
        }
        .replace("TASK_STATE_", "")
    }

    const WORKING: TaskState = TaskState::Working;
    const COMPLETED: TaskState = TaskState::Completed;

    #[tokio::test]
    async fn stream_starts_with_the_current_task() {
        let agent = ScriptedTransport::new(
            [task(WORKING, &["1", "2"]), task(COMPLETED, &["1", "2", "3"])],
            Ok(vec![chunk("3"), status(COMPLETED)]),
        );
        assert_eq!(agent.subscribe().await.unwrap(), ["WORKING 12", "3", "COMPLETED"]);
    }

    #[tokio::test]
    async fn stream_that_starts_with_a_task_is_unchanged() {
        let agent = ScriptedTransport::new(
            [task(WORKING, &["1"])],
            Ok(vec![of(Payload::Task(task(WORKING, &["1", "2"]))), status(COMPLETED)]),
        );
        assert_eq!(agent.subscribe().await.unwrap(), ["WORKING 12", "COMPLETED"]);
    }

    #[tokio::test]
    async fn missed_events_are_in_the_task_at_the_end() {
        let agent = ScriptedTransport::new(
            [task(WORKING, &["1"]), task(COMPLETED, &["1", "2", "3"])],
            Ok(vec![chunk("3"), status(COMPLETED)]),
        );
        assert_eq!(agent.subscribe().await.unwrap(), ["WORKING 1", "3", "COMPLETED 123"]);
    }

    #[tokio::test]
    async fn ended_task_is_the_only_event() {
        let agent = ScriptedTransport::new([task(COMPLETED, &["1"])], Ok(Vec::new()));
        assert_eq!(agent.subscribe().await.unwrap(), ["COMPLETED 1"]);

        // The task ends or is interrupted between the two requests.
        let rejected = || Err(Error::task_not_found("t"));
        for state in [COMPLETED, TaskState::InputRequired] {
            let agent =
                ScriptedTransport::new([task(WORKING, &[]), task(state, &["1"])], rejected());
            let expected = format!("{} 1", state.as_str_name().replace("TASK_STATE_", ""));
            assert_eq!(agent.subscribe().await.unwrap(), [expected]);
        }
        let agent = ScriptedTransport::new([task(WORKING, &[]), task(WORKING, &[])], rejected());
        assert_eq!(agent.subscribe().await.unwrap_err().kind(), ErrorKind::TaskNotFound);
    }
}
