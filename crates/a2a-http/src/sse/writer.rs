//! Writes a stream of events as the body of an answer.

use std::{
    convert::Infallible,
    fmt,
    future::Future as _,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use a2a_core::{Error, Result};
use a2a_operations::{Event, EventStream};
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
use crate::{Drain, Limits, media, report};

/// Most events in one write.
const MAX_BATCH_EVENTS: usize = 64;
/// Size of a write that takes no further event, in bytes.
const MAX_BATCH_BYTES: usize = 256 << 10;
/// A comment: readers skip it, proxies see that the connection is alive.
const PING: &[u8] = b": ping\n\n";

/// Answers with the events as they come (spec §11.7).
///
/// `frame` appends one event, or the error that ends the stream, to the buffer as one line of
/// JSON without a line break. Its position goes on a line of its own (`id:`), so that the reader
/// can go on from there. Everything that is ready goes out in one write. After
/// [`Limits::keep_alive`] of silence a comment is written. When the server drains, the stream
/// ends with an error of kind [`Unavailable`](a2a_core::ErrorKind::Unavailable).
///
/// Dropping the answer detaches the reader and cancels nothing.
pub fn response(
    events: EventStream,
    limits: &Limits,
    drain: &Drain,
    frame: impl Fn(&Result<Event>, &mut Buffer) + Send + 'static,
) -> Response<Body> {
    // Some readers look for the type of the event, some only at the data.
    answer(events, limits, drain, Box::new(frame), b"event: error\n")
}

/// Answers as [`response`] does, with an error as an event like any other: readers of older
/// revisions take an event of another type for a fault of the connection.
pub fn untyped_response(
    events: EventStream,
    limits: &Limits,
    drain: &Drain,
    frame: impl Fn(&Result<Event>, &mut Buffer) + Send + 'static,
) -> Response<Body> {
    answer(events, limits, drain, Box::new(frame), b"")
}

fn answer(
    events: EventStream,
    limits: &Limits,
    drain: &Drain,
    frame: WriteFrame,
    error_type: &'static [u8],
) -> Response<Body> {
    // A silence of nothing would be a busy loop.
    let silence = limits.keep_alive.max(Duration::from_millis(1));
    let body = EventBody {
        events: Some(events),
        frame,
        error_type,
        buffer: Buffer::default(),
        last_write: Instant::now(),
        silence,
        keep_alive: Box::pin(tokio::time::sleep(silence)),
        drain: drain.clone(),
        drained: Box::pin(drain.started()),
    };
    let mut response = Response::new(Body::new(body));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, media::EVENT_STREAM);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    // nginx and those who follow it collect an answer before they pass it on, unless told.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// Appends one event, or the error that ends the stream, to the buffer.
type WriteFrame = Box<dyn Fn(&Result<Event>, &mut Buffer) + Send>;

struct EventBody {
    /// `None` when the end was seen.
    events: Option<EventStream>,
    frame: WriteFrame,
    /// The line in front of an error.
    error_type: &'static [u8],
    buffer: Buffer,
    last_write: Instant,
    silence: Duration,
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

    /// Takes what is ready.
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
        // Checked on every round: a stream that always has more must not outlive the server.
        if self.drain.has_started() {
            self.events = None;
            self.write(&Err(Error::unavailable("the server is shutting down")));
        }
    }

    /// Returns whether the stream has been silent for too long.
    fn poll_silence(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        // The timer is not moved at each write, only looked after when it fires: a write is
        // far more frequent than a silence.
        while self.keep_alive.as_mut().poll(cx).is_ready() {
            let now = Instant::now();
            let due = self.last_write + self.silence;
            if now >= due {
                self.last_write = now;
                self.keep_alive.as_mut().reset(now + self.silence);
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
        // What is left of the last batch goes first.
        if self.buffer.is_empty() {
            if self.events.is_none() {
                return Poll::Ready(None);
            }
            self.fill(cx);
        }
        if self.buffer.is_empty() && self.events.is_some() {
            // Registers for the signal; if it has come in between, there is one more round.
            if self.drained.as_mut().poll(cx).is_ready() {
                self.fill(cx);
            } else if self.poll_silence(cx).is_ready() {
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

impl fmt::Debug for EventBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventBody").field("events", &self.events).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use a2a_core::v1::{
        Message, StreamResponse, TaskState, TaskStatus, TaskStatusUpdateEvent,
        stream_response::Payload,
    };
    use a2a_operations::EventId;
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
    async fn everything_that_is_ready_goes_out_in_one_write() {
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
    async fn a_write_is_bounded() {
        let many = stream::iter(1..=130).map(|position| update(position, TaskState::Working));
        let events = EventStream::new(many.chain(stream::pending()));
        let mut body = body(events, &Limits::default(), &Drain::new());
        for expected in [64, 64, 2] {
            assert_eq!(next(&mut body).await.unwrap().matches("data:").count(), expected);
        }
    }

    #[tokio::test]
    async fn a_message_has_no_position_and_a_cut_stream_says_so() {
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
    async fn an_error_has_no_type_where_readers_would_not_look_at_its_data() {
        let events = EventStream::new(stream::iter([Err(Error::unavailable("no"))]));
        let frame = |item: &Result<Event>, out: &mut Buffer| {
            assert!(item.is_err());
            out.text().extend_from_slice(b"no");
        };
        let answer = untyped_response(events, &Limits::default(), &Drain::new(), frame);
        let mut body = answer.into_body();
        assert_eq!(next(&mut body).await.as_deref(), Some("data: no\n\n"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_stream_is_kept_alive() {
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
        assert_eq!(start.elapsed().as_secs(), 4 + 3 + 4, "silence begins at the last write");
        sender.send(update(2, TaskState::Completed)).await.unwrap();
        drop(sender);
        assert!(next(&mut body).await.unwrap().starts_with("id: 2\n"));
        assert_eq!(next(&mut body).await, None);
    }

    #[tokio::test]
    async fn a_draining_server_ends_quiet_and_busy_streams_alike() {
        let quiet = EventStream::new(stream::pending());
        let drain = Drain::new();
        let mut quiet = body(quiet, &Limits::default(), &drain);
        assert!(futures_util::poll!(quiet.frame()).is_pending());
        drain.start();
        let end = "event: error\ndata: Unavailable\n\n";
        assert_eq!(next(&mut quiet).await.as_deref(), Some(end));
        assert_eq!(next(&mut quiet).await, None);

        let busy = EventStream::new(stream::repeat_with(|| update(1, TaskState::Working)));
        let mut busy = body(busy, &Limits::default(), &drain);
        assert!(next(&mut busy).await.unwrap().ends_with(end));
        assert_eq!(next(&mut busy).await, None);
    }

    #[tokio::test]
    async fn nothing_on_the_way_may_hold_events_back() {
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
