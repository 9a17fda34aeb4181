//! The wire format of signals.
//!
//! A message contains the pending signals of a node. Nodes of another release may read it: fields
//! are added but never changed, and an unknown kind is read as [`Signal::Lagged`].

use a2a_kit_operations::{EventId, store::Signal};
use prost::Message;

use crate::codec::{decode_event, encode_event};

/// A message with signals.
#[derive(Clone, PartialEq, Message)]
pub(super) struct SignalMessage {
    #[prost(string, tag = "1")]
    pub(super) from: String,
    #[prost(message, repeated, tag = "2")]
    pub(super) records: Vec<SignalRecord>,
    /// The incarnation of the sender, new with each start.
    #[prost(fixed64, tag = "3")]
    pub(super) incarnation: u64,
    /// Whether this is the last message of the incarnation.
    #[prost(bool, tag = "4")]
    pub(super) is_last: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct SignalRecord {
    #[prost(enumeration = "Kind", tag = "1")]
    pub(super) kind: i32,
    /// The id of the task or the command.
    #[prost(string, tag = "2")]
    pub(super) id: String,
    /// The recipient; empty for all nodes.
    #[prost(string, tag = "3")]
    pub(super) to: String,
    /// The position of the newest event.
    #[prost(uint64, tag = "4")]
    pub(super) last_event: u64,
    /// The events up to that position, without gaps.
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
    Lagged = 5,
}

impl SignalRecord {
    /// A signal for a recipient; empty for all nodes.
    pub(super) fn new(signal: &Signal, to: &str) -> Self {
        let (kind, id) = match signal {
            Signal::Written { task_id, .. } => (Kind::Written, &**task_id),
            Signal::Posted { task_id } => (Kind::Posted, &**task_id),
            Signal::Answered { command_id } => (Kind::Answered, &**command_id),
            Signal::Abandoned => (Kind::Abandoned, ""),
            // Unknown kinds of signals are published as lag.
            _ => (Kind::Lagged, ""),
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
            // A node may answer a command that it posted itself before it took the task over.
            Kind::Posted | Kind::Answered => self.to.is_empty() || self.to == node,
            Kind::Unknown | Kind::Written | Kind::Abandoned | Kind::Lagged => from != node,
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
            Kind::Lagged | Kind::Unknown => Signal::Lagged,
        }
    }

    /// The events, or none: the reader then loads them from the store.
    fn read_events(&self) -> Vec<a2a_kit_operations::Event> {
        let count = u64::try_from(self.events.len()).unwrap_or(u64::MAX);
        let Some(before) = self.last_event.checked_sub(count) else { return Vec::new() };
        let read = (before + 1..)
            .zip(&self.events)
            .map(|(position, bytes)| decode_event(EventId::new(position)?, bytes).ok());
        read.collect::<Option<_>>().unwrap_or_default()
    }
}

/// Decodes a message. A malformed one may have contained any signal.
pub(super) fn read(bytes: &[u8]) -> SignalMessage {
    let unread = |_| {
        let missed = SignalRecord { kind: Kind::Lagged.into(), ..SignalRecord::default() };
        SignalMessage { records: vec![missed], ..SignalMessage::default() }
    };
    SignalMessage::decode(bytes).unwrap_or_else(unread)
}

impl SignalMessage {
    /// The signals of a message for a node.
    pub(super) fn signals(self, node: &str) -> impl Iterator<Item = Signal> {
        let Self { from, records, .. } = self;
        records
            .into_iter()
            .filter(move |line| line.is_for(node, &from))
            .map(SignalRecord::into_signal)
    }
}

#[cfg(test)]
mod tests {
    use a2a_kit_store_testing::store::fixtures::{at, chunk, positions};

    use super::*;

    fn message(records: Vec<SignalRecord>) -> Vec<u8> {
        SignalMessage { from: "n1".to_owned(), records, incarnation: 1, is_last: false }
            .encode_to_vec()
    }

    fn read(bytes: &[u8], node: &str) -> Vec<Signal> {
        super::read(bytes).signals(node).collect()
    }

    #[test]
    fn events_are_encoded_with_their_positions() {
        let events = vec![chunk(7, "t", "a"), chunk(8, "t", "b")];
        let written = Signal::Written { task_id: "t".into(), last_event: at(8), events };
        let read = read(&message(vec![SignalRecord::new(&written, "")]), "n2");
        let [Signal::Written { task_id, last_event, events }] = &*read else {
            panic!("{read:?}");
        };
        assert_eq!((&**task_id, *last_event), ("t", at(8)));
        assert_eq!(positions(events), [7, 8]);
        assert_eq!(events[1].response(), chunk(8, "t", "b").response());
    }

    #[test]
    fn node_receives_broadcasts_and_direct_signals() {
        let written = Signal::Written { task_id: "t".into(), last_event: at(1), events: vec![] };
        let posted = Signal::Posted { task_id: "t".into() };
        let answered = Signal::Answered { command_id: "c".into() };
        let bytes = message(vec![
            SignalRecord::new(&written, ""),
            SignalRecord::new(&posted, "n2"),
            SignalRecord::new(&answered, ""),
            SignalRecord::new(&Signal::Abandoned, ""),
        ]);
        for (node, heard) in [("n1", 1), ("n2", 4), ("n3", 3)] {
            assert_eq!(read(&bytes, node).len(), heard, "{node}");
        }
    }

    #[test]
    fn unreadable_message_signals_lag() {
        let unknown = SignalRecord { kind: 77, ..SignalRecord::default() };
        for bytes in [b"no message".to_vec(), message(vec![unknown])] {
            let read = read(&bytes, "n2");
            assert!(matches!(&*read, [Signal::Lagged]), "{read:?}");
        }
    }
}
