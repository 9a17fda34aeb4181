//! The reconnection time of an event stream.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

/// No reconnection time.
const NONE: u64 = u64::MAX;

/// The time that a server asks its clients to wait before they reconnect, the `retry:` of an event
/// stream (WHATWG HTML §9.2), as far as the stream has been read.
#[derive(Clone, Debug)]
pub struct ReconnectionTime(Arc<AtomicU64>);

impl ReconnectionTime {
    pub(super) fn new() -> Self {
        Self(Arc::new(AtomicU64::new(NONE)))
    }

    pub(super) fn set(&self, time: Option<Duration>) {
        let milliseconds =
            time.map_or(NONE, |time| u64::try_from(time.as_millis()).unwrap_or(NONE).min(NONE - 1));
        self.0.store(milliseconds, Ordering::Relaxed);
    }

    /// Returns the time; `None` if the server has not sent one.
    pub fn get(&self) -> Option<Duration> {
        let milliseconds = self.0.load(Ordering::Relaxed);
        (milliseconds != NONE).then(|| Duration::from_millis(milliseconds))
    }
}
