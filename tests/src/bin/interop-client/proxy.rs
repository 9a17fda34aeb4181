//! A proxy between our client and an agent that injects faults.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use a2a_core::{AgentCard, v1::AgentInterface};
use tokio::{
    io::{self, AsyncReadExt as _, AsyncWriteExt as _},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    task::AbortHandle,
};

use crate::expect::Result;

/// Our version, and an unknown one of the same length to replace it.
const VERSION: (&str, &str) = ("a2a-version: 1.0\r\n", "a2a-version: 9.9\r\n");

/// The fault that a proxy injects.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Trouble {
    /// Replaces the version in HTTP/1.1 requests by an unknown one.
    Version,
    /// Closes the first connection after this number of response bytes.
    CutAfter(u64),
}

/// A proxy, stopped on drop.
#[derive(Debug)]
pub(crate) struct Proxy {
    address: String,
    has_cut: Arc<AtomicBool>,
    server: AbortHandle,
}

impl Proxy {
    /// Starts a proxy to the agent at `interface`.
    pub(crate) async fn to(interface: &AgentInterface, trouble: Trouble) -> Result<Self> {
        let target = authority(&interface.url).to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?.to_string();
        let has_cut = Arc::new(AtomicBool::new(false));
        let cuts = has_cut.clone();
        let server = tokio::spawn(async move {
            let mut trouble = Some(trouble);
            while let Ok((client, _)) = listener.accept().await {
                let Ok(target) = TcpStream::connect(&target).await else { return };
                let trouble = match trouble {
                    Some(Trouble::CutAfter(_)) => trouble.take(),
                    Some(Trouble::Version) | None => trouble,
                };
                let cuts = cuts.clone();
                // Ends with its connection.
                tokio::spawn(async move {
                    let ended = forward(client, target, trouble).await;
                    if matches!(trouble, Some(Trouble::CutAfter(_))) {
                        cuts.store(ended.is_ok_and(|by_us| by_us), Ordering::Relaxed);
                    }
                });
            }
        });
        Ok(Self { address, has_cut, server: server.abort_handle() })
    }

    /// Returns whether a connection was cut.
    pub(crate) fn has_cut(&self) -> bool {
        self.has_cut.load(Ordering::Relaxed)
    }

    /// The card of the agent with only `interface`, behind this proxy.
    pub(crate) fn card(&self, card: &AgentCard, interface: &AgentInterface) -> AgentCard {
        let url = interface.url.replacen(authority(&interface.url), &self.address, 1);
        let interface = AgentInterface { url, ..interface.clone() };
        AgentCard { supported_interfaces: vec![interface], ..card.clone() }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// The host and port of a URL or a gRPC address.
fn authority(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split('/').next().unwrap_or(rest)
}

/// Forwards bytes in both directions; returns whether the proxy closed the connection.
async fn forward(
    client: TcpStream,
    target: TcpStream,
    trouble: Option<Trouble>,
) -> io::Result<bool> {
    let (from_client, to_client) = client.into_split();
    let (from_target, to_target) = target.into_split();
    // The direction that ends first ends the other one.
    tokio::select! {
        ended = requests(from_client, to_target, trouble) => ended.map(|()| false),
        ended = answers(from_target, to_client, trouble) => ended,
    }
}

async fn requests(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    trouble: Option<Trouble>,
) -> io::Result<()> {
    // Large enough for the head of a request.
    let mut buffer = vec![0; 1 << 16];
    loop {
        let length = from.read(&mut buffer).await?;
        let piece = &mut buffer[..length];
        if piece.is_empty() {
            return Ok(());
        }
        let (version, replacement) = VERSION;
        if matches!(trouble, Some(Trouble::Version))
            && let Some(start) =
                piece.windows(version.len()).position(|it| it == version.as_bytes())
        {
            piece[start..start + version.len()].copy_from_slice(replacement.as_bytes());
        }
        to.write_all(piece).await?;
    }
}

async fn answers(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    trouble: Option<Trouble>,
) -> io::Result<bool> {
    match trouble {
        Some(Trouble::CutAfter(bytes)) => {
            Ok(io::copy(&mut from.take(bytes), &mut to).await? == bytes)
        }
        Some(Trouble::Version) | None => io::copy(&mut from, &mut to).await.map(|_copied| false),
    }
}
