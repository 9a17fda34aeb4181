//! Streams of chunks as artifacts.

use std::{mem, pin::pin};

use a2a_core::v1::{Artifact, Part, part::Content};
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

/// The artifact that [`TaskUpdater::stream`] sends: its name, or an [`Artifact`] whose parts are its
/// beginning.
#[derive(Clone, Debug)]
pub struct StreamedArtifact(Artifact);

impl From<Artifact> for StreamedArtifact {
    fn from(artifact: Artifact) -> Self {
        Self(artifact)
    }
}

impl From<String> for StreamedArtifact {
    fn from(name: String) -> Self {
        Self(Artifact { artifact_id: a2a_core::fresh_id(), name, ..Artifact::default() })
    }
}

impl From<&str> for StreamedArtifact {
    fn from(name: &str) -> Self {
        name.to_owned().into()
    }
}

impl TaskUpdater {
    /// Sends the items of a stream as the chunks of one artifact, and returns their text.
    ///
    /// A chunk is sent when the next one arrives, so that the last one is marked as such. An empty
    /// stream creates no artifact. The text is kept in memory; like the artifact, it is limited by
    /// [`TaskLimits::max_artifact_bytes`](crate::TaskLimits::max_artifact_bytes).
    ///
    /// The artifact is a name, or an [`Artifact`] with parts: they are sent first, unless they are
    /// empty texts, and chunks without a file name and media type get those of the last one. A rerun
    /// after a crash replaces an artifact [with an id](Artifact::with_id), and otherwise sends
    /// another one. To continue the existing one, use [`begin`](Self::begin) and
    /// [`append`](Self::append).
    ///
    /// ```
    /// # use a2a_core::{Artifact, Part};
    /// # use a2a_kit_operations::{BoxError, TaskUpdater};
    /// # use futures_util::stream;
    /// # async fn example(updates: TaskUpdater) -> Result<(), BoxError> {
    /// let csv = Part::text("day,city\n").with_filename("plan.csv").with_media_type("text/csv");
    /// let rows = stream::iter(["1,Lisbon\n", "2,Porto\n"]);
    /// updates.stream(Artifact::new("plan", csv).with_id("plan"), rows).await?;
    /// # Ok(())
    /// # }
    /// ```
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
    pub async fn stream<S>(
        &self,
        artifact: impl Into<StreamedArtifact>,
        chunks: S,
    ) -> Result<String, BoxError>
    where
        S: Stream<Item: IntoChunk>,
    {
        let StreamedArtifact(mut artifact) = artifact.into();
        let mut held = mem::take(&mut artifact.parts);
        let last = held.last();
        let (filename, media_type) =
            last.map(|part| (part.filename.clone(), part.media_type.clone())).unwrap_or_default();
        held.retain(|part| part.as_text() != Some(""));
        let mut text: String = held.iter().filter_map(Part::as_text).collect();
        let mut chunks = pin!(chunks);
        let mut appends = false;
        let failure = loop {
            let mut part = match chunks.next().await.map(IntoChunk::into_chunk) {
                Some(Ok(part)) => part,
                Some(Err(error)) => break Some(error),
                None => break None,
            };
            text.push_str(part.as_text().unwrap_or_default());
            let is_inline = matches!(part.content, Some(Content::Text(_) | Content::Raw(_)));
            if is_inline && part.filename.is_empty() && part.media_type.is_empty() {
                part.filename.clone_from(&filename);
                part.media_type.clone_from(&media_type);
            }
            let parts = mem::replace(&mut held, vec![part]);
            if !parts.is_empty() {
                self.put_chunk(Artifact { parts, ..artifact.clone() }, appends, false)?;
                self.accepts_more().await?;
                appends = true;
            }
        };
        let ended = match held.is_empty() {
            true => Ok(()),
            false => match self.put_chunk(Artifact { parts: held, ..artifact }, appends, true) {
                Ok(()) => self.accepts_more().await,
                error => error,
            },
        };
        match failure {
            Some(error) => Err(error),
            None => Ok(ended.map(|()| text)?),
        }
    }
}
