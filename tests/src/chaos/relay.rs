use std::{io, net::SocketAddr, time::Duration};

use bytes::{Bytes, BytesMut};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::{mpsc, watch},
    task::{JoinHandle, JoinSet},
    time::{Instant, sleep_until},
};

/// Largest chunk that is passed on at once, in bytes.
const CHUNK: usize = 16 << 10;
/// Chunks on the way in each direction of a connection; beyond that the sender has to wait.
const ON_THE_WAY: usize = 256;

/// The state of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Link {
    /// Bytes pass immediately.
    #[default]
    Open,
    /// Bytes, new connections and closes take this time in each direction.
    Slow(Duration),
    /// Nothing passes in either direction. Sockets stay open, and new connections are accepted.
    Stalled,
}

impl Link {
    /// A link with a round trip of 300 ms.
    pub const SLOW: Self = Self::Slow(Duration::from_millis(150));
}

/// A TCP relay on a local port, whose link can be changed while connections are open.
#[derive(Debug)]
pub struct Relay {
    address: SocketAddr,
    path: watch::Sender<Path>,
    server: JoinHandle<()>,
}

#[derive(Clone, Copy, Debug)]
struct Path {
    link: Link,
    target: SocketAddr,
}

impl Relay {
    /// Starts a relay to a server.
    pub async fn start(target: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let (path, following) = watch::channel(Path { link: Link::Open, target });
        let server = tokio::spawn(accept(listener, following));
        Ok(Self { address, path, server })
    }

    /// The address for clients.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Changes the link of all connections, including those that are open.
    pub fn set(&self, link: Link) {
        self.path.send_modify(|path| path.link = link);
    }

    /// Changes the server of new connections. Open ones stay with theirs.
    pub fn set_target(&self, target: SocketAddr) {
        self.path.send_modify(|path| path.target = target);
    }
}

/// Closes all connections.
impl Drop for Relay {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn accept(listener: TcpListener, path: watch::Receiver<Path>) {
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        connections.spawn(relay(client, path.clone()));
        while connections.try_join_next().is_some() {}
    }
}

async fn relay(client: TcpStream, mut path: watch::Receiver<Path>) -> io::Result<()> {
    passage(&mut path, Instant::now()).await;
    let target = path.borrow().target;
    let server = TcpStream::connect(target).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let requests = pump(from_client, to_server, path.clone());
    let responses = pump(from_server, to_client, path);
    tokio::try_join!(requests, responses).map(|((), ())| ())
}

/// Passes bytes on as the link permits, then the close.
async fn pump(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut path: watch::Receiver<Path>,
) -> io::Result<()> {
    let (sender, mut receiver) = mpsc::channel(ON_THE_WAY);
    let read = async move {
        loop {
            let mut chunk = BytesMut::with_capacity(CHUNK);
            // A reset is passed on as a close, and no sooner than the bytes before it.
            let count = from.read_buf(&mut chunk).await.unwrap_or(0);
            if sender.send((Instant::now(), chunk.freeze())).await.is_err() || count == 0 {
                return Ok(());
            }
        }
    };
    let write = async move {
        while let Some((arrived, chunk)) = receiver.recv().await {
            let chunk: Bytes = chunk;
            passage(&mut path, arrived).await;
            if chunk.is_empty() {
                to.shutdown().await?;
            } else {
                to.write_all(&chunk).await?;
            }
        }
        Ok(())
    };
    tokio::try_join!(read, write).map(|((), ())| ())
}

