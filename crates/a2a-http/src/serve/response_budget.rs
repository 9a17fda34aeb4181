//! The memory of responses that wait for their peers to take them.

use std::{
    collections::HashMap,
    hash::{BuildHasher as _, RandomState},
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use a2a_core::{Error, ErrorKind};
use a2a_operations::metrics;
use bytes::Bytes;

use super::room::{Place, Room};
use crate::Limits;

/// Size up to which a piece of a response is not counted, in bytes: as much waits of every stream
/// that is open.
pub(crate) const UNCOUNTED: usize = 16 << 10;

/// Size from which on equal pieces of responses share one buffer, in bytes.
const SHARED: usize = 64 << 10;

/// When a peer may come back whose response did not fit: slow readers are closed soon.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Counts the bytes of responses that are held in memory until their peers take them, against a
/// budget of all and one of each address.
///
/// Large pieces with the same content are kept once, however many responses they are part of: a
/// task that many peers ask for is there once. They count for the address that was first.
#[derive(Debug)]
pub(super) struct ResponseBudget {
    room: Room,
    hasher: RandomState,
    shared: Known,
}

/// Large pieces that are held, by their hash.
type Known = Arc<Mutex<HashMap<u64, Weak<Shared>>>>;

/// A large piece, which any number of responses is made of.
#[derive(Debug)]
struct Shared {
    bytes: Box<[u8]>,
    hash: u64,
    known: Known,
    _place: Place,
}

/// Keeps a large piece for one response.
struct Reader(Arc<Shared>);

/// Keeps a piece of a response with what it has of the budget.
struct Counted {
    bytes: Bytes,
    _place: Place,
}

/// There is no room for a response.
#[derive(Debug)]
pub(super) struct OverBudget;

impl ResponseBudget {
    pub(super) fn new(limits: &Limits) -> Self {
        let room = Room::of_responses(limits);
        Self { room, hasher: RandomState::new(), shared: Known::default() }
    }

    /// Counts a piece of a response for an address, until all of what is returned is dropped.
    pub(super) fn count(&self, address: IpAddr, bytes: Bytes) -> Result<Bytes, OverBudget> {
        if bytes.len() <= UNCOUNTED {
            return Ok(bytes);
        }
        if bytes.len() < SHARED {
            let place = self.take(address, bytes.len())?;
            return Ok(Bytes::from_owner(Counted { bytes, _place: place }));
        }
        let hash = self.hasher.hash_one(&*bytes);
        let known = lock(&self.shared).get(&hash).and_then(Weak::upgrade);
        if let Some(known) = known
            && *known.bytes == *bytes
        {
            return Ok(Bytes::from_owner(Reader(known)));
        }
        let place = self.take(address, bytes.len())?;
        // A copy of exactly that size: the buffer may have grown to twice as much.
        let bytes = Box::from(&*bytes);
        let known = Arc::clone(&self.shared);
        let shared = Arc::new(Shared { bytes, hash, known, _place: place });
        lock(&self.shared).insert(hash, Arc::downgrade(&shared));
        Ok(Bytes::from_owner(Reader(shared)))
    }

    fn take(&self, address: IpAddr, bytes: usize) -> Result<Place, OverBudget> {
        let mut place = self.room.place(address);
        if place.take(bytes) {
            return Ok(place);
        }
        metrics::refused("responses");
        Err(OverBudget)
    }
}

/// The budget, for the responses of one connection.
#[derive(Clone, Debug)]
pub(super) struct ForAddress {
    pub(super) budget: Arc<ResponseBudget>,
    pub(super) address: IpAddr,
}

impl ForAddress {
    /// Counts a piece of a response, until all of what is returned is dropped.
    pub(super) fn count(&self, bytes: Bytes) -> Result<Bytes, OverBudget> {
        self.budget.count(self.address, bytes)
    }
}

impl From<OverBudget> for Error {
    fn from(_: OverBudget) -> Self {
        let message = "too many bytes of responses wait to be read (max_pending_response_bytes)";
        Self::new(ErrorKind::Unavailable, message).with_retry_after(RETRY_AFTER)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let mut known = lock(&self.known);
        // Another one with the same hash may have taken its place.
        if known.get(&self.hash).is_some_and(|shared| shared.strong_count() == 0) {
            known.remove(&self.hash);
        }
    }
}

impl AsRef<[u8]> for Reader {
    fn as_ref(&self) -> &[u8] {
        &self.0.bytes
    }
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
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

    fn piece(byte: u8, len: usize) -> Bytes {
        Bytes::from(vec![byte; len])
    }

    #[test]
    fn equal_pieces_share_one_buffer_and_count_once() {
        let budget = budget(4 << 20);
        let first = budget.count(ADDRESS, piece(1, 1 << 20)).unwrap();
        for _ in 0..100 {
            let again = budget.count(ADDRESS, piece(1, 1 << 20)).unwrap();
            assert_eq!(again.as_ptr(), first.as_ptr());
        }
        assert_eq!(budget.room.taken(), 1 << 20);
        assert!(budget.count(ADDRESS, piece(2, 1 << 20)).is_err(), "the address has its quarter");
        // What is left of a piece that is being sent keeps all of it.
        let rest = first.slice(1_000_000..);
        drop(first);
        assert_eq!(budget.room.taken(), 1 << 20);
        drop(rest);
        assert_eq!(budget.room.taken(), 0);
        assert!(lock(&budget.shared).is_empty(), "nothing is kept of what was sent");
        assert!(budget.count(ADDRESS, piece(2, 1 << 20)).is_ok());
    }

    #[test]
    fn small_pieces_are_not_counted_and_medium_ones_are() {
        let budget = budget(80 << 10);
        let small: Vec<_> =
            (0..100).map(|_| budget.count(ADDRESS, piece(0, UNCOUNTED)).unwrap()).collect();
        assert_eq!(budget.room.taken(), 0);
        let medium = budget.count(ADDRESS, piece(0, UNCOUNTED + 1)).unwrap();
        assert_eq!(budget.room.taken(), UNCOUNTED + 1);
        assert!(budget.count(ADDRESS, piece(0, UNCOUNTED + 1)).is_err());
        drop((small, medium));
        assert_eq!(budget.room.taken(), 0);
    }
}
