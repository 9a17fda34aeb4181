//! Raw connections to the server, plaintext or TLS.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use rustls::{ClientConfig, pki_types::ServerName};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{TcpSocket, TcpStream},
    time::{Instant, timeout, timeout_at},
};
use tokio_rustls::TlsConnector;

/// A byte stream.
pub(super) trait Io: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Io for T {}

pub(super) type Pipe = Box<dyn Io>;

/// Timeout of a connect or a handshake.
const CONNECT: Duration = Duration::from_secs(20);

/// Connects, with TLS if configured.
pub(super) async fn connect(
    address: SocketAddr,
    tls: Option<&Arc<ClientConfig>>,
    protocol: &[u8],
) -> io::Result<Pipe> {
    let tcp = timeout(CONNECT, TcpStream::connect(address)).await??;
    over(tcp, tls, protocol).await
}

/// Connects for HTTP/1.1 from a local address.
pub(super) async fn connect_from(
    own: [u8; 4],
    address: SocketAddr,
    tls: Option<&Arc<ClientConfig>>,
) -> io::Result<Pipe> {
    let socket = TcpSocket::new_v4()?;
    socket.bind((own, 0).into())?;
    let tcp = timeout(CONNECT, socket.connect(address)).await??;
    over(tcp, tls, b"http/1.1").await
}

async fn over(
    tcp: TcpStream,
    tls: Option<&Arc<ClientConfig>>,
    protocol: &[u8],
) -> io::Result<Pipe> {
    tcp.set_nodelay(true)?;
    let Some(tls) = tls else { return Ok(Box::new(tcp)) };
    let mut config = ClientConfig::clone(tls);
    config.alpn_protocols = vec![protocol.to_vec()];
    let name = ServerName::try_from("localhost").map_err(io::Error::other)?;
    let connector = TlsConnector::from(Arc::new(config));
    Ok(Box::new(timeout(CONNECT, connector.connect(name, tcp)).await??))
}

/// The reply to raw bytes.
#[derive(Debug, Default)]
pub(super) struct Reply {
    pub(super) bytes: Vec<u8>,
    pub(super) closed: bool,
}

/// Writes bytes and reads until the connection ends or is silent for a time.
pub(super) async fn exchange(pipe: &mut Pipe, bytes: &[u8], wait: Duration) -> Reply {
    // A server may respond and close before it has read everything.
    let written = timeout(wait, async {
        pipe.write_all(bytes).await?;
        pipe.flush().await
    });
    let _may_be_cut = written.await;
    read(pipe, wait).await
}

/// Reads until the connection ends or the time is over.
pub(super) async fn read(pipe: &mut Pipe, wait: Duration) -> Reply {
    let mut reply = Reply::default();
    let mut buffer = vec![0; 16 << 10];
    let end = Instant::now() + wait;
    while reply.bytes.len() < 1 << 22 {
        match timeout_at(end, pipe.read(&mut buffer)).await {
            Ok(Ok(0) | Err(_)) => {
                reply.closed = true;
                break;
            }
            Ok(Ok(count)) => reply.bytes.extend_from_slice(&buffer[..count]),
            Err(_) => break,
        }
    }
    reply
}

impl Reply {
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    /// The status of the first response.
    pub(super) fn status(&self) -> Option<u16> {
        let text = self.bytes.strip_prefix(b"HTTP/1.")?;
        std::str::from_utf8(text.get(2..5)?).ok()?.parse().ok()
    }

    /// The number of responses.
    pub(super) fn answers(&self) -> usize {
        self.text().matches("HTTP/1.1 ").count()
    }

    /// A short summary.
    pub(super) fn summary(&self) -> String {
        match self.status() {
            Some(status) => {
                let text = self.text();
                let body = text.split_once("\r\n\r\n").map_or("", |(_, body)| body);
                let message = member(body, "message").unwrap_or_default();
                format!("HTTP {status} {message}").trim().to_owned()
            }
            None if self.closed => "closed the connection".to_owned(),
            None if self.bytes.is_empty() => "waits".to_owned(),
            None => format!("{} bytes that are no HTTP/1.1", self.bytes.len()),
        }
    }

    /// Expects a rejection: an error status, a JSON-RPC error, or a closed connection.
    pub(super) fn rejected(&self) -> Result<String, String> {
        let is_error = self.text().contains("\"error\"");
        match self.status() {
            Some(400..=499 | 501 | 503 | 505) => Ok(self.summary()),
            Some(200..=299) if is_error => Ok(self.summary()),
            None if self.closed => Ok(self.summary()),
            _ => Err(format!("was not rejected: {}", self.summary())),
        }
    }
}

/// The first string member with this name, truncated to a line.
pub(super) fn member(json: &str, name: &str) -> Option<String> {
    let start = format!("\"{name}\":\"");
    let at = json.find(&start)? + start.len();
    let text: String = json[at..].chars().take_while(|char| *char != '"').take(70).collect();
    Some(text)
}
