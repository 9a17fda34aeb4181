//! The drain signal of a graceful shutdown.

use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use a2a_kit_operations::Engine;
use futures_util::future::join_all;
use http::Extensions;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// The drain signal of a graceful shutdown. [`HttpServer`](super::HttpServer) adds it to the extensions of
/// every request.
///
/// A handler that responds with an endless stream watches it, and ends the stream with an error of
/// kind [`Unavailable`](a2a_core::ErrorKind::Unavailable), so that clients resume on another node.
#[derive(Clone, Debug, Default)]
pub struct Drain(Arc<Signals>);

#[derive(Debug, Default)]
struct Signals {
    announced: AtomicBool,
    started: CancellationToken,
    ended: CancellationToken,
}

impl Drain {
    /// Creates a signal that has not started.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the signal of the server that received a request. Under another server, which adds
    /// none, returns a signal that never starts.
    pub fn of(extensions: &Extensions) -> Self {
        extensions.get().cloned().unwrap_or_default()
    }

    /// Announces that the server is about to stop: `/readyz` returns 503, and responses over HTTP/1.1
    /// close their connections, so that load balancers move on while requests are still accepted.
    /// [`HttpServer`](super::HttpServer) does so [`Limits::shutdown_delay`](crate::Limits::shutdown_delay)
    /// before it stops.
    pub fn announce(&self) {
        if !self.0.announced.swap(true, Ordering::Relaxed) {
            tracing::info!("shutting down");
        }
    }

    /// Returns whether the end of the server was announced, or draining has started.
    pub fn is_announced(&self) -> bool {
        self.0.announced.load(Ordering::Relaxed)
    }

    /// Starts draining.
    pub fn start(&self) {
        self.announce();
        if !self.0.started.is_cancelled() {
            tracing::info!("draining");
        }
        self.0.started.cancel();
    }

    /// Returns whether draining has started.
    pub fn has_started(&self) -> bool {
        self.0.started.is_cancelled()
    }

    /// Waits until draining starts.
    pub fn started(&self) -> impl Future<Output = ()> + Send + Sync + use<> {
        self.start_signal()
    }

    /// The same with a name, to keep it in a field.
    pub(crate) fn start_signal(&self) -> WaitForCancellationFutureOwned {
        self.0.started.clone().cancelled_owned()
    }

    /// Ends all grace periods: connections that are still open are closed, and executors that are
    /// still running are dropped.
    pub fn end(&self) {
        self.start();
        self.0.ended.cancel();
    }

    /// Waits until [`end`](Self::end) is called.
    pub(super) fn ended(&self) -> WaitForCancellationFutureOwned {
        self.0.ended.clone().cancelled_owned()
    }

    /// Runs the servers of some engines, which share this signal, and shuts the engines down after
    /// them. Connections and executors share one grace period, which begins when the drain starts.
    pub async fn serve_engines(
        &self,
        engines: &[Engine],
        grace: Duration,
        servers: impl Future<Output = ()>,
    ) {
        self.shut_down_engines(engines, grace, servers).await;
        tracing::info!("stopped");
    }

    /// The same for a program that has more to stop afterwards, and logs itself that it has stopped.
    pub async fn shut_down_engines(
        &self,
        engines: &[Engine],
        grace: Duration,
        servers: impl Future<Output = ()>,
    ) {
        let deadline = async {
            self.started().await;
            Instant::now() + grace
        };
        let (deadline, ()) = tokio::join!(deadline, servers);
        let shutdown = |grace| join_all(engines.iter().map(move |engine| engine.shutdown(grace)));
        tokio::select! {
            _all = shutdown(deadline.saturating_duration_since(Instant::now())) => {}
            () = self.ended() => {
                shutdown(Duration::ZERO).await;
            }
        }
    }
}
