//! The retained events of a task.

use std::collections::VecDeque;

use a2a_core::v1::{StreamResponse, stream_response::Payload};
use bytes::Bytes;
use prost::{
    Message as _,
    encoding::{decode_varint, encode_varint},
};

use super::lossless;
use crate::{Event, EventId, store::Replay};

/// Overhead of an event in memory, in bytes: the handle, the counts, the message itself.
const HOLDER_BYTES: usize = 512;

/// Maximum bytes of events to pack; packing more would hold the lock for too long.
const MAX_PACKED_BYTES: usize = 256 << 10;

/// The newest events of a task, in order.
#[derive(Debug, Default)]
pub(super) struct Log {
    events: Events,
    /// The position of the newest trimmed event; 0 if none was trimmed.
    pub(super) trimmed: u64,
}

/// The events of a log. Most tasks end with their first write, and have none.
#[derive(Debug, Default)]
enum Events {
    #[default]
    None,
    Unpacked(Box<Unpacked>),
    Packed(Box<Packed>),
}

/// Events as messages.
#[derive(Debug, Default)]
struct Unpacked {
    events: VecDeque<Logged>,
    weight: Weight,
}

#[derive(Debug)]
struct Logged {
    position: u64,
    bytes: usize,
    event: Event,
}

/// Encoded events: for each the position, the length, and the protobuf encoding.
#[derive(Debug)]
struct Packed {
    bytes: Bytes,
    weight: Weight,
    last: u64,
}

/// The weight of a log.
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
    /// An empty log whose events up to a position were trimmed.
    pub(super) fn after(trimmed: u64) -> Self {
        Self { events: Events::None, trimmed }
    }

    pub(super) fn weight(&self) -> Weight {
        match &self.events {
            Events::None => Weight::default(),
            Events::Unpacked(unpacked) => unpacked.weight,
            Events::Packed(packed) => packed.weight,
        }
    }

    /// Appends an event.
    pub(super) fn push(&mut self, position: u64, event: Event) {
        self.change(|unpacked| unpacked.push(position, event));
    }

    /// Removes the oldest event, if the log exceeds the limit.
    pub(super) fn trim(&mut self, bound: Weight) -> Option<(u64, Event)> {
        if self.weight().fits(bound) {
            return None;
        }
        let Logged { position, event, .. } = self.change(Unpacked::pop)?;
        self.trimmed = position;
        Some((position, event))
    }

    /// Returns the event at a position, if it is retained.
    pub(super) fn at(&self, position: u64) -> Option<Event> {
        match &self.events {
            Events::None => None,
            Events::Unpacked(unpacked) => unpacked.at(position),
            Events::Packed(packed) => packed.at(position),
        }
    }

    /// Returns the events after a position, with their positions.
    pub(super) fn behind(&self, position: u64) -> Vec<(u64, Event)> {
        match &self.events {
            Events::None => Vec::new(),
            Events::Unpacked(unpacked) => unpacked.behind(position),
            Events::Packed(packed) => packed.behind(position),
        }
    }

    /// Returns the events after a position, unless some of them were trimmed.
    pub(super) fn replay(&self, after: u64) -> Replay {
        if after < self.trimmed {
            return Replay::Trimmed;
        }
        Replay::Events(self.behind(after).into_iter().map(|(_, event)| event).collect())
    }

    /// Drops all events.
    pub(super) fn clear(&mut self) {
        match std::mem::take(&mut self.events) {
            Events::None => {}
            Events::Unpacked(unpacked) => {
                let newest = unpacked.events.back();
                self.trimmed = newest.map_or(self.trimmed, |newest| newest.position);
            }
            Events::Packed(packed) => self.trimmed = packed.last,
        }
    }

    /// Packs the events, unless their encodings are long or lossy. Unpacked they take about ten
    /// times the memory.
    pub(super) fn pack(&mut self) {
        if let Events::Unpacked(unpacked) = &mut self.events {
            match unpacked.pack() {
                Some(packed) => self.events = Events::Packed(Box::new(packed)),
                None => unpacked.events.shrink_to_fit(),
            }
        }
    }

    /// Modifies the events, unpacking them if necessary.
    fn change<T>(&mut self, change: impl FnOnce(&mut Unpacked) -> T) -> T {
        let mut unpacked = match std::mem::take(&mut self.events) {
            Events::None => Box::default(),
            Events::Unpacked(unpacked) => unpacked,
            Events::Packed(packed) => {
                let mut unpacked = Box::<Unpacked>::default();
                packed.behind(0).into_iter().for_each(|(at, event)| unpacked.push(at, event));
                unpacked
            }
        };
        let changed = change(&mut unpacked);
        self.events = Events::Unpacked(unpacked);
        changed
    }
}

