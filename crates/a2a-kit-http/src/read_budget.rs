//! The memory budget of responses that are being read.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use a2a_core::{Error, Result};
use bytes::Bytes;

/// Size up to which a response or an event does not count, written or read, in bytes: every open
/// stream may buffer as much.
pub(crate) const UNCOUNTED: usize = 16 << 10;

/// A budget for the bytes of responses and events that clients hold until they are decoded, shared
/// by its clones: a gateway reads for many callers at a time.
///
/// A response beyond the budget fails with
/// [`Unavailable`](a2a_core::ErrorKind::Unavailable). One that is larger than the whole budget is
/// accepted while nothing else is held.
#[derive(Clone, Debug)]
pub struct ReadBudget {
    max_bytes: usize,
    reserved: Arc<AtomicUsize>,
}

impl ReadBudget {
    /// Creates a budget of `max_bytes` for all clients that share it.
    pub fn new(max_bytes: usize) -> Self {
        Self { max_bytes, reserved: Arc::default() }
    }

    /// The number of bytes that clients hold.
    pub fn reserved(&self) -> usize {
        self.reserved.load(Ordering::Relaxed)
    }
}

/// The bytes of one response that are held, released on drop. Without a budget, they do not count.
#[derive(Debug)]
pub struct HeldBytes {
    budget: Option<ReadBudget>,
    counted: usize,
}

impl HeldBytes {
    /// Creates an empty reservation.
    pub fn new(budget: Option<ReadBudget>) -> Self {
        Self { budget, counted: 0 }
    }

    /// Sets the number of bytes that are held.
    ///
    /// # Errors
    ///
    /// [`Unavailable`](a2a_core::ErrorKind::Unavailable) if the budget is exhausted.
    pub fn set(&mut self, bytes: usize) -> Result<()> {
        let Some(ReadBudget { max_bytes, reserved }) = &self.budget else { return Ok(()) };
        let counted = if bytes <= UNCOUNTED { 0 } else { bytes };
        let before = self.counted;
        if counted > before {
            let replace = |total: usize| {
                let others = total.saturating_sub(before);
                let total = others.saturating_add(counted);
                (total <= *max_bytes || others == 0).then_some(total)
            };
            if reserved.fetch_update(Ordering::Relaxed, Ordering::Relaxed, replace).is_err() {
                return Err(Error::unavailable(
                    "too many bytes of responses are being read (max_pending_response_bytes)",
                )
                .with_retry_after(std::time::Duration::from_secs(1)));
            }
        } else {
            reserved.fetch_sub(before - counted, Ordering::Relaxed);
        }
        self.counted = counted;
        Ok(())
    }

    /// Returns bytes that count until every part of them is dropped.
    pub(crate) fn keep(self, bytes: Bytes) -> Bytes {
        if self.counted == 0 { bytes } else { guarded(bytes, self) }
    }
}

impl Drop for HeldBytes {
    fn drop(&mut self) {
        if let Some(budget) = &self.budget {
            budget.reserved.fetch_sub(self.counted, Ordering::Relaxed);
        }
    }
}

/// Returns bytes that keep `guard` until every part of them is dropped.
pub(crate) fn guarded(bytes: Bytes, guard: impl Send + 'static) -> Bytes {
    Bytes::from_owner(Guarded { bytes, _guard: guard })
}

struct Guarded<G> {
    bytes: Bytes,
    _guard: G,
}

impl<G> AsRef<[u8]> for Guarded<G> {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn held_bytes_are_limited_in_total_and_released() {
        let budget = ReadBudget::new(100 << 10);
        let held = || HeldBytes::new(Some(budget.clone()));
        let (mut first, mut second) = (held(), held());
        first.set(UNCOUNTED).unwrap();
        assert_eq!(budget.reserved(), 0, "small responses do not count");
        first.set(60 << 10).unwrap();
        assert!(second.set(50 << 10).is_err());
        first.set(50 << 10).unwrap();
        second.set(50 << 10).unwrap();
        drop(first);
        assert_eq!(budget.reserved(), 50 << 10);
        second.set(200 << 10).expect("alone, it may be larger");
        assert!(held().set(20 << 10).is_err());
        let bytes = second.keep(Bytes::from_static(b"abc"));
        let part = bytes.slice(1..);
        drop(bytes);
        assert_eq!(budget.reserved(), 200 << 10);
        drop(part);
        assert_eq!(budget.reserved(), 0);
    }
}
