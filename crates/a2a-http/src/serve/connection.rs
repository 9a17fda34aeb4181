//! One connection: HTTP/1.1 or HTTP/2, whichever it speaks.

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
    activity::Activity,
    answer::{AnswerBody, Answering},
    executor::Streams,
    host,
    meter::Metered,
    request::TimedBody,
    response_budget::{ForAddress, ResponseBudget},
    room::Room,
    version,
};
use crate::{
    Limits, PeerCertificates,
    parse::{MAX_INLINE_BYTES, PendingBody},
};

/// How each version of HTTP is served.
pub(super) struct Builder {
    http1: auto::Builder<Streams>,
    http2: auto::Builder<Streams>,
}

/// Smallest buffer that hyper takes for the head of a request, in bytes.
const MIN_HEAD_BYTES: u32 = 8 << 10;

/// Most that a stream of HTTP/2 has waiting to be sent, in bytes.
const MAX_SEND_BYTES: usize = 64 << 10;

pub(super) fn builder(limits: &Limits) -> Builder {
    let head = limits.max_header_bytes.max(MIN_HEAD_BYTES);
    let mut builder = auto::Builder::new(Streams::new(limits.write_timeout));
    // Queued buffers are flushed every 16, which are about 5 events; flattened ones are not.
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
        .keep_alive_interval(limits.http2_ping)
        .keep_alive_timeout(limits.http2_ping);
    Builder { http1: builder.clone().http1_only(), http2: builder.http2_only() }
}

/// One connection that was accepted.
pub(super) struct Connection {
    pub(super) router: Router,
    pub(super) peer: SocketAddr,
    pub(super) drain: Drain,
    pub(super) limits: Arc<Limits>,
    pub(super) room: Room,
    pub(super) responses: Arc<ResponseBudget>,
    /// What TLS has proved of the peer.
    pub(super) certificates: Option<PeerCertificates>,
    /// `Strict-Transport-Security` of every answer.
    pub(super) hsts: Option<HeaderValue>,
}

impl Connection {
    /// Serves the connection to its end. When told to stop, it answers what was asked, and ends.
    pub(super) async fn serve<I>(self, builder: &Builder, stream: I, stop: CancellationToken)
    where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let peer = self.peer;
        let limits = Arc::clone(&self.limits);
        let activity = Activity::new();
        let deadline = sleep(limits.first_request_timeout);
        tokio::pin!(deadline);
        let detected = tokio::select! {
            // What has been sent is served, even by a server that stops.
            biased;
            detected = version::detect(stream) => detected,
            () = stop.cancelled() => return,
            () = &mut deadline => {
                return tracing::debug!(%peer, "closing a connection without a request");
            }
        };
        let (version, stream) = match detected {
            Ok(detected) => detected,
            Err(error) => return tracing::debug!(%peer, %error, "a connection ended early"),
        };
        let builder = if version == Version::HTTP_2 { &builder.http2 } else { &builder.http1 };
        let service = ConnectionService { connection: self, activity: Arc::clone(&activity) };
        let stream = Metered::new(stream, limits.max_control_frames);
        let connection = builder.serve_connection(TokioIo::new(stream), service);
        tokio::pin!(connection);
        let mut is_watched = true;
        let mut is_stopping = false;
        let ended = loop {
            tokio::select! {
                ended = &mut connection => break ended,
                () = stop.cancelled(), if !is_stopping => {
                    is_stopping = true;
                    connection.as_mut().graceful_shutdown();
                }
                () = &mut deadline, if is_watched => {
                    if is_stopping {
                        // Told to leave for having been idle, and still there.
                        if !stop.is_cancelled() {
                            return tracing::debug!(%peer, "closing an idle connection");
                        }
                        is_watched = false;
                    } else if !activity.has_asked() {
                        return tracing::debug!(%peer, "closing a connection without a request");
                    } else if let Some(idle) = activity.idle_at(limits.idle_timeout) {
                        let now = Instant::now();
                        if idle <= now {
                            is_stopping = true;
                            connection.as_mut().graceful_shutdown();
                            deadline.as_mut().reset(now + limits.grace);
                        } else {
                            deadline.as_mut().reset(idle);
                        }
                    } else {
                        is_watched = false;
                    }
                }
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%peer, error, "a connection ended early");
        }
    }
}

/// Hands requests to the router, with what the connection knows.
struct ConnectionService {
    connection: Connection,
    activity: Arc<Activity>,
}

impl hyper::service::Service<Request<Incoming>> for ConnectionService {
    type Response = Response<AnswerBody>;
    type Error = Infallible;
    type Future = Answering;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let connection = &self.connection;
        let open = self.activity.ask(request.version() == Version::HTTP_2);
        let place = connection.room.place(connection.peer.ip());
        let may_be_large =
            request.body().size_hint().upper().is_none_or(|most| most > MAX_INLINE_BYTES as u64);
        let mut request = request.map(|body| TimedBody::new(body, &connection.limits, place));
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
        // A router is always ready.
        let route = match host::check(&request) {
            Ok(()) => Either::Left(connection.router.clone().call(request)),
            Err(wrong) => {
                tracing::debug!(peer = %connection.peer, wrong, "request refused");
                Either::Right(ready(Ok(host::refuse(wrong))))
            }
        };
        let budget =
            ForAddress { budget: Arc::clone(&connection.responses), address: connection.peer.ip() };
        Answering::new(route, connection.hsts.clone(), open, budget)
    }
}
