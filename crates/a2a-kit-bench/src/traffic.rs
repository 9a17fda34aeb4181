//! The bytes of requests and responses.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use a2a_kit_http::client::{WireObserver, WirePart};

/// Counts the bytes of request and response bodies.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    sent: AtomicU64,
    received: AtomicU64,
    next: Option<Arc<dyn WireObserver>>,
}

impl Traffic {
    /// Creates a counter that also calls another observer.
    pub(crate) fn before(next: Option<Arc<dyn WireObserver>>) -> Self {
        Self { next, ..Self::default() }
    }

    pub(crate) fn add_sent(&self, bytes: usize) {
        self.sent.fetch_add(u64::try_from(bytes).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    pub(crate) fn add_received(&self, bytes: usize) {
        self.received.fetch_add(u64::try_from(bytes).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Returns the bytes sent and received since the last call.
    pub(crate) fn take(&self) -> (u64, u64) {
        (self.sent.swap(0, Ordering::Relaxed), self.received.swap(0, Ordering::Relaxed))
    }
}

impl WireObserver for Traffic {
    fn observe(&self, exchange: u64, part: WirePart<'_>) {
        if let Some(next) = &self.next {
            next.observe(exchange, part);
        }
        match part {
            WirePart::RequestBody(bytes) => self.add_sent(bytes.len()),
            WirePart::ResponseBody(bytes) => self.add_received(bytes.len()),
            _ => {}
        }
    }
}
