//! Serves one connection over HTTP/1.1 or HTTP/2.

use std::{
    convert::Infallible,
    future::{Future, poll_fn},
    mem,
    net::SocketAddr,
    sync::Arc,
    task::Poll,
    time::Duration,
};

use a2a_kit_operations::metrics::{self, Counted};
use axum::{Router, body::Body, extract::ConnectInfo};
use futures_util::future::ready;
use http::{
    HeaderValue, Request, Response, StatusCode, Version, header::RETRY_AFTER, request::Parts,
};
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
    DirectRoutes, Drain,
    activity::Activity,
    body_budget::BodyBudget,
    direct::DirectRequest,
    frame_limit::FrameLimit,
    h2_executor::H2Executor,
    head_timeout::HeadTimeout,
    host,
    per_ip::{PerIpPermit, Permit},
    request::RequestBody,
    response::{ResponseBody, ResponseFuture, Route},
    response_budget::{AddressBudget, ResponseBudget},
    version,
    write_batch::WriteBatch,
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

/// Lifetime of a connection that was accepted beyond the limit, for a health probe.
const RESERVED_LIFETIME: Duration = Duration::from_secs(5);

/// Time in which the first request of a new connection arrives while the server stops: a client that
/// has just connected is about to send it.
const ARRIVAL: Duration = Duration::from_secs(1);

/// Send buffer of an HTTP/2 stream, in bytes.
const MAX_SEND_BYTES: usize = 64 << 10;

pub(super) fn builder(limits: &Limits) -> Builder {
    let head = limits.max_header_bytes.max(MIN_HEAD_BYTES);
    let mut builder = auto::Builder::new(H2Executor { write_timeout: limits.write_timeout });
    // hyper flushes queued buffers every 16, about 5 events; flattened buffers have no such limit.
    builder
        .http1()
        .writev(false)
        // The response goes on when the peer has shut its sending side: see `half_close`.
        .half_close(true)
        // See `head_timeout`.
        .header_read_timeout(None)
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
    /// The routes before those of the router.
    pub(super) direct: Option<DirectRoutes>,
    pub(super) peer: SocketAddr,
    pub(super) activity: Arc<Activity>,
    /// Whether it was accepted beyond the limit of connections, for a health probe.
    pub(super) is_reserved: bool,
    /// The paths of health probes.
    pub(super) probes: &'static [&'static str],
    pub(super) drain: Drain,
    pub(super) limits: Arc<Limits>,
    pub(super) bodies: Arc<BodyBudget>,
    pub(super) responses: Arc<ResponseBudget>,
    /// Client certificates verified by TLS.
    pub(super) certificates: Option<PeerCertificates>,
    /// `Strict-Transport-Security` of every response.
    pub(super) hsts: Option<HeaderValue>,
    /// Held until the connection is closed.
    pub(super) _permits: (PerIpPermit, Permit, Counted),
}

