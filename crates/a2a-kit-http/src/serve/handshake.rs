//! The TLS handshake.

use std::{
    fmt, io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use a2a_kit_operations::{LogLimit, metrics};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    time::timeout,
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};
use tokio_util::sync::CancellationToken;

use super::{
    connection::{Builder, Connection},
    half_close::HalfClose,
    per_ip::PerIpLimit,
    write_timeout::WriteTimeout,
};
use crate::{PeerCertificates, tls::Tls};

/// Content type of a handshake record, its first byte (RFC 8446 §5.1).
const HANDSHAKE: u8 = 22;

/// The response to plaintext HTTP.
const PLAINTEXT_RESPONSE: &[u8] = b"HTTP/1.1 400 Bad Request\r\n\
    content-type: text/plain; charset=utf-8\r\n\
    content-length: 44\r\n\
    connection: close\r\n\
    \r\n\
    this port requires TLS: use an https:// URL\n";

/// How much of a plaintext request is drained, so that the response is not lost, and for how long.
const MAX_DRAINED_BYTES: u64 = 64 << 10;
const PLAINTEXT_TIMEOUT: Duration = Duration::from_secs(1);

/// Performs the TLS handshakes of one listener.
#[derive(Clone, Debug)]
pub(super) struct Handshakes {
    tls: Tls,
    per_ip: PerIpLimit,
}

/// Why a handshake failed.
enum HandshakeError {
    Plaintext(HalfClose),
    Failed(io::Error),
}

impl Handshakes {
    pub(super) fn new(tls: Tls) -> Self {
        let per_ip = PerIpLimit::new(tls.settings().max_handshakes / 4);
        Self { tls, per_ip }
    }

    /// Performs the handshake within its timeout, then serves the connection until it ends.
    pub(super) async fn serve(
        self,
        mut connection: Connection,
        builder: Arc<Builder>,
        stream: WriteTimeout<HalfClose>,
        stop: CancellationToken,
    ) {
        let peer = connection.peer;
        // Boxed: the handshake state is large, and must not enlarge the task for its whole life.
        let handshake = Box::pin(self.accept(peer.ip(), stream));
        let drain = connection.drain.clone();
        let result = tokio::select! {
            result = timeout(self.tls.settings().handshake_timeout, handshake) => result,
            // There is no request to finish yet.
            () = drain.started() => return,
        };
        let stream = match result {
            Ok(Ok(stream)) => stream,
            Ok(Err(HandshakeError::Plaintext(stream))) => {
                refused(peer, &"plaintext request");
                return Box::pin(respond_to_plaintext(stream)).await;
            }
            // A load balancer that only checks whether the port is open.
            Ok(Err(HandshakeError::Failed(error)))
                if error.kind() == io::ErrorKind::UnexpectedEof =>
            {
                return tracing::debug!(%peer, "connection closed before the handshake");
            }
            Ok(Err(HandshakeError::Failed(error))) => return refused(peer, &error),
            Err(_elapsed) => return refused(peer, &"timed out"),
        };
        let (_, session) = stream.get_ref();
        let chain = session.peer_certificates().unwrap_or_default();
        connection.certificates = PeerCertificates::new(chain.iter().map(|der| der.to_vec()));
        connection.hsts = self.tls.hsts().cloned();
        connection.serve(builder, stream, stop).await;
    }

    async fn accept(
        &self,
        address: IpAddr,
        stream: WriteTimeout<HalfClose>,
    ) -> Result<TlsStream<WriteTimeout<HalfClose>>, HandshakeError> {
        // A peer that has sent nothing takes no handshake permit.
        let mut first = [0];
        if stream.io.socket.peek(&mut first).await.map_err(HandshakeError::Failed)? == 0 {
            return Err(HandshakeError::Failed(io::ErrorKind::UnexpectedEof.into()));
        }
        if first[0] != HANDSHAKE && first[0].is_ascii_uppercase() {
            return Err(HandshakeError::Plaintext(stream.io));
        }
        let too_many = || HandshakeError::Failed(io::Error::other("per-address limit reached"));
        let _ip_permit = self.per_ip.try_acquire(address).ok_or_else(too_many)?;
        // The semaphore is never closed.
        let _permit = self.tls.handshakes().acquire().await.ok();
        let acceptor = TlsAcceptor::from(self.tls.config());
        acceptor.accept(stream).await.map_err(HandshakeError::Failed)
    }
}

/// Counts a refused handshake, and logs it, at most one a second. The reason is a fixed text of
/// ours or of rustls, such as `peer sent no certificates`.
fn refused(peer: SocketAddr, reason: &dyn fmt::Display) {
    static LIMIT: LogLimit = LogLimit::new();
    metrics::refused("handshake");
    if let Some(omitted) = LIMIT.admit() {
        tracing::info!(%peer, %reason, omitted, "TLS handshake refused");
    }
}

/// Responds to plaintext HTTP. The request is drained before closing: closing a socket with unread
/// data resets the connection, and the response is lost.
async fn respond_to_plaintext(mut stream: HalfClose) {
    let respond = async {
        stream.write_all(PLAINTEXT_RESPONSE).await?;
        stream.shutdown().await?;
        tokio::io::copy(&mut stream.take(MAX_DRAINED_BYTES), &mut tokio::io::sink()).await
    };
    if let Ok(Err(error)) = timeout(PLAINTEXT_TIMEOUT, respond).await {
        tracing::debug!(%error, "plaintext client closed the connection early");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plaintext_response_has_the_declared_content_length() {
        let response = std::str::from_utf8(PLAINTEXT_RESPONSE).unwrap();
        let (head, body) = response.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("content-length: {}\r\n", body.len())), "{}", body.len());
    }
}
