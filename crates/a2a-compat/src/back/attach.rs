//! Attaching to a task of an agent whose event streams need not begin with the task.
//!
//! Before the draft of 1.0, `tasks/resubscribe` gives what happens from then on. What happened
//! until then, and what happens between reading the task and attaching to it, is for the client
//! to find out.

use std::{future::Future, pin::Pin, sync::Arc, time::Duration};

use a2a_core::{
    Error, ErrorKind, Result, Task,
    v1::{GetTaskRequest, StreamResponse, SubscribeToTaskRequest, stream_response::Payload},
};
use a2a_operations::{CallContext, Event, EventStream, Reply, StreamEnd};
use futures_util::{FutureExt as _, StreamExt as _, stream};

use super::Back;
use crate::{AnyRequest, AnyResponse};

/// How long an agent may take to open a stream before the task is shown: an agent that refuses
/// does so at once, while one over gRPC may open its stream with the first event.
const OPENING: Duration = Duration::from_secs(1);

type Opening = Pin<Box<dyn Future<Output = Result<Reply<EventStream>>> + Send>>;

/// Attaches to a task: a stream that begins with the task as it is, whether or not that of the
/// agent does, and that ends with all that the task has.
///
/// # Errors
///
/// Those of the agent.
pub(crate) async fn attach<B: Back>(
    back: B,
    context: CallContext,
    request: SubscribeToTaskRequest,
) -> Result<Reply<EventStream>> {
    let reader = Reader { back: back.clone(), context: context.clone(), request: request.clone() };
    // First the task and then its events: the other way round, what happens in between would be
    // told twice, and the pieces of an artifact don't say that they were there before.
    let Reply { response: task, activated } = reader.read().await?;
    if task.state().is_terminal() {
        return Ok(Reply { response: only(task), activated });
    }
    let mut opening: Opening =
        Box::pin(async move { back.events(context, AnyRequest::SubscribeToTask(request)).await });
    let (activated, events) = match tokio::time::timeout(OPENING, &mut opening).await {
        Ok(Ok(reply)) => (reply.activated, reply.response),
        Ok(Err(error)) => return reader.after_refusal(error).await,
        Err(_elapsed) => (activated, opened_later(opening)),
    };
    Ok(Reply { response: Attached::new(reader, task, events).into_stream(), activated })
}

/// Reads the task that a stream is about.
struct Reader<B> {
    back: B,
    context: CallContext,
    request: SubscribeToTaskRequest,
}

impl<B: Back> Reader<B> {
    async fn read(&self) -> Result<Reply<Arc<Task>>> {
        let SubscribeToTaskRequest { tenant, id } = self.request.clone();
        let request = AnyRequest::GetTask(GetTaskRequest { tenant, id, history_length: None });
        let reply = self.back.one(self.context.clone(), request).await?;
        match reply.response {
            AnyResponse::Task(response) => Ok(Reply { response, activated: reply.activated }),
            _ => Err(Error::new(ErrorKind::InvalidAgentResponse, "the answer is not a task")),
        }
    }

    /// Shows the task where the refusal is because nothing more is to come of it: it has ended
    /// since, or it waits for its client and its stream is closed.
    async fn after_refusal(&self, refused: Error) -> Result<Reply<EventStream>> {
        if refused.is_transient() {
            return Err(refused);
        }
        match self.read().await {
            Ok(reply) if reply.response.state().is_settled() => Ok(reply.map(only)),
            Ok(_) | Err(_) => Err(refused),
        }
    }

    /// Gives the task in the place of its last event if something of it is not known by
    /// the events.
    async fn completed(&self, known: &Task, last: Event) -> Event {
        match self.read().await {
            Ok(reply)
                if reply.response.state() == known.state()
                    && reply.response.artifacts != known.artifacts =>
            {
                shown(Some(&last), Arc::unwrap_or_clone(reply.response))
            }
            Ok(_) => last,
            Err(error) => {
                tracing::debug!(%error, "the task can't be read once more at the end");
                last
            }
        }
    }
}

/// A stream behind which there is nothing.
fn only(task: Arc<Task>) -> EventStream {
    EventStream::new(stream::iter([Ok(shown(None, Arc::unwrap_or_clone(task)))]))
}

fn shown(like: Option<&Event>, task: Task) -> Event {
    let id = like.and_then(Event::id);
    Event::new(id, StreamResponse { payload: Some(Payload::Task(task)) })
}

fn opened_later(opening: Opening) -> EventStream {
    let events = opening.map(|opened| match opened {
        Ok(reply) => reply.response.left_stream(),
        Err(error) => stream::iter([Err(error)]).right_stream(),
    });
    EventStream::new(events.flatten_stream())
}

/// A stream of updates, and the task as they leave it.
struct Attached<B> {
    reader: Reader<B>,
    events: EventStream,
    task: Task,
    /// What comes before the events that are still to be read.
    next: Option<Event>,
    /// Whether the agent showed the task itself, so that nothing is between it and the updates.
    is_complete: bool,
}

