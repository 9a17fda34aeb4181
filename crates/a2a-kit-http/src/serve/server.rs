//! Accepts connections and serves a router on them until shutdown.

use std::{
    future::Future,
    io,
    net::{IpAddr, SocketAddr},
    pin::pin,
    sync::Arc,
    time::Duration,
};

use a2a_kit_operations::{Engine, metrics::Counted};
use axum::Router;
use derive_setters::Setters;
use futures_util::{FutureExt as _, future::BoxFuture};
use tokio::{
    net::{TcpListener, TcpSocket, TcpStream},
    sync::Semaphore,
    task::{JoinError, JoinSet},
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument as _, debug_span};

use super::{
    DirectRoutes, Drain,
    activity::Activity,
    body_budget::BodyBudget,
    connection,
    half_close::HalfClose,
    handshake::Handshakes,
    per_ip::{PerIpLimit, Permit},
    response_budget::ResponseBudget,
    write_timeout::WriteTimeout,
};
use crate::{Limits, tls::Tls};

/// Minimum and maximum backoff after a failed accept.
const ACCEPT_BACKOFF: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(1));

/// An address could not be bound.
#[derive(thiserror::Error)]
#[error("failed to listen on {address}")]
#[non_exhaustive]
pub struct BindError {
    /// The address, as given.
    pub address: String,
    /// The cause.
    pub source: io::Error,
}

a2a_core::debug_as_chain!(BindError);

/// Length of the accept queue, capped by the system (`net.core.somaxconn`). After a restart all
/// subscribers reconnect at once; one that finds the queue full retries a second later.
const BACKLOG: u32 = 4096;

/// Listens on an address, for example `127.0.0.1:8080`, `[::]:8080` or `localhost:0`.
///
/// # Errors
///
/// [`BindError`].
pub async fn bind(address: &str) -> Result<TcpListener, BindError> {
    listen(address).await.map_err(|source| BindError { address: address.to_owned(), source })
}

/// Listens on the first address of a host that can be bound.
async fn listen(address: &str) -> io::Result<TcpListener> {
    let mut failure = io::Error::new(io::ErrorKind::AddrNotAvailable, "host has no addresses");
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
    // Allows an immediate restart. On Windows it would let other processes share the port.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Serves a router over HTTP/1.1 and HTTP/2 on one port, in plaintext or
/// [over TLS](Self::with_tls).
///
/// The extensions of each request contain the peer address
/// (`axum::extract::ConnectInfo<SocketAddr>`), the [`Drain`] signal, and the
/// [`PeerCertificates`](crate::PeerCertificates), if any.
#[derive(Clone, Debug, Setters)]
#[setters(prefix = "with_")]
pub struct HttpServer {
    #[setters(skip)]
    router: Router,
    /// Sets the connection limits. The limits of bindings are in their options.
    limits: Limits,
    /// Sets the drain signal that ends event streams on shutdown, so that other components can
    /// watch or start it.
    drain: Drain,
    /// Requires TLS, with the current certificate of `tls`, and offers HTTP/2 and HTTP/1.1 (ALPN).
    /// Plaintext requests get HTTP status 400.
    #[setters(into)]
    tls: Option<Tls>,
    /// Sets the paths of health probes, which are served when [`Limits::max_connections`] is
    /// reached: up to 32 further connections are accepted, 8 of each address, for 5 s each. Requests
    /// for other paths get HTTP status 503 on them. Without probes, further connections wait.
    probes: &'static [&'static str],
    /// Sets routes that come before those of the router, for a server of bindings without layers.
    #[doc(hidden)]
    #[setters(into)]
    direct: Option<DirectRoutes>,
}

impl HttpServer {
    /// Creates a server with the default limits.
    pub fn new(router: Router) -> Self {
        // Binds the state once instead of for each request.
        let router = router.with_state(());
        let limits = Limits::default();
        Self { router, limits, drain: Drain::new(), tls: None, probes: &[], direct: None }
    }

    /// Returns the drain signal, which this server starts before it stops.
    pub fn drain(&self) -> &Drain {
        &self.drain
    }

