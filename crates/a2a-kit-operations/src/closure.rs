//! Agents from closures.

use std::{fmt, future::Future, sync::Arc};

use a2a_core::v1::{Artifact, Message, Part};
use futures_core::Stream;
use futures_util::StreamExt as _;

use crate::{AgentExecutor, BoxError, RequestContext, TaskUpdater, UpdateError};

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

/// Creates an agent from a closure that maps the text of a message to an answer.
///
/// The result becomes the artifact of a completed task; a [`Message`] responds without a task, and
/// an error fails it.
///
/// ```
/// use a2a_kit_operations::agent_fn;
///
/// let shout = agent_fn(async |text: String| text.to_uppercase());
/// ```
pub fn agent_fn<F, Fut>(answer: F) -> impl AgentExecutor
where
    F: Fn(String) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: IntoAnswer> + Send + 'static,
{
    AgentFn(answer)
}

/// Creates an agent from a closure with shared state: each call gets a clone of `state`.
///
/// ```
/// use std::sync::{Arc, atomic::{AtomicU64, Ordering}};
/// use a2a_kit_operations::agent_fn_with;
///
/// let counter = agent_fn_with(Arc::new(AtomicU64::new(0)), async |seen: Arc<AtomicU64>, text: String| {
///     format!("{}: {text}", seen.fetch_add(1, Ordering::Relaxed))
/// });
/// ```
pub fn agent_fn_with<S, F, Fut>(state: S, answer: F) -> impl AgentExecutor
where
    S: Clone + Send + Sync + 'static,
    F: Fn(S, String) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: IntoAnswer> + Send + 'static,
{
    AgentFn(move |text| answer(state.clone(), text))
}

/// Creates an agent from a closure that maps the text of a message to a stream of text: each item
/// is a chunk of one artifact.
///
/// A chunk is sent when the next one arrives, so that the last one is marked as such.
///
/// ```
/// use a2a_kit_operations::stream_fn;
/// use futures_util::stream;
///
/// let spell = stream_fn(|text: String| {
///     stream::iter(text.chars().map(String::from).collect::<Vec<_>>())
/// });
/// ```
pub fn stream_fn<F, S>(answer: F) -> impl AgentExecutor
where
    F: Fn(String) -> S + Send + Sync + 'static,
    S: Stream<Item: Into<String> + Send> + Send + 'static,
{
    StreamFn(Arc::new(answer))
}

struct AgentFn<F>(F);

impl<F, Fut> AgentExecutor for AgentFn<F>
where
    F: Fn(String) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: IntoAnswer> + Send + 'static,
{
    async fn execute(&self, context: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        let answer = (self.0)(context.text()).await.into_answer()?;
        match answer {
            Answer::Done => updates.complete(()).await?,
            Answer::Message(message) => updates.reply(message).await?,
            Answer::Artifact(artifact) => {
                updates.artifact(artifact).await?;
                updates.complete(()).await?;
            }
        }
        Ok(())
    }
}

struct StreamFn<F>(Arc<F>);

impl<F, S> AgentExecutor for StreamFn<F>
where
    F: Fn(String) -> S + Send + Sync + 'static,
    S: Stream<Item: Into<String> + Send> + Send + 'static,
{
    async fn execute(&self, context: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        updates.start().await?;
        let mut chunks = std::pin::pin!((self.0)(context.text()));
        let Some(first) = chunks.next().await else {
            return Ok(updates.complete(()).await?);
        };
        let id = a2a_core::fresh_id();
        let mut held: String = first.into();
        let mut is_first = true;
        loop {
            let next = chunks.next().await.map(Into::into);
            let artifact = Artifact::new(ARTIFACT, held).with_id(&id);
            chunk(&updates, artifact, is_first, next.is_none()).await?;
            is_first = false;
            match next {
                Some(next) => held = next,
                None => return Ok(updates.complete(()).await?),
            }
        }
    }
}

async fn chunk(
    updates: &TaskUpdater,
    artifact: Artifact,
    is_first: bool,
    is_last: bool,
) -> Result<(), UpdateError> {
    match (is_first, is_last) {
        (true, true) => updates.artifact(artifact).await,
        (true, false) => updates.begin(artifact).await,
        (false, false) => updates.append(artifact).await,
        (false, true) => updates.append_last(artifact).await,
    }
}

impl<F> fmt::Debug for AgentFn<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AgentFn")
    }
}

impl<F> fmt::Debug for StreamFn<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StreamFn")
    }
}
