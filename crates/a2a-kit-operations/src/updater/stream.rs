//! Streams of chunks as artifacts.

use std::pin::pin;

use a2a_core::v1::{Artifact, Part};
use futures_core::Stream;
use futures_util::StreamExt as _;

use super::TaskUpdater;
use crate::BoxError;

/// Items that [`TaskUpdater::stream`] sends as chunks of an artifact: text, a [`Part`], or a `Result`
/// of these.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a chunk of an artifact",
    note = "a chunk is a `String`, `&str`, `Part`, or a `Result` of these"
)]
pub trait IntoChunk {
    /// Converts into the content of a chunk.
    ///
    /// # Errors
    ///
    /// The error of the source, which ends the stream.
    fn into_chunk(self) -> Result<Part, BoxError>;
}

impl IntoChunk for Part {
    fn into_chunk(self) -> Result<Part, BoxError> {
        Ok(self)
    }
}

impl IntoChunk for String {
    fn into_chunk(self) -> Result<Part, BoxError> {
        Ok(self.into())
    }
}

impl IntoChunk for &str {
    fn into_chunk(self) -> Result<Part, BoxError> {
        Ok(self.into())
    }
}

impl<T: IntoChunk, E: Into<BoxError>> IntoChunk for Result<T, E> {
    fn into_chunk(self) -> Result<Part, BoxError> {
        self.map_err(Into::into)?.into_chunk()
    }
}

impl TaskUpdater {
    /// Sends the items of a stream as the chunks of one artifact with a name, and returns their
    /// text.
    ///
    /// A chunk is sent when the next one arrives, so that the last one is marked as such. An empty
    /// stream creates no artifact. The text is kept in memory; like the artifact, it is limited by
    /// [`TaskLimits::max_artifact_bytes`](crate::TaskLimits::max_artifact_bytes).
    ///
    /// A rerun after a crash starts another artifact. To continue the existing one, use
    /// [`begin`](Self::begin) and [`append`](Self::append) with an id.
    ///
    /// ```
    /// use a2a_kit_operations::{AgentExecutor, BoxError, RequestContext, TaskUpdater};
    /// use futures_util::{Stream, stream};
    ///
    /// /// A model that answers in tokens.
    /// fn complete(prompt: String) -> impl Stream<Item = std::io::Result<String>> + Send {
    ///     stream::iter([Ok("Lisbon".to_owned()), Ok(" in December".to_owned())])
    /// }
    ///
    /// struct Planner;
    ///
    /// impl AgentExecutor for Planner {
    ///     async fn execute(&self, context: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
    ///         let plan = updates.stream("plan", complete(context.text())).await?;
    ///         updates.complete(format!("{} characters", plan.len())).await?;
    ///         Ok(())
    ///     }
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// The first `Err` item, after the chunk before it was sent as the last one; otherwise an
    /// [`UpdateError`](crate::UpdateError).
    pub async fn stream<S>(&self, name: impl Into<String>, chunks: S) -> Result<String, BoxError>
    where
        S: Stream<Item: IntoChunk>,
    {
        let name = name.into();
        let id = a2a_core::fresh_id();
        let artifact = |part| Artifact::new(name.as_str(), part).with_id(id.as_str());
        let mut chunks = pin!(chunks);
        let mut text = String::new();
        let mut held: Option<Part> = None;
        let mut appends = false;
        let failure = loop {
            let part = match chunks.next().await.map(IntoChunk::into_chunk) {
                Some(Ok(part)) => part,
                Some(Err(error)) => break Some(error),
                None => break None,
            };
            text.push_str(part.as_text().unwrap_or_default());
            if let Some(before) = held.replace(part) {
                self.chunk(artifact(before), appends, false).await?;
                appends = true;
            }
        };
        let ended = match held {
            Some(last) => self.chunk(artifact(last), appends, true).await,
            None => Ok(()),
        };
        match failure {
            Some(error) => Err(error),
            None => Ok(ended.map(|()| text)?),
        }
    }
}
