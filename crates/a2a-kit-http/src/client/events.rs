//! Decodes the response of a streaming operation.

use std::time::Duration;

use a2a_core::{Result, v1::StreamResponse};
use a2a_kit_operations::{Event, EventStream};
use futures_util::{Stream, StreamExt as _, stream};
use http::Response;

use super::{ByteStream, ClientSettings};
use crate::{content_type, error_body, sse};

/// Timeout for the first event before a stream counts as open.
///
/// Some servers report errors as the first event, with status 200. They send it immediately, while
/// the first event of an agent may take longer.
const FIRST_EVENT: Duration = Duration::from_millis(500);

/// Decodes the response of a streaming operation. `read` decodes the data of one event, or the
/// whole body if the agent responds with JSON.
///
/// With `await_first`, waits briefly for the first event, so that an error there becomes an error
/// of the operation instead of its stream.
///
/// # Errors
///
/// The error of the agent, in the response or in the first event; those of `read`.
pub async fn read_events(
    response: Response<ByteStream>,
    settings: &ClientSettings,
    await_first: bool,
    read: impl Fn(&[u8]) -> Result<StreamResponse> + Send + 'static,
) -> Result<EventStream> {
    let (head, body) = response.into_parts();
    if !content_type::is_event_stream(&head.headers) {
        let body = body.read_all(settings.max_response_bytes).await?;
        if !head.status.is_success() {
            return Err(error_body::read(head.status, &head.headers, &body));
        }
        let response =
            read(&body).map_err(|error| error_body::read_headers(error, &head.headers))?;
        let event = Event::new(None, response);
        return Ok(EventStream::new(stream::iter([Ok(event)])));
    }
    let events = sse::decode(body, settings.max_event_bytes).map(move |event| {
        let event = event?;
        // An event of type `error` is never a task event, whatever its data.
        if event.event.as_deref() == Some("error") {
            return Err(error_body::read(head.status, &head.headers, &event.data));
        }
        let id = event.id.as_deref().and_then(|id| id.parse().ok());
        Ok(Event::new(id, read(&event.data)?))
    });
    if await_first { open_stream(events).await } else { Ok(EventStream::new(events)) }
}

/// Creates an event stream, after a brief wait for its first event: a server may report an error of
/// the operation after the response head.
///
/// # Errors
///
/// The error in place of the first event, if it arrives in time.
pub async fn open_stream(
    mut events: impl Stream<Item = Result<Event>> + Send + Unpin + 'static,
) -> Result<EventStream> {
    match tokio::time::timeout(FIRST_EVENT, events.next()).await {
        Ok(Some(Err(error))) => Err(error),
        Ok(first) => Ok(EventStream::new(stream::iter(first).chain(events))),
        // No event yet: the stream counts as open.
        Err(_elapsed) => Ok(EventStream::new(events)),
    }
}
