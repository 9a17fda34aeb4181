//! The events of one task.

use std::collections::VecDeque;

use crate::{Event, EventId};

/// The newest events of a task, in order and without gaps.
///
/// Readers keep a cursor and are woken. None has a queue, so a slow reader costs the others
/// nothing.
#[derive(Debug)]
pub(crate) struct Log {
    events: VecDeque<(Event, usize)>,
    /// The position of the newest event, retained or not.
    last: u64,
    bytes: usize,
    max_events: usize,
    max_bytes: usize,
}

/// The reader's next event was trimmed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Trimmed;

impl Log {
    /// Creates a log that continues after `last`.
    pub(crate) fn new(last: u64, max_events: usize, max_bytes: usize) -> Self {
        Self { events: VecDeque::new(), last, bytes: 0, max_events, max_bytes }
    }

    /// The position of the newest event.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    /// The position of the oldest retained event, or of the next one.
    pub(crate) fn first(&self) -> u64 {
        self.last + 1 - self.events.len() as u64
    }

    /// An empty log with the same limits that continues after `last`.
    pub(crate) fn emptied(&self, last: u64) -> Self {
        Self::new(last, self.max_events, self.max_bytes)
    }

    /// Continues after `last`, without the events up to there.
    pub(crate) fn skip_to(&mut self, last: u64) {
        self.events.clear();
        self.bytes = 0;
        self.last = last;
    }

    /// Appends an event, and trims the oldest ones beyond the limits.
    pub(crate) fn push(&mut self, event: Event) {
        debug_assert_eq!(event.id().map(EventId::get), Some(self.last + 1), "no gaps");
        let bytes = event.encoded_len();
        self.last += 1;
        self.bytes += bytes;
        self.events.push_back((event, bytes));
        // The newest event is always retained, however large: waiters must receive it.
        while self.events.len() > 1
            && (self.events.len() > self.max_events || self.bytes > self.max_bytes)
        {
            if let Some((_, bytes)) = self.events.pop_front() {
                self.bytes -= bytes;
            }
        }
    }

    /// Copies up to `limit` events from position `from` into `buffer`.
    pub(crate) fn read(
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

#[cfg(test)]
mod tests {
    use a2a_core::v1::{Message, StreamResponse, stream_response::Payload};

    use super::*;

    fn event(position: u64) -> Event {
        Event::new(EventId::new(position), StreamResponse::default())
    }

    #[test]
    fn full_log_trims_its_oldest_events() {
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
    fn oversized_event_is_kept_alone() {
        let mut log = Log::new(0, 10, 0);
        log.push(event(1));
        log.push(event(2));
        assert_eq!((log.first(), log.last()), (1, 2), "empty events have no bytes");
        let payload = Some(Payload::Message(Message::agent("large")));
        log.push(Event::new(EventId::new(3), StreamResponse { payload }));
        assert_eq!((log.first(), log.last()), (3, 3));
    }
}
