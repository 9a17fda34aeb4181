//! A proxy between our client and an agent, that makes trouble.

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

/// What our client says, and what is said instead: as long, and a version that nobody speaks.
const VERSION: (&str, &str) = ("a2a-version: 1.0\r\n", "a2a-version: 9.9\r\n");

/// What a proxy does beside passing bytes on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Trouble {
    /// Says in requests over HTTP/1.1 that they are of a version that nobody speaks.
    Version,
    /// Cuts the first connection when so many bytes of answers have passed; no later one.
    CutAfter(u64),
}

/// A proxy, closed when this is dropped.
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
                // It ends with its connection, at the latest with the process.
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

    /// The card of an agent of which nothing is left but `interface`, behind this proxy.
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

/// The host and port in a URL, or in what stands for one on a card for gRPC.
fn authority(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split('/').next().unwrap_or(rest)
}

/// Passes bytes both ways until one end or a cut, and returns whether it was a cut.
async fn forward(
    client: TcpStream,
    target: TcpStream,
    trouble: Option<Trouble>,
) -> io::Result<bool> {
    let (from_client, to_client) = client.into_split();
    let (from_target, to_target) = target.into_split();
    // Whichever way ends first takes the other one with it.
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
    // Large enough that the head of a request comes in one piece.
    let mut buffer = vec![0; 1 << 16];
    loop {
        let length = from.read(&mut buffer).await?;
        let piece = &mut buffer[..length];
        if piece.is_empty() {
            return Ok(());
        }
        let (said, instead) = VERSION;
        if matches!(trouble, Some(Trouble::Version))
            && let Some(start) = piece.windows(said.len()).position(|it| it == said.as_bytes())
        {
            piece[start..start + said.len()].copy_from_slice(instead.as_bytes());
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
