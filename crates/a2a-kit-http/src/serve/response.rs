//! The response of the router, with the headers and the budget of the connection.

use std::{
    collections::VecDeque,
    convert::Infallible,
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

use axum::{Error, body::Body, routing::future::RouteFuture};
use bytes::Bytes;
use futures_util::future::{BoxFuture, Ready};
use http::{HeaderValue, Response, header};
use http_body::{Body as _, Frame, SizeHint};

use super::{
    activity::InFlight, direct::DirectRequest, h2_executor, response_budget::AddressBudget,
};
use crate::{content_type, error_response, read_budget::UNCOUNTED};

/// Maximum chunk passed to hyper over HTTP/2, in bytes; the frame size. hyper keeps a chunk in
/// memory until the peer accepts it.
const HTTP2_CHUNK: usize = 16 << 10;

/// Maximum chunk passed to hyper over HTTP/1.1, in bytes: hyper copies it.
const HTTP1_CHUNK: usize = 64 << 10;

/// Maximum number of body frames buffered before the response head is sent.
const MAX_BUFFERED_FRAMES: usize = 16;

/// Where the response comes from.
pub(super) enum Route {
    /// The router.
    Router(RouteFuture<Infallible>),
    /// A binding whose request has not been read; `None` while it is called.
    Unread(Option<DirectRequest>),
    /// A binding.
    Direct(BoxFuture<'static, Response<Body>>),
    /// The request was rejected.
    Rejected(Ready<Response<Body>>),
}

impl Route {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Response<Body>> {
        if let Self::Unread(request) = self
            && let Some(request) = request.take()
        {
            *self = Self::Direct(request.call(cx));
        }
        match self {
            Self::Direct(future) => future.as_mut().poll(cx),
            Self::Router(future) => {
                let Ok(response) = ready!(Pin::new(future).poll(cx));
                Poll::Ready(response)
            }
            Self::Rejected(future) => Pin::new(future).poll(cx),
            Self::Unread(_) => Poll::Pending,
        }
    }
}

/// Resolves to the response of a route, with the headers and the budget of the connection.
pub(super) struct ResponseFuture {
    pub(super) route: Route,
    pub(super) hsts: Option<HeaderValue>,
    /// Whether the connection is closed after the response (HTTP/1.1).
    pub(super) closes: bool,
    /// Taken by the body.
    pub(super) in_flight: Option<InFlight>,
    /// Taken by the body.
    pub(super) budget: Option<AddressBudget>,
}

impl Future for ResponseFuture {
    type Output = Result<Response<ResponseBody>, Infallible>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let response = ready!(this.route.poll(cx));
        let (parts, body) = response.into_parts();
        let mut body = ResponseBody::new(body, this.in_flight.take(), this.budget.take());
        body.is_event_stream = body.body.size_hint().upper().is_none()
            && content_type::is_event_stream(&parts.headers);
        let mut response = match body.buffer(cx) {
            Ok(()) => Response::from_parts(parts, body),
            Err(over_budget) => {
                let replaced = Response::from_parts(parts, Body::empty());
                error_response::replace_with_error(replaced, over_budget)
                    .map(|error| ResponseBody::new(error, body.in_flight.take(), body.budget))
            }
        };
        // gRPC clients are not browsers, and ignore the header.
        if let Some(hsts) = this.hsts.take()
            && !error_response::is_grpc(response.headers())
        {
            response.headers_mut().entry(header::STRICT_TRANSPORT_SECURITY).or_insert(hsts);
        }
        if this.closes {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        Poll::Ready(Ok(response))
    }
}

/// A keep-alive comment of an event stream, ignored by clients.
const COMMENT: &[u8] = b": ping\n\n";

/// A response body, sent in chunks that count against the response budget. Over HTTP/2 it records
/// each chunk for the write timeout of the stream. Over HTTP/1.1 an event stream writes a comment
/// when the peer may be gone: see [`half_close`](super::half_close).
pub(super) struct ResponseBody {
    body: Body,
    /// Frames read before the head was sent.
    buffered: VecDeque<Result<Frame<Bytes>, Error>>,
    /// Whether the body has ended.
    has_ended: bool,
    remainder: Bytes,
    in_flight: Option<InFlight>,
    is_event_stream: bool,
    budget: Option<AddressBudget>,
}

impl ResponseBody {
    fn new(body: Body, in_flight: Option<InFlight>, budget: Option<AddressBudget>) -> Self {
        let buffered = VecDeque::new();
        let (remainder, is_event_stream) = (Bytes::new(), false);
        Self { body, buffered, has_ended: false, remainder, in_flight, is_event_stream, budget }
    }

    /// Counts a chunk until every part of the returned bytes is dropped.
    fn count(&self, data: Bytes) -> a2a_core::Result<Bytes> {
        match &self.budget {
            Some(budget) => budget.count(data),
            None => Ok(data),
        }
    }

    fn is_http2(&self) -> bool {
        self.in_flight.as_ref().is_some_and(InFlight::is_http2)
    }

    /// Returns whether an event stream has to write a comment. An event is complete when the body
    /// has no more data.
    fn takes_probe(&self) -> bool {
        self.is_event_stream && self.in_flight.as_ref().is_some_and(InFlight::take_probe)
    }

    /// Reads and counts ready frames of a large body while an error can still replace the response.
    /// For a peer that never reads, the counted bytes are then in memory, not their source.
    fn buffer(&mut self, cx: &mut Context<'_>) -> a2a_core::Result<()> {
        let is_small = |upper| upper <= UNCOUNTED as u64;
        if self.body.size_hint().upper().is_some_and(is_small) {
            if !self.body.is_end_stream() {
                self.record_yield(true);
            }
            return Ok(());
        }
        let mut bytes = 0;
        while bytes <= UNCOUNTED && self.buffered.len() < MAX_BUFFERED_FRAMES {
            let item = match Pin::new(&mut self.body).poll_frame(cx) {
                Poll::Pending => break,
                Poll::Ready(None) => {
                    self.has_ended = true;
                    break;
                }
                Poll::Ready(Some(item)) => item,
            };
            let item = match item.map(Frame::into_data) {
                Ok(Ok(data)) => {
                    bytes += data.len();
                    Ok(Frame::data(self.count(data)?))
                }
                Ok(Err(trailers)) => Ok(trailers),
                Err(error) => Err(error),
            };
            self.buffered.push_back(item);
        }
        if bytes > 0 {
            self.record_yield(true);
        }
        Ok(())
    }

    /// Records whether the body yielded data, for the write timeout of HTTP/2 streams.
    fn record_yield(&self, yielded: bool) {
        if self.is_http2() {
            h2_executor::record_yield(yielded);
        }
    }

    fn next_chunk(&mut self) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let max = if self.is_http2() { HTTP2_CHUNK } else { HTTP1_CHUNK };
        let end = self.remainder.len().min(max);
        self.record_yield(true);
        Poll::Ready(Some(Ok(Frame::data(self.remainder.split_to(end)))))
    }

    /// Returns the next buffered frame, or counts and returns the next frame of the body.
    fn next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        if let Some(item) = self.buffered.pop_front() {
            return Poll::Ready(Some(item));
        }
        // Streams live long: without the memory for frames before their head.
        self.buffered = VecDeque::new();
        if self.has_ended {
            return Poll::Ready(None);
        }
        let item = ready!(Pin::new(&mut self.body).poll_frame(cx));
        let Some(Ok(frame)) = item else { return Poll::Ready(item) };
        let counted = match frame.into_data() {
            // The client can resume a stream that is cut here.
            Ok(data) => self.count(data).map(Frame::data),
            Err(frame) => Ok(frame),
        };
        Poll::Ready(Some(counted.map_err(Error::new)))
    }
}

