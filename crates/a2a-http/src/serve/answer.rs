//! The answer of the router, with what the connection adds.

use std::{
    collections::VecDeque,
    convert::Infallible,
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

use axum::{Error, body::Body, routing::future::RouteFuture};
use bytes::Bytes;
use futures_util::future::{Either, Ready};
use http::{HeaderMap, HeaderValue, Response, header};
use http_body::{Body as _, Frame, SizeHint};
use pin_project_lite::pin_project;

use super::{
    activity::Open,
    executor,
    response_budget::{ForAddress, OverBudget, UNCOUNTED},
};
use crate::refusal;

/// Most that is handed to HTTP/2 at once, in bytes, which is the size of its frames: what is
/// handed over stays in memory until the peer takes it.
const HTTP2_PIECE: usize = 16 << 10;

/// Most that is handed to HTTP/1.1 at once, in bytes: it is copied.
const HTTP1_PIECE: usize = 64 << 10;

/// Most pieces that are taken of a body before its head is sent.
const FIRST_PIECES: usize = 16;

/// The answer of the router, or a refusal before that.
type Route = Either<RouteFuture<Infallible>, Ready<Result<Response<Body>, Infallible>>>;

pin_project! {
    /// The answer of the router, with what the connection adds.
    pub(super) struct Answering {
        #[pin]
        route: Route,
        hsts: Option<HeaderValue>,
        open: Option<Open>,
        budget: ForAddress,
    }
}

impl Answering {
    pub(super) fn new(
        route: Route,
        hsts: Option<HeaderValue>,
        open: Option<Open>,
        budget: ForAddress,
    ) -> Self {
        Self { route, hsts, open, budget }
    }
}

impl Future for Answering {
    type Output = Result<Response<AnswerBody>, Infallible>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let Ok(response) = ready!(this.route.poll(cx));
        let (parts, body) = response.into_parts();
        let mut body = AnswerBody::new(body, this.open.take(), this.budget.clone());
        let mut response = match body.begin(cx) {
            Ok(()) => Response::from_parts(parts, body),
            Err(over_budget) => {
                let made = Response::from_parts(parts, Body::empty());
                refusal::instead(made, over_budget.into())
                    .map(|error| AnswerBody::new(error, body.open.take(), body.budget))
            }
        };
        if let Some(hsts) = this.hsts.take()
            && !is_grpc(response.headers())
        {
            response.headers_mut().entry(header::STRICT_TRANSPORT_SECURITY).or_insert(hsts);
        }
        Poll::Ready(Ok(response))
    }
}

/// gRPC has no browsers that could heed the header.
fn is_grpc(headers: &HeaderMap) -> bool {
    refusal::is_grpc(headers)
}

/// The body of an answer, which goes out in pieces, counts against the budget of responses, and
/// over HTTP/2 tells when the peer takes them.
pub(super) struct AnswerBody {
    body: Body,
    /// What was taken of the body before the head was sent.
    first: VecDeque<Result<Frame<Bytes>, Error>>,
    /// Whether there is no more in the body.
    has_ended: bool,
    rest: Bytes,
    /// There for HTTP/2.
    open: Option<Open>,
    budget: ForAddress,
}

impl AnswerBody {
    fn new(body: Body, open: Option<Open>, budget: ForAddress) -> Self {
        let first = VecDeque::new();
        Self { body, first, has_ended: false, rest: Bytes::new(), open, budget }
    }

    /// Takes and counts what is large and ready, while the answer can still be another one. What
    /// a peer never asks for is then there as the bytes that were counted, not as what they are
    /// made of.
    fn begin(&mut self, cx: &mut Context<'_>) -> Result<(), OverBudget> {
        let small = |upper| upper <= UNCOUNTED as u64;
        if self.body.size_hint().upper().is_some_and(small) {
            if !self.body.is_end_stream() {
                self.note(true);
            }
            return Ok(());
        }
        let mut taken = 0;
        while taken <= UNCOUNTED && self.first.len() < FIRST_PIECES {
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
                    taken += data.len();
                    Ok(Frame::data(self.budget.count(data)?))
                }
                Ok(Err(trailers)) => Ok(trailers),
                Err(error) => Err(error),
            };
            self.first.push_back(item);
        }
        if taken > 0 {
            self.note(true);
        }
        Ok(())
    }

    /// Tells whether something waits for the peer to take it.
    fn note(&self, waits: bool) {
        if self.open.is_some() {
            executor::note(waits);
        }
    }

    fn piece(&mut self) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let most = if self.open.is_some() { HTTP2_PIECE } else { HTTP1_PIECE };
        let end = self.rest.len().min(most);
        self.note(true);
        Poll::Ready(Some(Ok(Frame::data(self.rest.split_to(end)))))
    }

    /// The next of what was taken before, or of the body, counted.
    fn next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        if let Some(item) = self.first.pop_front() {
            return Poll::Ready(Some(item));
        }
        if self.has_ended {
            return Poll::Ready(None);
        }
        let item = ready!(Pin::new(&mut self.body).poll_frame(cx));
        let Some(Ok(frame)) = item else { return Poll::Ready(item) };
        let counted = match frame.into_data() {
            // A stream that is cut here is resumed by its reader.
            Ok(data) => self.budget.count(data).map(Frame::data),
            Err(frame) => Ok(frame),
        };
        Poll::Ready(Some(counted.map_err(|over| Error::new(a2a_core::Error::from(over)))))
    }
}

impl http_body::Body for AnswerBody {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        if !self.rest.is_empty() {
            return self.piece();
        }
        let frame = match self.next(cx) {
            Poll::Ready(Some(Ok(frame))) => frame,
            other => {
                self.note(false);
                return other;
            }
        };
        match frame.into_data() {
            Ok(data) if data.len() > HTTP2_PIECE => {
                self.rest = data;
                self.piece()
            }
            Ok(data) => {
                self.note(true);
                Poll::Ready(Some(Ok(Frame::data(data))))
            }
            Err(frame) => {
                self.note(true);
                Poll::Ready(Some(Ok(frame)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        let nothing_waits = self.rest.is_empty() && self.first.is_empty();
        nothing_waits && (self.has_ended || self.body.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        let mut hint = self.body.size_hint();
        let first = self.first.iter().flatten().filter_map(Frame::data_ref).map(Bytes::len);
        let rest = (self.rest.len() + first.sum::<usize>()) as u64;
        if let Some(upper) = hint.upper() {
            hint.set_upper(upper.saturating_add(rest));
        }
        hint.set_lower(hint.lower().saturating_add(rest));
        hint
    }
}
