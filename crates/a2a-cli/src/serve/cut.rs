//! Cuts a connection in the middle of a stream, so that people can see a client come back.
//!
//! The agent behind the bindings knows which stream to cut, and a layer in front of them has the
//! connection. They share a switch for the time of one request.

use std::{
    future, io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use a2a_core::Error;
use a2a_operations::EventStream;
use axum::{body::Body, extract::Request, middleware::Next, response::Response};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http_body::Frame;

/// How long the events before a cut have to reach the client.
const FLUSH: Duration = Duration::from_millis(30);

tokio::task_local! {
    static SWITCH: Switch;
}

/// Whether the connection of a request is to be cut.
#[derive(Clone, Debug, Default)]
struct Switch(Arc<AtomicBool>);

/// Gives a request its switch, and cuts its answer when that is thrown.
pub(super) async fn layer(request: Request, next: Next) -> Response {
    let switch = Switch::default();
    let response = SWITCH.scope(switch.clone(), next.run(request)).await;
    response.map(|body| Body::new(Severed { body, switch }))
}

/// Lets `count` events pass and then cuts the connection that they go over.
pub(super) fn after(count: usize, events: EventStream) -> EventStream {
    let switch = SWITCH.try_with(Clone::clone).ok();
    let cut = stream::once(async move {
        // What was written has to leave before the connection goes down.
        tokio::time::sleep(FLUSH).await;
        if let Some(switch) = switch {
            // The body that asked for this event finds the switch thrown and ends in an error.
            switch.0.store(true, Ordering::Release);
            future::pending::<()>().await;
        }
        Err(Error::unavailable("the stream was cut on purpose"))
    });
    EventStream::new(events.take(count).chain(cut))
}

/// The body of an answer that may be cut.
struct Severed {
    body: Body,
    switch: Switch,
}

impl http_body::Body for Severed {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if polled.is_pending() && self.switch.0.load(Ordering::Acquire) {
            let cut = io::Error::new(io::ErrorKind::ConnectionAborted, "cut on purpose");
            return Poll::Ready(Some(Err(axum::Error::new(cut))));
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> http_body::SizeHint {
        self.body.size_hint()
    }
}
