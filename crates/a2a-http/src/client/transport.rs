//! Why an answer did not come.

use std::{error::Error as StdError, fmt};

use a2a_core::{Error, ErrorKind};

/// Why a request got no answer, or only a part of one. It is the source of the
/// [`Error`] that an operation gives; [`TransportError::of`] finds it there.
#[derive(Debug)]
pub struct TransportError {
    sent: bool,
    timed_out: bool,
    source: Box<dyn StdError + Send + Sync>,
}

impl TransportError {
    /// Finds the failure of the transport behind an error, if there is one.
    pub fn of(error: &Error) -> Option<&Self> {
        let mut cause = error.source();
        while let Some(error) = cause {
            if let Some(transport) = error.downcast_ref() {
                return Some(transport);
            }
            cause = error.source();
        }
        None
    }

    /// Returns whether the peer may have seen the request. Where it has not, making the same
    /// request again can't do anything twice.
    pub fn maybe_sent(&self) -> bool {
        self.sent
    }

    /// Returns whether no connection could be made.
    pub fn is_connect(&self) -> bool {
        !self.sent
    }

    /// Returns whether time ran out.
    pub fn is_timeout(&self) -> bool {
        self.timed_out
    }

    /// Creates the failure of a transport. `sent` unless the peer can't have seen the request.
    pub fn new(
        sent: bool,
        timed_out: bool,
        source: impl Into<Box<dyn StdError + Send + Sync>>,
    ) -> Self {
        Self { sent, timed_out, source: source.into() }
    }

    pub(crate) fn from_reqwest(error: reqwest::Error) -> Self {
        let sent = !(error.is_connect() || error.is_builder());
        // The address is in the message already, and may carry what is not for the log.
        Self { sent, timed_out: error.is_timeout(), source: error.without_url().into() }
    }

    pub(crate) fn timeout(elapsed: tokio::time::error::Elapsed) -> Self {
        Self { sent: true, timed_out: true, source: elapsed.into() }
    }

    /// Makes the error that an operation gives. `target` is the origin that was called.
    pub fn into_error(self, target: &str) -> Error {
        let (kind, message) = match (self.sent, self.timed_out) {
            (false, true) => {
                (ErrorKind::Unavailable, format!("{target} did not accept a connection in time"))
            }
            (false, false) => (ErrorKind::Unavailable, format!("{target} could not be reached")),
            (true, true) => {
                (ErrorKind::DeadlineExceeded, format!("{target} did not answer in time"))
            }
            (true, false) => {
                (ErrorKind::Unavailable, format!("the connection to {target} was lost"))
            }
        };
        let error = Error::new(kind, message).with_metadata("target", target);
        error.with_source(self)
    }
}

impl fmt::Display for TransportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match (self.sent, self.timed_out) {
            (false, _) => "no connection",
            (true, true) => "no answer in time",
            (true, false) => "connection lost",
        })
    }
}

impl StdError for TransportError {
    /// The innermost cause: the layers of the client above it say nothing more.
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        let mut cause: &(dyn StdError + 'static) = self.source.as_ref();
        while let Some(inner) = cause.source() {
            cause = inner;
        }
        Some(cause)
    }
}
