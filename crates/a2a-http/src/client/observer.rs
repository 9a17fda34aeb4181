//! What a client sends and receives, shown to an observer.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use http::{HeaderMap, StatusCode};

/// Sees what a client sends and receives, for diagnostics.
///
/// Headers, addresses and bodies hold credentials as they are sent: an observer has to mask them
/// wherever it shows them. It is called while the call waits, so it has to be quick.
pub trait WireObserver: fmt::Debug + Send + Sync {
    /// Sees a part of an exchange: a request, and what comes back for it. Exchanges are numbered
    /// 1, 2, 3… within the process.
    fn observe(&self, exchange: u64, part: WirePart<'_>);
}

/// A part of an exchange, in the order in which they come.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum WirePart<'a> {
    /// The head of a request.
    Request {
        /// The method of HTTP.
        method: &'a str,
        /// The address, with its query.
        url: &'a str,
        /// The headers, or metadata of gRPC.
        headers: &'a HeaderMap,
    },
    /// The whole body of the request; over gRPC its message as JSON.
    RequestBody(&'a [u8]),
    /// The head of the answer.
    Response {
        /// The status of HTTP.
        status: StatusCode,
        /// The headers, or metadata of gRPC.
        headers: &'a HeaderMap,
    },
    /// A piece of the body of the answer, cut anywhere; over gRPC a whole message as JSON.
    ResponseBody(&'a [u8]),
    /// The end of the answer.
    End,
    /// Why there is no answer, or no more of it.
    Failed(&'a str),
}

static EXCHANGES: AtomicU64 = AtomicU64::new(0);

/// One exchange, with whoever observes it.
#[derive(Clone, Debug)]
pub struct Exchange {
    number: u64,
    observer: Arc<dyn WireObserver>,
}

impl Exchange {
    /// Begins an exchange.
    pub fn begin(observer: &Arc<dyn WireObserver>) -> Self {
        let number = EXCHANGES.fetch_add(1, Ordering::Relaxed) + 1;
        Self { number, observer: Arc::clone(observer) }
    }

    /// Shows a part of the exchange.
    pub fn show(&self, part: WirePart<'_>) {
        self.observer.observe(self.number, part);
    }
}
