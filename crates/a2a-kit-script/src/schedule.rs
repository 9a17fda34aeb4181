//! Faults by target, number of the request and time, whatever the message is.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use a2a_core::{Operation, text};
use serde::Deserialize;

use crate::fault::Fault;

/// The faults of a script, in the order of the file.
#[derive(Debug)]
pub(crate) struct Schedule {
    start: Instant,
    faults: Vec<ScheduledFault>,
}

/// A fault, and the requests that it applies to.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScheduledFault {
    /// The targets; if empty, all.
    #[serde(default)]
    on: Vec<Target>,
    #[serde(default)]
    calls: Calls,
    #[serde(default)]
    time: TimeRange,
    inject: Fault,
    /// How many requests to these targets there were.
    #[serde(skip)]
    count: AtomicU64,
}

/// What is requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Operation(Operation),
    Card,
}

impl<'de> Deserialize<'de> for Target {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        if name == "card" {
            return Ok(Self::Card);
        }
        let mut operations = Operation::ALL.into_iter();
        let found = operations.find(|operation| operation.name() == name);
        found.map(Self::Operation).ok_or_else(|| {
            let operations = Operation::ALL.map(Operation::name).join(", ");
            let expected = format!("unknown target {name:?}, expected card or {operations}");
            serde::de::Error::custom(expected)
        })
    }
}

/// Which requests to the targets, counted from 1.
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Calls {
    from: u64,
    to: u64,
    #[serde(deserialize_with = "not_zero")]
    every: u64,
}

impl Default for Calls {
    fn default() -> Self {
        Self { from: 1, to: u64::MAX, every: 1 }
    }
}

impl Calls {
    fn contains(&self, number: u64) -> bool {
        (self.from..=self.to).contains(&number) && (number - self.from).is_multiple_of(self.every)
    }
}

/// The time since the start of the server.
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct TimeRange {
    #[serde(deserialize_with = "duration")]
    from: Duration,
    #[serde(deserialize_with = "duration")]
    to: Duration,
}

impl Default for TimeRange {
    fn default() -> Self {
        Self { from: Duration::ZERO, to: Duration::MAX }
    }
}

fn duration<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    text::duration(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
}

fn not_zero<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let number = u64::deserialize(deserializer)?;
    if number == 0 { Err(serde::de::Error::custom("must not be 0")) } else { Ok(number) }
}

impl ScheduledFault {
    fn applies_to(&self, target: Target) -> bool {
        self.on.is_empty() || self.on.contains(&target)
    }
}

impl Default for Schedule {
    fn default() -> Self {
        Self::new(Vec::new())
    }
}

impl Schedule {
    /// Creates a schedule that starts now.
    pub(crate) fn new(faults: Vec<ScheduledFault>) -> Self {
        Self { start: Instant::now(), faults }
    }

    /// Counts a request, and returns the first fault that applies to it.
    pub(crate) fn due(&self, target: Target) -> Option<&Fault> {
        self.due_at(target, self.start.elapsed())
    }

    /// Returns whether some fault may apply to a target.
    pub(crate) fn has_target(&self, target: Target) -> bool {
        self.faults.iter().any(|fault| fault.applies_to(target))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.faults.is_empty()
    }

    fn due_at(&self, target: Target, elapsed: Duration) -> Option<&Fault> {
        let mut due = None;
        for fault in &self.faults {
            if !fault.applies_to(target) {
                continue;
            }
            let number = fault.count.fetch_add(1, Ordering::Relaxed) + 1;
            let is_time = fault.time.from <= elapsed && elapsed < fault.time.to;
            if due.is_none() && is_time && fault.calls.contains(number) {
                due = Some(&fault.inject);
            }
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(faults: &[&str]) -> Schedule {
        Schedule::new(faults.iter().map(|fault| toml::from_str(fault).unwrap()).collect())
    }

    #[test]
    fn requests_are_counted_for_the_targets_of_the_fault() {
        let schedule = schedule(&[
            "on = ['GetTask']\ncalls = { from = 2, to = 3 }\ninject = { disconnect = true }",
        ]);
        let mut due = Vec::new();
        for _ in 0..4 {
            assert!(schedule.due(Target::Operation(Operation::SendMessage)).is_none());
            due.push(schedule.due(Target::Operation(Operation::GetTask)).is_some());
        }
        assert_eq!(due, [false, true, true, false]);
    }

    #[test]
    fn every_nth_request_is_counted_from_the_first() {
        let schedule = schedule(&["calls = { from = 2, every = 3 }\ninject = { cut_after = 0 }"]);
        let due: Vec<_> = (0..6)
            .map(|_| schedule.due(Target::Operation(Operation::SendMessage)).is_some())
            .collect();
        assert_eq!(due, [false, true, false, false, true, false]);
    }

    #[test]
    fn time_range_excludes_its_end() {
        let schedule = schedule(&["time = { from = '1s', to = '2s' }\ninject = { delay = '1s' }"]);
        for (millis, is_due) in [(0, false), (999, false), (1_000, true), (2_000, false)] {
            let elapsed = Duration::from_millis(millis);
            let due = schedule.due_at(Target::Card, elapsed);
            assert_eq!(due.is_some(), is_due, "{millis}");
        }
    }

    #[test]
    fn invalid_schedule_is_rejected() {
        for fault in [
            "inject = { delay = 'soon' }",
            "inject = { delay = '2h' }",
            "inject = { disconnect = false }",
            "on = ['Send', 'card']\ninject = { disconnect = true }",
            "calls = { every = 0 }\ninject = { disconnect = true }",
            "calls = { until = 3 }\ninject = { disconnect = true }",
            "calls = { from = 1 }",
        ] {
            assert!(toml::from_str::<ScheduledFault>(fault).is_err(), "{fault}");
        }
    }
}