impl Connection {
    /// Serves the connection until it ends. On `stop` it finishes the requests in flight, then
    /// closes.
    #[expect(clippy::manual_async_fn, reason = "an async function would hold its arguments twice")]
    pub(super) fn serve<I>(
        self,
        builder: Arc<Builder>,
        stream: I,
        stop: CancellationToken,
    ) -> impl Future<Output = ()> + Send
    where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        async move {
            let peer = self.peer;
            let limits = Arc::clone(&self.limits);
            let activity = Arc::clone(&self.activity);
            let is_reserved = self.is_reserved;
            let drain = self.drain.clone();
            let deadline = sleep(limits.first_request_timeout);
            tokio::pin!(deadline);
            let detected = tokio::select! {
                // A request that has arrived, or is about to, is served even while the server stops.
                biased;
                detected = version::detect(stream) => detected,
                () = async { stop.cancelled().await; sleep(ARRIVAL).await } => return,
                () = &mut deadline => {
                    return tracing::debug!(%peer, "closing connection: no request in time");
                }
            };
            let (version, stream) = match detected {
                Ok(detected) => detected,
                Err(error) => return tracing::debug!(%peer, %error, "connection error"),
            };
            let builder = if version == Version::HTTP_2 { &builder.http2 } else { &builder.http1 };
            let stream = HeadTimeout::new(stream, Arc::clone(&limits), Arc::clone(&activity));
            let stream = FrameLimit::new(stream, version, limits.max_control_frames);
            let connection = builder.serve_connection(TokioIo::new(stream), self);
            tokio::pin!(connection);
            let mut batch = WriteBatch::new(Arc::clone(&activity));
            // A reserved connection serves one probe, and must not be held.
            let lifetime = sleep(RESERVED_LIFETIME);
            tokio::pin!(lifetime);
            let stopped = stop.cancelled();
            tokio::pin!(stopped);
            // The waker of a task stays the same, so the signal and the timer are registered once, not at
            // each wakeup. The end of the server is announced before it stops.
            let (mut is_registered, mut is_armed) = (false, false);
            let mut stopped = poll_fn(move |cx| {
                let is_due = !mem::replace(&mut is_registered, true) || drain.is_announced();
                if is_due { stopped.as_mut().poll(cx) } else { Poll::Pending }
            });
            let mut is_timed = true;
            let mut is_stopping = false;
            let ended = loop {
                tokio::select! {
                    // hyper closes a connection that is shut down before it has read a request.
                    biased;
                    ended = poll_fn(|cx| batch.poll(connection.as_mut(), cx)) => break ended,
                    () = &mut stopped, if !is_stopping => {
                        is_stopping = true;
                        connection.as_mut().graceful_shutdown();
                    }
                    () = &mut lifetime, if is_reserved => {
                        return tracing::debug!(%peer, "closing connection beyond the limit");
                    }
                    () = poll_fn(|cx| {
                        let is_due = !mem::replace(&mut is_armed, true) || deadline.is_elapsed();
                        if is_due { deadline.as_mut().poll(cx) } else { Poll::Pending }
                    }), if is_timed => {
                        is_armed = false;
                        if is_stopping {
                            // Idle, and still open after the graceful shutdown.
                            if !stop.is_cancelled() {
                                return tracing::debug!(%peer, "closing idle connection");
                            }
                            is_timed = false;
                        } else if activity.requests() == 0 {
                            return tracing::debug!(%peer, "closing connection: no request in time");
                        } else if activity.is_http2() {
                            let idle_deadline = activity.idle_deadline(limits.idle_timeout);
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

    /// Checks the head of a request before it reaches the router, and returns the response that
    /// rejects it.
    fn rejection(&self, head: &Parts) -> Option<Response<Body>> {
        if let Err(reason) = host::check(head) {
            tracing::debug!(peer = %self.peer, reason, "rejecting request");
            return Some(host::reject(StatusCode::BAD_REQUEST, reason));
        }
        let max_bytes = usize::try_from(self.limits.max_header_bytes.max(MIN_HEAD_BYTES));
        if head_bytes(head) > max_bytes.unwrap_or(usize::MAX) {
            let status = StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE;
            return Some(host::reject(status, "request head too large"));
        }
        if self.is_reserved && !self.probes.contains(&head.uri.path()) {
            metrics::refused("connections");
            let reason = "too many open connections";
            let mut rejection = host::reject(StatusCode::SERVICE_UNAVAILABLE, reason);
            rejection.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
            return Some(rejection);
        }
        None
    }
}

/// The size of a request head as HTTP/1.1 writes it, in bytes. hyper limits its read buffer, which
/// holds heads of up to twice that size.
fn head_bytes(head: &Parts) -> usize {
    // Separators, line breaks and the version are part of it.
    let fields = head.headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4);
    let target = head.uri.path_and_query().map_or(1, |target| target.as_str().len());
    head.method.as_str().len() + target + 14 + fields.sum::<usize>()
}

/// Passes requests to the routes, with the extensions of the connection.
impl hyper::service::Service<Request<Incoming>> for Connection {
    type Response = Response<ResponseBody>;
    type Error = Infallible;
    type Future = ResponseFuture;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let is_http2 = request.version() == Version::HTTP_2;
        let in_flight = self.activity.begin_request(is_http2);
        let reservation = self.bodies.reservation(self.peer.ip());
        let (mut head, body) = request.into_parts();
        let may_be_large =
            body.size_hint().upper().is_none_or(|upper| upper > MAX_INLINE_BYTES as u64);
        let mut body = RequestBody::new(body, &self.limits, reservation);
        if may_be_large {
            let pending = PendingBody::default();
            body = body.with_pending(pending.clone());
            head.extensions.insert(pending);
        }
        head.extensions.insert(ConnectInfo(self.peer));
        head.extensions.insert(self.drain.clone());
        if let Some(certificates) = &self.certificates {
            head.extensions.insert(certificates.clone());
        }
        let route = if let Some(rejection) = self.rejection(&head) {
            Route::Rejected(ready(rejection))
        } else if let Some(handler) =
            self.direct.as_ref().and_then(|direct| direct.select(&mut head))
        {
            let limits = Arc::clone(&self.limits);
            Route::Unread(Some(DirectRequest { handler, head, body, limits }))
        } else {
            // `Router::poll_ready` is always ready.
            Route::Router(self.router.clone().call(Request::from_parts(head, body)))
        };
        let (budget, address) = (Arc::clone(&self.responses), self.peer.ip());
        let budget = Some(AddressBudget { budget, address });
        // A request on a connection that is closed while it arrives would be lost.
        let closes = !is_http2 && self.drain.is_announced();
        let (hsts, in_flight) = (self.hsts.clone(), Some(in_flight));
        ResponseFuture { route, hsts, closes, in_flight, budget }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::{half_close::HalfClose, write_timeout::WriteTimeout};

    /// The size of the future that a function of a connection returns, in bytes.
    fn future_bytes<S, F>(
        _: impl FnOnce(Connection, Arc<Builder>, S, CancellationToken) -> F,
    ) -> usize {
        size_of::<F>()
    }

    /// An idle connection keeps it. With the header of a task, an allocator rounds it up to 3.5 KiB.
    #[test]
    fn future_of_a_connection_is_small() {
        let bytes = future_bytes(Connection::serve::<WriteTimeout<HalfClose>>);
        assert!(bytes <= 3_456, "{bytes} bytes");
    }
}
