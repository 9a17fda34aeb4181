//! Accepts connections and serves a router on them, until told to stop.

use std::{future::Future, io, net::SocketAddr, pin::pin, sync::Arc, time::Duration};

use a2a_operations::metrics::OpenConnection;
use axum::Router;
use tokio::{
    net::{TcpListener, TcpSocket, TcpStream},
    sync::Semaphore,
    task::{JoinError, JoinSet},
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument as _, debug_span};

use super::{
    Drain, connection, handshake::Handshakes, patience::Patient, response_budget::ResponseBudget,
    room::Room, share::Shares,
};
use crate::{Limits, tls::Tls};

/// The shortest and the longest pause after a failure to accept.
const ACCEPT_PAUSES: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(1));

/// Why a server could not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The address can't be listened on.
    #[error("can't listen on {address}")]
    Bind {
        /// The address, as it was given.
        address: String,
        /// What the system says.
        #[source]
        source: io::Error,
    },
}

/// Connections that may wait to be accepted, as far as the system allows (`net.core.somaxconn`).
/// After a restart every subscriber connects again at once; one that finds the queue full tries
/// again a second later.
const BACKLOG: u32 = 4096;

/// Listens on an address, for example `127.0.0.1:8080`, `[::]:8080` or `localhost:0`.
///
/// # Errors
///
/// [`ServeError::Bind`].
pub async fn bind(address: &str) -> Result<TcpListener, ServeError> {
    listen(address).await.map_err(|source| ServeError::Bind { address: address.to_owned(), source })
}

