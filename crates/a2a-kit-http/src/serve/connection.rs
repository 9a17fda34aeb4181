//! Serves one connection over HTTP/1.1 or HTTP/2.

use std::{convert::Infallible, net::SocketAddr, sync::Arc};

use axum::{Router, extract::ConnectInfo};
use futures_util::future::{Either, ready};
use http::{HeaderValue, Request, Response, Version};
use http_body::Body as _;
use hyper::body::Incoming;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::conn::auto,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;
use tower::Service as _;

use super::{
    Drain,
    body_budget::BodyBudget,
    frame_limit::FrameLimit,
    h2_executor::H2Executor,
    host,
    idle::IdleTracker,
    request::RequestBody,
    response::{ResponseBody, ResponseFuture},
    response_budget::{AddressBudget, ResponseBudget},
    version,
};
use crate::{
    Limits, PeerCertificates,
    parse::{MAX_INLINE_BYTES, PendingBody},
};

/// The hyper connection builder of each HTTP version.
pub(super) struct Builder {
    http1: auto::Builder<H2Executor>,
    http2: auto::Builder<H2Executor>,
}

/// Minimum request head buffer that hyper accepts, in bytes.
const MIN_HEAD_BYTES: u32 = 8 << 10;

/// Send buffer of an HTTP/2 stream, in bytes.
const MAX_SEND_BYTES: usize = 64 << 10;

pub(super) fn builder(limits: &Limits) -> Builder {
    let head = limits.max_header_bytes.max(MIN_HEAD_BYTES);
    let mut builder = auto::Builder::new(H2Executor::new(limits.write_timeout));
    // hyper flushes queued buffers every 16, about 5 events; flattened buffers have no such limit.
    builder
        .http1()
        .writev(false)
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_read_timeout)
        .max_buf_size(usize::try_from(head).unwrap_or(usize::MAX));
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits.max_concurrent_streams)
        .max_header_list_size(head)
        .max_pending_accept_reset_streams(limits.max_reset_streams)
        .max_local_error_reset_streams(limits.max_reset_streams)
        .max_send_buf_size(MAX_SEND_BYTES)
        .keep_alive_interval(limits.http2_ping_interval)
        .keep_alive_timeout(limits.http2_ping_interval);
    Builder { http1: builder.clone().http1_only(), http2: builder.http2_only() }
}

/// An accepted connection.
pub(super) struct Connection {
    pub(super) router: Router,
    pub(super) peer: SocketAddr,
    pub(super) drain: Drain,
    pub(super) limits: Arc<Limits>,
    pub(super) bodies: BodyBudget,
    pub(super) responses: Arc<ResponseBudget>,
    /// Client certificates verified by TLS.
    pub(super) certificates: Option<PeerCertificates>,
    /// `Strict-Transport-Security` of every response.
    pub(super) hsts: Option<HeaderValue>,
}

impl Connection {
    /// Serves the connection until it ends. On `stop` it finishes the requests in flight, then
    /// closes.
    pub(super) async fn serve<I>(self, builder: &Builder, stream: I, stop: CancellationToken)
    where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let peer = self.peer;
        let limits = Arc::clone(&self.limits);
        let idle = IdleTracker::new();
        let deadline = sleep(limits.first_request_timeout);
        tokio::pin!(deadline);
        let detected = tokio::select! {
            // A request that has arrived is served even while the server stops.
            biased;
            detected = version::detect(stream) => detected,
            () = stop.cancelled() => return,
            () = &mut deadline => {
                return tracing::debug!(%peer, "closing connection: no request in time");
            }
        };
        let (version, stream) = match detected {
            Ok(detected) => detected,
            Err(error) => return tracing::debug!(%peer, %error, "connection error"),
        };
        let builder = if version == Version::HTTP_2 { &builder.http2 } else { &builder.http1 };
        let service = ConnectionService { connection: self, idle: Arc::clone(&idle) };
        let stream = FrameLimit::new(stream, limits.max_control_frames);
        let connection = builder.serve_connection(TokioIo::new(stream), service);
        tokio::pin!(connection);
        let mut is_timed = true;
        let mut is_stopping = false;
        let ended = loop {
            tokio::select! {
                ended = &mut connection => break ended,
                () = stop.cancelled(), if !is_stopping => {
                    is_stopping = true;
                    connection.as_mut().graceful_shutdown();
                }
                () = &mut deadline, if is_timed => {
                    if is_stopping {
                        // Idle, and still open after the graceful shutdown.
                        if !stop.is_cancelled() {
                            return tracing::debug!(%peer, "closing idle connection");
                        }
                        is_timed = false;
                    } else if !idle.has_request() {
                        return tracing::debug!(%peer, "closing connection: no request in time");
                    } else if let Some(idle_deadline) = idle.idle_deadline(limits.idle_timeout) {
                        let now = Instant::now();
                        if idle_deadline <= now {
                            is_stopping = true;
                            connection.as_mut().graceful_shutdown();
                            deadline.as_mut().reset(now + limits.drain_timeout);
                        } else {
                            deadline.as_mut().reset(idle_deadline);
                        }
                    } else {
                        is_timed = false;
                    }
                }
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%peer, error, "connection error");
        }
    }
}

/// Passes requests to the router, with the extensions of the connection.
struct ConnectionService {
    connection: Connection,
    idle: Arc<IdleTracker>,
}

impl hyper::service::Service<Request<Incoming>> for ConnectionService {
    type Response = Response<ResponseBody>;
    type Error = Infallible;
    type Future = ResponseFuture;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let connection = &self.connection;
        let in_flight = self.idle.begin_request(request.version() == Version::HTTP_2);
        let reservation = connection.bodies.reservation(connection.peer.ip());
        let may_be_large =
            request.body().size_hint().upper().is_none_or(|upper| upper > MAX_INLINE_BYTES as u64);
        let mut request =
            request.map(|body| RequestBody::new(body, &connection.limits, reservation));
        if may_be_large {
            let pending = PendingBody::default();
            request = request.map(|body| body.with_pending(pending.clone()));
            request.extensions_mut().insert(pending);
        }
        let extensions = request.extensions_mut();
        extensions.insert(ConnectInfo(connection.peer));
        extensions.insert(connection.drain.clone());
        if let Some(certificates) = &connection.certificates {
            extensions.insert(certificates.clone());
        }
        // `Router::poll_ready` is always ready.
        let route = match host::check(&request) {
            Ok(()) => Either::Left(connection.router.clone().call(request)),
            Err(reason) => {
                tracing::debug!(peer = %connection.peer, reason, "rejecting request");
                Either::Right(ready(Ok(host::reject(reason))))
            }
        };
        let budget = AddressBudget {
            budget: Arc::clone(&connection.responses),
            address: connection.peer.ip(),
        };
        ResponseFuture::new(route, connection.hsts.clone(), in_flight, budget)
    }
}
