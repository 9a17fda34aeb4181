//! A proxy that changes the version of requests.

use interop_driver::Result;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::AbortHandle,
};

/// The header as the SDK sends it.
const SENT: &str = "a2a-version: 1.0";

/// A proxy for HTTP/1.1.
pub(crate) struct VersionProxy {
    /// The URL of the interface, through the proxy.
    pub(crate) url: String,
    server: AbortHandle,
}

impl VersionProxy {
    /// Listens for requests to `url`, which then have this `version`.
    pub(crate) async fn to(url: &str, version: &str) -> Result<Self> {
        let rest = url.strip_prefix("http://").ok_or_else(|| format!("{url} is not http"))?;
        let (upstream, path) = rest.split_once('/').unwrap_or((rest, ""));
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}/{path}", listener.local_addr()?);
        let (upstream, replaced) = (upstream.to_owned(), format!("a2a-version: {version}"));
        let server = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                // What has failed ends both connections.
                tokio::spawn(forward(client, upstream.clone(), replaced.clone()));
            }
        });
        Ok(Self { url: url.trim_end_matches('/').to_owned(), server: server.abort_handle() })
    }
}

impl Drop for VersionProxy {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// Forwards a connection with one request.
async fn forward(mut client: TcpStream, upstream: String, replaced: String) -> Result {
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        if client.read_buf(&mut head).await? == 0 {
            return Ok(());
        }
    }
    // The body is JSON, and so is text as well.
    let head = String::from_utf8(head)?.replacen(SENT, &replaced, 1);
    let mut upstream = TcpStream::connect(upstream).await?;
    upstream.write_all(head.as_bytes()).await?;
    tokio::io::copy_bidirectional(&mut client, &mut upstream).await?;
    Ok(())
}
