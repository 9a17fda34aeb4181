//! Observes the requests and responses of a client.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use http::{HeaderMap, StatusCode};

/// Observes what a client sends and receives, for diagnostics.
///
/// Headers, URLs and bodies are passed unredacted: the observer has to redact credentials before it
/// displays them. It is called synchronously, and must not block.
pub trait WireObserver: fmt::Debug + Send + Sync {
    /// Called for each part of an exchange: a request and its response. Exchanges are numbered 1,
    /// 2, 3… within the process.
    fn observe(&self, exchange: u64, part: WirePart<'_>);
}

/// A part of an exchange, in order of arrival.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum WirePart<'a> {
    /// The head of a request.
    Request {
        /// The HTTP method.
        method: &'a str,
        /// The URL, including the query.
        url: &'a str,
        /// The headers, or gRPC metadata.
        headers: &'a HeaderMap,
    },
    /// The whole request body; over gRPC the message as JSON.
    RequestBody(&'a [u8]),
    /// The head of the response.
    Response {
        /// The HTTP status.
        status: StatusCode,
        /// The headers, or gRPC metadata.
        headers: &'a HeaderMap,
    },
    /// A chunk of the response body, split anywhere; over gRPC a whole message as JSON.
    ResponseBody(&'a [u8]),
    /// The end of the response.
    End,
    /// The error that prevented or interrupted the response.
    Failed(&'a str),
}

static EXCHANGES: AtomicU64 = AtomicU64::new(0);

/// An exchange and its observer.
#[derive(Clone, Debug)]
pub struct HttpExchange {
    number: u64,
    observer: Arc<dyn WireObserver>,
}

impl HttpExchange {
    /// Starts an exchange.
    pub fn begin(observer: &Arc<dyn WireObserver>) -> Self {
        let number = EXCHANGES.fetch_add(1, Ordering::Relaxed) + 1;
        Self { number, observer: Arc::clone(observer) }
    }

    /// Passes a part of the exchange to the observer.
    pub fn show(&self, part: WirePart<'_>) {
        self.observer.observe(self.number, part);
    }
}
