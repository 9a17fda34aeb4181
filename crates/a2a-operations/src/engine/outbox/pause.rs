use std::{
    hash::{BuildHasher as _, RandomState},
    time::Duration,
};

use super::Worker;

impl Worker {
    /// How long to wait after a number of failures before this one: at random up to a bound that
    /// doubles, so that what failed together does not come back together.
    pub(super) fn pause(&self, failures: u32) -> Duration {
        random(most(failures, self.config.push_backoff, self.config.push_backoff_max))
    }
}

fn most(failures: u32, first: Duration, max: Duration) -> Duration {
    first.saturating_mul(2_u32.saturating_pow(failures)).min(max)
}

fn random(most: Duration) -> Duration {
    // Each state has a random key, which is all the randomness that this needs.
    let random = RandomState::new().hash_one(0_u8) & 0xffff;
    most.saturating_mul(u32::try_from(random).unwrap_or_default()) / 0xffff
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EngineConfig;

    #[test]
    fn pauses_double_up_to_a_bound() {
        let (first, max) = (Duration::from_millis(500), Duration::from_secs(300));
        let millis = |failures| most(failures, first, max).as_millis();
        assert_eq!([0, 1, 2, 9].map(millis), [500, 1_000, 2_000, 256_000]);
        assert_eq!([10, 40, u32::MAX].map(millis), [300_000; 3]);
        assert!((0..100).all(|_| random(max) <= max));
    }

    #[test]
    fn an_event_is_tried_for_about_half_an_hour() {
        let config = EngineConfig::default();
        let most = (0..config.push_attempts - 1)
            .map(|failures| most(failures, config.push_backoff, config.push_backoff_max));
        // On average, half of the most.
        let minutes = most.sum::<Duration>().as_secs() / 2 / 60;
        assert!((20..40).contains(&minutes), "{minutes} min");
    }
}