impl http_body::Body for ResponseBody {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        if !self.remainder.is_empty() {
            return self.next_chunk();
        }
        let frame = match self.next(cx) {
            Poll::Ready(Some(Ok(frame))) => frame,
            Poll::Pending if self.takes_probe() => {
                return Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(COMMENT)))));
            }
            other => {
                self.record_yield(false);
                return other;
            }
        };
        match frame.into_data() {
            Ok(data) if data.len() > HTTP2_CHUNK => {
                self.remainder = data;
                self.next_chunk()
            }
            Ok(data) => {
                self.record_yield(true);
                Poll::Ready(Some(Ok(Frame::data(data))))
            }
            Err(frame) => {
                self.record_yield(true);
                Poll::Ready(Some(Ok(frame)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        let is_drained = self.remainder.is_empty() && self.buffered.is_empty();
        is_drained && (self.has_ended || self.body.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        let mut hint = self.body.size_hint();
        let buffered = self.buffered.iter().flatten().filter_map(Frame::data_ref).map(Bytes::len);
        let pending = (self.remainder.len() + buffered.sum::<usize>()) as u64;
        if let Some(upper) = hint.upper() {
            hint.set_upper(upper.saturating_add(pending));
        }
        hint.set_lower(hint.lower().saturating_add(pending));
        hint
    }
}
