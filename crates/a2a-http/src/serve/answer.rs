//! The answer of the router, with what the connection adds.

use std::{
    convert::Infallible,
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

use axum::{Error, body::Body, routing::future::RouteFuture};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Response, header};
use http_body::{Frame, SizeHint};
use pin_project_lite::pin_project;

use super::{activity::Open, executor};

/// Most that is handed to HTTP/2 at once, in bytes, which is the size of its frames: what is
/// handed over stays in memory until the peer takes it.
const PIECE: usize = 16 << 10;

pin_project! {
    /// The answer of the router, with what the connection adds.
    pub(super) struct Answering {
        #[pin]
        route: RouteFuture<Infallible>,
        hsts: Option<HeaderValue>,
        open: Option<Open>,
    }
}

impl Answering {
    pub(super) fn new(
        route: RouteFuture<Infallible>,
        hsts: Option<HeaderValue>,
        open: Option<Open>,
    ) -> Self {
        Self { route, hsts, open }
    }
}

impl Future for Answering {
    type Output = Result<Response<AnswerBody>, Infallible>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let Ok(mut response) = ready!(this.route.poll(cx));
        if let Some(hsts) = this.hsts.take()
            && !is_grpc(response.headers())
        {
            response.headers_mut().entry(header::STRICT_TRANSPORT_SECURITY).or_insert(hsts);
        }
        let open = this.open.take();
        Poll::Ready(Ok(response.map(|body| AnswerBody { body, rest: Bytes::new(), open })))
    }
}

/// gRPC has no browsers that could heed the header.
fn is_grpc(headers: &HeaderMap) -> bool {
    crate::refusal::is_grpc(headers)
}

/// The body of an answer, which over HTTP/2 goes out in pieces and tells when the peer takes
/// them.
pub(super) struct AnswerBody {
    body: Body,
    rest: Bytes,
    /// There for HTTP/2.
    open: Option<Open>,
}

impl AnswerBody {
    fn piece(&mut self) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let end = self.rest.len().min(PIECE);
        executor::note(true);
        Poll::Ready(Some(Ok(Frame::data(self.rest.split_to(end)))))
    }
}

impl http_body::Body for AnswerBody {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        if self.open.is_none() {
            return Pin::new(&mut self.body).poll_frame(cx);
        }
        if !self.rest.is_empty() {
            return self.piece();
        }
        let frame = match Pin::new(&mut self.body).poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => frame,
            other => {
                executor::note(false);
                return other;
            }
        };
        match frame.into_data() {
            Ok(data) if data.len() > PIECE => {
                self.rest = data;
                self.piece()
            }
            Ok(data) => {
                executor::note(true);
                Poll::Ready(Some(Ok(Frame::data(data))))
            }
            Err(frame) => {
                executor::note(true);
                Poll::Ready(Some(Ok(frame)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let mut hint = self.body.size_hint();
        let rest = self.rest.len() as u64;
        if let Some(upper) = hint.upper() {
            hint.set_upper(upper.saturating_add(rest));
        }
        hint.set_lower(hint.lower().saturating_add(rest));
        hint
    }
}
