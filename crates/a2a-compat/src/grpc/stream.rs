//! The events of a task as the messages of one call.

use std::{future::Future, pin::Pin};

use a2a_core::{Error, ProtocolVersion, Result};
use a2a_grpc::wire;
use a2a_http::Drain;
use a2a_operations::{Event, EventStream};
use futures_core::Stream;
use futures_util::{
    StreamExt as _,
    future::{Either, select},
    stream,
};
use tokio::time::Instant;
use tonic::Status;

use super::code;
use crate::{
    front::stream::is_last,
    proto::{StreamResponse, event_down},
};

/// What the service answers a streaming call with.
pub(super) type Events = Pin<Box<dyn Stream<Item = Result<StreamResponse, Status>> + Send>>;

/// A stream, and what ends it before its time.
struct Source {
    events: EventStream,
    interruption: Pin<Box<dyn Future<Output = Error> + Send>>,
}

impl Source {
    async fn next(&mut self) -> Option<Result<Event>> {
        match select(self.events.next(), &mut self.interruption).await {
            Either::Left((item, _)) => item,
            Either::Right((error, _)) => Some(Err(error)),
        }
    }
}

/// Waits for the first event, so that a stream that fails before it is refused with a plain
/// status.
pub(super) async fn open(
    events: EventStream,
    revision: ProtocolVersion,
    deadline: Option<Instant>,
    drain: Drain,
) -> Result<Events> {
    let interruption = Box::pin(wire::interruption(deadline, drain));
    let mut source = Source { events, interruption };
    let first = source.next().await.transpose()?;
    let rest = stream::unfold(Some(source), |source| async {
        let mut source = source?;
        let item = source.next().await?;
        let goes_on = item.is_ok();
        Some((item, goes_on.then_some(source)))
    });
    let events = stream::iter(first.map(Ok)).chain(rest);
    Ok(Box::pin(events.map(move |item| match item {
        Ok(event) => {
            let last = is_last(revision, &event);
            Ok(event_down(event.into_response(), last))
        }
        Err(error) => Err(code::encode(error, revision)),
    })))
}