impl<B: Back> Attached<B> {
    fn new(reader: Reader<B>, task: Arc<Task>, mut events: EventStream) -> Self {
        let task = Arc::unwrap_or_clone(task);
        let first = events.next().now_or_never().flatten();
        match first {
            Some(Ok(event)) if event.task().is_some() => {
                Self { reader, events, task, next: Some(event), is_complete: true }
            }
            first => {
                let events = EventStream::new(stream::iter(first).chain(events));
                let next = Some(shown(None, task.clone()));
                Self { reader, events, task, next, is_complete: false }
            }
        }
    }

    fn into_stream(self) -> EventStream {
        EventStream::new(stream::unfold(self, |mut attached| async move {
            attached.next().await.map(|item| (item, attached))
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
            self.note(&event);
            if event.stream_end() != StreamEnd::Open {
                return Some(Ok(self.reader.completed(&self.task, event).await));
            }
        }
        Some(Ok(event))
    }

    fn note(&mut self, event: &Event) {
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
        Artifact, Operation, ProtocolVersion, TaskState,
        v1::{TaskArtifactUpdateEvent, TaskStatus, TaskStatusUpdateEvent},
    };
    use async_trait::async_trait;

    use super::*;

    /// An agent whose task has one text after the other, and whose streams are what is left.
    #[derive(Clone)]
    struct Scripted {
        tasks: Arc<Mutex<VecDeque<Task>>>,
        stream: Arc<Mutex<Option<Result<Vec<StreamResponse>>>>>,
    }

    impl Scripted {
        fn new(tasks: impl IntoIterator<Item = Task>, stream: Result<Vec<StreamResponse>>) -> Self {
            let tasks = tasks.into_iter().collect();
            Self { tasks: Arc::new(Mutex::new(tasks)), stream: Arc::new(Mutex::new(Some(stream))) }
        }

        async fn attach(&self) -> Result<Vec<String>> {
            let request = SubscribeToTaskRequest { id: "t".into(), ..Default::default() };
            let reply = attach(self.clone(), CallContext::default(), request).await?;
            let words = reply.response.map(|item| word(&item.unwrap())).collect().await;
            assert!(self.tasks.lock().unwrap().is_empty(), "{words:?}");
            Ok(words)
        }
    }

    #[async_trait]
    impl Back for Scripted {
        fn revision(&self) -> ProtocolVersion {
            ProtocolVersion::V0_3
        }

        async fn one(&self, _: CallContext, request: AnyRequest) -> Result<Reply<AnyResponse>> {
            assert_eq!(request.operation(), Operation::GetTask);
            let task = self.tasks.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            Ok(Reply::new(AnyResponse::Task(Arc::new(task.unwrap()))))
        }

        async fn events(&self, _: CallContext, _: AnyRequest) -> Result<Reply<EventStream>> {
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
    async fn the_task_as_it_is_comes_before_what_happens_from_then_on() {
        let agent = Scripted::new(
            [task(WORKING, &["1", "2"]), task(COMPLETED, &["1", "2", "3"])],
            Ok(vec![chunk("3"), status(COMPLETED)]),
        );
        assert_eq!(agent.attach().await.unwrap(), ["WORKING 12", "3", "COMPLETED"]);
    }

    #[tokio::test]
    async fn an_agent_that_shows_the_task_itself_is_passed_on() {
        let agent = Scripted::new(
            [task(WORKING, &["1"])],
            Ok(vec![of(Payload::Task(task(WORKING, &["1", "2"]))), status(COMPLETED)]),
        );
        assert_eq!(agent.attach().await.unwrap(), ["WORKING 12", "COMPLETED"]);
    }

    #[tokio::test]
    async fn what_fell_between_the_task_and_its_events_is_there_at_the_end() {
        let agent = Scripted::new(
            [task(WORKING, &["1"]), task(COMPLETED, &["1", "2", "3"])],
            Ok(vec![chunk("3"), status(COMPLETED)]),
        );
        assert_eq!(agent.attach().await.unwrap(), ["WORKING 1", "3", "COMPLETED 123"]);
    }

    #[tokio::test]
    async fn a_task_that_has_ended_is_shown_and_that_is_all() {
        let agent = Scripted::new([task(COMPLETED, &["1"])], Ok(Vec::new()));
        assert_eq!(agent.attach().await.unwrap(), ["COMPLETED 1"]);

        // It ends, or asks for something, between the two requests.
        let refused = || Err(Error::task_not_found("t"));
        for state in [COMPLETED, TaskState::InputRequired] {
            let agent = Scripted::new([task(WORKING, &[]), task(state, &["1"])], refused());
            let shown = format!("{} 1", state.as_str_name().replace("TASK_STATE_", ""));
            assert_eq!(agent.attach().await.unwrap(), [shown]);
        }
        let agent = Scripted::new([task(WORKING, &[]), task(WORKING, &[])], refused());
        assert_eq!(agent.attach().await.unwrap_err().kind(), ErrorKind::TaskNotFound);
    }
}
