//! One connection: HTTP/1.1 or HTTP/2, whichever it speaks.

use std::{
    convert::Infallible,
    future::Future,
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::{Router, body::Body, extract::ConnectInfo, routing::future::RouteFuture};
use http::{HeaderMap, HeaderValue, Request, Response, header};
use hyper::body::Incoming;
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::{conn::auto, graceful::Watcher},
};
use pin_project_lite::pin_project;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::sleep,
};
use tower::Service as _;

use super::Drain;
use crate::{Limits, PeerCertificates};

pub(super) type Builder = auto::Builder<TokioExecutor>;

/// Smallest buffer that hyper takes for the head of a request, in bytes.
const MIN_HEAD_BYTES: u32 = 8 << 10;

pub(super) fn builder(limits: &Limits) -> Builder {
    let head = limits.max_header_bytes.max(MIN_HEAD_BYTES);
    let mut builder = auto::Builder::new(TokioExecutor::new());
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
        .keep_alive_interval(limits.http2_ping)
        .keep_alive_timeout(limits.http2_ping);
    builder
}

/// One connection that was accepted.
pub(super) struct Connection {
    pub(super) router: Router,
    pub(super) peer: SocketAddr,
    pub(super) drain: Drain,
    pub(super) first_request_timeout: Duration,
    /// What TLS has proved of the peer.
    pub(super) certificates: Option<PeerCertificates>,
    /// `Strict-Transport-Security` of every answer.
    pub(super) hsts: Option<HeaderValue>,
}

impl Connection {
    /// Serves the connection to its end.
    pub(super) async fn serve<I>(self, builder: &Builder, stream: I, watcher: Watcher)
    where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let peer = self.peer;
        let deadline = sleep(self.first_request_timeout);
        let has_asked = Arc::new(AtomicBool::new(false));
        let service = ConnectionService { connection: self, has_asked: Arc::clone(&has_asked) };
        let io = TokioIo::new(stream);
        let connection = watcher.watch(builder.serve_connection(io, service).into_owned());
        tokio::pin!(connection, deadline);
        let ended = tokio::select! {
            ended = &mut connection => ended,
            () = deadline => {
                // Until the first bytes have told the version, nothing else limits the wait.
                if !has_asked.load(Ordering::Relaxed) {
                    tracing::debug!(%peer, "closing a connection that made no request");
                    return;
                }
                connection.await
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
    has_asked: Arc<AtomicBool>,
}

impl hyper::service::Service<Request<Incoming>> for ConnectionService {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Answering;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        self.has_asked.store(true, Ordering::Relaxed);
        let connection = &self.connection;
        let extensions = request.extensions_mut();
        extensions.insert(ConnectInfo(connection.peer));
        extensions.insert(connection.drain.clone());
        if let Some(certificates) = &connection.certificates {
            extensions.insert(certificates.clone());
        }
        // A router is always ready.
        let route = connection.router.clone().call(request);
        Answering { route, hsts: connection.hsts.clone() }
    }
}

pin_project! {
    /// The answer of the router, with what the connection adds.
    struct Answering {
        #[pin]
        route: RouteFuture<Infallible>,
        hsts: Option<HeaderValue>,
    }
}

impl Future for Answering {
    type Output = Result<Response<Body>, Infallible>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let Ok(mut response) = ready!(this.route.poll(cx));
        if let Some(hsts) = this.hsts.take()
            && !is_grpc(response.headers())
        {
            let entry = response.headers_mut().entry(header::STRICT_TRANSPORT_SECURITY);
            entry.or_insert(hsts);
        }
        Poll::Ready(Ok(response))
    }
}

/// gRPC has no browsers that could heed the header.
fn is_grpc(headers: &HeaderMap) -> bool {
    let media_type = headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    media_type.is_some_and(|media_type| media_type.starts_with(b"application/grpc"))
}