    /// Serves until `shutdown` completes, then shuts down gracefully: [announces](Drain::announce) it
    /// and goes on for [`Limits::shutdown_delay`], stops accepting, waits up to
    /// [`Limits::stream_drain_timeout`] for all requests, ends event streams with an error on which
    /// clients resume on another node, waits up to [`Limits::drain_timeout`] for the other
    /// requests, and closes the remaining connections. [`Drain::end`] ends the waits.
    ///
    /// The agent is not shut down: see [`serve_engine`](Self::serve_engine).
    ///
    /// Accept errors are logged and retried.
    pub async fn serve(self, listener: TcpListener, shutdown: impl Future<Output = ()>) {
        let stop = CancellationToken::new();
        let (drain, delay) = (self.drain.clone(), self.limits.shutdown_delay);
        let mut serving = self.serve_until(listener, stop.clone());
        let shutdown = async {
            shutdown.await;
            drain.announce();
            // Ends early if the drain starts.
            let _started = timeout(delay, drain.started()).await;
        };
        tokio::select! {
            biased;
            () = shutdown => stop.cancel(),
            () = &mut serving => return,
        }
        serving.await;
    }

    /// Serves until `stop` is cancelled or the drain starts. Neither generic nor an async function,
    /// so that it is compiled here, with hyper, and not again by each crate that serves.
    fn serve_until(self, listener: TcpListener, stop: CancellationToken) -> BoxFuture<'static, ()> {
        Box::pin(self.accept_until(listener, stop))
    }

    async fn accept_until(self, listener: TcpListener, stop: CancellationToken) {
        let limits = Arc::new(self.limits.clone());
        let builder = Arc::new(connection::builder(&limits));
        let per_ip = PerIpLimit::new(limits.max_connections_per_address);
        let bodies = BodyBudget::for_requests(&limits);
        let responses = Arc::new(ResponseBudget::new(&limits));
        let permits = Permits::new(&limits, !self.probes.is_empty());
        let mut connections = JoinSet::new();
        let handshakes = self.tls.clone().map(Handshakes::new);
        let mut tls_watch = pin!(async {
            match self.tls.clone() {
                Some(tls) => tls.watch().await,
                None => std::future::pending().await,
            }
        });
        let start = |connections: &mut JoinSet<()>, (stream, peer, permit): Accepted| {
            let Some(permit) = permits.assign(permit, peer.ip()) else {
                tracing::debug!(%peer, "closing connection: limit reached");
                return;
            };
            let Some(ip_permit) = per_ip.try_acquire(peer.ip()) else {
                tracing::debug!(%peer, "closing connection: per-address limit reached");
                return;
            };
            let activity = Activity::new();
            let stream = HalfClose::new(stream, Arc::clone(&activity));
            let stream = WriteTimeout::new(stream, limits.write_timeout);
            let connection = connection::Connection {
                router: self.router.clone(),
                direct: self.direct.clone(),
                peer,
                activity,
                is_reserved: permit.is_reserved,
                probes: self.probes,
                drain: self.drain.clone(),
                limits: Arc::clone(&limits),
                bodies: Arc::clone(&bodies),
                responses: Arc::clone(&responses),
                certificates: None,
                hsts: None,
                _permits: (ip_permit, permit, Counted::connection()),
            };
            let stop = stop.clone();
            let builder = Arc::clone(&builder);
            let span = debug_span!("connection", %peer);
            // Separate tasks, so that plaintext connections do not pay for the size of TLS state.
            if let Some(handshakes) = handshakes.clone() {
                let serve = handshakes.serve(connection, builder, stream, stop);
                connections.spawn(serve.instrument(span));
            } else {
                connections.spawn(connection.serve(builder, stream, stop).instrument(span));
            }
        };
        loop {
            let accepted = tokio::select! {
                biased;
                () = stop.cancelled() => break,
                () = self.drain.started() => break,
                never = &mut tls_watch => match never {},
                accepted = accept(&listener, &permits) => accepted,
                // Reaps finished connections, so that the set does not grow.
                Some(ended) = connections.join_next() => {
                    log_panic(ended);
                    continue;
                }
            };
            start(&mut connections, accepted);
        }
        // Closing the listener would reset the connections in its queue, of which some have requests.
        for accepted in queued(listener, &permits) {
            start(&mut connections, accepted);
        }
        stop.cancel();
        let drained = async {
            let in_time =
                timeout(limits.stream_drain_timeout, join_all(&mut connections)).await.is_ok();
            self.drain.start();
            if !in_time && timeout(limits.drain_timeout, join_all(&mut connections)).await.is_err()
            {
                tracing::info!(connections = connections.len(), "shutdown grace period expired");
            }
        };
        tokio::select! {
            () = drained => {}
            () = self.drain.ended() => {}
        }
        connections.shutdown().await;
    }

    /// Serves the routes of an engine until `shutdown` completes, then shuts the engine down as
    /// well: its executors have until [`Limits::drain_timeout`] after the event streams ended.
    pub async fn serve_engine(
        self,
        listener: TcpListener,
        engine: Engine,
        shutdown: impl Future<Output = ()>,
    ) {
        let (drain, grace) = (self.drain.clone(), self.limits.drain_timeout);
        drain.serve_engines(&[engine], grace, self.serve(listener, shutdown)).await;
    }
}

