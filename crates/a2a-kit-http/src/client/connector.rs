//! Connector for HTTP/2 clients other than [`HttpClient`](super::HttpClient).

use std::{
    fmt,
    future::Future,
    io,
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    vec,
};

use http::{Uri, uri::Scheme};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::{
    client::legacy::connect::{HttpConnector, dns::Name},
    rt::TokioIo,
};
use tokio::net::TcpStream;
use tower::Service;
use url::Url;

use super::ClientSettings;
use crate::{
    WebhookPolicy,
    tls::TlsError,
    webhook::resolver::{CheckedResolver, system},
};

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Opens connections for a client with its own HTTP/2 implementation, such as gRPC: over TLS with
/// [`ClientSettings::tls`] if secure, otherwise in plaintext.
///
/// The scheme of the URI that it is called with is ignored.
#[derive(Clone)]
pub struct Connector {
    connector: HttpsConnector<HttpConnector<Resolver>>,
    scheme: Scheme,
    policy: Option<Arc<WebhookPolicy>>,
}

impl Connector {
    /// Creates a connector.
    ///
    /// # Errors
    ///
    /// [`TlsError`] if the certificates in the settings are invalid.
    pub fn new(settings: &ClientSettings, secure: bool) -> Result<Self, TlsError> {
        let policy = settings.policy.clone().map(Arc::new);
        let mut tcp = HttpConnector::new_with_resolver(Resolver(policy.clone()));
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(settings.connect_timeout));
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(settings.tls.config()?)
            .https_or_http()
            .enable_http2()
            .wrap_connector(tcp);
        let scheme = if secure { Scheme::HTTPS } else { Scheme::HTTP };
        Ok(Self { connector, scheme, policy })
    }

    /// Sets the scheme of the URI, and checks it against the policy.
    fn check(&self, address: Uri) -> Result<Uri, BoxError> {
        let mut parts = address.into_parts();
        parts.scheme = Some(self.scheme.clone());
        let address = Uri::from_parts(parts)?;
        if let Some(policy) = &self.policy {
            policy.check_url(&Url::parse(&address.to_string())?)?;
        }
        Ok(address)
    }
}

impl Service<Uri> for Connector {
    type Response = Connected;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Connected, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.connector.poll_ready(cx)
    }

    fn call(&mut self, address: Uri) -> Self::Future {
        match self.check(address) {
            Ok(address) => {
                let connection = self.connector.call(address);
                Box::pin(async move { connection.await.map(Connected) })
            }
            Err(error) => Box::pin(async move { Err(error) }),
        }
    }
}

/// Resolves names by DNS, and filters the addresses by the policy, if any.
#[derive(Clone)]
struct Resolver(Option<Arc<WebhookPolicy>>);

impl Service<Name> for Resolver {
    type Response = vec::IntoIter<SocketAddr>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let policy = self.0.clone();
        Box::pin(async move {
            let found = match policy {
                Some(policy) => CheckedResolver::new(policy, system()).find(name.as_str()).await?,
                None => system()(name.as_str().to_owned()).await?,
            };
            Ok(found.into_iter())
        })
    }
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connector").field("scheme", &self.scheme).finish_non_exhaustive()
    }
}

/// A connection opened by a [`Connector`].
#[derive(Debug)]
pub struct Connected(MaybeHttpsStream<TokioIo<TcpStream>>);

impl Read for Connected {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buffer)
    }
}

impl Write for Connected {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(cx, pieces)
    }
}
