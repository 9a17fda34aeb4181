//! Which failed calls of models are repeated, and when.

use std::{
    hash::{BuildHasher as _, RandomState},
    time::Duration,
};

use crate::{
    AgentLimits, ModelError,
    model::ModelErrorKind::{
        Credentials, Cut, File, Quota, RateLimit, Rejected, Timeout, TooLong, Unavailable,
        UnknownModel,
    },
};

const FIRST_WAIT: Duration = Duration::from_millis(500);
const MAX_WAIT: Duration = Duration::from_secs(8);

/// What follows a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// The same request, after a wait.
    Retry(Duration),
    /// The next model, if there is one.
    Fallback,
    /// Nothing.
    Fail,
}

/// What follows an attempt that failed after a number of `retries` of the same model.
pub(crate) fn next(error: &ModelError, retries: u32, limits: &AgentLimits) -> Next {
    let is_transient = matches!(error.kind, RateLimit | Unavailable | Timeout | Cut);
    if error.should_retry.unwrap_or(is_transient) && retries < limits.retries {
        let wait = backoff(retries).max(error.retry_after.unwrap_or_default());
        if wait <= limits.max_retry_wait {
            return Next::Retry(wait);
        }
    }
    match error.kind {
        // Another model would get the same request.
        Rejected | TooLong | File => Next::Fail,
        Credentials | UnknownModel | Quota | RateLimit | Unavailable | Timeout | Cut => {
            Next::Fallback
        }
    }
}

/// Half to all of a time that doubles, so that simultaneous failures spread out.
fn backoff(retries: u32) -> Duration {
    let longest = FIRST_WAIT.saturating_mul(2_u32.saturating_pow(retries)).min(MAX_WAIT);
    // The random keys of the hasher are sufficient randomness here.
    let random = RandomState::new().hash_one(0_u8) & 0xffff;
    longest / 2 + longest / 2 * u32::try_from(random).unwrap_or_default() / 0xffff
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ModelErrorKind;

    #[test]
    fn transient_failures_are_retried_and_others_are_left_to_the_next_model_or_fail() {
        let limits = AgentLimits::default();
        let cases: [(ModelErrorKind, Option<Next>); 10] = [
            (RateLimit, None),
            (Unavailable, None),
            (Timeout, None),
            (Cut, None),
            (Credentials, Some(Next::Fallback)),
            (UnknownModel, Some(Next::Fallback)),
            (Quota, Some(Next::Fallback)),
            (TooLong, Some(Next::Fail)),
            (Rejected, Some(Next::Fail)),
            (File, Some(Next::Fail)),
        ];
        for (kind, expected) in cases {
            let error = ModelError::new(kind);
            let first = next(&error, 0, &limits);
            match expected {
                Some(expected) => assert_eq!(first, expected, "{kind:?}"),
                None => {
                    assert!(matches!(first, Next::Retry(_)), "{kind:?}: {first:?}");
                    assert_eq!(next(&error, 3, &limits), Next::Fallback, "{kind:?}, retried");
                }
            }
        }
    }

    #[test]
    fn waits_double_up_to_the_maximum_and_are_at_least_what_the_provider_asks_for() {
        for (retries, longest) in [(0, 500), (1, 1_000), (4, 8_000), (5, 8_000), (99, 8_000)] {
            let waits: Vec<_> = (0..50).map(|_| backoff(retries).as_millis()).collect();
            assert!(waits.iter().all(|wait| (longest / 2..=longest).contains(wait)), "{waits:?}");
        }
        let limits = AgentLimits::default();
        let mut error = ModelError::new(RateLimit);
        error.retry_after = Some(Duration::from_secs(20));
        assert_eq!(next(&error, 0, &limits), Next::Retry(Duration::from_secs(20)));
        error.retry_after = Some(Duration::from_secs(61));
        assert_eq!(next(&error, 0, &limits), Next::Fallback, "longer than the longest wait");
    }

    #[test]
    fn provider_that_says_whether_to_retry_is_obeyed() {
        let limits = AgentLimits::default();
        let mut error = ModelError::new(Unavailable);
        error.should_retry = Some(false);
        assert_eq!(next(&error, 0, &limits), Next::Fallback);
        error = ModelError::new(Quota);
        error.should_retry = Some(true);
        assert!(matches!(next(&error, 0, &limits), Next::Retry(_)));
    }
}
