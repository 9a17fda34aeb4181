//! The signals that stop a server.

use std::future::Future;

use super::Drain;

/// Completes when the process is asked to stop: by Ctrl-C (SIGINT), or by SIGTERM where there is
/// one. Signals are handled from this call on, not only once the future is polled.
///
/// [`Drain::signalled`] also ends the drain at the second signal.
pub fn shutdown_signal() -> impl Future<Output = ()> + Send {
    let mut signals = Signals::new();
    async move { signals.next().await }
}

impl Drain {
    /// Completes at the first signal of [`shutdown_signal`]. The second one [ends](Self::end) the
    /// drain.
    ///
    /// # Panics
    ///
    /// The future, if it is polled outside of a tokio runtime.
    pub fn signalled(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut signals = Signals::new();
        let drain = self.clone();
        async move {
            signals.next().await;
            tokio::spawn(async move {
                signals.next().await;
                drain.end();
            });
        }
    }
}

/// The signals of the process, from its creation on.
struct Signals {
    #[cfg(unix)]
    unix: Option<[tokio::signal::unix::Signal; 2]>,
}

impl Signals {
    #[cfg(unix)]
    fn new() -> Self {
        use tokio::signal::unix::{SignalKind, signal};
        let listen = |kind| {
            signal(kind)
                .inspect_err(|error| tracing::warn!(%error, "failed to install signal handler"))
                .ok()
        };
        let both = listen(SignalKind::interrupt()).zip(listen(SignalKind::terminate()));
        Self { unix: both.map(|(interrupt, terminate)| [interrupt, terminate]) }
    }

    #[cfg(not(unix))]
    fn new() -> Self {
        Self {}
    }

    async fn next(&mut self) {
        #[cfg(unix)]
        if let Some([interrupt, terminate]) = &mut self.unix {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            return;
        }
        // Without a handler, the signal ends the process without a drain.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
