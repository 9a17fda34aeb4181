//! The memory budget of responses that their peers have not yet read.

use std::{
    collections::HashMap,
    hash::{BuildHasher as _, RandomState},
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use a2a_core::{Error, Result};
use a2a_kit_operations::metrics;
use bytes::Bytes;

use super::body_budget::{BodyBudget, Reservation};
use crate::{
    Limits,
    read_budget::{UNCOUNTED, guarded},
};

/// Minimum size of chunks that share one buffer if their content is equal, in bytes.
const MIN_SHARED: usize = 64 << 10;

/// `Retry-After` of a response over budget: slow readers are disconnected soon.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Counts buffered response bytes against a budget of the server and one of each address.
///
/// Large chunks with equal content share one buffer across responses, so a task that many peers
/// read is in memory once. It counts for the address that was first.
#[derive(Debug)]
pub(super) struct ResponseBudget {
    budget: Arc<BodyBudget>,
    hasher: RandomState,
    shared: Index,
}

/// Large chunks in memory, by hash.
type Index = Arc<Mutex<HashMap<u64, Weak<Shared>>>>;

/// A large chunk, shared by any number of responses.
#[derive(Debug)]
struct Shared {
    bytes: Box<[u8]>,
    hash: u64,
    index: Index,
    _reservation: Reservation,
}

/// Keeps a large chunk in memory for one response.
struct SharedRef(Arc<Shared>);

impl ResponseBudget {
    pub(super) fn new(limits: &Limits) -> Self {
        let budget = BodyBudget::for_responses(limits);
        Self { budget, hasher: RandomState::new(), shared: Index::default() }
    }

    /// Counts a chunk of a response for an address until every part of the returned bytes is
    /// dropped.
    pub(super) fn count(&self, address: IpAddr, bytes: Bytes) -> Result<Bytes> {
        if bytes.len() <= UNCOUNTED {
            return Ok(bytes);
        }
        if bytes.len() < MIN_SHARED {
            let reservation = self.reserve(address, bytes.len())?;
            return Ok(guarded(bytes, reservation));
        }
        let hash = self.hasher.hash_one(&*bytes);
        let existing = lock(&self.shared).get(&hash).and_then(Weak::upgrade);
        if let Some(existing) = existing
            && *existing.bytes == *bytes
        {
            return Ok(Bytes::from_owner(SharedRef(existing)));
        }
        let reservation = self.reserve(address, bytes.len())?;
        // An exact copy: the capacity of the buffer may be twice its length.
        let bytes = Box::from(&*bytes);
        let index = Arc::clone(&self.shared);
        let shared = Arc::new(Shared { bytes, hash, index, _reservation: reservation });
        lock(&self.shared).insert(hash, Arc::downgrade(&shared));
        Ok(Bytes::from_owner(SharedRef(shared)))
    }

    fn reserve(&self, address: IpAddr, bytes: usize) -> Result<Reservation> {
        let mut reservation = self.budget.reservation(address);
        if reservation.try_grow(bytes) {
            return Ok(reservation);
        }
        metrics::refused("responses");
        let message = "too many unread response bytes (max_pending_response_bytes)";
        Err(Error::unavailable(message).with_retry_after(RETRY_AFTER))
    }
}

/// The budget for the responses of one connection.
#[derive(Clone, Debug)]
pub(super) struct AddressBudget {
    pub(super) budget: Arc<ResponseBudget>,
    pub(super) address: IpAddr,
}

impl AddressBudget {
    /// Counts a chunk of a response until every part of the returned bytes is dropped.
    pub(super) fn count(&self, bytes: Bytes) -> Result<Bytes> {
        self.budget.count(self.address, bytes)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let mut index = lock(&self.index);
        // Another chunk with the same hash may have replaced it.
        if index.get(&self.hash).is_some_and(|shared| shared.strong_count() == 0) {
            index.remove(&self.hash);
        }
    }
}

impl AsRef<[u8]> for SharedRef {
    fn as_ref(&self) -> &[u8] {
        &self.0.bytes
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDRESS: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    fn budget(bytes: usize) -> ResponseBudget {
        ResponseBudget::new(&Limits::default().with_max_pending_response_bytes(bytes))
    }

    fn chunk(byte: u8, len: usize) -> Bytes {
        Bytes::from(vec![byte; len])
    }

    #[test]
    fn equal_chunks_share_one_buffer_and_count_once() {
        let budget = budget(4 << 20);
        let first = budget.count(ADDRESS, chunk(1, 1 << 20)).unwrap();
        for _ in 0..100 {
            let again = budget.count(ADDRESS, chunk(1, 1 << 20)).unwrap();
            assert_eq!(again.as_ptr(), first.as_ptr());
        }
        assert_eq!(budget.budget.reserved(), 1 << 20);
        assert!(
            budget.count(ADDRESS, chunk(2, 1 << 20)).is_err(),
            "the address is limited to a quarter"
        );
        // A part of a chunk keeps the whole chunk in memory.
        let rest = first.slice(1_000_000..);
        drop(first);
        assert_eq!(budget.budget.reserved(), 1 << 20);
        drop(rest);
        assert_eq!(budget.budget.reserved(), 0);
        assert!(lock(&budget.shared).is_empty(), "sent chunks are not indexed");
        assert!(budget.count(ADDRESS, chunk(2, 1 << 20)).is_ok());
    }

    #[test]
    fn only_chunks_above_the_threshold_count() {
        let budget = budget(80 << 10);
        let small: Vec<_> =
            (0..100).map(|_| budget.count(ADDRESS, chunk(0, UNCOUNTED)).unwrap()).collect();
        assert_eq!(budget.budget.reserved(), 0);
        let medium = budget.count(ADDRESS, chunk(0, UNCOUNTED + 1)).unwrap();
        assert_eq!(budget.budget.reserved(), UNCOUNTED + 1);
        assert!(budget.count(ADDRESS, chunk(0, UNCOUNTED + 1)).is_err());
        drop((small, medium));
        assert_eq!(budget.budget.reserved(), 0);
    }
}
