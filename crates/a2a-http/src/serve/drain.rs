//! The signal that a server is about to stop.

use http::Extensions;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// The signal that the server is about to stop, in the extensions of every request that
/// [`Server`](super::Server) hands on.
///
/// What answers with an endless stream watches it, and ends the stream with an error of kind
/// [`Unavailable`](a2a_core::ErrorKind::Unavailable), so that readers go on elsewhere.
#[derive(Clone, Debug, Default)]
pub struct Drain(CancellationToken);

impl Drain {
    /// Creates a signal that has not been given.
    pub fn new() -> Self {
        Self::default()
    }

    /// Finds the signal of the server that serves a request. Without one, as under another
    /// server loop, returns a signal that is never given.
    pub fn of(extensions: &Extensions) -> Self {
        extensions.get().cloned().unwrap_or_default()
    }

    /// Gives the signal.
    pub fn start(&self) {
        self.0.cancel();
    }

    /// Returns whether the signal was given.
    pub fn has_started(&self) -> bool {
        self.0.is_cancelled()
    }

    /// Waits for the signal.
    pub fn started(&self) -> WaitForCancellationFutureOwned {
        self.0.clone().cancelled_owned()
    }
}
