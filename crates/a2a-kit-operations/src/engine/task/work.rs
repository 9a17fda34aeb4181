//! The slot and the clocks of a run.

use std::time::{Duration, Instant};

use a2a_core::TaskState;

use crate::RunLimits;

/// The slot and the clocks of a run. While the task waits for user input or authorization, the slot
/// is released and the clocks are stopped.
#[derive(Debug, Default)]
pub(crate) struct Work {
    /// Whether the run counts as one of its caller's.
    pub(super) has_slot: bool,
    clocks: Option<Clocks>,
}

#[derive(Debug)]
struct Clocks {
    /// Time spent on the message before `since`.
    worked: Duration,
    /// When the executor last resumed; `None` while the task waits.
    since: Option<Instant>,
    /// When the executor last made an update or resumed.
    active: Instant,
    /// Since when the task waits.
    parked: Option<Instant>,
    /// Whether the executor waits for others.
    stopped: bool,
}

/// The remaining time of a run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// No limit is exceeded before this.
    Until(Instant),
    /// Unlimited.
    Forever,
    /// A run limit was exceeded; the text is public.
    Expired(String),
    /// The task waited for too long.
    Parked,
}

impl Work {
    /// Starts a run.
    pub(super) fn begin(now: Instant) -> Self {
        let mut work = Self { has_slot: true, clocks: None };
        work.begin_turn(now);
        work
    }

    /// Restarts the clocks for another message.
    pub(super) fn begin_turn(&mut self, now: Instant) {
        self.clocks = Some(Clocks {
            worked: Duration::ZERO,
            since: Some(now),
            active: now,
            parked: None,
            stopped: false,
        });
    }

    /// Records an update of the executor, and the new state if it set one. The slot is kept if a
    /// queued message was accepted for it.
    pub(super) fn note(&mut self, state: Option<TaskState>, has_queued: bool, now: Instant) {
        let Some(clocks) = &mut self.clocks else { return };
        clocks.active = now;
        let Some(state) = state else { return };
        if state.is_terminal() {
            // Time after the end counts toward the run limits, but no longer toward the caller's
            // limits.
            clocks.since.get_or_insert(now);
            clocks.parked = None;
            self.has_slot &= has_queued;
        } else if state.is_interrupted() {
            if let Some(since) = clocks.since.take() {
                clocks.worked += now - since;
            }
            clocks.parked.get_or_insert(now);
            self.has_slot &= has_queued;
        } else {
            if !clocks.stopped {
                clocks.since.get_or_insert(now);
            }
            clocks.parked = None;
            self.has_slot = true;
        }
    }

    /// Suspends the run limits while the executor waits for others.
    pub(super) fn stop_clocks(&mut self, now: Instant) {
        let Some(clocks) = &mut self.clocks else { return };
        clocks.stopped = true;
        if let Some(since) = clocks.since.take() {
            clocks.worked += now - since;
        }
    }

    /// Resumes the run limits.
    pub(super) fn start_clocks(&mut self, now: Instant) {
        let Some(clocks) = &mut self.clocks else { return };
        clocks.stopped = false;
        clocks.active = now;
        if clocks.parked.is_none() {
            clocks.since.get_or_insert(now);
        }
    }

    /// The remaining time.
    pub(super) fn left(
        &self,
        limits: RunLimits,
        max_parked: Option<Duration>,
        now: Instant,
    ) -> Left {
        let Some(clocks) = &self.clocks else { return Left::Forever };
        if let Some(parked) = clocks.parked {
            return match max_parked {
                Some(max) if now - parked >= max => Left::Parked,
                // The clocks may resume at any time, so check again by then.
                _ => [limits.max_run_time, limits.max_silence, max_parked]
                    .into_iter()
                    .flatten()
                    .min()
                    .and_then(|left| now.checked_add(left))
                    .map_or(Left::Forever, Left::Until),
            };
        }
        let worked = clocks.worked + clocks.since.map_or(Duration::ZERO, |since| now - since);
        let silent = if clocks.since.is_some() { now - clocks.active } else { Duration::ZERO };
        let mut next: Option<Duration> = None;
        for (limit, used, what) in [
            (limits.max_run_time, worked, "worked on this message for longer than"),
            (limits.max_silence, silent, "reported no progress for"),
        ] {
            let Some(limit) = limit else { continue };
            if used >= limit {
                return Left::Expired(format!("the agent {what} {limit:?}"));
            }
            let left = limit - used;
            next = Some(next.map_or(left, |next| next.min(left)));
        }
        // Checks when a waiting task may have exceeded its retention.
        let next = next.into_iter().chain(max_parked).min();
        next.and_then(|left| now.checked_add(left)).map_or(Left::Forever, Left::Until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn limits(run_time: u32, silence: u32) -> RunLimits {
        RunLimits::default()
            .with_max_run_time(Some(SECOND * run_time))
            .with_max_silence(Some(SECOND * silence))
    }

    #[test]
    fn clocks_stop_while_the_task_waits() {
        let begun = Instant::now();
        let at = |seconds: u32| begun + SECOND * seconds;
        let mut work = Work::begin(begun);
        work.note(Some(TaskState::InputRequired), false, at(4));
        assert!(!work.has_slot);
        assert!(matches!(work.left(limits(10, 5), None, at(104)), Left::Until(_)));
        assert_eq!(work.left(limits(10, 5), Some(SECOND * 100), at(104)), Left::Parked);
        work.note(Some(TaskState::Working), false, at(104));
        assert!(work.has_slot);
        assert_eq!(work.left(limits(10, 5), None, at(108)), Left::Until(at(109)));
        work.note(None, false, at(108));
        let expired = "the agent worked on this message for longer than 10s";
        assert_eq!(work.left(limits(10, 5), None, at(110)), Left::Expired(expired.to_owned()));
        let expired = "the agent reported no progress for 2s";
        assert_eq!(work.left(limits(100, 2), None, at(110)), Left::Expired(expired.to_owned()));
    }
}
