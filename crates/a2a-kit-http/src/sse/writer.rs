//! Writes event streams as response bodies.

use std::{
    convert::Infallible,
    future::Future as _,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use a2a_core::{Error, Result};
use a2a_kit_operations::{Event, EventStream};
use axum::body::Body;
use bytes::Bytes;
use futures_core::Stream as _;
use http::{
    HeaderValue, Response,
    header::{CACHE_CONTROL, CONTENT_TYPE},
};
use http_body::Frame;
use tokio::time::{Instant, Sleep};
use tokio_util::sync::WaitForCancellationFutureOwned;

use super::Buffer;
use crate::{Drain, Limits, content_type, report};

/// Maximum number of events in one write.
const MAX_BATCH_EVENTS: usize = 64;
/// Size from which a write is not extended by further events, in bytes.
const MAX_BATCH_BYTES: usize = 256 << 10;
/// A keep-alive comment, ignored by clients.
const PING: &[u8] = b": ping\n\n";

/// Creates a response that streams the events (spec §11.7).
///
/// `frame` appends one event, or the error that ends the stream, to the buffer as JSON without line
/// breaks. The position of the event is its `id:`, from which a client can resume. All ready events
/// are sent in one write. After [`Limits::keep_alive_interval`] without a write, a comment is sent.
/// When the server drains, the stream ends with an error of kind
/// [`Unavailable`](a2a_core::ErrorKind::Unavailable).
///
/// Dropping the response detaches the client and cancels nothing.
pub fn response(
    events: EventStream,
    limits: &Limits,
    drain: &Drain,
    frame: impl Fn(&Result<Event>, &mut Buffer) + Send + 'static,
) -> Response<Body> {
    // Some clients check the event type, others only the data.
    stream_response(events, limits, drain, Box::new(frame), b"event: error\n")
}

/// Like [`response`], but without an event type for errors: clients of older revisions treat other
/// event types as connection errors.
pub fn untyped_response(
    events: EventStream,
    limits: &Limits,
    drain: &Drain,
    frame: impl Fn(&Result<Event>, &mut Buffer) + Send + 'static,
) -> Response<Body> {
    stream_response(events, limits, drain, Box::new(frame), b"")
}

fn stream_response(
    events: EventStream,
    limits: &Limits,
    drain: &Drain,
    frame: WriteFrame,
    error_type: &'static [u8],
) -> Response<Body> {
    // An interval of zero would be a busy loop.
    let interval = limits.keep_alive_interval.max(Duration::from_millis(1));
    let body = EventBody {
        events: Some(events),
        frame,
        error_type,
        buffer: Buffer::default(),
        last_write: Instant::now(),
        interval,
        keep_alive: Box::pin(tokio::time::sleep(interval)),
        drain: drain.clone(),
        drained: Box::pin(drain.start_signal()),
    };
    let mut response = Response::new(Body::new(body));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, content_type::EVENT_STREAM);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    // nginx and compatible proxies buffer responses otherwise.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// Appends one event, or the error that ends the stream, to the buffer.
type WriteFrame = Box<dyn Fn(&Result<Event>, &mut Buffer) + Send>;

struct EventBody {
    /// `None` after the end.
    events: Option<EventStream>,
    frame: WriteFrame,
    /// The `event:` line of an error.
    error_type: &'static [u8],
    buffer: Buffer,
    last_write: Instant,
    interval: Duration,
    keep_alive: Pin<Box<Sleep>>,
    drain: Drain,
    drained: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl EventBody {
    fn write(&mut self, item: &Result<Event>) {
        match item {
            Ok(event) => {
                if let Some(id) = event.id() {
                    let text = self.buffer.text();
                    text.extend_from_slice(b"id: ");
                    text.extend_from_slice(itoa::Buffer::new().format(id.get()).as_bytes());
                    text.extend_from_slice(b"\n");
                }
            }
            Err(_) => self.buffer.text().extend_from_slice(self.error_type),
        }
        self.buffer.text().extend_from_slice(b"data: ");
        (self.frame)(item, &mut self.buffer);
        self.buffer.text().extend_from_slice(b"\n\n");
    }

    /// Reads ready events into the buffer.
    fn fill(&mut self, cx: &mut Context<'_>) {
        for _ in 0..MAX_BATCH_EVENTS {
            let Some(events) = &mut self.events else { return };
            match Pin::new(events).poll_next(cx) {
                Poll::Pending => break,
                Poll::Ready(None) => {
                    self.events = None;
                    return;
                }
                Poll::Ready(Some(Ok(event))) => self.write(&Ok(event)),
                Poll::Ready(Some(Err(error))) => {
                    self.events = None;
                    self.write(&Err(report(error)));
                    return;
                }
            }
            if self.buffer.len() >= MAX_BATCH_BYTES {
                break;
            }
        }
        // Checked on every poll: a stream that is always ready must not delay the shutdown.
        if self.drain.has_started() {
            self.events = None;
            self.write(&Err(Error::unavailable("the server is shutting down")));
        }
    }

    /// Ready when a keep-alive is due.
    fn poll_keep_alive(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        // The timer is rescheduled when it fires, not at each write: writes are far more frequent.
        while self.keep_alive.as_mut().poll(cx).is_ready() {
            let now = Instant::now();
            let due = self.last_write + self.interval;
            if now >= due {
                self.last_write = now;
                self.keep_alive.as_mut().reset(now + self.interval);
                return Poll::Ready(());
            }
            self.keep_alive.as_mut().reset(due);
        }
        Poll::Pending
    }
}

impl http_body::Body for EventBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        // The rest of the last batch goes first.
        if self.buffer.is_empty() {
            if self.events.is_none() {
                return Poll::Ready(None);
            }
            self.fill(cx);
        }
        if self.buffer.is_empty() && self.events.is_some() {
            // Registers for the drain signal, and polls again if it started in between.
            if self.drained.as_mut().poll(cx).is_ready() {
                self.fill(cx);
            } else if self.poll_keep_alive(cx).is_ready() {
                return Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(PING)))));
            }
        }
        if let Some(written) = self.buffer.take() {
            self.last_write = Instant::now();
            return Poll::Ready(Some(Ok(Frame::data(written))));
        }
        if self.events.is_none() { Poll::Ready(None) } else { Poll::Pending }
    }

    fn is_end_stream(&self) -> bool {
        self.events.is_none() && self.buffer.is_empty()
    }
}

