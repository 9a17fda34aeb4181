//! Transport errors.

use std::{error::Error as StdError, fmt, io};

use a2a_core::{Error, ErrorKind};
use derive_setters::Setters;
use hyper_util::client::legacy;

use crate::error_log::causes;

/// Why a request got no response, or an incomplete one. It is a source of the [`Error`] that the
/// operation returns: see [`TransportError::of`].
#[derive(Debug, Setters)]
#[setters(prefix = "with_", generate = false)]
pub struct TransportError {
    /// Sets whether the peer may have received the request.
    #[setters(generate)]
    sent: bool,
    /// Sets whether the cause is a timeout.
    #[setters(generate)]
    timed_out: bool,
    source: Box<dyn StdError + Send + Sync>,
}

impl TransportError {
    /// Returns the transport error in the source chain of an error, if any.
    pub fn of(error: &Error) -> Option<&Self> {
        causes(error).find_map(|cause| cause.downcast_ref())
    }

    /// Returns whether the peer may have received the request. If not, a retry is safe.
    pub fn maybe_sent(&self) -> bool {
        self.sent
    }

    /// Returns whether connecting failed.
    pub fn is_connect(&self) -> bool {
        !self.sent
    }

    /// Returns whether the error is a timeout.
    pub fn is_timeout(&self) -> bool {
        self.timed_out
    }

    /// Creates the error of a request that the peer cannot have received.
    pub fn new(source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self { sent: false, timed_out: false, source: source.into() }
    }

    /// Creates the error of a request without a response.
    pub(crate) fn no_response(error: legacy::Error) -> Self {
        Self { sent: !error.is_connect(), timed_out: is_timeout(&error), source: error.into() }
    }

    /// Creates the error of an incomplete response.
    pub(crate) fn incomplete(error: hyper::Error) -> Self {
        Self { sent: true, timed_out: is_timeout(&error), source: error.into() }
    }

    pub(crate) fn timeout(elapsed: tokio::time::error::Elapsed) -> Self {
        Self { sent: true, timed_out: true, source: elapsed.into() }
    }

    /// Converts into the error of an operation. `target` is the origin that was called.
    pub fn into_error(self, target: &str) -> Error {
        let (kind, message) = match (self.sent, self.timed_out) {
            (false, true) => (ErrorKind::Unavailable, format!("timed out connecting to {target}")),
            (false, false) => (ErrorKind::Unavailable, format!("failed to connect to {target}")),
            (true, true) => (
                ErrorKind::DeadlineExceeded,
                format!("timed out waiting for a response from {target}"),
            ),
            (true, false) => (ErrorKind::Unavailable, format!("lost the connection to {target}")),
        };
        let error = Error::new(kind, message).with_metadata("target", target);
        error.with_source(self)
    }
}

/// Returns whether the cause of an error is a timeout, of the operating system or of this crate.
fn is_timeout(error: &(dyn StdError + 'static)) -> bool {
    let mut io = causes(error).filter_map(|cause| cause.downcast_ref::<io::Error>());
    io.any(|error| error.kind() == io::ErrorKind::TimedOut)
}

impl fmt::Display for TransportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match (self.sent, self.timed_out) {
            (false, _) => "connection failed",
            (true, true) => "response timed out",
            (true, false) => "connection lost",
        })
    }
}

impl StdError for TransportError {
    /// Returns the root cause: the intermediate errors of the client add no detail.
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        causes(self.source.as_ref()).last()
    }
}
