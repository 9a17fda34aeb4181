//! What comes before HTTP on a port that speaks TLS.

use std::{io, net::IpAddr, time::Duration};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};
use tokio_util::sync::CancellationToken;

use super::{
    connection::{Builder, Connection},
    patience::Patient,
    share::Shares,
};
use crate::{PeerCertificates, tls::Tls};

/// The first byte of a handshake (RFC 8446 §5.1).
const HANDSHAKE: u8 = 22;

/// What those are told who come in clear.
const IN_CLEAR: &[u8] = b"HTTP/1.1 400 Bad Request\r\n\
    content-type: text/plain; charset=utf-8\r\n\
    content-length: 42\r\n\
    connection: close\r\n\
    \r\n\
    this port speaks TLS: call it by https://\n";

/// How much is still read of who came in clear, so that the answer is not lost, and how long.
const MAX_LEFT_BYTES: u64 = 64 << 10;
const TELL_TIMEOUT: Duration = Duration::from_secs(1);

/// Makes the handshakes of one listener.
#[derive(Clone, Debug)]
pub(super) struct Handshakes {
    tls: Tls,
    shares: Shares,
}

/// Why there is no connection over TLS.
enum Refused {
    InClear(TcpStream),
    TooMany,
    Failed(io::Error),
}

impl Handshakes {
    pub(super) fn new(tls: Tls) -> Self {
        let shares = Shares::new(tls.settings().max_handshakes / 4);
        Self { tls, shares }
    }

    /// Makes the handshake in its time, and serves the connection to its end.
    pub(super) async fn serve(
        self,
        mut connection: Connection,
        builder: &Builder,
        stream: Patient<TcpStream>,
        stop: CancellationToken,
    ) {
        let peer = connection.peer;
        // It is large and soon over; what lives on should not keep room for it.
        let handshake = Box::pin(self.shake(peer.ip(), stream));
        let drain = connection.drain.clone();
        let made = tokio::select! {
            made = timeout(self.tls.settings().handshake_timeout, handshake) => made,
            // A server that stops doesn't wait for who has not asked for anything yet.
            () = drain.started() => return,
        };
        let stream = match made {
            Ok(Ok(stream)) => stream,
            Ok(Err(Refused::InClear(stream))) => {
                tracing::debug!(%peer, "came in clear to a port that speaks TLS");
                return Box::pin(tell(stream)).await;
            }
            Ok(Err(Refused::TooMany)) => {
                return tracing::debug!(%peer, "too many handshakes of one address");
            }
            Ok(Err(Refused::Failed(error))) => {
                return tracing::debug!(%peer, %error, "a handshake failed");
            }
            Err(_elapsed) => return tracing::debug!(%peer, "a handshake took too long"),
        };
        let (_, session) = stream.get_ref();
        let chain = session.peer_certificates().unwrap_or_default();
        connection.certificates = PeerCertificates::new(chain.iter().map(|one| one.to_vec()));
        connection.hsts = self.tls.hsts().cloned();
        connection.serve(builder, stream, stop).await;
    }

    async fn shake(
        &self,
        address: IpAddr,
        stream: Patient<TcpStream>,
    ) -> Result<TlsStream<Patient<TcpStream>>, Refused> {
        // Who is silent has no place among the handshakes yet.
        let mut first = [0];
        if stream.get_ref().peek(&mut first).await.map_err(Refused::Failed)? == 0 {
            return Err(Refused::Failed(io::ErrorKind::UnexpectedEof.into()));
        }
        if first[0] != HANDSHAKE && first[0].is_ascii_uppercase() {
            return Err(Refused::InClear(stream.into_inner()));
        }
        let _share = self.shares.take(address).ok_or(Refused::TooMany)?;
        // The semaphore is never closed.
        let _permit = self.tls.handshakes().acquire().await.ok();
        let acceptor = TlsAcceptor::from(self.tls.config());
        acceptor.accept(stream).await.map_err(Refused::Failed)
    }
}

/// Answers who came in clear. What they have sent is read, for a connection that is closed
/// before that is reset, and the answer lost.
async fn tell(mut stream: TcpStream) {
    let told = async {
        stream.write_all(IN_CLEAR).await?;
        stream.shutdown().await?;
        tokio::io::copy(&mut stream.take(MAX_LEFT_BYTES), &mut tokio::io::sink()).await
    };
    if let Ok(Err(error)) = timeout(TELL_TIMEOUT, told).await {
        tracing::debug!(%error, "who came in clear did not wait for the answer");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_to_who_comes_in_clear_is_as_long_as_it_says() {
        let answer = std::str::from_utf8(IN_CLEAR).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("content-length: {}\r\n", body.len())), "{}", body.len());
    }
}
