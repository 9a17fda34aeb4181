//! What a connection is doing: requests in flight and the end of the last response.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::time::Instant;

/// The requests of a connection, for its timeouts.
#[derive(Debug)]
pub(super) struct Activity {
    accepted: Instant,
    /// Requests so far, modulo 2^32.
    requests: AtomicU32,
    is_http2: AtomicBool,
    in_flight: AtomicUsize,
    /// End of the last response, in milliseconds after `accepted`.
    last_response: AtomicU64,
    /// Whether an event stream should write a comment, because its peer may be gone.
    probe: AtomicBool,
}

impl Activity {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            accepted: Instant::now(),
            requests: AtomicU32::new(0),
            is_http2: AtomicBool::new(false),
            in_flight: AtomicUsize::new(0),
            last_response: AtomicU64::new(0),
            probe: AtomicBool::new(false),
        })
    }

    /// Records a request. Dropping the returned guard records the end of its response.
    pub(super) fn begin_request(self: &Arc<Self>, is_http2: bool) -> InFlight {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.is_http2.store(is_http2, Ordering::Relaxed);
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        InFlight { activity: Arc::clone(self), is_http2 }
    }

    /// Returns how many requests the connection has received, modulo 2^32.
    pub(super) fn requests(&self) -> u32 {
        self.requests.load(Ordering::Relaxed)
    }

    /// Returns whether a response has not ended.
    pub(super) fn has_request_in_flight(&self) -> bool {
        self.in_flight.load(Ordering::Relaxed) > 0
    }

    /// Returns whether the connection has received a request over HTTP/2.
    pub(super) fn is_http2(&self) -> bool {
        self.is_http2.load(Ordering::Relaxed)
    }

    /// Returns when the connection will have been idle for `timeout`.
    pub(super) fn idle_deadline(&self, timeout: Duration) -> Instant {
        if self.has_request_in_flight() {
            return Instant::now() + timeout;
        }
        let last_response = Duration::from_millis(self.last_response.load(Ordering::Relaxed));
        self.accepted + last_response + timeout
    }

    /// Lets an event stream write a comment, to which a peer that is gone responds with a reset.
    pub(super) fn begin_probe(&self) {
        self.probe.store(true, Ordering::Relaxed);
    }
}

/// Guard of a request whose response has not ended.
#[derive(Debug)]
pub(super) struct InFlight {
    activity: Arc<Activity>,
    is_http2: bool,
}

impl InFlight {
    pub(super) fn is_http2(&self) -> bool {
        self.is_http2
    }

    /// Returns whether a probe was requested, once.
    pub(super) fn take_probe(&self) -> bool {
        self.activity.probe.load(Ordering::Relaxed)
            && self.activity.probe.swap(false, Ordering::Relaxed)
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let activity = &self.activity;
        // The idle time begins with the end of the last of them.
        if activity.in_flight.fetch_sub(1, Ordering::Relaxed) == 1 {
            let now = u64::try_from(activity.accepted.elapsed().as_millis()).unwrap_or(u64::MAX);
            activity.last_response.store(now, Ordering::Relaxed);
        }
    }
}