a2a_core::debug_fields!(EventBody { events, .. });

#[cfg(test)]
mod tests {
    use a2a_core::v1::{
        Message, StreamResponse, TaskState, TaskStatus, TaskStatusUpdateEvent,
        stream_response::Payload,
    };
    use a2a_kit_operations::EventId;
    use futures_util::{StreamExt as _, stream};
    use http_body_util::BodyExt as _;

    use super::*;

    fn update(position: u64, state: TaskState) -> Result<Event> {
        let status = TaskStatus { state: state.into(), ..Default::default() };
        let update = TaskStatusUpdateEvent { status: Some(status), ..Default::default() };
        let payload = Some(Payload::StatusUpdate(update));
        Ok(Event::new(EventId::new(position), StreamResponse { payload }))
    }

    fn body(events: EventStream, limits: &Limits, drain: &Drain) -> Body {
        let frame = |item: &Result<Event>, line: &mut Buffer| match item {
            Ok(event) => {
                let state = event.state().map_or("message", |state| state.as_str_name());
                line.text().extend_from_slice(state.as_bytes());
            }
            Err(error) => line.text().extend_from_slice(format!("{:?}", error.kind()).as_bytes()),
        };
        response(events, limits, drain, frame).into_body()
    }

    async fn next(body: &mut Body) -> Option<String> {
        let data = body.frame().await?.unwrap().into_data().unwrap();
        Some(String::from_utf8(data.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn ready_events_are_sent_in_one_write() {
        let events = [
            update(1, TaskState::Submitted),
            update(2, TaskState::Working),
            update(3, TaskState::Completed),
        ];
        let events = EventStream::new(stream::iter(events));
        let mut body = body(events, &Limits::default(), &Drain::new());
        assert_eq!(
            next(&mut body).await.as_deref(),
            Some(
                "id: 1\ndata: TASK_STATE_SUBMITTED\n\nid: 2\ndata: TASK_STATE_WORKING\n\n\
                 id: 3\ndata: TASK_STATE_COMPLETED\n\n"
            )
        );
        assert_eq!(next(&mut body).await, None);
    }

    #[tokio::test]
    async fn write_has_at_most_64_events() {
        let many = stream::iter(1..=130).map(|position| update(position, TaskState::Working));
        let events = EventStream::new(many.chain(stream::pending()));
        let mut body = body(events, &Limits::default(), &Drain::new());
        for expected in [64, 64, 2] {
            assert_eq!(next(&mut body).await.unwrap().matches("data:").count(), expected);
        }
    }

    #[tokio::test]
    async fn message_has_no_id_and_interrupted_stream_ends_with_an_error() {
        let payload = Some(Payload::Message(Message::user("hello")));
        let message = Event::new(None, StreamResponse { payload });
        let events = EventStream::new(stream::iter([Ok(message)]));
        let mut whole = body(events, &Limits::default(), &Drain::new());
        assert_eq!(next(&mut whole).await.as_deref(), Some("data: message\n\n"));
        assert_eq!(next(&mut whole).await, None);

        let events = EventStream::new(stream::iter([update(1, TaskState::Working)]));
        let mut cut = body(events, &Limits::default(), &Drain::new());
        assert_eq!(
            next(&mut cut).await.as_deref(),
            Some("id: 1\ndata: TASK_STATE_WORKING\n\nevent: error\ndata: Unavailable\n\n")
        );
        assert_eq!(next(&mut cut).await, None);
    }

    #[tokio::test]
    async fn untyped_response_sends_errors_without_an_event_type() {
        let events = EventStream::new(stream::iter([Err(Error::unavailable("no"))]));
        let frame = |item: &Result<Event>, out: &mut Buffer| {
            assert!(item.is_err());
            out.text().extend_from_slice(b"no");
        };
        let response = untyped_response(events, &Limits::default(), &Drain::new(), frame);
        let mut body = response.into_body();
        assert_eq!(next(&mut body).await.as_deref(), Some("data: no\n\n"));
    }

    #[tokio::test(start_paused = true)]
    async fn idle_stream_gets_keep_alive_comments() {
        let (sender, receiver) = tokio::sync::mpsc::channel(8);
        let receiver = stream::unfold(receiver, async |mut receiver| {
            let event = receiver.recv().await?;
            Some((event, receiver))
        });
        let events = EventStream::new(receiver);
        let start = Instant::now();
        let mut body = body(events, &Limits::default(), &Drain::new());
        assert_eq!(next(&mut body).await.as_deref(), Some(": ping\n\n"));
        assert_eq!(start.elapsed().as_secs(), 4);
        tokio::time::advance(Duration::from_secs(3)).await;
        sender.send(update(1, TaskState::Working)).await.unwrap();
        assert!(next(&mut body).await.unwrap().starts_with("id: 1\n"));
        assert_eq!(next(&mut body).await.as_deref(), Some(": ping\n\n"));
        assert_eq!(start.elapsed().as_secs(), 4 + 3 + 4, "the interval starts at the last write");
        sender.send(update(2, TaskState::Completed)).await.unwrap();
        drop(sender);
        assert!(next(&mut body).await.unwrap().starts_with("id: 2\n"));
        assert_eq!(next(&mut body).await, None);
    }

    #[tokio::test]
    async fn drain_ends_idle_and_busy_streams() {
        let idle = EventStream::new(stream::pending());
        let drain = Drain::new();
        let mut idle = body(idle, &Limits::default(), &drain);
        assert!(futures_util::poll!(idle.frame()).is_pending());
        drain.start();
        let end = "event: error\ndata: Unavailable\n\n";
        assert_eq!(next(&mut idle).await.as_deref(), Some(end));
        assert_eq!(next(&mut idle).await, None);

        let busy = EventStream::new(stream::repeat_with(|| update(1, TaskState::Working)));
        let mut busy = body(busy, &Limits::default(), &drain);
        assert!(next(&mut busy).await.unwrap().ends_with(end));
        assert_eq!(next(&mut busy).await, None);
    }

    #[tokio::test]
    async fn response_headers_disable_proxy_buffering() {
        let events = EventStream::new(stream::pending());
        let response = response(events, &Limits::default(), &Drain::new(), |_, _| {});
        for (name, value) in [
            ("content-type", "text/event-stream"),
            ("cache-control", "no-cache"),
            ("x-accel-buffering", "no"),
        ] {
            assert_eq!(response.headers()[name], value);
        }
    }
}
