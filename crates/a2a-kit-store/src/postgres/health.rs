//! What the sessions of a node have learnt about their database together.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::watch;

use super::link_error::LinkError;
use crate::writability::Writability;

/// Sessions of a primary that was demoted stay open and read-only for their life, while new ones
/// reach the new primary. So when one turns out to be read-only, and when writes succeed again after
/// that, all sessions that are open are replaced.
#[derive(Debug, Default)]
pub(super) struct Health {
    /// Sessions of another generation are replaced.
    generation: watch::Sender<u64>,
    is_read_only: AtomicBool,
    pub(super) writability: Writability,
}

impl Health {
    pub(super) fn generation(&self) -> u64 {
        *self.generation.borrow()
    }

    /// Waits until sessions of this generation are to be replaced.
    pub(super) async fn outdated(&self, generation: u64) {
        let mut changes = self.generation.subscribe();
        // The sender lives as long as `self`.
        let _ = changes.wait_for(|current| *current != generation).await;
    }

    /// A session rejected a write because it is read-only.
    pub(super) fn found_read_only(&self) {
        if !self.is_read_only.swap(true, Ordering::Relaxed) {
            self.replace_sessions();
        }
    }

    /// A write failed for good.
    pub(super) fn failed(&self, error: &LinkError, bytes: usize) {
        if error.is_failed_write() {
            self.writability.failed(bytes, error);
        }
    }

    /// A write succeeded.
    pub(super) fn written(&self, bytes: usize) {
        if self.is_read_only.load(Ordering::Relaxed)
            && self.is_read_only.swap(false, Ordering::Relaxed)
        {
            self.replace_sessions();
        }
        self.writability.succeeded(bytes);
    }

    fn replace_sessions(&self) {
        self.generation.send_modify(|generation| *generation += 1);
    }
}
