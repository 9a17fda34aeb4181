//! Limits per client IP address.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::OwnedSemaphorePermit;

use crate::address::network;

/// Limits how much of a resource each client IP address holds at a time.
///
/// The table has one entry per address that holds anything, so the resource bounds its size.
#[derive(Clone, Debug)]
pub struct PerIpLimit {
    max: usize,
    held: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

impl PerIpLimit {
    /// Limits each IPv4 address and each IPv6 /64 network to `max`, at least 1.
    pub fn new(max: usize) -> Self {
        Self { max: max.max(1), held: Arc::default() }
    }

    /// Acquires one unit for an address; `None` if the address is at its limit.
    pub fn try_acquire(&self, address: IpAddr) -> Option<PerIpPermit> {
        let mut permit = self.empty_permit(address);
        permit.try_grow(1, false).then_some(permit)
    }

    /// Returns a permit for an address that holds nothing yet.
    pub(super) fn empty_permit(&self, address: IpAddr) -> PerIpPermit {
        PerIpPermit { limit: self.clone(), address: network(address), count: 0 }
    }
}

/// Units held by one address, released on drop.
#[derive(Debug)]
pub struct PerIpPermit {
    limit: PerIpLimit,
    address: IpAddr,
    count: usize,
}

impl PerIpPermit {
    /// Acquires `count` more units; `false` if that would exceed the limit of the address, unless
    /// `allow_alone` allows any number of them to an address that holds nothing else.
    pub(super) fn try_grow(&mut self, count: usize, allow_alone: bool) -> bool {
        let mut held = self.limit.held.lock().unwrap_or_else(PoisonError::into_inner);
        let current = held.get(&self.address).copied().unwrap_or(0);
        match current.checked_add(count) {
            Some(total) if total <= self.limit.max || allow_alone && current == 0 => {
                held.insert(self.address, total);
                self.count += count;
                true
            }
            _ => false,
        }
    }
}

impl Drop for PerIpPermit {
    fn drop(&mut self) {
        if self.count == 0 {
            return;
        }
        let mut held = self.limit.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = held.get_mut(&self.address) {
            *count -= self.count;
            if *count == 0 {
                held.remove(&self.address);
            }
        }
    }
}

/// The permit of an open connection.
#[derive(Debug)]
pub(super) struct Permit {
    pub(super) _permit: OwnedSemaphorePermit,
    pub(super) is_reserved: bool,
    pub(super) _ip_permit: Option<PerIpPermit>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_at_its_limit_is_refused_until_a_permit_is_dropped() {
        let limit = PerIpLimit::new(2);
        let one: IpAddr = "192.0.2.1".parse().unwrap();
        let mapped: IpAddr = "::ffff:192.0.2.1".parse().unwrap();
        let first = limit.try_acquire(one).unwrap();
        let second = limit.try_acquire(mapped).unwrap();
        assert!(limit.try_acquire(one).is_none() && !limit.empty_permit(one).try_grow(1, false));
        assert!(!limit.empty_permit("192.0.2.3".parse().unwrap()).try_grow(3, false));
        assert!(limit.try_acquire("192.0.2.2".parse().unwrap()).is_some());
        drop(first);
        let third = limit.try_acquire(one).unwrap();
        drop((second, third));
        assert!(limit.held.lock().unwrap().is_empty(), "an address without permits has no entry");
    }

    #[test]
    fn ipv6_addresses_of_one_64_bit_network_share_a_limit() {
        let limit = PerIpLimit::new(1);
        let _permit = limit.try_acquire("2001:db8::1".parse().unwrap()).unwrap();
        assert!(limit.try_acquire("2001:db8::2".parse().unwrap()).is_none());
        assert!(limit.try_acquire("2001:db8:0:1::1".parse().unwrap()).is_some());
    }
}
