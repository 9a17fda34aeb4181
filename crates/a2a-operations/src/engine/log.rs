//! The events of one task, and those who wait for the next.

use std::{collections::VecDeque, task::Waker};

use slab::Slab;

use crate::{Event, EventId};

/// The newest events of a task, in order and without gaps.
///
/// Readers keep a cursor and are woken; none has a queue of its own, so a slow reader costs the
/// others nothing.
#[derive(Debug)]
pub(super) struct Log {
    events: VecDeque<(Event, usize)>,
    /// The position of the newest event, be it kept or not.
    last: u64,
    bytes: usize,
    max_events: usize,
    max_bytes: usize,
}

/// The reader's next event is no longer kept.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Trimmed;

impl Log {
    /// Creates a log that goes on behind `last`.
    pub(super) fn new(last: u64, max_events: usize, max_bytes: usize) -> Self {
        Self { events: VecDeque::new(), last, bytes: 0, max_events, max_bytes }
    }

    /// The position of the newest event.
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// The position of the oldest event that is kept, or would be next.
    pub(super) fn first(&self) -> u64 {
        self.last + 1 - self.events.len() as u64
    }

    /// Goes on behind `last`, without the events up to there.
    pub(super) fn skip_to(&mut self, last: u64) {
        self.events.clear();
        self.bytes = 0;
        self.last = last;
    }

    /// Adds an event, and forgets the oldest ones beyond the bounds.
    pub(super) fn push(&mut self, event: Event) {
        debug_assert_eq!(event.id().map(EventId::get), Some(self.last + 1), "no gaps");
        let bytes = event.encoded_len();
        self.last += 1;
        self.bytes += bytes;
        self.events.push_back((event, bytes));
        // The newest event stays, however large: whoever waits for it must get it.
        while self.events.len() > 1
            && (self.events.len() > self.max_events || self.bytes > self.max_bytes)
        {
            if let Some((_, bytes)) = self.events.pop_front() {
                self.bytes -= bytes;
            }
        }
    }

    /// Copies up to `limit` events from position `from` on into `buffer`.
    pub(super) fn read(
        &self,
        from: u64,
        limit: usize,
        buffer: &mut VecDeque<Event>,
    ) -> Result<(), Trimmed> {
        let first = self.first();
        if from < first {
            return Err(Trimmed);
        }
        let skip = usize::try_from(from - first).unwrap_or(usize::MAX);
        buffer.extend(self.events.iter().skip(skip).take(limit).map(|(event, _)| event.clone()));
        Ok(())
    }
}

/// Those who wait for a task to change.
#[derive(Debug, Default)]
pub(super) struct Waiters(Slab<Option<Waker>>);

impl Waiters {
    /// Keeps a waker under a slot, which the waiter gives back when it goes.
    pub(super) fn register(&mut self, slot: &mut Option<usize>, waker: &Waker) {
        match slot {
            Some(slot) => match &mut self.0[*slot] {
                Some(known) if known.will_wake(waker) => {}
                known => *known = Some(waker.clone()),
            },
            None => *slot = Some(self.0.insert(Some(waker.clone()))),
        }
    }

    /// Gives a slot back.
    pub(super) fn forget(&mut self, slot: usize) {
        self.0.try_remove(slot);
    }

    /// Takes every waker out, to be called when the lock is gone.
    pub(super) fn take(&mut self) -> Vec<Waker> {
        self.0.iter_mut().filter_map(|(_, waker)| waker.take()).collect()
    }
}

/// How far readers have come, for those who watch how far they are behind.
#[derive(Debug, Default)]
pub(super) struct Cursors(Slab<u64>);

impl Cursors {
    /// Notes the next position of a reader, under a slot that it gives back when it goes.
    pub(super) fn note(&mut self, slot: &mut Option<usize>, next: u64) {
        match slot.and_then(|slot| self.0.get_mut(slot)) {
            Some(known) => *known = next,
            None => *slot = Some(self.0.insert(next)),
        }
    }

    /// Gives a slot back.
    pub(super) fn forget(&mut self, slot: usize) {
        self.0.try_remove(slot);
    }

    /// The next position of the slowest reader.
    pub(super) fn slowest(&self) -> Option<u64> {
        self.0.iter().map(|(_, next)| *next).min()
    }
}

#[cfg(test)]
mod tests {
    use a2a_core::v1::{Message, StreamResponse, stream_response::Payload};

    use super::*;

    fn event(position: u64) -> Event {
        Event::new(EventId::new(position), StreamResponse::default())
    }

    #[test]
    fn a_full_log_forgets_its_oldest_events_and_says_so() {
        let mut log = Log::new(4, 3, usize::MAX);
        for position in 5..=9 {
            log.push(event(position));
        }
        assert_eq!((log.first(), log.last()), (7, 9));
        let mut buffer = VecDeque::new();
        assert_eq!(log.read(6, 10, &mut buffer), Err(Trimmed));
        assert_eq!(log.read(8, 10, &mut buffer), Ok(()));
        let positions: Vec<_> = buffer.iter().filter_map(Event::id).map(EventId::get).collect();
        assert_eq!(positions, [8, 9]);
        assert_eq!(log.read(10, 10, &mut buffer), Ok(()));
        assert_eq!(buffer.len(), 2);
    }

    #[test]
    fn an_event_beyond_the_byte_bound_is_kept_alone() {
        let mut log = Log::new(0, 10, 0);
        log.push(event(1));
        log.push(event(2));
        assert_eq!((log.first(), log.last()), (1, 2), "empty events have no bytes");
        let payload = Some(Payload::Message(Message::agent("large")));
        log.push(Event::new(EventId::new(3), StreamResponse { payload }));
        assert_eq!((log.first(), log.last()), (3, 3));
    }
}
