//! Who guesses has to wait.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use a2a_http::network;
use tokio::time::Instant;

/// How failed tries to authenticate are throttled, for each address alone: those of IPv4, and the
/// first 64 bits of those of IPv6.
///
/// An address that has failed too often is refused (429, `RESOURCE_EXHAUSTED`) until its pause is
/// over; each further failure doubles the pause. Callers from the same address who have been let
/// in with the same credentials during the last hour are let in all the same, and so are those who
/// present what nobody can guess: a signed token, a certificate.
///
/// Behind a proxy every caller has the address of the proxy, unless
/// [`Guard::with_trusted_proxy`](super::Guard::with_trusted_proxy) names it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Throttle {
    /// Failures that cost nothing. Default: 10.
    pub free: u32,
    /// The first pause. Default: 1 s.
    pub first_pause: Duration,
    /// The longest pause. Default: 5 min.
    pub longest_pause: Duration,
    /// The time after the last failure in which an address is forgotten. Default: 15 min.
    pub memory: Duration,
    /// Most addresses that are remembered; of more, those that failed the longest ago are
    /// forgotten. Default: 65,536.
    pub max_addresses: usize,
}

impl Default for Throttle {
    fn default() -> Self {
        Self {
            free: 10,
            first_pause: Duration::from_secs(1),
            longest_pause: Duration::from_secs(300),
            memory: Duration::from_secs(900),
            max_addresses: 65_536,
        }
    }
}

impl Throttle {
    /// Sets how many failures cost nothing.
    #[must_use]
    pub fn with_free(mut self, failures: u32) -> Self {
        self.free = failures;
        self
    }

    /// Sets the first and the longest pause.
    #[must_use]
    pub fn with_pauses(mut self, first: Duration, longest: Duration) -> Self {
        self.first_pause = first;
        self.longest_pause = longest;
        self
    }

    /// Sets the time after the last failure in which an address is forgotten.
    #[must_use]
    pub fn with_memory(mut self, memory: Duration) -> Self {
        self.memory = memory;
        self
    }

    /// Sets how many addresses are remembered.
    #[must_use]
    pub fn with_max_addresses(mut self, addresses: usize) -> Self {
        self.max_addresses = addresses;
        self
    }
}

/// The failed tries of each address.
#[derive(Debug)]
pub(super) struct Tries {
    throttle: Throttle,
    failed: Mutex<HashMap<IpAddr, Failures>>,
}

#[derive(Clone, Copy, Debug)]
struct Failures {
    count: u32,
    last: Instant,
    pause: Duration,
}

impl Failures {
    fn wait(&self, now: Instant) -> Option<Duration> {
        let left = self.pause.saturating_sub(now.duration_since(self.last));
        (!left.is_zero()).then_some(left)
    }
}

impl Tries {
    pub(super) fn new(throttle: Throttle) -> Self {
        Self { throttle, failed: Mutex::default() }
    }

    /// Returns how long an address has to wait until it may try again.
    pub(super) fn wait(&self, address: IpAddr) -> Option<Duration> {
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.get(&network(address))?.wait(Instant::now())
    }

    /// Notes a failure.
    pub(super) fn note(&self, address: IpAddr) {
        let now = Instant::now();
        let Throttle { free, first_pause, longest_pause, memory, max_addresses } = self.throttle;
        // No panic can leave it half changed.
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        let prefix = network(address);
        if !failed.contains_key(&prefix) && failed.len() >= max_addresses.max(1) {
            make_room(&mut failed, now, memory);
        }
        let failures =
            failed.entry(prefix).or_insert(Failures { count: 0, last: now, pause: Duration::ZERO });
        if now.duration_since(failures.last) >= memory {
            failures.count = 0;
        }
        failures.count = failures.count.saturating_add(1);
        failures.last = now;
        failures.pause = match failures.count.checked_sub(free.saturating_add(1)) {
            None => Duration::ZERO,
            Some(beyond) => first_pause.saturating_mul(1 << beyond.min(30)).min(longest_pause),
        };
    }
}

/// Forgets who failed too long ago to count, and else the half that did so the longest ago: one
/// at a time would be a search for each.
fn make_room(failed: &mut HashMap<IpAddr, Failures>, now: Instant, memory: Duration) {
    let before = failed.len();
    failed.retain(|_, failures| now.duration_since(failures.last) < memory);
    if failed.len() < before {
        return;
    }
    let mut times: Vec<_> = failed.values().map(|failures| failures.last).collect();
    let (_, middle, _) = times.select_nth_unstable(before / 2);
    let middle = *middle;
    let mut most = before / 2 + 1;
    failed.retain(|_, failures| {
        let goes = failures.last <= middle && most > 0;
        most -= usize::from(goes);
        !goes
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
    async fn each_failure_beyond_the_free_ones_doubles_the_pause_up_to_a_bound() {
        let throttle = Throttle::default().with_free(2).with_pauses(SECOND, 5 * SECOND);
        let tries = Tries::new(throttle.with_memory(60 * SECOND));
        for seconds in [0, 0, 1, 2, 4, 5, 5] {
            tries.note(ONE);
            assert_eq!(tries.wait(ONE), (seconds > 0).then(|| seconds * SECOND));
            advance(seconds * SECOND).await;
            assert_eq!(tries.wait(ONE), None);
        }
        assert_eq!(tries.wait("192.0.2.2".parse().unwrap()), None);
        advance(60 * SECOND).await;
        tries.note(ONE);
        assert_eq!(tries.wait(ONE), None, "it starts anew");
    }

    #[tokio::test(start_paused = true)]
    async fn an_address_of_ipv6_is_as_good_as_its_neighbours() {
        let tries = Tries::new(Throttle::default().with_free(0));
        tries.note("2001:db8:1:2:3::1".parse().unwrap());
        assert!(tries.wait("2001:db8:1:2:ffff::".parse().unwrap()).is_some());
        assert!(tries.wait("2001:db8:1:3::".parse().unwrap()).is_none());
        tries.note("::ffff:192.0.2.1".parse().unwrap());
        assert!(tries.wait(ONE).is_some());
        assert!(tries.wait("192.0.2.2".parse().unwrap()).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn addresses_are_bounded_and_the_oldest_are_forgotten() {
        let tries = Tries::new(Throttle::default().with_free(0).with_max_addresses(100));
        let address = |number: u32| IpAddr::V4(Ipv4Addr::from(number));
        for number in 0..1_000 {
            tries.note(address(number));
            let failed = tries.failed.lock().unwrap().len();
            assert!(failed <= 100, "{failed}");
            advance(Duration::from_millis(1)).await;
        }
        assert!(tries.wait(address(999)).is_some() && tries.wait(address(900)).is_none());
    }
}
