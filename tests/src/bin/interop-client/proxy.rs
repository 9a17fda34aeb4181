//! A proxy that says another version than the client it stands for.

use tokio::{
    io::{self, AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::AbortHandle,
};
use url::Url;

use crate::expect::Result;

/// What our client says, and what is said instead: as long, and a version that nobody speaks.
const VERSION: (&str, &str) = ("a2a-version: 1.0\r\n", "a2a-version: 9.9\r\n");

/// Passes requests over HTTP/1.1 on, each with a version that nobody speaks.
#[derive(Debug)]
pub(crate) struct Proxy {
    /// Stands for the URL that the proxy was made for.
    pub(crate) url: String,
    server: AbortHandle,
}

impl Proxy {
    pub(crate) async fn of(url: &str) -> Result<Self> {
        let target = Url::parse(url)?;
        let address = target.socket_addrs(|| None)?;
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let here = format!("http://{}{}", listener.local_addr()?, target.path());
        // One connection after the other: a check makes one call at a time.
        let server = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let Ok(target) = TcpStream::connect(address.as_slice()).await else { return };
                drop(forward(client, target).await);
            }
        });
        Ok(Self { url: here, server: server.abort_handle() })
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn forward(client: TcpStream, target: TcpStream) -> io::Result<()> {
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_target, mut to_target) = target.into_split();
    let requests = async {
        // Large enough that the head of a request comes in one piece.
        let mut piece = vec![0; 1 << 16];
        loop {
            let length = from_client.read(&mut piece).await?;
            if length == 0 {
                return to_target.shutdown().await;
            }
            let piece = &mut piece[..length];
            let (said, instead) = VERSION;
            let found = piece.windows(said.len()).position(|bytes| bytes == said.as_bytes());
            if let Some(start) = found {
                piece[start..start + said.len()].copy_from_slice(instead.as_bytes());
            }
            to_target.write_all(piece).await?;
        }
    };
    tokio::try_join!(requests, io::copy(&mut from_target, &mut to_client)).map(drop)
}
