//! Histograms of latencies.

use hdrhistogram::Histogram;

/// Latencies are recorded in microseconds up to an hour; longer ones as an hour.
const MAX_MICROS: u64 = 3_600_000_000;

/// Significant digits of latencies.
const DIGITS: u8 = 3;

/// Creates a histogram of latencies.
#[expect(clippy::expect_used, reason = "the bounds are constants")]
pub(super) fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, MAX_MICROS, DIGITS).expect("the bounds are valid")
}
