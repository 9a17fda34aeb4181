//! Decodes the response of a streaming operation.

use std::{future::ready, time::Duration};

use a2a_core::{Error, ErrorKind, Result, v1::StreamResponse};
use a2a_kit_operations::{Event, EventId, EventStream};
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use http::{HeaderMap, Response, StatusCode};

use super::{
    ByteStream, ClientSettings, HeldBytes,
    answer::{is_event_text, is_keep_alive, is_named, with_head},
    with_reconnection_time, with_url,
};
use crate::{content_type, error_body, sse};

/// Timeout for the first event before a stream counts as open.
///
/// Some servers report errors as the first event, with status 200. They send it immediately, while
/// the first event of an agent may take longer.
const FIRST_EVENT: Duration = Duration::from_millis(500);

/// How much of a body is read before it is known not to be an event stream, in bytes.
const MAX_HEAD: usize = 1 << 10;

/// Decodes the response of a streaming operation, as [`read_events_with`] does, with errors in the
/// formats of [`error_body::read`].
///
/// # Errors
///
/// As [`read_events_with`].
pub async fn read_events(
    response: Response<ByteStream>,
    settings: &ClientSettings,
    after: Option<EventId>,
    read: impl Fn(&[u8]) -> Result<Option<StreamResponse>> + Send + 'static,
) -> Result<EventStream> {
    read_events_with(response, settings, after, read, error_body::read).await
}

/// Decodes the response of a streaming operation. `read` decodes the data of one event, or the
/// whole body if the agent responds with JSON; `None` skips an event of an unknown type.
/// `read_error` decodes an error response, and the data of events named `error`.
///
/// Keep-alives are skipped: events without data, with the data `null` or `[DONE]`, and those of
/// another name than `message` that `read` rejects. A body is an event stream also if only its text
/// says so.
///
/// Unless the stream resumes `after` an event, waits briefly for the first event, so that an error
/// there becomes an error of the operation instead of its stream.
///
/// # Errors
///
/// The error of the agent, in the response or in the first event; those of `read`;
/// [`InvalidAgentResponse`](ErrorKind::InvalidAgentResponse) for a coding that was not requested.
pub async fn read_events_with(
    response: Response<ByteStream>,
    settings: &ClientSettings,
    after: Option<EventId>,
    read: impl Fn(&[u8]) -> Result<Option<StreamResponse>> + Send + 'static,
    read_error: impl Fn(StatusCode, &HeaderMap, &[u8]) -> Error + Send + 'static,
) -> Result<EventStream> {
    let (head, mut body) = response.into_parts();
    let mut first = Bytes::new();
    if head.status.is_success() {
        content_type::require_identity(&head.headers)?;
    }
    if !content_type::is_event_stream(&head.headers) {
        first = body.read_head(MAX_HEAD).await?;
        if !head.status.is_success() || !is_event_text(&first) {
            let body = body.read_all_after(first, settings.max_response_bytes).await?;
            if !head.status.is_success() {
                let error = read_error(head.status, &head.headers, &body);
                return Err(with_url(error, &head));
            }
            let response = read(&body).map_err(|error| with_head(error, &head, &body))?;
            let events = response.map(|response| Ok(Event::new(None, response)));
            return Ok(EventStream::new(stream::iter(events)));
        }
    }
    let bytes = stream::iter([Ok(first)]).chain(body);
    let held = HeldBytes::new(settings.read_budget.clone());
    let decoded = sse::decode(bytes, settings.max_event_bytes, held);
    let reconnection_time = decoded.reconnection_time();
    let events = decoded.filter_map(move |item| {
        let event = item.and_then(|event| {
            // An event of type `error` is never a task event, whatever its data.
            if event.event.as_deref() == Some("error") {
                return Err(read_error(head.status, &head.headers, &event.data));
            }
            read_event(&event, &read).map_err(|error| with_head(error, &head, &event.data))
        });
        ready(event.transpose())
    });
    let events = with_reconnection_time(events, reconnection_time);
    if after.is_none() { open_stream(events).await } else { Ok(EventStream::new(events)) }
}

/// Reads an event; `None` if it is to be skipped.
fn read_event(
    event: &sse::ServerSentEvent,
    read: impl Fn(&[u8]) -> Result<Option<StreamResponse>>,
) -> Result<Option<Event>> {
    if is_keep_alive(&event.data) {
        return Ok(None);
    }
    let id = event.id.as_deref().and_then(|id| id.parse().ok());
    match read(&event.data) {
        Ok(response) => Ok(response.map(|response| Event::new(id, response))),
        // Some agents name the events of a task, others only their keep-alives.
        Err(error) if is_named(event) && error.kind() == ErrorKind::InvalidAgentResponse => {
            tracing::debug!(name = event.event, %error, "event of another name skipped");
            Ok(None)
        }
        Err(error) => Err(error),
    }
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
