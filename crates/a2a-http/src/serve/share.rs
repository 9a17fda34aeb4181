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
pub(super) struct Shares {
    most: usize,
    held: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

impl Shares {
    /// Gives each address at most `most`, and never less than one.
    pub(super) fn new(most: usize) -> Self {
        Self { most: most.max(1), held: Arc::default() }
    }

    /// Takes one for an address; `None` where it has its part.
    pub(super) fn take(&self, address: IpAddr) -> Option<Share> {
        let address = network(address);
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let count = held.entry(address).or_insert(0);
        if *count >= self.most {
            return None;
        }
        *count += 1;
        drop(held);
        Some(Share { of: self.clone(), address })
    }
}

/// What one address has of something, until dropped.
#[derive(Debug)]
pub(super) struct Share {
    of: Shares,
    address: IpAddr,
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut held = self.of.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = held.get_mut(&self.address) {
            *count -= 1;
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
        assert!(shares.take(one).is_none());
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
