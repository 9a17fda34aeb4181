//! Memory budgets for request and response bodies, per server and per client IP address.

use std::{
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use super::per_ip::{PerIpLimit, PerIpPermit};
use crate::Limits;

/// A budget for body bytes that are buffered until a peer has sent or received the rest. Each
/// address is limited to a part of it, so that a slow peer exhausts only its own part.
#[derive(Debug)]
pub(super) struct BodyBudget {
    max_bytes: usize,
    reserved: AtomicUsize,
    per_ip: PerIpLimit,
    /// Whether a body larger than the budget is accepted while nothing else is reserved.
    allow_alone: bool,
}

impl BodyBudget {
    /// Creates the budget of request bodies, which fits at least one body.
    pub(super) fn for_requests(limits: &Limits) -> Arc<Self> {
        let one_body = limits.max_body_bytes;
        let max_bytes = limits.max_pending_body_bytes.max(one_body);
        let per_ip = PerIpLimit::new((max_bytes / 4).max(one_body));
        let reserved = AtomicUsize::new(0);
        Arc::new(Self { max_bytes, reserved, per_ip, allow_alone: false })
    }

    /// Creates the budget of responses. The size of a response has no limit here, so one that is
    /// larger than the budget is accepted alone.
    pub(super) fn for_responses(limits: &Limits) -> Arc<Self> {
        let max_bytes = limits.max_pending_response_bytes;
        let per_ip = PerIpLimit::new(max_bytes / 4);
        let reserved = AtomicUsize::new(0);
        Arc::new(Self { max_bytes, reserved, per_ip, allow_alone: true })
    }

    /// Returns an empty reservation for a body from or to an address.
    pub(super) fn reservation(self: &Arc<Self>, address: IpAddr) -> Reservation {
        Reservation { budget: Arc::clone(self), address, bytes: 0, permit: None }
    }

    /// Returns the number of reserved bytes.
    #[cfg(test)]
    pub(super) fn reserved(&self) -> usize {
        self.reserved.load(Ordering::Relaxed)
    }
}

/// Bytes reserved for one body or response, released on drop.
#[derive(Debug)]
pub(crate) struct Reservation {
    budget: Arc<BodyBudget>,
    address: IpAddr,
    /// The number of bytes that it holds.
    pub(super) bytes: usize,
    /// Those of the address; `None` while it holds nothing.
    permit: Option<PerIpPermit>,
}

impl Reservation {
    /// Reserves `bytes` more; `false` if the budget or the part of the address is exhausted.
    pub(super) fn try_grow(&mut self, bytes: usize) -> bool {
        if bytes == 0 {
            return true;
        }
        let BodyBudget { max_bytes, reserved, per_ip, allow_alone } = &*self.budget;
        let add = |reserved: usize| {
            reserved
                .checked_add(bytes)
                .filter(|total| total <= max_bytes || *allow_alone && reserved == 0)
        };
        if reserved.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).is_err() {
            return false;
        }
        let permit = self.permit.get_or_insert_with(|| per_ip.empty_permit(self.address));
        if !permit.try_grow(bytes, *allow_alone) {
            reserved.fetch_sub(bytes, Ordering::Relaxed);
            return false;
        }
        self.bytes += bytes;
        true
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.reserved.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reservations_are_limited_per_address_and_in_total() {
        let limits = Limits::default().with_max_body_bytes(10).with_max_pending_body_bytes(100);
        let budget = BodyBudget::for_requests(&limits);
        let address = |last: u8| IpAddr::from([192, 0, 2, last]);
        let mut first = budget.reservation(address(1));
        assert!(first.try_grow(20) && !first.try_grow(6) && first.try_grow(5));
        assert!(!budget.reservation(address(1)).try_grow(1), "an address is limited to a quarter");
        let mut others: Vec<_> = (2..=4).map(|last| budget.reservation(address(last))).collect();
        assert!(others.iter_mut().all(|other| other.try_grow(25)));
        assert!(!budget.reservation(address(5)).try_grow(1), "the budget is exhausted");
        drop(first);
        let mut next = budget.reservation(address(5));
        assert!(next.try_grow(25));
        drop((others, next));
        assert_eq!(budget.reserved(), 0);
    }

    #[test]
    fn budget_smaller_than_one_body_fits_one_body() {
        let limits = Limits::default().with_max_body_bytes(10).with_max_pending_body_bytes(1);
        let budget = BodyBudget::for_requests(&limits);
        assert!(budget.reservation(IpAddr::from([192, 0, 2, 1])).try_grow(10));
    }

    #[test]
    fn response_larger_than_the_budget_is_accepted_alone() {
        let limits = Limits::default().with_max_pending_response_bytes(100);
        let budget = BodyBudget::for_responses(&limits);
        let reservation = |last: u8| budget.reservation(IpAddr::from([192, 0, 2, last]));
        let mut large = reservation(1);
        assert!(large.try_grow(500));
        assert!(!reservation(1).try_grow(1) && !reservation(2).try_grow(1));
        drop(large);
        // More than the part of an address, less than the budget.
        let (mut first, mut second) = (reservation(1), reservation(2));
        assert!(first.try_grow(60) && !reservation(1).try_grow(1) && second.try_grow(40));
        drop((first, second));
        assert_eq!(budget.reserved(), 0);
    }
}
