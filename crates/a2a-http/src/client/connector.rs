//! Connections for clients that speak HTTP/2 themselves.

use std::{
    fmt,
    future::Future,
    io,
    pin::Pin,
    task::{Context, Poll},
};

use http::{Uri, uri::Scheme};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::{client::legacy::connect::HttpConnector, rt::TokioIo};
use tokio::net::TcpStream;
use tower::Service;

use super::ClientSettings;
use crate::tls::TlsError;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Makes connections over HTTP/2 for a client that has its own way to speak it, as that of gRPC:
/// with the certificates of [`ClientSettings::tls`] if they are to be secure, in clear otherwise.
///
/// The scheme of the address that it is called with does not matter.
#[derive(Clone)]
pub struct Connector {
    connector: HttpsConnector<HttpConnector>,
    scheme: Scheme,
}

impl Connector {
    /// Creates a connector.
    ///
    /// # Errors
    ///
    /// [`TlsError`] where the certificates of the settings can't be used.
    pub fn new(settings: &ClientSettings, secure: bool) -> Result<Self, TlsError> {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(settings.connect_timeout));
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(settings.tls.config()?)
            .https_or_http()
            .enable_http2()
            .wrap_connector(tcp);
        Ok(Self { connector, scheme: if secure { Scheme::HTTPS } else { Scheme::HTTP } })
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
        let mut parts = address.into_parts();
        parts.scheme = Some(self.scheme.clone());
        match Uri::from_parts(parts) {
            Ok(address) => {
                let connection = self.connector.call(address);
                Box::pin(async move { connection.await.map(Connected) })
            }
            Err(error) => Box::pin(async move { Err(error.into()) }),
        }
    }
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connector").field("scheme", &self.scheme).finish_non_exhaustive()
    }
}

/// A connection that a [`Connector`] has made.
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
