//! TCP and TLS connections, direct or through a proxy.

use std::{
    future::Future,
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use http::{Uri, uri::Scheme};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::{
    client::{
        legacy::connect::{self, Connection, HttpConnector, proxy::Tunnel},
        proxy::matcher::Matcher,
    },
    rt::TokioIo,
};
use rustls::ClientConfig;
use tokio::net::TcpStream;
use tower_service::Service;

use crate::{
    forward_io::forward_io,
    webhook::resolver::{BoxError, Resolver},
};

/// Opens connections: over TLS if the scheme is `https`, and through a proxy if one is set for the
/// URL.
#[derive(Clone)]
pub(crate) struct Dialer {
    direct: HttpsConnector<HttpConnector<Resolver>>,
    proxies: Option<Proxies>,
    timeout: Duration,
}

#[derive(Clone)]
struct Proxies {
    matcher: Arc<Matcher>,
    /// Without ALPN: proxies are called over HTTP/1.1.
    connector: HttpsConnector<HttpConnector<Resolver>>,
    /// For connections through a tunnel.
    tls: Arc<ClientConfig>,
}

type Stream = MaybeHttpsStream<MaybeHttpsStream<TokioIo<TcpStream>>>;
type Connecting = Pin<Box<dyn Future<Output = Result<Connected, BoxError>> + Send>>;

impl Dialer {
    /// Creates a dialer. `tls` has the protocols for ALPN; the timeout includes name resolution and
    /// the TLS handshake.
    pub(crate) fn new(
        tls: ClientConfig,
        resolver: Resolver,
        timeout: Duration,
        proxies: Option<Arc<Matcher>>,
    ) -> Self {
        let mut tcp = HttpConnector::new_with_resolver(resolver);
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        // Divided among the addresses of a name.
        tcp.set_connect_timeout(Some(timeout));
        // Detects dead peers of idle event streams.
        tcp.set_keepalive(Some(Duration::from_secs(15)));
        tcp.set_keepalive_interval(Some(Duration::from_secs(15)));
        tcp.set_keepalive_retries(Some(3));
        #[cfg(any(target_os = "android", target_os = "fuchsia", target_os = "linux"))]
        tcp.set_tcp_user_timeout(Some(Duration::from_secs(30)));
        let tls = Arc::new(tls);
        let proxies = proxies.map(|matcher| {
            let mut tls_without_alpn = ClientConfig::clone(&tls);
            tls_without_alpn.alpn_protocols.clear();
            Proxies {
                matcher,
                connector: (tcp.clone(), tls_without_alpn).into(),
                tls: Arc::clone(&tls),
            }
        });
        Self { direct: (tcp, tls).into(), proxies, timeout }
    }

    fn connect(&mut self, url: Uri) -> Connecting {
        let proxy = self.proxies.as_ref().and_then(|it| Some((it, it.matcher.intercept(&url)?)));
        let (connecting, is_proxied) = match proxy {
            None => (self.direct.call(url), false),
            Some((proxies, proxy)) if url.scheme() == Some(&Scheme::HTTP) => {
                (proxies.connector.clone().call(proxy.uri().clone()), true)
            }
            Some((proxies, proxy)) => {
                let mut tunnel = Tunnel::new(proxy.uri().clone(), proxies.connector.clone());
                if let Some(credentials) = proxy.basic_auth() {
                    tunnel = tunnel.with_auth(credentials.clone());
                }
                let connecting = HttpsConnector::from((tunnel, Arc::clone(&proxies.tls))).call(url);
                return Box::pin(async move {
                    Ok(Connected { stream: connecting.await?, is_proxied: false })
                });
            }
        };
        Box::pin(async move { Ok(Connected { stream: connecting.await?.into(), is_proxied }) })
    }
}

impl Service<Uri> for Dialer {
    type Response = Connected;
    type Error = BoxError;
    type Future = Connecting;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.direct.poll_ready(cx)
    }

    fn call(&mut self, url: Uri) -> Connecting {
        let connecting = tokio::time::timeout(self.timeout, self.connect(url));
        Box::pin(async move {
            connecting
                .await
                .unwrap_or_else(|_| Err(io::Error::from(io::ErrorKind::TimedOut).into()))
        })
    }
}

/// A connection opened by a [`Connector`](super::Connector).
#[derive(Debug)]
pub struct Connected {
    /// The outer TLS connection is the one through a tunnel, the inner one is that to the server
    /// or the proxy.
    stream: Stream,
    /// Whether a proxy receives the requests, and not only the connection.
    is_proxied: bool,
}

impl Connection for Connected {
    fn connected(&self) -> connect::Connected {
        self.stream.connected().proxy(self.is_proxied)
    }
}

impl Read for Connected {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl Write for Connected {
    forward_io!(stream: poll_write, poll_write_vectored, is_write_vectored, poll_flush, poll_shutdown);
}