/// Waits until something that arrived at this time has passed the link.
async fn passage(path: &mut watch::Receiver<Path>, arrived: Instant) {
    loop {
        let due = match path.borrow_and_update().link {
            Link::Open => return,
            Link::Slow(delay) => Some(arrived + delay),
            Link::Stalled => None,
        };
        let passes = async {
            match due {
                Some(due) => sleep_until(due).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = passes => return,
            changed = path.changed() => if changed.is_err() { return },
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::{
        io::{DuplexStream, duplex},
        time::timeout,
    };

    use super::*;

    const TARGET: SocketAddr =
        SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 1);

    /// One direction of a connection.
    fn direction(link: Link) -> (DuplexStream, DuplexStream, watch::Sender<Path>) {
        let (client, near) = duplex(1 << 20);
        let (far, server) = duplex(1 << 20);
        let (path, following) = watch::channel(Path { link, target: TARGET });
        tokio::spawn(pump(near, far, following));
        (client, server, path)
    }

    async fn read(server: &mut DuplexStream, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        server.read_exact(&mut bytes).await.unwrap();
        bytes
    }

    #[tokio::test(start_paused = true)]
    async fn slow_link_delays_every_byte_by_the_same_time() {
        let (mut client, mut server, _path) = direction(Link::SLOW);
        let start = Instant::now();
        for _ in 0..10 {
            client.write_all(b"x").await.unwrap();
        }
        assert_eq!(read(&mut server, 10).await, b"xxxxxxxxxx");
        assert!(start.elapsed() >= Duration::from_millis(150), "{:?}", start.elapsed());
        assert!(start.elapsed() < Duration::from_millis(160), "{:?}", start.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn stalled_link_passes_nothing_until_it_is_restored_and_then_everything_in_order() {
        let (mut client, mut server, path) = direction(Link::Open);
        client.write_all(b"a").await.unwrap();
        assert_eq!(read(&mut server, 1).await, b"a");
        path.send_modify(|path| path.link = Link::Stalled);
        client.write_all(b"b").await.unwrap();
        client.write_all(b"c").await.unwrap();
        drop(client);
        let mut byte = [0];
        let hour = Duration::from_secs(3600);
        timeout(hour, server.read(&mut byte)).await.expect_err("nothing, not even the close");
        path.send_modify(|path| path.link = Link::Open);
        let mut rest = Vec::new();
        server.read_to_end(&mut rest).await.unwrap();
        assert_eq!(rest, b"bc");
    }

    #[tokio::test(start_paused = true)]
    async fn slow_link_that_stalls_holds_what_is_on_the_way() {
        let (mut client, mut server, path) = direction(Link::SLOW);
        client.write_all(b"a").await.unwrap();
        tokio::task::yield_now().await;
        path.send_modify(|path| path.link = Link::Stalled);
        let mut byte = [0];
        let hour = Duration::from_secs(3600);
        timeout(hour, server.read(&mut byte)).await.expect_err("nothing");
        path.send_modify(|path| path.link = Link::SLOW);
        assert_eq!(read(&mut server, 1).await, b"a");
    }

    /// A server that sends its name on each connection, and then what it receives.
    async fn named(name: &'static [u8]) -> SocketAddr {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                tokio::spawn(async move {
                    socket.write_all(name).await.unwrap();
                    let (mut read, mut write) = socket.split();
                    let _closed = tokio::io::copy(&mut read, &mut write).await;
                });
            }
        });
        address
    }

    #[tokio::test]
    async fn open_connections_stay_with_their_server_when_new_ones_get_another() {
        let (one, two) = (named(b"1").await, named(b"2").await);
        let relay = Relay::start(one).await.unwrap();
        let mut old = TcpStream::connect(relay.address()).await.unwrap();
        let mut bytes = [0];
        old.read_exact(&mut bytes).await.unwrap();
        assert_eq!(&bytes, b"1");
        relay.set_target(two);
        let mut new = TcpStream::connect(relay.address()).await.unwrap();
        new.read_exact(&mut bytes).await.unwrap();
        assert_eq!(&bytes, b"2");
        old.write_all(b"x").await.unwrap();
        old.read_exact(&mut bytes).await.unwrap();
        assert_eq!(&bytes, b"x");
    }

    #[tokio::test]
    async fn dropped_relay_closes_its_connections() {
        let relay = Relay::start(named(b"1").await).await.unwrap();
        let mut socket = TcpStream::connect(relay.address()).await.unwrap();
        let mut byte = [0];
        socket.read_exact(&mut byte).await.unwrap();
        drop(relay);
        assert!(matches!(socket.read(&mut byte).await, Ok(0) | Err(_)));
    }
}
