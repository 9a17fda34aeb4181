//! Streams that give back what they hold, and tasks that are counted when nobody reads them.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use a2a_core::{Result, v1::SubscribeToTaskRequest};
use futures_core::Stream;
use futures_util::StreamExt as _;
use tokio::runtime::Handle;

use super::held::Share;
use crate::{Agent, Call, CallContext, Event, EventStream, event::Settled};

/// A stream that holds its place among the open ones, and its task's among those that work.
pub(super) struct Guarded {
    events: Option<EventStream>,
    stream: Option<Share>,
    task: Option<Share>,
}

impl Guarded {
    pub(super) fn new(events: EventStream, stream: Option<Share>, task: Option<Share>) -> Self {
        Self { events: Some(events), stream, task }
    }
}

impl From<Guarded> for EventStream {
    fn from(mut guarded: Guarded) -> Self {
        if guarded.stream.is_none()
            && guarded.task.is_none()
            && let Some(events) = guarded.events.take()
        {
            return events;
        }
        Self::new(guarded)
    }
}

impl Stream for Guarded {
    type Item = Result<Event>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(events) = &mut self.events else { return Poll::Ready(None) };
        let item = ready!(events.poll_next_unpin(cx));
        match &item {
            Some(Ok(event)) => {
                if event.settled() != Settled::No {
                    self.task = None;
                }
            }
            Some(Err(_)) => {}
            None => {
                self.events = None;
                self.stream = None;
                self.task = None;
            }
        }
        Poll::Ready(item)
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        self.stream = None;
        // The reader is gone and the task works on: it is read to where it stops.
        if let Some(task) = self.task.take()
            && let Some(events) = self.events.take()
            && let Ok(runtime) = Handle::try_current()
        {
            runtime.spawn(until_settled(events, task));
        }
    }
}

/// Holds the place of a task until it stops working.
pub(super) async fn follow(
    agent: Arc<dyn Agent>,
    context: CallContext,
    request: SubscribeToTaskRequest,
    share: Share,
) {
    // A task that has ended in between is refused, and gives its place back.
    if let Ok(reply) = agent.subscribe_to_task(Call::with_context(context, request)).await {
        until_settled(reply.response, share).await;
    }
}

async fn until_settled(mut events: EventStream, share: Share) {
    while let Some(Ok(event)) = events.next().await {
        if event.settled() != Settled::No {
            break;
        }
    }
    drop(share);
}
