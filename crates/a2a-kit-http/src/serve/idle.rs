//! Idle tracking of a connection.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::time::Instant;

/// Counts the requests in flight on a connection, for the first-request and idle timeouts.
#[derive(Debug)]
pub(super) struct IdleTracker {
    accepted: Instant,
    has_request: AtomicBool,
    is_http2: AtomicBool,
    in_flight: AtomicUsize,
    /// End of the last response, in milliseconds after `accepted`.
    last_response: AtomicU64,
}

impl IdleTracker {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            accepted: Instant::now(),
            has_request: AtomicBool::new(false),
            is_http2: AtomicBool::new(false),
            in_flight: AtomicUsize::new(0),
            last_response: AtomicU64::new(0),
        })
    }

    /// Records a request. Dropping the returned guard records the end of its response. There is
    /// none over HTTP/1.1, where hyper closes idle connections.
    pub(super) fn begin_request(self: &Arc<Self>, is_http2: bool) -> Option<InFlight> {
        self.has_request.store(true, Ordering::Relaxed);
        if !is_http2 {
            return None;
        }
        self.is_http2.store(true, Ordering::Relaxed);
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        Some(InFlight(Arc::clone(self)))
    }

    /// Returns whether the connection has received a request.
    pub(super) fn has_request(&self) -> bool {
        self.has_request.load(Ordering::Relaxed)
    }

    /// Returns when an HTTP/2 connection will have been idle for `timeout`; `None` for HTTP/1.1.
    pub(super) fn idle_deadline(&self, timeout: Duration) -> Option<Instant> {
        if !self.is_http2.load(Ordering::Relaxed) {
            return None;
        }
        if self.in_flight.load(Ordering::Relaxed) > 0 {
            return Some(Instant::now() + timeout);
        }
        let last_response = Duration::from_millis(self.last_response.load(Ordering::Relaxed));
        Some(self.accepted + last_response + timeout)
    }
}

/// Guard of a request whose response has not ended.
#[derive(Debug)]
pub(super) struct InFlight(Arc<IdleTracker>);

impl Drop for InFlight {
    fn drop(&mut self) {
        let now = u64::try_from(self.0.accepted.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.0.last_response.store(now, Ordering::Relaxed);
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}
