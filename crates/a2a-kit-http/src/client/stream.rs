//! Streaming response bodies.

use std::{
    future::Future as _,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use a2a_core::{Error, ErrorKind, Result};
use bytes::{Bytes, BytesMut};
use futures_core::Stream;
use futures_util::StreamExt as _;
use http_body_util::BodyDataStream;
use hyper::body::Incoming;
use tokio::time::{Instant, Sleep};

use super::{HeldBytes, HttpExchange, ReadBudget, TransportError, WirePart};

/// A streaming response body. It ends after an error.
///
/// An error of kind [`Unavailable`](ErrorKind::Unavailable) means that the connection was lost or
/// idle for too long: the body is incomplete.
pub struct ByteStream {
    /// `None` after the end.
    bytes: Option<BodyDataStream<Incoming>>,
    target: Arc<str>,
    idle: Option<Idle>,
    exchange: Option<HttpExchange>,
    budget: Option<ReadBudget>,
}

struct Idle {
    timeout: Duration,
    timer: Pin<Box<Sleep>>,
}

impl ByteStream {
    pub(super) fn new(
        body: Incoming,
        target: Arc<str>,
        idle: Option<Duration>,
        exchange: Option<HttpExchange>,
        budget: Option<ReadBudget>,
    ) -> Self {
        let idle =
            idle.map(|timeout| Idle { timeout, timer: Box::pin(tokio::time::sleep(timeout)) });
        Self { bytes: Some(BodyDataStream::new(body)), target, idle, exchange, budget }
    }

    fn show(&self, part: WirePart<'_>) {
        if let Some(exchange) = &self.exchange {
            exchange.show(part);
        }
    }

    /// Reads the whole body.
    ///
    /// # Errors
    ///
    /// [`InvalidAgentResponse`](ErrorKind::InvalidAgentResponse) for more than `limit` bytes;
    /// [`Unavailable`](ErrorKind::Unavailable) if the body is incomplete, or beyond
    /// [`ClientSettings::read_budget`](super::ClientSettings::read_budget).
    pub async fn read_all(self, limit: usize) -> Result<Bytes> {
        self.read_all_after(Bytes::new(), limit).await
    }

    /// Reads the beginning of the body: chunks until something other than white space has come, at
    /// least one field name of an event stream long, or `limit` bytes.
    pub(super) async fn read_head(&mut self, limit: usize) -> Result<Bytes> {
        /// The length of `retry:`.
        const LONGEST_FIELD: usize = 6;
        let mut head = Bytes::new();
        while head.len() < limit && head.trim_ascii_start().len() < LONGEST_FIELD {
            let Some(chunk) = self.next().await else { break };
            let chunk = chunk?;
            // Almost always one chunk, which is not copied.
            head = if head.is_empty() { chunk } else { [head, chunk].concat().into() };
        }
        Ok(head)
    }

    /// Reads the rest of the body, whose beginning is `first`.
    pub(super) async fn read_all_after(mut self, mut first: Bytes, limit: usize) -> Result<Bytes> {
        let mut whole = BytesMut::new();
        let mut held = HeldBytes::new(self.budget.clone());
        while let Some(chunk) = self.next().await {
            let chunk = chunk?;
            if whole.len() + first.len() + chunk.len() > limit {
                return Err(Error::new(
                    ErrorKind::InvalidAgentResponse,
                    format!("response of {} exceeds {limit} bytes", self.target),
                ));
            }
            held.set(whole.len() + first.len() + chunk.len())?;
            // A body in a single chunk is not copied.
            if whole.is_empty() && first.is_empty() {
                first = chunk;
                continue;
            }
            whole.extend_from_slice(&std::mem::take(&mut first));
            whole.extend_from_slice(&chunk);
        }
        Ok(held.keep(if whole.is_empty() { first } else { whole.freeze() }))
    }
}

impl Stream for ByteStream {
    type Item = Result<Bytes>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        let Some(bytes) = &mut this.bytes else { return Poll::Ready(None) };
        match bytes.poll_next_unpin(cx) {
            Poll::Ready(Some(Ok(chunk))) => {
                if let Some(idle) = &mut this.idle {
                    idle.timer.as_mut().reset(Instant::now() + idle.timeout);
                }
                this.show(WirePart::ResponseBody(&chunk));
                Poll::Ready(Some(Ok(chunk)))
            }
            Poll::Ready(Some(Err(error))) => {
                this.bytes = None;
                let error = TransportError::incomplete(error);
                this.show(WirePart::Failed(&error.to_string()));
                let error = error.into_error(&this.target);
                Poll::Ready(Some(Err(error)))
            }
            Poll::Ready(None) => {
                this.bytes = None;
                this.show(WirePart::End);
                Poll::Ready(None)
            }
            Poll::Pending => {
                let Some(idle) = &mut this.idle else { return Poll::Pending };
                if idle.timer.as_mut().poll(cx).is_pending() {
                    return Poll::Pending;
                }
                this.bytes = None;
                let message = format!("{} sent no data for {:?}", this.target, idle.timeout);
                this.show(WirePart::Failed(&message));
                Poll::Ready(Some(Err(Error::unavailable(message))))
            }
        }
    }
}

a2a_core::debug_fields!(ByteStream { target, .. });
