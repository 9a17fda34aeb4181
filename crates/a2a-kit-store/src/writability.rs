//! Whether the writes of a store succeed, for readiness.

use parking_lot::Mutex;

/// The size of the failed write that no write of at least this size has succeeded after, in bytes.
///
/// A smaller write that succeeds tells nothing: a full disk may still have room for it.
#[derive(Debug, Default)]
pub(crate) struct Writability(Mutex<Option<usize>>);

impl Writability {
    /// Records a failed write, and returns whether writes succeeded until then.
    pub(crate) fn failed(&self, bytes: usize) -> bool {
        let mut failing = self.0.lock();
        let before = *failing;
        *failing = before.max(Some(bytes));
        before.is_none()
    }

    /// Records a successful write, and returns whether writes failed until then.
    pub(crate) fn succeeded(&self, bytes: usize) -> bool {
        self.0.lock().take_if(|failing| bytes >= *failing).is_some()
    }

    /// The size that a write must have to show that writes succeed again, if they fail.
    pub(crate) fn failing(&self) -> Option<usize> {
        *self.0.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_write_at_least_as_large_as_the_failed_one_shows_that_writes_succeed() {
        let writes = Writability::default();
        assert!(!writes.succeeded(0) && writes.failing().is_none());
        assert!(writes.failed(100));
        assert!(!writes.failed(70) && !writes.succeeded(99));
        assert_eq!(writes.failing(), Some(100));
        assert!(writes.succeeded(100) && writes.failing().is_none());
        assert!(writes.failed(0) && writes.succeeded(0));
    }
}
