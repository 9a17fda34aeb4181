//! Signals to be published.

use std::{
    collections::{HashMap, VecDeque},
    mem,
    sync::Arc,
};

use a2a_kit_operations::{Event, EventId, store::Signal};
use parking_lot::Mutex;
use tokio::sync::Notify;

/// Maximum number of tasks, and of other signals, in the outbox. Beyond it all nodes are signalled
/// to reload everything.
const MAX_WAITING: usize = 10_000;
/// Maximum bytes of events in the outbox, and in one signal. Beyond it the oldest events are
/// dropped, and readers load them from the store.
const MAX_BYTES: usize = 4 << 20;
const MAX_TASK_BYTES: usize = 16 << 10;
/// Overhead of a signal.
const OVERHEAD: usize = 64;

/// Signals to be published. Those of one task are merged, so that a long outage leaves a list of
/// tasks, not of all their events.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    waiting: Mutex<Waiting>,
    wake: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    tasks: HashMap<Arc<str>, Written>,
    /// The tasks, in publishing order.
    order: VecDeque<Arc<str>>,
    /// The bytes of all events.
    bytes: usize,
    others: VecDeque<(Signal, Arc<str>)>,
    abandoned: bool,
    missed: bool,
    closed: bool,
}

#[derive(Debug)]
struct Written {
    last_event: EventId,
    events: VecDeque<Event>,
    bytes: usize,
}

/// Signals with their recipients; an empty recipient means all nodes.
pub(super) type Batch = Vec<(Signal, Arc<str>)>;

impl Outbox {
    /// Enqueues a written task. A write without events may have changed the lease, so readers have
    /// to reload.
    pub(super) fn written(&self, task_id: &Arc<str>, last_event: EventId, events: Vec<Event>) {
        self.change(|waiting| waiting.written(task_id, last_event, events));
    }

    /// Enqueues another signal, to one node or to all.
    pub(super) fn enqueue(&self, signal: Signal, to: &str) {
        self.change(|waiting| match signal {
            Signal::Abandoned => waiting.abandoned = true,
            signal if waiting.others.len() < MAX_WAITING => {
                waiting.others.push_back((signal, to.into()));
            }
            _ => waiting.overflow(),
        });
    }

    /// Lets the publisher end after everything is published.
    pub(super) fn close(&self) {
        self.change(|waiting| waiting.closed = true);
    }

    /// Returns the next signals, in up to `limit` bytes; `None` at the end.
    pub(super) async fn next(&self, limit: usize) -> Option<Batch> {
        loop {
            {
                let mut waiting = self.waiting.lock();
                let batch = waiting.take(limit);
                if !batch.is_empty() {
                    return Some(batch);
                }
                if waiting.closed {
                    return None;
                }
            }
            self.wake.notified().await;
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.waiting.lock().closed
    }

    fn change(&self, change: impl FnOnce(&mut Waiting)) {
        change(&mut self.waiting.lock());
        self.wake.notify_one();
    }
}

impl Waiting {
    fn written(&mut self, task_id: &Arc<str>, last_event: EventId, events: Vec<Event>) {
        if self.missed {
            return;
        }
        let is_first = !self.tasks.contains_key(task_id);
        if is_first && self.tasks.len() >= MAX_WAITING {
            return self.overflow();
        }
        if is_first {
            self.order.push_back(Arc::clone(task_id));
        }
        let new = || Written { last_event, events: VecDeque::new(), bytes: 0 };
        let written = self.tasks.entry(Arc::clone(task_id)).or_insert_with(new);
        let before = written.bytes;
        let after = written.add(last_event, events, is_first);
        self.bytes = self.bytes + after - before;
        self.drop_oldest_events(task_id);
    }

    /// Drops the events of tasks beyond the limit.
    fn drop_oldest_events(&mut self, task_id: &str) {
        if self.bytes > MAX_BYTES
            && let Some(written) = self.tasks.get_mut(task_id)
        {
            self.bytes -= written.bytes;
            written.drop_events();
        }
    }

    fn overflow(&mut self) {
        *self = Self { missed: true, closed: self.closed, ..Self::default() };
    }

    fn take(&mut self, limit: usize) -> Batch {
        let all: Arc<str> = "".into();
        let mut batch = Batch::new();
        let mut room = limit;
        if mem::take(&mut self.missed) {
            batch.push((Signal::Lagged, Arc::clone(&all)));
        }
        if mem::take(&mut self.abandoned) {
            batch.push((Signal::Abandoned, Arc::clone(&all)));
        }
        while let Some((signal, to)) = self.others.front() {
            let size = OVERHEAD + to.len() + id_of(signal).len();
            if size > room && !batch.is_empty() {
                return batch;
            }
            room = room.saturating_sub(size);
            batch.extend(self.others.pop_front());
        }
        while let Some(task_id) = self.order.pop_front() {
            let Some(mut written) = self.tasks.remove(&task_id) else { continue };
            let size = OVERHEAD + task_id.len();
            if size + written.bytes > room {
                if !batch.is_empty() {
                    self.tasks.insert(Arc::clone(&task_id), written);
                    self.order.push_front(task_id);
                    return batch;
                }
                self.bytes -= written.bytes;
                written.drop_events();
            }
            self.bytes -= written.bytes;
            room = room.saturating_sub(size + written.bytes);
            let Written { last_event, events, .. } = written;
            let events = events.into();
            batch.push((Signal::Written { task_id, last_event, events }, Arc::clone(&all)));
        }
        batch
    }
}

impl Written {
    /// Appends events, and returns the change in bytes.
    fn add(&mut self, last_event: EventId, events: Vec<Event>, is_first: bool) -> usize {
        let follows = |event: &Event| event.id() == Some(self.last_event.next());
        let goes_on = !self.events.is_empty() && events.first().is_some_and(follows);
        if !is_first && !goes_on {
            // There was a write without events, so readers have to reload.
            self.drop_events();
            self.last_event = self.last_event.max(last_event);
            return self.bytes;
        }
        self.last_event = last_event;
        self.bytes += events.iter().map(size_of).sum::<usize>();
        self.events.extend(events);
        while self.bytes > MAX_TASK_BYTES
            && let Some(event) = self.events.pop_front()
        {
            self.bytes -= size_of(&event);
        }
        self.bytes
    }

