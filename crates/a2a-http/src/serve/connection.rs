//! One connection: HTTP/1.1 or HTTP/2, whichever it speaks.

use std::{
    convert::Infallible,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use axum::{Router, extract::ConnectInfo, routing::future::RouteFuture};
use http::Request;
use hyper::body::Incoming;
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::{conn::auto, graceful::Watcher},
};
use tokio::{net::TcpStream, time::sleep};
use tower::Service as _;

use super::Drain;
use crate::Limits;

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
}

impl Connection {
    /// Serves the connection to its end.
    pub(super) async fn serve(self, builder: &Builder, stream: TcpStream, watcher: Watcher) {
        let peer = self.peer;
        let deadline = sleep(self.first_request_timeout);
        let has_asked = Arc::new(AtomicBool::new(false));
        let service = ConnectionService {
            router: self.router,
            peer,
            drain: self.drain,
            has_asked: Arc::clone(&has_asked),
        };
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
    router: Router,
    peer: SocketAddr,
    drain: Drain,
    has_asked: Arc<AtomicBool>,
}

impl hyper::service::Service<Request<Incoming>> for ConnectionService {
    type Response = http::Response<axum::body::Body>;
    type Error = Infallible;
    type Future = RouteFuture<Infallible>;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        self.has_asked.store(true, Ordering::Relaxed);
        let extensions = request.extensions_mut();
        extensions.insert(ConnectInfo(self.peer));
        extensions.insert(self.drain.clone());
        // A router is always ready.
        self.router.clone().call(request)
    }
}
