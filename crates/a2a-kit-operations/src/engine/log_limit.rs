//! Lines of the log that many tasks would write at once.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

const INTERVAL: Duration = Duration::from_secs(1);

/// Allows one line a second.
#[derive(Debug)]
pub(in crate::engine) struct LogLimit(Mutex<Lines>);

#[derive(Debug)]
struct Lines {
    last: Option<Instant>,
    omitted: u64,
}

impl LogLimit {
    pub(in crate::engine) const fn new() -> Self {
        Self(Mutex::new(Lines { last: None, omitted: 0 }))
    }

    /// Whether to write a line now: the number of those omitted since the last one.
    pub(in crate::engine) fn admit(&self) -> Option<u64> {
        self.admit_at(Instant::now())
    }

    fn admit_at(&self, now: Instant) -> Option<u64> {
        let mut lines = self.0.lock();
        if lines.last.is_some_and(|last| now.saturating_duration_since(last) < INTERVAL) {
            lines.omitted += 1;
            return None;
        }
        lines.last = Some(now);
        Some(std::mem::take(&mut lines.omitted))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_a_second_tells_how_many_were_omitted() {
        let (limit, begun) = (LogLimit::new(), Instant::now());
        let admitted = [0, 1, 999, 1_000, 1_001, 5_000]
            .map(|millis| limit.admit_at(begun + Duration::from_millis(millis)));
        assert_eq!(admitted, [Some(0), None, None, Some(2), None, Some(1)]);
    }
}