impl Unpacked {
    fn push(&mut self, position: u64, event: Event) {
        let bytes = event.encoded_len() + HOLDER_BYTES;
        self.weight.add(Weight { events: 1, bytes });
        self.events.push_back(Logged { position, bytes, event });
    }

    fn pop(&mut self) -> Option<Logged> {
        let oldest = self.events.pop_front()?;
        self.weight.subtract(Weight { events: 1, bytes: oldest.bytes });
        Some(oldest)
    }

    fn at(&self, position: u64) -> Option<Event> {
        let index = self.events.binary_search_by_key(&position, |logged| logged.position).ok()?;
        self.events.get(index).map(|logged| logged.event.clone())
    }

    fn behind(&self, position: u64) -> Vec<(u64, Event)> {
        let start = self.events.partition_point(|logged| logged.position <= position);
        let events = self.events.range(start..);
        events.map(|logged| (logged.position, logged.event.clone())).collect()
    }

    fn pack(&self) -> Option<Packed> {
        let last = self.events.back()?.position;
        if self.weight.bytes - self.weight.events * HOLDER_BYTES > MAX_PACKED_BYTES {
            return None;
        }
        let mut bytes =
            Vec::with_capacity(self.weight.bytes - self.weight.events * (HOLDER_BYTES - 8));
        for Logged { position, event, .. } in &self.events {
            encode_varint(*position, &mut bytes);
            encode_varint(event.encoded_len() as u64, &mut bytes);
            let start = bytes.len();
            event.response().encode_raw(&mut bytes);
            // Protobuf stores JSON integers as doubles, and its nesting depth is limited.
            let is_exact = is_plain(event)
                || StreamResponse::decode(&bytes[start..])
                    .is_ok_and(|decoded| decoded == *event.response());
            if !is_exact {
                return None;
            }
        }
        let weight = Weight { events: self.events.len(), bytes: bytes.len() };
        let packed = Packed { bytes: bytes.into_boxed_slice().into(), weight, last };
        // Readers that are behind need not encode them again.
        for (logged, (_, encoded)) in self.events.iter().zip(packed.encoded()) {
            logged.event.share_protobuf(|| packed.bytes.slice_ref(encoded));
        }
        Some(packed)
    }
}

impl Packed {
    fn at(&self, position: u64) -> Option<Event> {
        self.encoded().find(|(at, _)| *at == position).and_then(decoded).map(|(_, event)| event)
    }

    fn behind(&self, position: u64) -> Vec<(u64, Event)> {
        self.encoded().filter(|(at, _)| *at > position).filter_map(decoded).collect()
    }

    /// The encoded events, with their positions.
    fn encoded(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let mut bytes = &*self.bytes;
        std::iter::from_fn(move || {
            // The encoding is our own, so decoding fails only at the end.
            let at = decode_varint(&mut bytes).ok()?;
            Some((at, split_message(&mut bytes)?))
        })
    }
}

fn decoded((at, encoded): (u64, &[u8])) -> Option<(u64, Event)> {
    let response = StreamResponse::decode(encoded).ok()?;
    Some((at, Event::new(EventId::new(at), response)))
}

