//! The event stream of a client.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use a2a_core::{Error, ErrorKind, ExtensionSet, Result, v1::stream_response::Payload};
use a2a_kit_operations::{Event, EventStream, Reply, StreamEnd};
use futures_core::Stream;
use futures_util::StreamExt as _;

use crate::{SendOutcome, Snapshot, unknown_state};

/// A stream of events that resumes after a lost connection.
///
/// The stream ends after an `Err`; an end without an error means that it is complete. Dropping it
/// does not cancel the task.
///
/// ```no_run
/// # async fn example(client: a2a_kit_client::Client) -> a2a_core::Result<()> {
/// let mut events = client.stream("count to three").await?;
/// while let Some(event) = events.next().await {
///     if let Some(state) = event?.state() {
///         eprintln!("{state:?}");
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Events {
    stream: EventStream,
    activated: ExtensionSet,
    /// Whether an interrupted state is the outcome, as it is for a send.
    is_send: bool,
    max_task_bytes: usize,
}

impl Events {
    pub(crate) fn of_send(reply: Reply<EventStream>, max_task_bytes: usize) -> Self {
        let Reply { response: stream, activated } = reply;
        Self { stream, activated, is_send: true, max_task_bytes }
    }

    pub(crate) fn of_subscription(reply: Reply<EventStream>, max_task_bytes: usize) -> Self {
        Self { is_send: false, ..Self::of_send(reply, max_task_bytes) }
    }

    /// Waits for the next event; `None` at the end.
    ///
    /// # Cancel safety
    ///
    /// This method is cancel safe: dropping the future loses no event.
    pub async fn next(&mut self) -> Option<Result<Event>> {
        self.stream.next().await
    }

    /// The extensions that the agent activated.
    pub fn activated(&self) -> &ExtensionSet {
        &self.activated
    }

    /// Reads the stream to its end and returns the outcome. For a send, an interrupted state is
    /// also an outcome, even if the agent keeps the stream open.
    ///
    /// # Errors
    ///
    /// The error that ended the stream; [`ErrorKind::InvalidAgentResponse`] if it was empty, has a
    /// state that is not of the protocol, or a task that exceeds
    /// [`ClientBuilder::max_task_bytes`](crate::ClientBuilder::max_task_bytes).
    pub async fn outcome(mut self) -> Result<SendOutcome> {
        let mut snapshot = Snapshot::new().with_max_bytes(self.max_task_bytes);
        let mut message = None;
        while let Some(event) = self.next().await {
            let event = event?;
            unknown_state::check(&event)?;
            snapshot.apply(&event)?;
            if let Some(Payload::Message(response)) = event.payload() {
                message = Some(response.clone());
            }
            if self.is_send && matches!(event.stream_end(), StreamEnd::Interrupted(_)) {
                break;
            }
        }
        match (snapshot.into_task(), message) {
            (Some(task), _) => Ok(SendOutcome::Task(task)),
            (None, Some(message)) => Ok(SendOutcome::Message(message)),
            (None, None) => {
                Err(Error::new(ErrorKind::InvalidAgentResponse, "stream ended without an event"))
            }
        }
    }
}

impl Stream for Events {
    type Item = Result<Event>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.stream.poll_next_unpin(cx)
    }
}
