//! What goes on on a connection.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::time::Instant;

/// What goes on on a connection, seen by what serves it.
#[derive(Debug)]
pub(super) struct Activity {
    begun: Instant,
    has_asked: AtomicBool,
    is_http2: AtomicBool,
    open: AtomicUsize,
    /// When the last answer ended, in milliseconds after the beginning.
    last: AtomicU64,
}

impl Activity {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            begun: Instant::now(),
            has_asked: AtomicBool::new(false),
            is_http2: AtomicBool::new(false),
            open: AtomicUsize::new(0),
            last: AtomicU64::new(0),
        })
    }

    /// Notes a request. What is returned notes the end of its answer when dropped; HTTP/1.1 looks
    /// after idle connections by itself.
    pub(super) fn ask(self: &Arc<Self>, is_http2: bool) -> Option<Open> {
        self.has_asked.store(true, Ordering::Relaxed);
        if !is_http2 {
            return None;
        }
        self.is_http2.store(true, Ordering::Relaxed);
        self.open.fetch_add(1, Ordering::Relaxed);
        Some(Open(Arc::clone(self)))
    }

    pub(super) fn has_asked(&self) -> bool {
        self.has_asked.load(Ordering::Relaxed)
    }

    /// When a connection of HTTP/2 will have been idle for `longest`; `None` for others.
    pub(super) fn idle_at(&self, longest: Duration) -> Option<Instant> {
        if !self.is_http2.load(Ordering::Relaxed) {
            return None;
        }
        if self.open.load(Ordering::Relaxed) > 0 {
            return Some(Instant::now() + longest);
        }
        let last = Duration::from_millis(self.last.load(Ordering::Relaxed));
        Some(self.begun + last + longest)
    }
}

/// A request whose answer has not ended.
#[derive(Debug)]
pub(super) struct Open(Arc<Activity>);

impl Drop for Open {
    fn drop(&mut self) {
        let now = u64::try_from(self.0.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.0.last.store(now, Ordering::Relaxed);
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}
