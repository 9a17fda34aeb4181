//! Agents from closures.

use std::future::Future;

use a2a_core::v1::{Artifact, Message, Part};
use futures_core::Stream;

use crate::{AgentExecutor, BoxError, IntoChunk, RequestContext, TaskUpdater, UpdateError};

pub use argument::{ContextFn, Data, FromContext, StateFn};

mod argument;

/// The name of the artifact with the answer of a closure.
const ARTIFACT: &str = "answer";

/// The answer of a closure.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Answer {
    /// No output: the task is completed.
    Done,
    /// An artifact; the task is completed.
    Artifact(Artifact),
    /// A message in place of a task.
    Message(Message),
}

/// Values that a closure may return.
pub trait IntoAnswer {
    /// Converts into an answer.
    ///
    /// # Errors
    ///
    /// An error fails the task, as one of [`AgentExecutor::execute`] does.
    fn into_answer(self) -> Result<Answer, BoxError>;
}

impl IntoAnswer for Answer {
    fn into_answer(self) -> Result<Answer, BoxError> {
        Ok(self)
    }
}

impl IntoAnswer for () {
    fn into_answer(self) -> Result<Answer, BoxError> {
        Ok(Answer::Done)
    }
}

impl IntoAnswer for Message {
    fn into_answer(self) -> Result<Answer, BoxError> {
        Ok(Answer::Message(self))
    }
}

impl IntoAnswer for Artifact {
    fn into_answer(self) -> Result<Answer, BoxError> {
        Ok(Answer::Artifact(self))
    }
}

impl IntoAnswer for Vec<Part> {
    fn into_answer(self) -> Result<Answer, BoxError> {
        Ok(Answer::Artifact(Artifact {
            artifact_id: a2a_core::fresh_id(),
            name: ARTIFACT.into(),
            parts: self,
            ..Artifact::default()
        }))
    }
}

macro_rules! answers_with_one_part {
    ($($type:ty),*) => {$(
        impl IntoAnswer for $type {
            fn into_answer(self) -> Result<Answer, BoxError> {
                Ok(Answer::Artifact(Artifact::new(ARTIFACT, self)))
            }
        }
    )*};
}

