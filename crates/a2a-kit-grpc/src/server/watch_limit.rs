//! Limits the streams of `grpc.health.v1.Health/Watch`, which require no credentials.

use std::{
    convert::Infallible,
    future::{Future as _, Ready, ready},
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use a2a_core::{Error, ErrorKind};
use a2a_kit_http::{Limits, PerIpLimit, PerIpPermit};
use axum::extract::ConnectInfo;
use bytes::Bytes;
use futures_util::{
    TryFutureExt as _,
    future::{BoxFuture, Either},
};
use http::{HeaderMap, Request, Response};
use http_body::Frame;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, Sleep, sleep},
};
use tonic::{Status, body::Body, server::NamedService};
use tower::Service;

use crate::status;

const WATCH: &str = "/Watch";

/// The health service, with limits of watch streams in total and per address (a quarter of the
/// total), and an idle timeout.
#[derive(Clone, Debug)]
pub(super) struct WatchLimit<S> {
    service: S,
    all: Arc<Semaphore>,
    of_addresses: PerIpLimit,
    most: usize,
    idle_timeout: Duration,
}

impl<S> WatchLimit<S> {
    pub(super) fn new(service: S, limits: &Limits) -> Self {
        let most = limits.max_health_watches;
        Self {
            service,
            all: Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS))),
            of_addresses: PerIpLimit::new(most / 4),
            most,
            idle_timeout: limits.idle_timeout,
        }
    }

    /// Reserves a stream; `None` if the limit is reached.
    fn acquire(&self, request: &Request<Body>) -> Option<WatchPermit> {
        let permit = Arc::clone(&self.all).try_acquire_owned().ok()?;
        let share = match request.extensions().get::<ConnectInfo<SocketAddr>>() {
            Some(ConnectInfo(peer)) => Some(self.of_addresses.try_acquire(peer.ip())?),
            None => None,
        };
        Some(WatchPermit { _permit: permit, _share: share })
    }
}

impl<S: NamedService> NamedService for WatchLimit<S> {
    const NAME: &'static str = S::NAME;
}

type Answer = Result<Response<Body>, Infallible>;

impl<S> Service<Request<Body>> for WatchLimit<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible>,
    S::Future: Send + 'static,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Either<Ready<Answer>, Either<S::Future, BoxFuture<'static, Answer>>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.service.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        if !request.uri().path().ends_with(WATCH) {
            return Either::Right(Either::Left(self.service.call(request)));
        }
        let Some(permit) = self.acquire(&request) else {
            let message = format!(
                "too many health watches: the limit is {}, and a quarter of it per address",
                self.most
            );
            let error = Error::new(ErrorKind::ResourceExhausted, message);
            return Either::Left(ready(Ok(status::encode(error).into_http())));
        };
        let idle_timeout = self.idle_timeout;
        let response = self.service.call(request).map_ok(move |response| {
            response.map(|body| Body::new(WatchBody::new(body, permit, idle_timeout)))
        });
        Either::Right(Either::Right(Box::pin(response)))
    }
}

/// A reservation of an open stream, released on drop.
#[derive(Debug)]
struct WatchPermit {
    _permit: OwnedSemaphorePermit,
    _share: Option<PerIpPermit>,
}

/// A stream with an idle timeout.
struct WatchBody {
    /// `None` after the end.
    open: Option<(Body, WatchPermit)>,
    idle_timeout: Duration,
    idle: Pin<Box<Sleep>>,
}

impl WatchBody {
    fn new(body: Body, permit: WatchPermit, idle_timeout: Duration) -> Self {
        let idle = Box::pin(sleep(idle_timeout));
        Self { open: Some((body, permit)), idle_timeout, idle }
    }
}

impl http_body::Body for WatchBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let Some((body, _)) = &mut self.open else { return Poll::Ready(None) };
        if let Poll::Ready(frame) = Pin::new(body).poll_frame(cx) {
            let due = Instant::now() + self.idle_timeout;
            self.idle.as_mut().reset(due);
            return Poll::Ready(frame);
        }
        if self.idle.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        self.open = None;
        let mut trailers = HeaderMap::new();
        let ended = Status::unavailable("idle timeout of the health watch; watch again");
        if let Err(status) = ended.add_header(&mut trailers) {
            return Poll::Ready(Some(Err(status)));
        }
        Poll::Ready(Some(Ok(Frame::trailers(trailers))))
    }
}
