//! An agent for tests that answers what it was told to, and remembers what it heard.

use std::{
    any::Any,
    collections::VecDeque,
    future::Future,
    sync::{Arc, Mutex},
};

use a2a_core::{
    Artifact, Error, Operation, Request, Result, Task, TaskState,
    v1::{
        StreamResponse, SubscribeToTaskRequest, TaskArtifactUpdateEvent, TaskStatus,
        TaskStatusUpdateEvent, stream_response::Payload,
    },
};
use a2a_operations::{Agent, Call, CallContext, Event, EventId, EventStream, Reply};
use futures_util::{StreamExt as _, stream};

use crate::wrap::wrap_agent;

/// What the agent was asked.
#[derive(Clone, Debug)]
pub(crate) struct Heard {
    pub(crate) operation: Operation,
    pub(crate) tenant: String,
    pub(crate) context: CallContext,
    /// Of a subscription.
    pub(crate) task_id: Option<String>,
}

impl Heard {
    pub(crate) fn last_event_id(&self) -> Option<u64> {
        self.context.last_event_id.map(EventId::get)
    }
}

type Answer = Result<Box<dyn Any + Send>>;

#[derive(Clone, Default)]
pub(crate) struct Script {
    answers: Arc<Mutex<VecDeque<Answer>>>,
    heard: Arc<Mutex<Vec<Heard>>>,
}

impl Script {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Answers the next call with a response of the operation's type.
    pub(crate) fn then(self, response: impl Any + Send) -> Self {
        self.answers.lock().unwrap().push_back(Ok(Box::new(response)));
        self
    }

    /// Fails the next call.
    pub(crate) fn then_fail(self, error: Error) -> Self {
        self.answers.lock().unwrap().push_back(Err(error));
        self
    }

    /// Answers the next call with a stream that is cut after these events unless they settle.
    pub(crate) fn then_stream(self, events: impl IntoIterator<Item = Event>) -> Self {
        let events: Vec<_> = events.into_iter().map(Ok).collect();
        self.then(EventStream::new(stream::iter(events)))
    }

    /// Answers the next call with a stream that stays open after these events.
    pub(crate) fn then_endless(self, events: impl IntoIterator<Item = Event>) -> Self {
        let events: Vec<_> = events.into_iter().map(Ok).collect();
        self.then(EventStream::new(stream::iter(events).chain(stream::pending())))
    }

    pub(crate) fn heard(&self) -> Vec<Heard> {
        self.heard.lock().unwrap().clone()
    }

    pub(crate) fn operations(&self) -> Vec<Operation> {
        self.heard().iter().map(|heard| heard.operation).collect()
    }

    async fn through<R, T, F>(
        &self,
        operation: Operation,
        call: Call<R>,
        _: impl Fn(Arc<dyn Agent>, Call<R>) -> F + Send + Sync,
    ) -> Result<Reply<T>>
    where
        R: Request + Clone,
        T: 'static,
        F: Future<Output = Result<Reply<T>>> + Send,
    {
        let subscription = (&call.request as &dyn Any).downcast_ref::<SubscribeToTaskRequest>();
        self.heard.lock().unwrap().push(Heard {
            operation,
            tenant: call.request.tenant().to_owned(),
            context: call.context.clone(),
            task_id: subscription.map(|request| request.id.clone()),
        });
        let answer = self.answers.lock().unwrap().pop_front();
        let answer = answer.unwrap_or_else(|| panic!("no answer left for {operation:?}"));
        answer.map(|response| Reply::new(*response.downcast().expect("an answer of its type")))
    }
}

wrap_agent!(Script);

pub(crate) fn task(state: TaskState) -> Task {
    Task {
        id: "t".into(),
        context_id: "c".into(),
        status: Some(TaskStatus { state: state.into(), ..TaskStatus::default() }),
        ..Task::default()
    }
}

fn event(id: u64, payload: Payload) -> Event {
    Event::new(EventId::new(id), StreamResponse { payload: Some(payload) })
}

/// An event that is a whole task; a position of 0 is none.
pub(crate) fn snapshot(id: u64, task: Task) -> Event {
    event(id, Payload::Task(task))
}

pub(crate) fn status(id: u64, state: TaskState) -> Event {
    event(
        id,
        Payload::StatusUpdate(TaskStatusUpdateEvent {
            task_id: "t".into(),
            context_id: "c".into(),
            status: task(state).status,
            ..TaskStatusUpdateEvent::default()
        }),
    )
}

pub(crate) fn chunk(id: u64, text: &str) -> Event {
    event(
        id,
        Payload::ArtifactUpdate(TaskArtifactUpdateEvent {
            task_id: "t".into(),
            context_id: "c".into(),
            artifact: Some(Artifact::new("a", text).with_id("a")),
            append: true,
            ..TaskArtifactUpdateEvent::default()
        }),
    )
}

/// What an event is, in a word.
pub(crate) fn word(event: &Event) -> String {
    match event.payload() {
        Some(Payload::Task(task)) => {
            format!("task {} {:?}", task.state().as_str_name(), task.text())
        }
        Some(Payload::Message(message)) => format!("message {:?}", message.text()),
        Some(Payload::StatusUpdate(_)) => {
            format!("status {}", event.state().unwrap_or_default().as_str_name())
        }
        Some(Payload::ArtifactUpdate(update)) => {
            update.artifact.as_ref().map(Artifact::text).unwrap_or_default()
        }
        None => "nothing".into(),
    }
    .replace("TASK_STATE_", "")
}