    fn drop_events(&mut self) {
        self.events = VecDeque::new();
        self.bytes = 0;
    }
}

/// The size of an event in a message; an upper bound if it has JSON data.
fn size_of(event: &Event) -> usize {
    event.protobuf().len() + OVERHEAD / 4
}

fn id_of(signal: &Signal) -> &str {
    match signal {
        Signal::Posted { task_id } => task_id,
        Signal::Answered { command_id } => command_id,
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use a2a_kit_store_testing::store::fixtures::{at, chunk, positions};

    use super::*;

    const LIMIT: usize = 256 << 10;

    /// The tasks of a batch, with their positions and the positions of their events.
    fn summary(batch: &Batch) -> Vec<(&str, u64, Vec<u64>)> {
        let written = batch.iter().filter_map(|(signal, _)| match signal {
            Signal::Written { task_id, last_event, events } => {
                Some((&**task_id, last_event.get(), positions(events)))
            }
            _ => None,
        });
        written.collect()
    }

    fn chunks(task_id: &str, from: u64, to: u64) -> Vec<Event> {
        (from..=to).map(|position| chunk(position, task_id, "some text")).collect()
    }

    #[tokio::test]
    async fn writes_of_a_task_merge_into_one_signal() {
        let outbox = Outbox::default();
        outbox.written(&"t".into(), at(2), chunks("t", 1, 2));
        outbox.written(&"u".into(), at(1), chunks("u", 1, 1));
        outbox.written(&"t".into(), at(4), chunks("t", 3, 4));
        let batch = outbox.next(LIMIT).await.unwrap();
        assert_eq!(summary(&batch), [("t", 4, vec![1, 2, 3, 4]), ("u", 1, vec![1])]);
    }

    #[tokio::test]
    async fn write_without_events_makes_readers_reload() {
        let outbox = Outbox::default();
        outbox.written(&"t".into(), at(2), chunks("t", 1, 2));
        outbox.written(&"t".into(), EventId::FIRST, Vec::new());
        outbox.written(&"t".into(), at(3), chunks("t", 3, 3));
        let batch = outbox.next(LIMIT).await.unwrap();
        assert_eq!(summary(&batch), [("t", 3, vec![])]);
    }

    #[tokio::test]
    async fn only_the_newest_events_of_a_task_are_published() {
        let outbox = Outbox::default();
        outbox.written(&"t".into(), at(2_000), chunks("t", 1, 2_000));
        let batch = outbox.next(LIMIT).await.unwrap();
        let [(_, 2_000, events)] = &*summary(&batch) else { panic!("{batch:?}") };
        assert_eq!(events.last(), Some(&2_000));
        assert!((50..1_000).contains(&events.len()), "{}", events.len());
    }

    #[tokio::test]
    async fn batches_respect_the_size_limit() {
        let outbox = Outbox::default();
        for number in 0..100 {
            let id = format!("task {number}");
            outbox.written(&id.as_str().into(), at(100), chunks(&id, 1, 100));
        }
        let mut count = 0;
        while count < 100 {
            let batch = outbox.next(30_000).await.unwrap();
            let bytes: usize = batch
                .iter()
                .map(|(signal, _)| match signal {
                    Signal::Written { events, .. } => events.iter().map(size_of).sum(),
                    _ => 0,
                })
                .sum();
            assert!(bytes <= 30_000, "{bytes}");
            count += batch.len();
        }
        outbox.close();
        assert!(outbox.next(LIMIT).await.is_none());
        assert_eq!(outbox.waiting.lock().bytes, 0);
    }

    #[tokio::test]
    async fn backlog_is_limited_and_overflow_signals_lag() {
        let outbox = Outbox::default();
        for number in 0..=MAX_WAITING {
            assert!(outbox.waiting.lock().bytes <= MAX_BYTES);
            let id = number.to_string();
            outbox.written(&id.as_str().into(), at(20), chunks(&id, 1, 20));
        }
        let batch = outbox.next(LIMIT).await.unwrap();
        assert!(matches!(&*batch, [(Signal::Lagged, _)]), "{}", batch.len());
        for number in 0..=MAX_WAITING {
            let command_id = number.to_string().into();
            outbox.enqueue(Signal::Answered { command_id }, "");
        }
        let batch = outbox.next(LIMIT).await.unwrap();
        assert!(matches!(&*batch, [(Signal::Lagged, _)]), "{}", batch.len());
    }
}
