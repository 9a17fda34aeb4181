//! How long the machine was suspended.

use std::time::Duration;

/// The time that the machine was suspended since it started. The clock of tokio does not count it,
/// but leases expire.
#[cfg(target_os = "linux")]
pub(super) fn total() -> Duration {
    use rustix::time::{ClockId, clock_gettime};

    let read = |clock| {
        let time = clock_gettime(clock);
        let seconds = Duration::from_secs(time.tv_sec.try_into().unwrap_or(0));
        seconds + Duration::from_nanos(time.tv_nsec.try_into().unwrap_or(0))
    };
    let awake = read(ClockId::Monotonic);
    let suspended = read(ClockId::Boottime).saturating_sub(awake);
    // Without a suspension, only the time between the two reads.
    if suspended < Duration::from_millis(100) { Duration::ZERO } else { suspended }
}

/// Elsewhere suspensions are not noticed.
#[cfg(not(target_os = "linux"))]
pub(super) fn total() -> Duration {
    Duration::ZERO
}