/// Serves an engine by the router of one binding, at `address`, until Ctrl-C or SIGTERM.
///
/// # Errors
///
/// [`BindError`] if listening fails.
pub async fn serve_binding(router: Router, engine: Engine, address: &str) -> Result<(), BindError> {
    let listener = bind(address).await?;
    tracing::info!(agent = engine.card().name, address, "serving");
    let server = HttpServer::new(router);
    let stop = server.drain().signalled();
    server.serve_engine(listener, engine, stop).await;
    Ok(())
}

/// Waits until all connections have ended.
async fn join_all(connections: &mut JoinSet<()>) {
    while let Some(ended) = connections.join_next().await {
        log_panic(ended);
    }
}

fn log_panic(ended: Result<(), JoinError>) {
    if let Err(error) = ended
        && error.is_panic()
    {
        tracing::error!(%error, "connection task panicked");
    }
}

/// Connections beyond the limit, for health probes, and those of one address.
const RESERVED: usize = 32;
const RESERVED_PER_ADDRESS: usize = 8;

/// The permits for open connections.
struct Permits {
    regular: Arc<Semaphore>,
    /// For health probes; none if the server has no paths for them.
    reserved: Arc<Semaphore>,
    reserved_per_ip: PerIpLimit,
}

impl Permits {
    fn new(limits: &Limits, has_probes: bool) -> Self {
        Self {
            regular: Arc::new(Semaphore::new(limits.max_connections.max(1))),
            reserved: Arc::new(Semaphore::new(if has_probes { RESERVED } else { 0 })),
            reserved_per_ip: PerIpLimit::new(RESERVED_PER_ADDRESS),
        }
    }

    /// Waits for a permit: a reserved one only if the limit is reached.
    async fn acquire(&self) -> Permit {
        let regular = Arc::clone(&self.regular).acquire_owned();
        let reserved = Arc::clone(&self.reserved).acquire_owned();
        tokio::select! {
            biased;
            Ok(_permit) = regular => Permit { _permit, is_reserved: false, _ip_permit: None },
            Ok(_permit) = reserved => Permit { _permit, is_reserved: true, _ip_permit: None },
            // The semaphores are never closed.
            else => std::future::pending().await,
        }
    }

    /// Assigns a permit to an accepted connection: a regular one if there is one by now. `None` if
    /// its address has too many reserved ones.
    fn assign(&self, mut permit: Permit, address: IpAddr) -> Option<Permit> {
        if permit.is_reserved {
            if let Ok(_permit) = Arc::clone(&self.regular).try_acquire_owned() {
                return Some(Permit { _permit, is_reserved: false, _ip_permit: None });
            }
            permit._ip_permit = Some(self.reserved_per_ip.try_acquire(address)?);
        }
        Some(permit)
    }
}

type Accepted = (TcpStream, SocketAddr, Permit);

/// Waits for a permit, then for a connection.
async fn accept(listener: &TcpListener, permits: &Permits) -> Accepted {
    let permit = permits.acquire().await;
    let mut backoff = ACCEPT_BACKOFF.0;
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                // Sends small writes immediately. A failure only adds latency.
                if let Err(error) = stream.set_nodelay(true) {
                    tracing::debug!(%error, "failed to set TCP_NODELAY");
                }
                return (stream, peer, permit);
            }
            // The peer disconnected before it was accepted; the listener is fine.
            Err(error) if is_peer_error(&error) => {}
            Err(error) => {
                // Most likely out of file descriptors, until other connections close.
                tracing::warn!(%error, ?backoff, "accept failed, retrying");
                sleep(backoff).await;
                backoff = (backoff * 2).min(ACCEPT_BACKOFF.1);
            }
        }
    }
}

/// Accepts what is in the queue of a listener, and closes it.
fn queued(listener: TcpListener, permits: &Permits) -> Vec<Accepted> {
    let mut accepted = Vec::new();
    let Ok(listener) = listener.into_std() else { return accepted };
    while let Some(permit) = permits.acquire().now_or_never()
        && let Ok((stream, peer)) = listener.accept()
    {
        let stream = stream.set_nonblocking(true).and_then(|()| TcpStream::from_std(stream));
        accepted.extend(stream.ok().map(|stream| (stream, peer, permit)));
    }
    accepted
}

fn is_peer_error(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}
