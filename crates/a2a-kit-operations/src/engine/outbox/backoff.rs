use std::{
    hash::{BuildHasher as _, RandomState},
    time::Duration,
};

use super::Worker;

impl Worker {
    /// The delay after a number of failures: random below a maximum that doubles, so that
    /// simultaneous failures spread out.
    pub(super) fn backoff(&self, failures: u32) -> Duration {
        random(max_backoff(failures, self.config.push.backoff, self.config.push.backoff_max))
    }
}

fn max_backoff(failures: u32, first: Duration, max: Duration) -> Duration {
    first.saturating_mul(2_u32.saturating_pow(failures)).min(max)
}

fn random(max_delay: Duration) -> Duration {
    // The random keys of the hasher are sufficient randomness here.
    let random = RandomState::new().hash_one(0_u8) & 0xffff;
    max_delay.saturating_mul(u32::try_from(random).unwrap_or_default()) / 0xffff
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EngineConfig;

    #[test]
    fn backoff_doubles_up_to_the_maximum() {
        let (first, max) = (Duration::from_millis(500), Duration::from_secs(300));
        let millis = |failures| max_backoff(failures, first, max).as_millis();
        assert_eq!([0, 1, 2, 9].map(millis), [500, 1_000, 2_000, 256_000]);
        assert_eq!([10, 40, u32::MAX].map(millis), [300_000; 3]);
        assert!((0..100).all(|_| random(max) <= max));
    }

    #[test]
    fn retries_span_about_half_an_hour() {
        let config = EngineConfig::default();
        let max_delay = (0..config.push.attempts - 1)
            .map(|failures| max_backoff(failures, config.push.backoff, config.push.backoff_max));
        // The mean delay is half of the maximum.
        let minutes = max_delay.sum::<Duration>().as_secs() / 2 / 60;
        assert!((20..40).contains(&minutes), "{minutes} min");
    }
}
