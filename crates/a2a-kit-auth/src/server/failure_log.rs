//! Failed authentication attempts by address.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use a2a_kit_http::network;
use tokio::time::Instant;

use super::Throttle;

/// Counts failures by address, and computes their backoff.
#[derive(Debug)]
pub(super) struct FailureLog {
    throttle: Throttle,
    failures: Mutex<HashMap<IpAddr, Failures>>,
}

#[derive(Clone, Copy, Debug)]
struct Failures {
    count: u32,
    last: Instant,
    backoff: Duration,
}

impl Failures {
    fn remaining(&self, now: Instant) -> Option<Duration> {
        let remaining = self.backoff.saturating_sub(now.duration_since(self.last));
        (!remaining.is_zero()).then_some(remaining)
    }
}

impl FailureLog {
    pub(super) fn new(throttle: Throttle) -> Self {
        Self { throttle, failures: Mutex::default() }
    }

    /// Returns the remaining backoff of an address.
    pub(super) fn backoff(&self, address: IpAddr) -> Option<Duration> {
        let failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        failures.get(&network(address))?.remaining(Instant::now())
    }

    /// Records a failure.
    pub(super) fn record(&self, address: IpAddr) {
        let now = Instant::now();
        let Throttle { failures_allowed, backoff_min, backoff_max, reset_after, max_addresses } =
            self.throttle;
        // A panic can't leave the map half changed.
        let mut addresses = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let prefix = network(address);
        if !addresses.contains_key(&prefix) && addresses.len() >= max_addresses.max(1) {
            evict(&mut addresses, now, reset_after);
        }
        let failures = addresses.entry(prefix).or_insert(Failures {
            count: 0,
            last: now,
            backoff: Duration::ZERO,
        });
        if now.duration_since(failures.last) >= reset_after {
            failures.count = 0;
        }
        failures.count = failures.count.saturating_add(1);
        failures.last = now;
        failures.backoff = match failures.count.checked_sub(failures_allowed.saturating_add(1)) {
            None => Duration::ZERO,
            Some(beyond) => backoff_min.saturating_mul(1 << beyond.min(30)).min(backoff_max),
        };
    }
}

/// Evicts the addresses whose failures no longer count, or else the older half: evicting one at a
/// time would take a search for each.
fn evict(addresses: &mut HashMap<IpAddr, Failures>, now: Instant, reset_after: Duration) {
    let before = addresses.len();
    addresses.retain(|_, failures| now.duration_since(failures.last) < reset_after);
    if addresses.len() < before {
        return;
    }
    let mut times: Vec<_> = addresses.values().map(|failures| failures.last).collect();
    let (_, median, _) = times.select_nth_unstable(before / 2);
    let median = *median;
    let mut excess = before / 2 + 1;
    addresses.retain(|_, failures| {
        let is_evicted = failures.last <= median && excess > 0;
        excess -= usize::from(is_evicted);
        !is_evicted
    });
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use tokio::time::advance;

    use super::*;

    const ONE: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn each_failure_above_the_allowance_doubles_the_backoff() {
        let throttle =
            Throttle::default().with_failures_allowed(2).with_backoff(SECOND, 5 * SECOND);
        let log = FailureLog::new(throttle.with_reset_after(60 * SECOND));
        for seconds in [0, 0, 1, 2, 4, 5, 5] {
            log.record(ONE);
            assert_eq!(log.backoff(ONE), (seconds > 0).then(|| seconds * SECOND));
            advance(seconds * SECOND).await;
            assert_eq!(log.backoff(ONE), None);
        }
        assert_eq!(log.backoff("192.0.2.2".parse().unwrap()), None);
        advance(60 * SECOND).await;
        log.record(ONE);
        assert_eq!(log.backoff(ONE), None, "it starts over");
    }

    #[tokio::test(start_paused = true)]
    async fn ipv6_addresses_share_the_backoff_of_their_64_bit_prefix() {
        let log = FailureLog::new(Throttle::default().with_failures_allowed(0));
        log.record("2001:db8:1:2:3::1".parse().unwrap());
        assert!(log.backoff("2001:db8:1:2:ffff::".parse().unwrap()).is_some());
        assert!(log.backoff("2001:db8:1:3::".parse().unwrap()).is_none());
        log.record("::ffff:192.0.2.1".parse().unwrap());
        assert!(log.backoff(ONE).is_some());
        assert!(log.backoff("192.0.2.2".parse().unwrap()).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn tracked_addresses_are_bounded_and_the_oldest_are_evicted() {
        let log =
            FailureLog::new(Throttle::default().with_failures_allowed(0).with_max_addresses(100));
        let address = |number: u32| IpAddr::V4(Ipv4Addr::from(number));
        for number in 0..1_000 {
            log.record(address(number));
            let tracked = log.failures.lock().unwrap().len();
            assert!(tracked <= 100, "{tracked}");
            advance(Duration::from_millis(1)).await;
        }
        assert!(log.backoff(address(999)).is_some() && log.backoff(address(900)).is_none());
    }
}
