//! Fault injection: faulty responses, for tests of clients.
//!
//! The agent behind the bindings knows which rule a message matches, and a layer in front of the
//! bindings has the response. They share the fault of the current request.

use std::{
    future, io,
    pin::Pin,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use a2a_core::{Error, ErrorKind, text};
use a2a_kit_operations::EventStream;
use axum::{body::Body, response::Response};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::{
    StatusCode,
    header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, RETRY_AFTER},
};
use http_body::Frame;
use memchr::memmem;
use serde::Deserialize;

use crate::step::MAX_WAIT;

/// How long the events before a fault have to reach the client.
const FLUSH: Duration = Duration::from_millis(30);

tokio::task_local! {
    static INJECTION: Arc<Injection>;
}

/// A fault in the response to a message.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Fault {
    /// Rejects the operation with an error of the protocol.
    Error(Rejection),
    /// Cuts the connection of a stream after this many events.
    CutAfter(usize),
    /// Inserts a text into a stream.
    Insert(Insertion),
    /// Replaces a text in the body.
    Replace(Replacement),
    /// Replaces the HTTP response.
    Respond(FixedResponse),
    /// Delays the response.
    #[serde(deserialize_with = "delay")]
    Delay(Duration),
    /// Keeps a stream open after this many events, without any further ones.
    StallAfter(usize),
    /// Closes the connection in place of a response body.
    #[serde(deserialize_with = "enabled")]
    Disconnect(()),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rejection {
    #[serde(deserialize_with = "error_kind")]
    name: ErrorKind,
    #[serde(default = "rejected")]
    text: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Insertion {
    after: usize,
    text: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Replacement {
    #[serde(deserialize_with = "not_empty")]
    from: String,
    to: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FixedResponse {
    #[serde(default = "ok", deserialize_with = "status")]
    status: StatusCode,
    #[serde(default = "json", deserialize_with = "header")]
    content_type: HeaderValue,
    #[serde(default)]
    body: String,
    /// `Retry-After`, in seconds.
    retry_after: Option<u32>,
}

fn rejected() -> String {
    "rejected by the script".into()
}

fn ok() -> StatusCode {
    StatusCode::OK
}

fn json() -> HeaderValue {
    HeaderValue::from_static("application/json")
}

fn error_kind<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<ErrorKind, D::Error> {
    let name = String::deserialize(deserializer)?;
    let expected = || ErrorKind::ALL.map(|kind| kind.codes().reason).join(", ");
    ErrorKind::from_reason(&name)
        .ok_or_else(|| serde::de::Error::custom(format!("unknown error, expected {}", expected())))
}

fn status<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<StatusCode, D::Error> {
    let code = u16::deserialize(deserializer)?;
    // Those below are not final, and clients wait on.
    let status = StatusCode::from_u16(code).ok().filter(|status| status.as_u16() >= 200);
    status.ok_or_else(|| serde::de::Error::custom(format!("{code} is not a final HTTP status")))
}

fn header<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<HeaderValue, D::Error> {
    String::deserialize(deserializer)?.try_into().map_err(serde::de::Error::custom)
}

fn delay<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let delay = text::duration(&String::deserialize(deserializer)?);
    let delay = delay.map_err(serde::de::Error::custom)?;
    if delay > MAX_WAIT { Err(serde::de::Error::custom("must be at most 1h")) } else { Ok(delay) }
}

fn enabled<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<(), D::Error> {
    let is_enabled = bool::deserialize(deserializer)?;
    if is_enabled { Ok(()) } else { Err(serde::de::Error::custom("expected true")) }
}

fn not_empty<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text.is_empty() { Err(serde::de::Error::custom("must not be empty")) } else { Ok(text) }
}

/// The fault of one request.
#[derive(Debug, Default)]
struct Injection {
    fault: OnceLock<Fault>,
    /// Whether it is time to cut or to insert.
    is_due: AtomicBool,
}

/// Injects the fault that is armed while the response is created.
pub(crate) async fn injected(response: impl Future<Output = Response>) -> Response {
    let injection = Arc::<Injection>::default();
    let response = INJECTION.scope(Arc::clone(&injection), response).await;
    injection.apply(response)
}

impl Injection {
    fn apply(self: Arc<Self>, mut response: Response) -> Response {
        match self.fault.get() {
            None | Some(Fault::Error(_) | Fault::Delay(_) | Fault::StallAfter(_)) => {
                return response;
            }
            Some(Fault::Respond(fixed)) => {
                let mut response = Response::new(Body::from(fixed.body.clone()));
                *response.status_mut() = fixed.status;
                let headers = response.headers_mut();
                headers.insert(CONTENT_TYPE, fixed.content_type.clone());
                if let Some(seconds) = fixed.retry_after {
                    headers.insert(RETRY_AFTER, seconds.into());
                }
                return response;
            }
            Some(
                Fault::CutAfter(_) | Fault::Insert(_) | Fault::Replace(_) | Fault::Disconnect(()),
            ) => {}
        }
        response.headers_mut().remove(CONTENT_LENGTH);
        response.map(|body| Body::new(FaultyBody { body, injection: self, held: None }))
    }
}

impl Fault {
    /// Applies the fault to the response of the current request.
    ///
    /// # Errors
    ///
    /// That of [`Fault::Error`].
    pub(crate) async fn arm(&self) -> Result<(), Error> {
        match self {
            Self::Error(Rejection { name, text }) => return Err(Error::new(*name, text.clone())),
            Self::Delay(delay) => tokio::time::sleep(*delay).await,
            _ => {}
        }
        // Without the layer there is no response to change.
        let _no_layer = INJECTION.try_with(|injection| injection.fault.set(self.clone()));
        Ok(())
    }

    /// Applies the fault to the stream of events of the response.
    pub(crate) fn in_stream(&self, events: EventStream) -> EventStream {
        let (count, is_cut) = match self {
            Self::CutAfter(count) => (*count, true),
            Self::Insert(Insertion { after, .. }) => (*after, false),
            Self::StallAfter(count) => {
                let stalled = stream::once(future::pending());
                return EventStream::new(events.take(*count).chain(stalled));
            }
            Self::Error(_)
            | Self::Replace(_)
            | Self::Respond(_)
            | Self::Delay(_)
            | Self::Disconnect(()) => return events,
        };
        let injection = INJECTION.try_with(Arc::clone).ok();
        let due = async move {
            // The events before the fault have to leave first.
            tokio::time::sleep(FLUSH).await;
            if let Some(injection) = injection {
                injection.is_due.store(true, Ordering::Release);
                if is_cut {
                    // The body that asked for this event finds the fault due and ends in an error.
                    future::pending::<()>().await;
                }
            }
        };
        if is_cut {
            let cut = stream::once(async move {
                due.await;
                Err(Error::unavailable("the stream was cut by a fault"))
            });
            return EventStream::new(events.take(count).chain(cut));
        }
        let mut due = Some(Box::pin(due));
        EventStream::new(events.enumerate().then(move |(index, event)| {
            let due = if index == count { due.take() } else { None };
            async move {
                if let Some(due) = due {
                    due.await;
                }
                event
            }
        }))
    }
}

/// The body of a response with a fault.
struct FaultyBody {
    body: Body,
    injection: Arc<Injection>,
    /// A frame that waits behind inserted bytes.
    held: Option<Frame<Bytes>>,
}

impl http_body::Body for FaultyBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if let Some(held) = self.held.take() {
            return Poll::Ready(Some(Ok(held)));
        }
        let polled = Pin::new(&mut self.body).poll_frame(context);
        let this = &mut *self;
        let cut = || {
            let cut = io::Error::new(io::ErrorKind::ConnectionAborted, "cut by a fault");
            Poll::Ready(Some(Err(axum::Error::new(cut))))
        };
        match this.injection.fault.get() {
            Some(Fault::Disconnect(())) => cut(),
            Some(Fault::CutAfter(_)) => {
                if polled.is_pending() && this.injection.is_due.load(Ordering::Acquire) {
                    return cut();
                }
                polled
            }
            Some(Fault::Insert(insertion))
                if this.injection.is_due.swap(false, Ordering::AcqRel) =>
            {
                if let Poll::Ready(Some(Ok(frame))) = polled {
                    this.held = Some(frame);
                }
                let text = Bytes::from(insertion.text.clone());
                Poll::Ready(Some(Ok(Frame::data(text))))
            }
            Some(Fault::Replace(replacement)) => {
                polled.map_ok(|frame| frame.map_data(|data| replacement.apply(&data)))
            }
            _ => polled,
        }
    }
}

impl Replacement {
    /// Replaces the text in one frame. A text that continues in the next frame is not found.
    fn apply(&self, data: &[u8]) -> Bytes {
        let mut replaced = Vec::with_capacity(data.len());
        let mut behind = 0;
        for at in memmem::find_iter(data, &self.from) {
            replaced.extend_from_slice(&data[behind..at]);
            replaced.extend_from_slice(self.to.as_bytes());
            behind = at + self.from.len();
        }
        replaced.extend_from_slice(&data[behind..]);
        replaced.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_replaced_wherever_it_is() {
        let replacement = Replacement { from: "\"id\":1".into(), to: "\"id\":2".into() };
        for (data, replaced) in
            [("{\"id\":1,\"id\":1}", "{\"id\":2,\"id\":2}"), ("{\"id\":3}", "{\"id\":3}"), ("", "")]
        {
            assert_eq!(replacement.apply(data.as_bytes()), replaced, "{data}");
        }
    }
}
