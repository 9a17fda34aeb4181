//! The events of a task as the messages of one call.

use std::{
    fmt,
    future::{Future, pending},
    pin::{Pin, pin},
    task::{Context, Poll},
};

use a2a_core::{Error, v1::StreamResponse};
use a2a_http::Drain;
use a2a_operations::{Event, EventId, EventStream};
use futures_core::Stream;
use futures_util::{
    StreamExt as _,
    future::{Either, select},
};
use tokio::time::{Instant, sleep_until};
use tonic::Status;

use super::deadline;
use crate::{codec::Shared, status};

/// A stream of the server: each event in the bytes that all its readers share.
///
/// The call ends with status OK after the last event, or with the status of what cut it: the
/// error of the agent, the caller's deadline, a server that drains, or a position that the client
/// could not count up to.
pub(crate) struct Events {
    first: Option<Event>,
    events: EventStream,
    /// The position that the client will give to the next event.
    expected: Option<EventId>,
    interruption: Pin<Box<dyn Future<Output = Error> + Send>>,
    max_bytes: usize,
    ended: bool,
}

impl Events {
    /// Waits for the first event, so that a stream that fails before it is refused with a plain
    /// status, and its position can be said in front.
    ///
    /// A reader that resumes is answered at once: where it goes on is known, and the next event
    /// may be long in coming.
    pub(crate) async fn open(
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
        Ok(Self { first, events, expected, interruption, max_bytes: usize::MAX, ended: false })
    }

    /// Sets the largest message, in bytes.
    pub(crate) fn limited_to(mut self, max_bytes: usize) -> Self {
        self.max_bytes = max_bytes;
        self
    }

    /// The position of the first event, if the events have positions.
    pub(crate) fn position(&self) -> Option<EventId> {
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

    /// Checks that the client counts to the position that the event has.
    fn advance(&mut self, event: &Event) -> Result<(), Error> {
        let Some(expected) = self.expected else {
            return Ok(());
        };
        if event.id() != Some(expected) {
            // The log was trimmed behind a slow reader, say. It comes back for a snapshot.
            return Err(Error::unavailable("the stream skips events: subscribe again"));
        }
        self.expected = Some(expected.next());
        Ok(())
    }
}

impl Stream for Events {
    type Item = Result<Shared<StreamResponse>, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.ended {
            return Poll::Ready(None);
        }
        let item = match std::task::ready!(self.next_event(cx)) {
            Some(Ok(event)) => {
                let advanced = self.advance(&event);
                advanced.and_then(|()| Shared::Encoded(event.protobuf()).within(self.max_bytes))
            }
            Some(Err(error)) => Err(error),
            None => {
                self.ended = true;
                return Poll::Ready(None);
            }
        };
        self.ended = item.is_err();
        Poll::Ready(Some(item.map_err(status::encode)))
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events")
            .field("expected", &self.expected)
            .field("ended", &self.ended)
            .finish_non_exhaustive()
    }
}

/// Waits for what ends a stream before its time.
pub(crate) async fn interruption(deadline: Option<Instant>, drain: Drain) -> Error {
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
    use a2a_core::{Message, v1::stream_response::Payload};
    use futures_util::{FutureExt as _, stream};

    use super::*;

    #[test]
    fn every_reader_of_an_event_sends_the_same_bytes() {
        let payload = Some(Payload::Message(Message::agent("hi")));
        let event = Event::new(None, StreamResponse { payload });
        for _reader in 0..2 {
            let events = EventStream::new(stream::iter([Ok(event.clone())]));
            let opened = Events::open(events, None, None, Drain::new()).now_or_never();
            let mut events = opened.unwrap().unwrap();
            let item = events.next().now_or_never().flatten().unwrap().unwrap();
            let Shared::Encoded(bytes) = item else { panic!("{item:?}") };
            assert_eq!(bytes.as_ptr(), event.protobuf().as_ptr());
        }
    }
}
