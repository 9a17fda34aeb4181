//! Event streams as gRPC response streams.

use std::{future::Future, pin::Pin};

use a2a_core::{Error, ProtocolVersion, Result};
use a2a_kit_grpc::wire;
use a2a_kit_http::Drain;
use a2a_kit_operations::{Event, EventId, EventStream};
use futures_core::Stream;
use futures_util::{
    FutureExt as _, StreamExt as _,
    future::{Either, select},
    stream,
};
use tokio::time::Instant;
use tonic::Status;

use super::code;
use crate::{
    proto::{Files as _, StreamResponse, event_from_v1},
    server::stream::is_last,
};

/// The response stream of a streaming call.
pub(super) type Events = Pin<Box<dyn Stream<Item = Result<StreamResponse, Status>> + Send>>;

/// An opened stream, and the event id of its first event, if it has one.
pub(super) struct Opened {
    pub(super) events: Events,
    pub(super) position: Option<EventId>,
}

/// An event stream that can be interrupted.
struct Source {
    events: EventStream,
    interruption: Pin<Box<dyn Future<Output = Error> + Send>>,
    /// The id that the client assigns to the next event, by counting.
    expected: Option<EventId>,
}

impl Source {
    async fn next(&mut self) -> Option<Result<Event>> {
        match select(self.events.next(), &mut self.interruption).await {
            Either::Left((item, _)) => item,
            Either::Right((error, _)) => Some(Err(error)),
        }
    }

    /// Checks that the event has the id that the client assigns. The final status event that is
    /// added for clients of older revisions has none.
    fn advance(&mut self, event: Event) -> Result<Event> {
        if let (Some(expected), Some(position)) = (self.expected, event.id()) {
            if position != expected {
                return Err(Error::unavailable("the stream skips events: subscribe again"));
            }
            self.expected = Some(expected.next());
        }
        Ok(event)
    }
}

/// Waits for the first event, so that a stream that fails before it is rejected with a plain
/// status. A resumed stream is opened immediately: its position is known.
pub(super) async fn open(
    events: EventStream,
    revision: ProtocolVersion,
    resumed_after: Option<EventId>,
    deadline: Option<Instant>,
    drain: Drain,
) -> Result<Opened> {
    let interruption = Box::pin(wire::interruption(deadline, drain));
    let mut source = Source { events, interruption, expected: None };
    let first = match resumed_after {
        Some(_) => source.next().now_or_never().flatten(),
        None => source.next().await,
    };
    let first = first.transpose()?;
    let position = match &first {
        Some(event) => event.id(),
        None => resumed_after.map(EventId::next),
    };
    source.expected = position;
    let first = first.map(|event| source.advance(event));
    let rest = stream::unfold(Some(source), |source| async {
        let mut source = source?;
        let item = source.next().await?.and_then(|event| source.advance(event));
        let continues = item.is_ok();
        Some((item, continues.then_some(source)))
    });
    let events = stream::iter(first).chain(rest).map(move |item| match item {
        Ok(event) => {
            let last = is_last(revision, &event);
            Ok(event_from_v1(event.into_response(), last))
        }
        Err(error) => Err(code::encode(error)),
    });
    Ok(Opened { events: Box::pin(events), position })
}

/// Encodes the files in the events of a stream as base64 text.
pub(super) fn with_text(events: EventStream) -> EventStream {
    EventStream::new(events.map(|item| {
        item.map(|event| {
            let id = event.id();
            let mut response = event.into_response();
            response.write_text();
            Event::new(id, response)
        })
    }))
}
