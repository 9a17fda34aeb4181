//! Rate limits.

use std::{
    collections::HashMap,
    fmt,
    hash::Hash,
    mem,
    num::NonZeroU32,
    str::FromStr,
    time::{Duration, Instant},
};

use a2a_core::ParseError;
use parking_lot::Mutex;

/// A rate: a count per period, spread evenly, with a burst after an idle time.
///
/// The text form is the count and the period, for example `600/m`; periods are `s`, `m` and `h`.
/// Another burst size follows after a plus: `600/m+50`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rate {
    count: NonZeroU32,
    period: Duration,
    burst: NonZeroU32,
}

impl Rate {
    /// Allows `count` per `period`, which is at least one nanosecond each, with a burst of the same
    /// size.
    pub fn new(count: NonZeroU32, period: Duration) -> Self {
        Self { count, period, burst: count }
    }

    /// Sets the burst size.
    #[must_use]
    pub fn with_burst(mut self, burst: NonZeroU32) -> Self {
        self.burst = burst;
        self
    }

    /// The time between two events that are spread evenly.
    fn interval(self) -> Duration {
        (self.period / self.count.get()).max(Duration::from_nanos(1))
    }
}

impl FromStr for Rate {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = |part: &str| {
            let part = part.trim();
            part.parse::<NonZeroU32>().map_err(|error| {
                ParseError::new(format!("invalid number {part:?} in rate: {error}"))
            })
        };
        let malformed = || {
            let expected = "write a number and a time, such as 10/s, 600/m or 36000/h";
            ParseError::new(format!("{text:?} is not a rate: {expected}"))
        };
        let (count, rest) = text.split_once('/').ok_or_else(malformed)?;
        let (period, burst) = match rest.split_once('+') {
            Some((period, burst)) => (period, Some(burst)),
            None => (rest, None),
        };
        let seconds = match period.trim() {
            "s" => 1,
            "m" => 60,
            "h" => 3_600,
            _ => return Err(malformed()),
        };
        let rate = Self::new(number(count)?, Duration::from_secs(seconds));
        Ok(match burst {
            Some(burst) => rate.with_burst(number(burst)?),
            None => rate,
        })
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/", self.count)?;
        match self.period.as_secs() {
            1 if self.period.subsec_nanos() == 0 => f.write_str("s")?,
            60 if self.period.subsec_nanos() == 0 => f.write_str("m")?,
            3_600 if self.period.subsec_nanos() == 0 => f.write_str("h")?,
            _ => write!(f, "{:?}", self.period)?,
        }
        if self.burst == self.count { Ok(()) } else { write!(f, "+{}", self.burst) }
    }
}

/// A rate limiter for many keys.
///
/// At most `max_keys` are remembered. The least recently seen ones are evicted, at the latest after
/// half as many other keys were seen, and start anew.
#[doc(hidden)]
pub struct Rates<K> {
    rate: Rate,
    half: usize,
    seen: Mutex<Generations<K>>,
}

/// Recently seen keys, and the generation before, each with the time of its next event if its events
/// were spread evenly (GCRA's theoretical arrival time). It is ahead of now by what is left of a burst.
struct Generations<K> {
    young: HashMap<K, Instant>,
    old: HashMap<K, Instant>,
}

impl<K: Eq + Hash> Rates<K> {
    /// Limits each key to `rate`, and remembers at most `max_keys`, at least two.
    pub fn new(rate: Rate, max_keys: usize) -> Self {
        let seen = Generations { young: HashMap::new(), old: HashMap::new() };
        let half = (max_keys / 2).max(1);
        Self { rate, half, seen: Mutex::new(seen) }
    }

    /// The rate of each key.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// Counts an event for a key.
    ///
    /// # Errors
    ///
    /// The delay after which to retry, if the rate is exceeded. Nothing is counted then.
    pub fn check(&self, key: K) -> Result<(), Duration> {
        let Generations { young, old } = &mut *self.seen.lock();
        if young.len() >= self.half && !young.contains_key(&key) {
            *old = mem::take(young);
        }
        let now = Instant::now();
        let next = young.entry(key).or_insert_with_key(|key| old.remove(key).unwrap_or(now));
        let interval = self.rate.interval();
        let ahead = next.saturating_duration_since(now);
        // All of a burst but the event that is checked.
        let allowed = interval.saturating_mul(self.rate.burst.get() - 1);
        if ahead > allowed {
            return Err(ahead - allowed);
        }
        // Only an interval of billions of years is out of range.
        *next = (*next).max(now).checked_add(interval).unwrap_or(*next);
        Ok(())
    }

    /// The number of remembered keys.
    pub fn len(&self) -> usize {
        let seen = self.seen.lock();
        seen.young.len() + seen.old.len()
    }

    /// Returns whether no key is remembered.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

a2a_core::debug_fields!(Rates<K> { rate, .. });

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(text: &str) -> Rate {
        text.parse().unwrap()
    }

    #[test]
    fn rate_round_trips_as_text() {
        for text in ["1/s", "600/m", "36000/h", "10/s+1", "1/h+50"] {
            assert_eq!(rate(text).to_string(), text);
        }
        assert_eq!(rate(" 5 / s + 5 ").to_string(), "5/s");
        for (text, message) in [
            ("", "\"\" is not a rate: write a number and a time, such as 10/s, 600/m or 36000/h"),
            (
                "10",
                "\"10\" is not a rate: write a number and a time, such as 10/s, 600/m or 36000/h",
            ),
            (
                "10/d",
                "\"10/d\" is not a rate: write a number and a time, such as 10/s, 600/m or 36000/h",
            ),
            ("0/s", "invalid number \"0\" in rate: number would be zero for non-zero type"),
            ("x/s", "invalid number \"x\" in rate: invalid digit found in string"),
            ("1/s+0", "invalid number \"0\" in rate: number would be zero for non-zero type"),
            (
                "5000000000/s",
                "invalid number \"5000000000\" in rate: number too large to fit in target type",
            ),
        ] {
            assert_eq!(text.parse::<Rate>().unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn each_key_has_its_own_burst_and_retry_delay() {
        let rates = Rates::new(rate("1/h+3"), 100);
        for key in ["a", "b"] {
            for _ in 0..3 {
                rates.check(key).unwrap();
            }
            let wait = rates.check(key).unwrap_err();
            let hour = Duration::from_secs(3_600);
            assert!(wait <= hour && wait > hour / 2, "{wait:?}");
        }
        let fast = Rates::new(rate("1000/s+1"), 100);
        let again = Instant::now() + Duration::from_secs(20);
        fast.check("a").unwrap();
        while fast.check("a").is_err() {
            assert!(Instant::now() < again, "it never gets its next one");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn longest_interval_is_no_overflow() {
        let rates = Rates::new(Rate::new(NonZeroU32::MIN, Duration::MAX), 100);
        rates.check(0).unwrap();
    }

    #[test]
    fn keys_are_limited_and_frequent_keys_survive() {
        let rates = Rates::new(rate("1/h"), 100);
        rates.check(0).unwrap();
        for key in 1..10_000 {
            rates.check(key).unwrap();
            assert!(rates.len() <= 100, "{}", rates.len());
            // Seen again within any 50 others, so never evicted.
            if key % 40 == 0 {
                assert!(rates.check(0).is_err(), "after {key}");
            }
        }
        assert!(rates.check(1).is_ok(), "who was long gone starts anew");
    }
}
