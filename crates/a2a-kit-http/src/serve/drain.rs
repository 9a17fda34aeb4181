//! The drain signal of a graceful shutdown.

use http::Extensions;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// The drain signal of a graceful shutdown. [`Server`](super::Server) adds it to the extensions of
/// every request.
///
/// A handler that responds with an endless stream watches it, and ends the stream with an error of
/// kind [`Unavailable`](a2a_core::ErrorKind::Unavailable), so that clients resume on another node.
#[derive(Clone, Debug, Default)]
pub struct Drain(CancellationToken);

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

    /// Starts draining.
    pub fn start(&self) {
        self.0.cancel();
    }

    /// Returns whether draining has started.
    pub fn has_started(&self) -> bool {
        self.0.is_cancelled()
    }

    /// Waits until draining starts.
    pub fn started(&self) -> WaitForCancellationFutureOwned {
        self.0.clone().cancelled_owned()
    }
}
