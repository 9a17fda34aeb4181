//! The answer of a streaming operation, in whatever form it comes.

use std::time::Duration;

use a2a_core::{Result, v1::StreamResponse};
use a2a_operations::{Event, EventStream};
use futures_util::{Stream, StreamExt as _, stream};
use http::Response;

use super::{ByteStream, ClientSettings};
use crate::{fault, media, sse};

/// How long the first event of a stream is waited for before the stream counts as open.
///
/// Some servers refuse a stream inside of it, under status 200. They do so at once, while an
/// agent may take its time.
const FIRST_EVENT: Duration = Duration::from_millis(500);

/// Reads the answer of a streaming operation. `read` reads the data of one event, or the whole
/// body where an agent answers with plain JSON.
///
/// With `await_first` a short while is given to the first event, so that an error there is an
/// error of the operation and not of its stream.
///
/// # Errors
///
/// What the agent refused the operation with, wherever it put that; the errors of `read`.
pub async fn read_events(
    response: Response<ByteStream>,
    settings: &ClientSettings,
    await_first: bool,
    read: impl Fn(&[u8]) -> Result<StreamResponse> + Send + 'static,
) -> Result<EventStream> {
    let (head, body) = response.into_parts();
    if !media::is_event_stream(&head.headers) {
        let body = body.read_all(settings.max_response_bytes).await?;
        if !head.status.is_success() {
            return Err(fault::read(head.status, &head.headers, &body));
        }
        let response = read(&body).map_err(|error| fault::read_headers(error, &head.headers))?;
        let event = Event::new(None, response);
        return Ok(EventStream::new(stream::iter([Ok(event)])));
    }
    let events = sse::decode(body, settings.max_event_bytes).map(move |event| {
        let event = event?;
        // Said to be an error: whatever it is, it is no event of the task.
        if event.event.as_deref() == Some("error") {
            return Err(fault::read(head.status, &head.headers, &event.data));
        }
        let id = event.id.as_deref().and_then(|id| id.parse().ok());
        Ok(Event::new(id, read(&event.data)?))
    });
    if await_first { open_stream(events).await } else { Ok(EventStream::new(events)) }
}

/// Makes a stream of events, and gives a short while to its first one: a server that refuses
/// the operation behind the head of its answer has refused it all the same.
///
/// # Errors
///
/// That of the first event, if it is one and comes in time.
pub async fn open_stream(
    mut events: impl Stream<Item = Result<Event>> + Send + Unpin + 'static,
) -> Result<EventStream> {
    match tokio::time::timeout(FIRST_EVENT, events.next()).await {
        Ok(Some(Err(error))) => Err(error),
        Ok(first) => Ok(EventStream::new(stream::iter(first).chain(events))),
        // Still on its way: the stream is taken as it is.
        Err(_elapsed) => Ok(EventStream::new(events)),
    }
}
