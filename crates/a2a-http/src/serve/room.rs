//! Budgets of bytes, of all connections together and of each address.

use std::{
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use super::share::{Share, Shares};
use crate::Limits;

/// A budget for bytes that are held in memory until a peer has sent or taken the rest. Each address
/// has a part of it, so that a slow peer takes it from itself.
#[derive(Clone, Debug)]
pub(super) struct Room {
    most: usize,
    taken: Arc<AtomicUsize>,
    shares: Shares,
    /// Whether something larger than the budget fits where nothing else is held.
    admits_one: bool,
}

impl Room {
    /// The budget of request bodies, with room for one body at least.
    pub(super) fn of_bodies(limits: &Limits) -> Self {
        let one = limits.max_body_bytes;
        let most = limits.max_pending_body_bytes.max(one);
        let shares = Shares::new((most / 4).max(one));
        Self { most, taken: Arc::default(), shares, admits_one: false }
    }

    /// The budget of responses. How large a response may be is not known here, so one that is
    /// larger than the budget is let through alone.
    pub(super) fn of_responses(limits: &Limits) -> Self {
        let most = limits.max_pending_response_bytes;
        let shares = Shares::new(most / 4);
        Self { most, taken: Arc::default(), shares, admits_one: true }
    }

    /// Begins something from or for an address. Nothing is taken yet.
    pub(super) fn place(&self, address: IpAddr) -> Place {
        Place { room: self.clone(), bytes: 0, share: self.shares.open(address) }
    }

    /// How many bytes are taken.
    #[cfg(test)]
    pub(super) fn taken(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }
}

/// What one body or response has of the budget, until this is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    room: Room,
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
        let Room { most, taken, admits_one, .. } = &self.room;
        let more = |taken: usize| {
            taken.checked_add(bytes).filter(|all| all <= most || *admits_one && taken == 0)
        };
        if taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_err() {
            return false;
        }
        let has_part =
            if *admits_one { self.share.grow_or_alone(bytes) } else { self.share.grow(bytes) };
        if !has_part {
            taken.fetch_sub(bytes, Ordering::Relaxed);
            return false;
        }
        self.bytes += bytes;
        true
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.room.taken.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_its_part_and_all_have_the_whole() {
        let limits = Limits::default().with_max_body_bytes(10).with_max_pending_body_bytes(100);
        let room = Room::of_bodies(&limits);
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
        assert_eq!(room.taken(), 0);
    }

    #[test]
    fn there_is_room_for_one_body() {
        let limits = Limits::default().with_max_body_bytes(10).with_max_pending_body_bytes(1);
        assert!(Room::of_bodies(&limits).place(IpAddr::from([192, 0, 2, 1])).take(10));
    }

    #[test]
    fn a_response_larger_than_the_budget_is_let_through_alone() {
        let room = Room::of_responses(&Limits::default().with_max_pending_response_bytes(100));
        let address = |last: u8| IpAddr::from([192, 0, 2, last]);
        let mut large = room.place(address(1));
        assert!(large.take(500));
        assert!(!room.place(address(1)).take(1) && !room.place(address(2)).take(1));
        drop(large);
        // Beyond the part of an address, and within the whole.
        let (mut first, mut second) = (room.place(address(1)), room.place(address(2)));
        assert!(first.take(60) && !room.place(address(1)).take(1) && second.take(40));
        drop((first, second));
        assert_eq!(room.taken(), 0);
    }
}
