//! What nodes say, as bytes.
//!
//! A message has the signals that waited at a node when it was sent. Nodes of another release
//! may read it: fields are added and never changed, and a kind that is not known is a signal
//! that was missed.

use a2a_operations::{EventId, store::Signal};
use prost::Message;

use crate::codec::{decode_event, encode_event};

/// What a node says at once.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Letter {
    /// Who says it.
    #[prost(string, tag = "1")]
    pub(super) from: String,
    #[prost(message, repeated, tag = "2")]
    pub(super) lines: Vec<Line>,
    /// Which life of the node says it: each start is another.
    #[prost(fixed64, tag = "3")]
    pub(super) life: u64,
    /// Whether it is the last that this life says.
    #[prost(bool, tag = "4")]
    pub(super) leaves: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Line {
    #[prost(enumeration = "Kind", tag = "1")]
    pub(super) kind: i32,
    /// The task or the command.
    #[prost(string, tag = "2")]
    pub(super) id: String,
    /// Whom it is for; all if nobody.
    #[prost(string, tag = "3")]
    pub(super) to: String,
    /// The position of the newest event.
    #[prost(uint64, tag = "4")]
    pub(super) last_event: u64,
    /// The events up to that position, without a gap.
    #[prost(bytes = "vec", repeated, tag = "5")]
    pub(super) events: Vec<Vec<u8>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, prost::Enumeration)]
#[repr(i32)]
pub(super) enum Kind {
    Unknown = 0,
    Written = 1,
    Posted = 2,
    Answered = 3,
    Abandoned = 4,
    Missed = 5,
}

impl Line {
    /// What is said to a node, for instance to all.
    pub(super) fn new(signal: &Signal, to: &str) -> Self {
        let (kind, id) = match signal {
            Signal::Written { task_id, .. } => (Kind::Written, &**task_id),
            Signal::Posted { task_id } => (Kind::Posted, &**task_id),
            Signal::Answered { command_id } => (Kind::Answered, &**command_id),
            Signal::Abandoned => (Kind::Abandoned, ""),
            // A signal that is not known here is one that others may know by its effects.
            _ => (Kind::Missed, ""),
        };
        let mut line = Self { kind: kind.into(), id: id.into(), to: to.into(), ..Self::default() };
        if let Signal::Written { last_event, events, .. } = signal {
            line.last_event = last_event.get();
            let encoded: Result<_, _> = events.iter().map(encode_event).collect();
            line.events = encoded.unwrap_or_default();
        }
        line
    }

    fn is_for(&self, node: &str, from: &str) -> bool {
        match self.kind() {
            // A node may answer what it has posted itself, before it took the task over.
            Kind::Posted | Kind::Answered => self.to.is_empty() || self.to == node,
            Kind::Unknown | Kind::Written | Kind::Abandoned | Kind::Missed => from != node,
        }
    }

    fn into_signal(self) -> Signal {
        match self.kind() {
            Kind::Written => {
                let last_event = EventId::new(self.last_event).unwrap_or(EventId::FIRST);
                let events = self.read_events();
                Signal::Written { task_id: self.id.into(), last_event, events }
            }
            Kind::Posted => Signal::Posted { task_id: self.id.into() },
            Kind::Answered => Signal::Answered { command_id: self.id.into() },
            Kind::Abandoned => Signal::Abandoned,
            Kind::Missed | Kind::Unknown => Signal::Missed,
        }
    }

    /// The events, or none: the reader then takes them from the store.
    fn read_events(&self) -> Vec<a2a_operations::Event> {
        let count = u64::try_from(self.events.len()).unwrap_or(u64::MAX);
        let Some(before) = self.last_event.checked_sub(count) else { return Vec::new() };
        let read = (before + 1..)
            .zip(&self.events)
            .map(|(position, bytes)| decode_event(EventId::new(position)?, bytes).ok());
        read.collect::<Option<_>>().unwrap_or_default()
    }
}

/// Reads a message. One that can't be read may have told anything.
pub(super) fn read(bytes: &[u8]) -> Letter {
    let unread = |_| {
        let missed = Line { kind: Kind::Missed.into(), ..Line::default() };
        Letter { lines: vec![missed], ..Letter::default() }
    };
    Letter::decode(bytes).unwrap_or_else(unread)
}

impl Letter {
    /// What a message tells a node.
    pub(super) fn signals(self, node: &str) -> impl Iterator<Item = Signal> {
        let Self { from, lines, .. } = self;
        lines.into_iter().filter(move |line| line.is_for(node, &from)).map(Line::into_signal)
    }
}

#[cfg(test)]
mod tests {
    use a2a_operations::testing::store::scenery::{at, chunk, positions};

    use super::*;

    fn letter(lines: Vec<Line>) -> Vec<u8> {
        Letter { from: "n1".to_owned(), lines, life: 1, leaves: false }.encode_to_vec()
    }

    fn read(bytes: &[u8], node: &str) -> Vec<Signal> {
        super::read(bytes).signals(node).collect()
    }

    #[test]
    fn events_travel_with_their_positions() {
        let events = vec![chunk(7, "t", "a"), chunk(8, "t", "b")];
        let written = Signal::Written { task_id: "t".into(), last_event: at(8), events };
        let read = read(&letter(vec![Line::new(&written, "")]), "n2");
        let [Signal::Written { task_id, last_event, events }] = &*read else {
            panic!("{read:?}");
        };
        assert_eq!((&**task_id, *last_event), ("t", at(8)));
        assert_eq!(positions(events), [7, 8]);
        assert_eq!(events[1].response(), chunk(8, "t", "b").response());
    }

    #[test]
    fn a_node_hears_what_others_say_to_all_and_to_it() {
        let written = Signal::Written { task_id: "t".into(), last_event: at(1), events: vec![] };
        let posted = Signal::Posted { task_id: "t".into() };
        let answered = Signal::Answered { command_id: "c".into() };
        let bytes = letter(vec![
            Line::new(&written, ""),
            Line::new(&posted, "n2"),
            Line::new(&answered, ""),
            Line::new(&Signal::Abandoned, ""),
        ]);
        for (node, heard) in [("n1", 1), ("n2", 4), ("n3", 3)] {
            assert_eq!(read(&bytes, node).len(), heard, "{node}");
        }
    }

    #[test]
    fn what_can_not_be_read_was_missed() {
        let unknown = Line { kind: 77, ..Line::default() };
        for bytes in [b"no letter".to_vec(), letter(vec![unknown])] {
            let read = read(&bytes, "n2");
            assert!(matches!(&*read, [Signal::Missed]), "{read:?}");
        }
    }
}
