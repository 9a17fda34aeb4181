//! Lines of the log that many tasks or requests would write at once.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

const INTERVAL: Duration = Duration::from_secs(1);

/// Allows one line a second.
#[derive(Debug)]
pub struct LogLimit(Mutex<Lines>);

#[derive(Debug)]
struct Lines {
    last: Option<Instant>,
    omitted: u64,
}

impl Default for LogLimit {
    fn default() -> Self {
        Self::new()
    }
}

impl LogLimit {
    /// Creates a limit that admits the next line.
    #[must_use]
    pub const fn new() -> Self {
        Self(Mutex::new(Lines { last: None, omitted: 0 }))
    }

    /// Whether to write a line now: the number of those omitted since the last one.
    pub fn admit(&self) -> Option<u64> {
        self.admit_at(Instant::now())
    }

    fn admit_at(&self, now: Instant) -> Option<u64> {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
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