answers_with_one_part!(String, &'static str, Part, a2a_core::well_known::Value, serde_json::Value);

impl<T: IntoAnswer, E: Into<BoxError>> IntoAnswer for Result<T, E> {
    fn into_answer(self) -> Result<Answer, BoxError> {
        self.map_err(Into::into)?.into_answer()
    }
}

/// Creates an agent from a closure that maps a message to an answer.
///
/// The closure takes the text of the message, or other [arguments](FromContext); their types have to
/// be written. Its result becomes the artifact of a completed task; a [`Message`] responds without a
/// task, and an error fails it.
///
/// ```
/// use a2a_kit_operations::agent_fn;
///
/// let shout = agent_fn(async |text: String| text.to_uppercase());
/// ```
///
/// With the context of the message, and updates:
///
/// ```
/// use a2a_kit_operations::{RequestContext, TaskUpdater, UpdateError, agent_fn};
///
/// let greeter = agent_fn(async |context: RequestContext, updates: TaskUpdater| {
///     let caller = context.call().caller.subject().unwrap_or("stranger").to_owned();
///     let mood = updates.ask(format!("How are you, {caller}?")).await?;
///     Ok::<_, UpdateError>(format!("You are {}", mood.text()))
/// });
/// ```
pub fn agent_fn<F, Arguments>(answer: F) -> impl AgentExecutor
where
    F: ContextFn<Arguments, Output: Future<Output: IntoAnswer> + Send>,
    Arguments: 'static,
{
    AgentFn(move |context: &RequestContext, updates: &TaskUpdater| answer.call(context, updates))
}

/// Creates an agent from a closure with shared state: each call gets a clone of `state` before the
/// [arguments](FromContext). An async closure cannot borrow what it captures.
///
/// ```
/// use std::sync::{Arc, atomic::{AtomicU64, Ordering}};
/// use a2a_kit_operations::agent_fn_with;
///
/// let counter = agent_fn_with(Arc::new(AtomicU64::new(0)), async |seen: Arc<AtomicU64>, text: String| {
///     format!("{}: {text}", seen.fetch_add(1, Ordering::Relaxed))
/// });
/// ```
pub fn agent_fn_with<S, F, Arguments>(state: S, answer: F) -> impl AgentExecutor
where
    S: Clone + Send + Sync + 'static,
    F: StateFn<S, Arguments, Output: Future<Output: IntoAnswer> + Send>,
    Arguments: 'static,
{
    AgentFn(move |context: &RequestContext, updates: &TaskUpdater| {
        answer.call(state.clone(), context, updates)
    })
}

/// Creates an agent from a closure that maps a message to a stream: each item is a chunk of one
/// artifact, as of [`TaskUpdater::stream`]. An `Err` item fails the task.
///
/// ```
/// use a2a_kit_operations::stream_fn;
/// use futures_util::stream;
///
/// let spell = stream_fn(|text: String| {
///     stream::iter(text.chars().map(String::from).collect::<Vec<_>>())
/// });
/// ```
pub fn stream_fn<F, Arguments>(answer: F) -> impl AgentExecutor
where
    F: ContextFn<Arguments, Output: Stream<Item: IntoChunk + Send> + Send>,
    Arguments: 'static,
{
    StreamFn(move |context: &RequestContext, updates: &TaskUpdater| answer.call(context, updates))
}

/// Creates an agent from a closure with shared state that maps a message to a stream, as
/// [`agent_fn_with`] and [`stream_fn`] do.
///
/// ```
/// use std::sync::Arc;
/// use a2a_kit_operations::stream_fn_with;
/// use futures_util::stream;
///
/// let model = Arc::new(["Once", " upon", " a", " time"]);
/// let teller = stream_fn_with(model, |model: Arc<[&'static str; 4]>, _prompt: String| {
///     stream::iter(*model)
/// });
/// ```
pub fn stream_fn_with<S, F, Arguments>(state: S, answer: F) -> impl AgentExecutor
where
    S: Clone + Send + Sync + 'static,
    F: StateFn<S, Arguments, Output: Stream<Item: IntoChunk + Send> + Send>,
    Arguments: 'static,
{
    StreamFn(move |context: &RequestContext, updates: &TaskUpdater| {
        answer.call(state.clone(), context, updates)
    })
}

struct AgentFn<F>(F);

impl<F, Fut> AgentExecutor for AgentFn<F>
where
    F: Fn(&RequestContext, &TaskUpdater) -> Result<Fut, BoxError> + Send + Sync + 'static,
    Fut: Future<Output: IntoAnswer> + Send,
{
    async fn execute(&self, context: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        let answer = (self.0)(&context, &updates)?.await.into_answer()?;
        match answer {
            Answer::Done => complete(&updates).await,
            Answer::Message(message) => Ok(updates.reply(message).await?),
            Answer::Artifact(artifact) => {
                updates.artifact(artifact).await?;
                complete(&updates).await
            }
        }
    }
}

/// Completes a task that the closure has not ended itself.
async fn complete(updates: &TaskUpdater) -> Result<(), BoxError> {
    match updates.complete(()).await {
        Ok(()) | Err(UpdateError::Ended) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

struct StreamFn<F>(F);

impl<F, S> AgentExecutor for StreamFn<F>
where
    F: Fn(&RequestContext, &TaskUpdater) -> Result<S, BoxError> + Send + Sync + 'static,
    S: Stream<Item: IntoChunk + Send> + Send,
{
    async fn execute(&self, context: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        updates.start().await?;
        let chunks = (self.0)(&context, &updates)?;
        updates.stream(ARTIFACT, chunks).await?;
        complete(&updates).await
    }
}

a2a_core::debug_fields!(AgentFn<F>(..));

a2a_core::debug_fields!(StreamFn<F>(..));
