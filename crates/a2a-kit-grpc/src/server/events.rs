//! Event streams as gRPC response streams.

use std::{
    future::{Future, pending},
    pin::{Pin, pin},
    task::{Context, Poll, ready},
};

use a2a_core::Error;
use a2a_kit_http::Drain;
use a2a_kit_operations::{Event, EventId, EventStream};
use bytes::Bytes;
use futures_core::Stream;
use futures_util::{
    StreamExt as _,
    future::{Either, select},
};
use tokio::time::{Instant, sleep_until};
use tonic::Status;

use super::{deadline, message::too_large};
use crate::status;

/// A response stream: each event as bytes shared by all readers.
///
/// The call ends with status OK after the last event, or with the status of the interruption.
#[derive(Debug)]
pub(crate) struct Events {
    events: GuardedEvents,
    max_bytes: usize,
}

impl Events {
    /// Creates a stream of messages of at most `max_bytes`.
    pub(crate) fn new(events: GuardedEvents, max_bytes: usize) -> Self {
        Self { events, max_bytes }
    }
}

impl Stream for Events {
    type Item = Result<Bytes, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let item = match ready!(self.events.poll_next_unpin(cx)) {
            Some(Ok(event)) => {
                let bytes = event.protobuf();
                if bytes.len() <= self.max_bytes { Ok(bytes) } else { Err(too_large()) }
            }
            Some(Err(error)) => Err(error),
            None => return Poll::Ready(None),
        };
        Poll::Ready(Some(item.map_err(status::encode)))
    }
}

/// The events of a stream, up to an error: that of the agent, the caller's deadline, a draining
/// server, or a gap in event ids.
pub struct GuardedEvents {
    first: Option<Event>,
    events: EventStream,
    /// The id that the client assigns to the next event, by counting.
    expected: Option<EventId>,
    /// Whether events may have no id.
    may_lack_ids: bool,
    interruption: Pin<Box<dyn Future<Output = Error> + Send>>,
    ended: bool,
}

impl GuardedEvents {
    /// Waits for the first event, so that a stream that fails before it is rejected with a plain
    /// status, and the id of the first event can be sent in the metadata.
    ///
    /// A resumed stream is opened immediately: its position is known, and the next event may take
    /// long.
    ///
    /// # Errors
    ///
    /// That of the first event, and of an interruption before it.
    pub async fn open(
        mut events: EventStream,
        resumed_after: Option<EventId>,
        deadline: Option<Instant>,
        drain: Drain,
    ) -> Result<Self, Error> {
        let mut interruption: Pin<Box<dyn Future<Output = Error> + Send>> =
            Box::pin(interruption(deadline, drain));
        let first = match resumed_after {
            Some(_) => futures_util::FutureExt::now_or_never(events.next()),
            None => match select(events.next(), &mut interruption).await {
                Either::Left((item, _)) => Some(item),
                Either::Right((error, _)) => return Err(error),
            },
        };
        let first = first.flatten().transpose()?;
        let expected = match &first {
            Some(event) => event.id(),
            None => resumed_after.map(EventId::next),
        };
        Ok(Self { first, events, expected, may_lack_ids: false, interruption, ended: false })
    }

    /// Accepts events without an id, such as the final status that is added for older clients.
    #[must_use]
    pub fn accepting_unnumbered(mut self) -> Self {
        self.may_lack_ids = true;
        self
    }

    /// The id of the first event, if events have ids.
    pub fn position(&self) -> Option<EventId> {
        self.expected
    }

    fn next_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Event, Error>>> {
        if let Some(event) = self.first.take() {
            return Poll::Ready(Some(Ok(event)));
        }
        match self.events.poll_next_unpin(cx) {
            Poll::Pending => self.interruption.as_mut().poll(cx).map(|error| Some(Err(error))),
            ready => ready,
        }
    }

    /// Checks that the event has the id that the client assigns.
    fn advance(&mut self, event: Event) -> Result<Event, Error> {
        let Some(expected) = self.expected else { return Ok(event) };
        match event.id() {
            None if self.may_lack_ids => return Ok(event),
            id if id == Some(expected) => self.expected = Some(expected.next()),
            // For example, the log was trimmed. The client resumes with a snapshot.
            _ => return Err(Error::unavailable("event stream has a gap: subscribe again")),
        }
        Ok(event)
    }
}

impl Stream for GuardedEvents {
    type Item = Result<Event, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.ended {
            return Poll::Ready(None);
        }
        let item = ready!(self.next_event(cx)).map(|event| self.advance(event?));
        self.ended = !matches!(item, Some(Ok(_)));
        Poll::Ready(item)
    }
}

a2a_core::debug_fields!(GuardedEvents { expected, ended, .. });

/// Completes when a stream has to be interrupted: at the caller's deadline, or when the server
/// drains.
async fn interruption(deadline: Option<Instant>, drain: Drain) -> Error {
    let expiry = pin!(async {
        match deadline {
            Some(deadline) => sleep_until(deadline).await,
            None => pending().await,
        }
    });
    match select(expiry, pin!(drain.started())).await {
        Either::Left(_) => deadline::exceeded(),
        Either::Right(_) => Error::unavailable("the server is shutting down: subscribe again"),
    }
}

#[cfg(test)]
mod tests {
    use a2a_core::{
        Message,
        v1::{StreamResponse, stream_response::Payload},
    };
    use futures_util::{FutureExt as _, stream};

    use super::*;

    #[test]
    fn readers_of_an_event_share_its_bytes() {
        let payload = Some(Payload::Message(Message::agent("hi")));
        let event = Event::new(None, StreamResponse { payload });
        for _reader in 0..2 {
            let events = EventStream::new(stream::iter([Ok(event.clone())]));
            let opened = GuardedEvents::open(events, None, None, Drain::new()).now_or_never();
            let mut events = Events::new(opened.unwrap().unwrap(), usize::MAX);
            let bytes = events.next().now_or_never().flatten().unwrap().unwrap();
            assert_eq!(bytes.as_ptr(), event.protobuf().as_ptr());
        }
    }
}
