//! The events of a task that are kept for readers who come back.

use std::collections::VecDeque;

use crate::{Event, store::Replay};

/// What holds an event in memory, in bytes: the handle, the counts, the message itself.
const HOLDER_BYTES: usize = 512;

/// The newest events of a task, in order.
#[derive(Debug, Default)]
pub(super) struct Log {
    events: VecDeque<Logged>,
    weight: Weight,
    /// The position of the newest event that is no longer kept; 0 while all are.
    trimmed: u64,
}

#[derive(Debug)]
struct Logged {
    position: u64,
    bytes: usize,
    event: Event,
}

/// How much a log holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Weight {
    pub(super) events: usize,
    pub(super) bytes: usize,
}

impl Weight {
    pub(super) fn fits(self, bound: Self) -> bool {
        self.events <= bound.events && self.bytes <= bound.bytes
    }

    pub(super) fn add(&mut self, other: Self) {
        self.events += other.events;
        self.bytes += other.bytes;
    }

    pub(super) fn subtract(&mut self, other: Self) {
        self.events -= other.events;
        self.bytes -= other.bytes;
    }
}

impl Log {
    pub(super) fn weight(&self) -> Weight {
        self.weight
    }

    /// Adds an event at a position behind all others.
    pub(super) fn push(&mut self, position: u64, event: Event) {
        let bytes = event.encoded_len() + HOLDER_BYTES;
        self.weight.add(Weight { events: 1, bytes });
        self.events.push_back(Logged { position, bytes, event });
    }

    /// Removes the oldest event, if the log is heavier than the bound.
    pub(super) fn trim(&mut self, bound: Weight) -> Option<(u64, Event)> {
        if self.weight.fits(bound) {
            return None;
        }
        let Logged { position, bytes, event } = self.events.pop_front()?;
        self.weight.subtract(Weight { events: 1, bytes });
        self.trimmed = position;
        Some((position, event))
    }

    /// Returns the event at a position, if it is kept.
    pub(super) fn at(&self, position: u64) -> Option<&Event> {
        let index = self.events.binary_search_by_key(&position, |logged| logged.position).ok()?;
        self.events.get(index).map(|logged| &logged.event)
    }

    /// Returns the events behind a position.
    pub(super) fn behind(&self, position: u64) -> impl Iterator<Item = &Event> {
        let start = self.events.partition_point(|logged| logged.position <= position);
        self.events.range(start..).map(|logged| &logged.event)
    }

    /// Returns the events behind a position, unless one of them is no longer kept.
    pub(super) fn replay(&self, after: u64) -> Replay {
        if after < self.trimmed {
            return Replay::Trimmed;
        }
        Replay::Events(self.behind(after).cloned().collect())
    }

    /// Forgets all events.
    pub(super) fn clear(&mut self) {
        if let Some(newest) = self.events.back() {
            self.trimmed = newest.position;
        }
        self.events = VecDeque::new();
        self.weight = Weight::default();
    }

    /// Gives back the room that was reserved for events to come.
    pub(super) fn shrink(&mut self) {
        self.events.shrink_to_fit();
    }
}