/// Splits a length-delimited message off the front of a buffer.
fn split_message<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let len = usize::try_from(decode_varint(bytes).ok()?).ok()?;
    bytes.split_off(..len)
}

/// Whether an event has no metadata or data parts, whose encoding may be lossy.
fn is_plain(event: &Event) -> bool {
    match event.payload() {
        None => true,
        Some(Payload::Task(task)) => lossless::task(task),
        Some(Payload::Message(message)) => lossless::message(message),
        Some(Payload::StatusUpdate(update)) => {
            let message = update.status.as_ref().and_then(|status| status.message.as_ref());
            update.metadata.is_none() && message.is_none_or(lossless::message)
        }
        Some(Payload::ArtifactUpdate(update)) => {
            update.metadata.is_none() && update.artifact.as_ref().is_none_or(lossless::artifact)
        }
    }
}

#[cfg(test)]
mod tests {
    use a2a_core::{
        Artifact, Message, Part, TaskState,
        v1::{TaskArtifactUpdateEvent, TaskStatus, TaskStatusUpdateEvent},
        well_known::Value,
    };
    use serde_json::json;

    use super::*;

    fn log(payloads: Vec<Payload>) -> Log {
        let mut log = Log::default();
        for (at, payload) in (5..).zip(payloads) {
            let response = StreamResponse { payload: Some(payload) };
            log.push(at, Event::new(EventId::new(at), response));
        }
        log
    }

    fn artifact(part: Part) -> Payload {
        let artifact = Some(Artifact::new("a", part));
        Payload::ArtifactUpdate(TaskArtifactUpdateEvent { artifact, ..Default::default() })
    }

    fn status(message: Option<Message>) -> Payload {
        let status = Some(TaskStatus::now(TaskState::Working, message));
        Payload::StatusUpdate(TaskStatusUpdateEvent { status, ..Default::default() })
    }

    fn replayed(log: &Log, after: u64) -> Vec<(u64, StreamResponse)> {
        let events = log.behind(after).into_iter();
        events.map(|(at, event)| (at, event.response().clone())).collect()
    }

    #[test]
    fn packed_log_replays_the_same_events() {
        let data = Part::data(Value::from(json!({ "a": [1.5, null, "x"] })));
        let payloads = vec![
            status(None),
            artifact("text".into()),
            artifact(data),
            status(Some(Message::agent("hi"))),
        ];
        let mut log = log(payloads);
        let before = (replayed(&log, 0), replayed(&log, 6), replayed(&log, 8));
        let weight = log.weight();
        log.pack();
        assert!(matches!(log.events, Events::Packed(_)), "{log:?}");
        assert_eq!((replayed(&log, 0), replayed(&log, 6), replayed(&log, 8)), before);
        assert_eq!(before.1.len(), 2);
        assert_eq!(log.weight().events, weight.events);
        assert!(log.weight().bytes < weight.bytes / 4, "{:?} of {weight:?}", log.weight());
        // A packed log still accepts events and can be trimmed.
        log.push(9, Event::new(EventId::new(9), StreamResponse::default()));
        assert_eq!(log.behind(0).len(), 5);
        assert_eq!(log.trim(Weight { events: 4, bytes: usize::MAX }).map(|(at, _)| at), Some(5));
        log.pack();
        log.clear();
        assert!(matches!(log.replay(8), Replay::Trimmed));
        assert!(matches!(log.replay(9), Replay::Events(events) if events.is_empty()));
    }

    #[test]
    fn lossy_and_long_events_are_not_packed() {
        let exact = Part::data(Value::from(json!({ "id": u64::MAX })));
        let long = Part::text("x".repeat(MAX_PACKED_BYTES));
        for part in [exact, long] {
            let mut log = log(vec![status(None), artifact(part)]);
            let before = replayed(&log, 0);
            log.pack();
            assert!(matches!(log.events, Events::Unpacked(_)));
            assert_eq!(replayed(&log, 0), before);
        }
    }
}