/// Listens on the first address of a host that can be listened on.
async fn listen(address: &str) -> io::Result<TcpListener> {
    let mut failure = io::Error::new(io::ErrorKind::AddrNotAvailable, "the host has no address");
    for address in tokio::net::lookup_host(address).await? {
        match listen_on(address) {
            Ok(listener) => return Ok(listener),
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

fn listen_on(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // So that a server can be restarted at once. On Windows it would share the port.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Serves a router over HTTP/1.1 and HTTP/2 on the same port: in clear, or over TLS where it is
/// [given any](Self::with_tls).
///
/// Requests carry the address of the peer (`axum::extract::ConnectInfo<SocketAddr>`), the
/// [`Drain`] signal, and the [`PeerCertificates`](crate::PeerCertificates) if there are any, in
/// their extensions.
#[derive(Clone, Debug)]
pub struct Server {
    router: Router,
    limits: Limits,
    drain: Drain,
    tls: Option<Tls>,
}

impl Server {
    /// Creates a server with the default limits.
    pub fn new(router: Router) -> Self {
        // Binding the state now spares each request from doing it.
        let router = router.with_state(());
        Self { router, limits: Limits::default(), drain: Drain::new(), tls: None }
    }

    /// Sets the limits of connections. Bindings have theirs from their own options.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Uses this signal to tell event streams that the server stops, so that others can watch
    /// or give it too.
    #[must_use]
    pub fn with_drain(mut self, drain: Drain) -> Self {
        self.drain = drain;
        self
    }

    /// Speaks TLS only, with the certificate that this has at the time, and offers HTTP/2 and
    /// HTTP/1.1 (ALPN). Who comes in clear is told so, with HTTP status 400.
    #[must_use]
    pub fn with_tls(mut self, tls: Tls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// The signal that this server gives before it stops.
    pub fn drain(&self) -> &Drain {
        &self.drain
    }

    /// Serves until `shutdown` is done. Then stops accepting, leaves [`Limits::stream_grace`] to
    /// whatever runs, ends event streams with an error that tells readers to come back
    /// elsewhere, gives other requests [`Limits::grace`] to finish, and closes what is left.
    ///
    /// Failures to accept are logged and survived.
    pub async fn serve(self, listener: TcpListener, shutdown: impl Future<Output = ()>) {
        let mut shutdown = pin!(shutdown);
        let stop = CancellationToken::new();
        let limits = Arc::new(self.limits.clone());
        let builder = Arc::new(connection::builder(&limits));
        let shares = Shares::new(limits.max_connections_per_address);
        let room = Room::of_bodies(&limits);
        let responses = Arc::new(ResponseBudget::new(&limits));
        let permits = Arc::new(Semaphore::new(self.limits.max_connections.max(1)));
        let mut connections = JoinSet::new();
        let handshakes = self.tls.clone().map(Handshakes::new);
        let mut watched = pin!(async {
            match self.tls.clone() {
                Some(tls) => tls.watch().await,
                None => std::future::pending().await,
            }
        });
        loop {
            let accepted = tokio::select! {
                biased;
                () = &mut shutdown => break,
                () = self.drain.started() => break,
                never = &mut watched => match never {},
                accepted = accept(&listener, &permits) => accepted,
                // Finished connections are collected as they end, so that the set stays small.
                Some(ended) = connections.join_next() => {
                    note(ended);
                    continue;
                }
            };
            let (stream, peer, permit) = accepted;
            let Some(share) = shares.take(peer.ip()) else {
                tracing::debug!(%peer, "closing one connection too many of an address");
                continue;
            };
            let stream = Patient::new(stream, limits.write_timeout);
            let connection = connection::Connection {
                router: self.router.clone(),
                peer,
                drain: self.drain.clone(),
                limits: Arc::clone(&limits),
                room: room.clone(),
                responses: Arc::clone(&responses),
                certificates: None,
                hsts: None,
            };
            let stop = stop.clone();
            let builder = Arc::clone(&builder);
            let permit = (permit, OpenConnection::count());
            let span = debug_span!("connection", %peer);
            // Two tasks of different size: a connection in clear doesn't pay for TLS.
            if let Some(handshakes) = handshakes.clone() {
                let serve = async move {
                    handshakes.serve(connection, &builder, stream, stop).await;
                    drop((share, permit));
                };
                connections.spawn(serve.instrument(span));
            } else {
                let serve = async move {
                    connection.serve(&builder, stream, stop).await;
                    drop((share, permit));
                };
                connections.spawn(serve.instrument(span));
            }
        }
        drop(listener);
        stop.cancel();
        let in_time = timeout(limits.stream_grace, finish(&mut connections)).await.is_ok();
        self.drain.start();
        if !in_time && timeout(limits.grace, finish(&mut connections)).await.is_err() {
            tracing::info!("closing {} connections that did not finish", connections.len());
        }
        connections.shutdown().await;
    }
}

/// Waits until no connection is left.
async fn finish(connections: &mut JoinSet<()>) {
    while let Some(ended) = connections.join_next().await {
        note(ended);
    }
}

fn note(ended: Result<(), JoinError>) {
    if let Err(error) = ended
        && error.is_panic()
    {
        tracing::error!(%error, "a connection panicked");
    }
}

type Accepted = (TcpStream, SocketAddr, tokio::sync::OwnedSemaphorePermit);

/// Waits for room, then for a connection.
async fn accept(listener: &TcpListener, permits: &Arc<Semaphore>) -> Accepted {
    let permit = loop {
        // The semaphore is never closed.
        if let Ok(permit) = Arc::clone(permits).acquire_owned().await {
            break permit;
        }
    };
    let mut pause = ACCEPT_PAUSES.0;
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                // Small writes leave at once; failing to ask for it only makes them slower.
                if let Err(error) = stream.set_nodelay(true) {
                    tracing::debug!(%error, "can't set TCP_NODELAY");
                }
                return (stream, peer, permit);
            }
            // The peer went away before it was accepted: that says nothing about the next one.
            Err(error) if is_of_the_peer(&error) => {}
            Err(error) => {
                // Out of file descriptors, most likely: others will be closed.
                tracing::warn!(%error, "can't accept a connection, trying again in {pause:?}");
                sleep(pause).await;
                pause = (pause * 2).min(ACCEPT_PAUSES.1);
            }
        }
    }
}

fn is_of_the_peer(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}
