//! How much of something each address has.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
};

use crate::address::network;

/// Counts what each address has, and refuses more than its part.
///
/// There are as many entries as addresses that have anything, which what is counted bounds.
#[derive(Clone, Debug)]
pub struct Shares {
    most: usize,
    held: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

impl Shares {
    /// Gives each address, of IPv6 each network of 64 bits, at most `most`, and never less than one.
    pub fn new(most: usize) -> Self {
        Self { most: most.max(1), held: Arc::default() }
    }

    /// Takes one for an address; `None` where it has its part.
    pub fn take(&self, address: IpAddr) -> Option<Share> {
        let mut share = self.open(address);
        share.grow(1).then_some(share)
    }

    /// Takes nothing for an address yet.
    pub(super) fn open(&self, address: IpAddr) -> Share {
        Share { of: self.clone(), address: network(address), count: 0 }
    }
}

/// What one address has of something, until dropped.
#[derive(Debug)]
pub struct Share {
    of: Shares,
    address: IpAddr,
    count: usize,
}

impl Share {
    /// Takes so many more; `false` where the address would have more than its part.
    pub(super) fn grow(&mut self, count: usize) -> bool {
        self.grow_where(count, false)
    }

    /// Takes so many more, however many that are where the address has nothing else.
    pub(super) fn grow_or_alone(&mut self, count: usize) -> bool {
        self.grow_where(count, true)
    }

    fn grow_where(&mut self, count: usize, alone: bool) -> bool {
        let mut held = self.of.held.lock().unwrap_or_else(PoisonError::into_inner);
        let known = held.get(&self.address).copied().unwrap_or(0);
        match known.checked_add(count) {
            Some(all) if all <= self.of.most || alone && known == 0 => {
                held.insert(self.address, all);
                self.count += count;
                true
            }
            _ => false,
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        if self.count == 0 {
            return;
        }
        let mut held = self.of.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = held.get_mut(&self.address) {
            *count -= self.count;
            if *count == 0 {
                held.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_gets_its_part_and_has_it_back_after() {
        let shares = Shares::new(2);
        let one: IpAddr = "192.0.2.1".parse().unwrap();
        let mapped: IpAddr = "::ffff:192.0.2.1".parse().unwrap();
        let first = shares.take(one).unwrap();
        let second = shares.take(mapped).unwrap();
        assert!(shares.take(one).is_none() && !shares.open(one).grow(1));
        assert!(!shares.open("192.0.2.3".parse().unwrap()).grow(3));
        assert!(shares.take("192.0.2.2".parse().unwrap()).is_some());
        drop(first);
        let third = shares.take(one).unwrap();
        drop((second, third));
        assert!(shares.held.lock().unwrap().is_empty(), "nothing is kept of who has left");
    }

    #[test]
    fn a_network_of_ipv6_is_one_peer() {
        let shares = Shares::new(1);
        let _held = shares.take("2001:db8::1".parse().unwrap()).unwrap();
        assert!(shares.take("2001:db8::2".parse().unwrap()).is_none());
        assert!(shares.take("2001:db8:0:1::1".parse().unwrap()).is_some());
    }
}
