//! Room for the bodies of requests, of all connections together.

use std::{
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use super::share::{Share, Shares};
use crate::Limits;

/// Room for the bodies that are on their way. Each address has a part of it, so that who sends
/// them slowly takes it from itself.
#[derive(Clone, Debug)]
pub(super) struct Room {
    most: usize,
    taken: Arc<AtomicUsize>,
    shares: Shares,
}

impl Room {
    /// Makes room for one body at least.
    pub(super) fn new(limits: &Limits) -> Self {
        let one = limits.max_body_bytes;
        let most = limits.max_pending_body_bytes.max(one);
        Self { most, taken: Arc::default(), shares: Shares::new((most / 4).max(one)) }
    }

    /// Begins a body from an address. Nothing is taken yet.
    pub(super) fn place(&self, address: IpAddr) -> Place {
        let (most, taken) = (self.most, Arc::clone(&self.taken));
        Place { most, taken, bytes: 0, share: self.shares.open(address) }
    }
}

/// What one body has of the room, until this is dropped.
#[derive(Debug)]
pub(super) struct Place {
    most: usize,
    taken: Arc<AtomicUsize>,
    bytes: usize,
    share: Share,
}

impl Place {
    /// How many bytes it has.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes so many bytes more; `false` where there is no room for them.
    pub(super) fn take(&mut self, bytes: usize) -> bool {
        if bytes == 0 {
            return true;
        }
        let more = |taken: usize| taken.checked_add(bytes).filter(|all| *all <= self.most);
        if self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_err() {
            return false;
        }
        if !self.share.grow(bytes) {
            self.taken.fetch_sub(bytes, Ordering::Relaxed);
            return false;
        }
        self.bytes += bytes;
        true
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.taken.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_its_part_and_all_have_the_whole() {
        let limits = Limits::default().with_max_body_bytes(10).with_max_pending_body_bytes(100);
        let room = Room::new(&limits);
        let address = |last: u8| IpAddr::from([192, 0, 2, last]);
        let mut first = room.place(address(1));
        assert!(first.take(20) && !first.take(6) && first.take(5));
        assert!(!room.place(address(1)).take(1), "a quarter is the part of an address");
        let mut others: Vec<_> = (2..=4).map(|last| room.place(address(last))).collect();
        assert!(others.iter_mut().all(|other| other.take(25)));
        assert!(!room.place(address(5)).take(1), "there is no more");
        drop(first);
        let mut next = room.place(address(5));
        assert!(next.take(25));
        drop((others, next));
        assert_eq!(room.taken.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn there_is_room_for_one_body() {
        let limits = Limits::default().with_max_body_bytes(10).with_max_pending_body_bytes(1);
        assert!(Room::new(&limits).place(IpAddr::from([192, 0, 2, 1])).take(10));
    }
}
