//! What is yet to be published.

use std::{
    collections::{HashMap, VecDeque},
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use a2a_operations::{Event, EventId, store::Signal};
use tokio::sync::Notify;

/// The most tasks, and the most signals of other kinds, that wait. Past them, everybody is told
/// that signals were missed.
const MAX_WAITING: usize = 10_000;
/// The most bytes of events that wait with their tasks, and that travel along with one. Past
/// them, the oldest stay behind, for readers to take from the store.
const MAX_BYTES: usize = 4 << 20;
const MAX_TASK_BYTES: usize = 16 << 10;
/// What a signal takes beside its ids and events.
const OVERHEAD: usize = 64;

/// Signals on their way to other nodes. Those of one task are one, so that a server that is
/// away for long leaves a list of tasks behind and not of all that happened to them.
#[derive(Debug)]
pub(super) struct Outbox {
    waiting: Mutex<Waiting>,
    wake: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    tasks: HashMap<Arc<str>, Written>,
    /// The tasks, in the order in which they are to be sent.
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

/// What is said, and to whom: to all if to nobody.
pub(super) type Batch = Vec<(Signal, Arc<str>)>;

impl Outbox {
    pub(super) fn new() -> Self {
        Self { waiting: Mutex::default(), wake: Notify::new() }
    }

    /// Notes that a task was written. Without events, its holder may be another one, so that
    /// readers have to look.
    pub(super) fn written(&self, task_id: &Arc<str>, last_event: EventId, events: Vec<Event>) {
        self.change(|waiting| waiting.written(task_id, last_event, events));
    }

    /// Notes something else, for a node or for all.
    pub(super) fn say(&self, signal: Signal, to: &str) {
        self.change(|waiting| match signal {
            Signal::Abandoned => waiting.abandoned = true,
            signal if waiting.others.len() < MAX_WAITING => {
                waiting.others.push_back((signal, to.into()));
            }
            _ => waiting.overflow(),
        });
    }

    /// Lets the publisher end, once all is said.
    pub(super) fn close(&self) {
        self.change(|waiting| waiting.closed = true);
    }

    /// What there is to say next, in up to `limit` bytes; `None` at the end.
    pub(super) async fn next(&self, limit: usize) -> Option<Batch> {
        loop {
            {
                let mut waiting = self.lock();
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
        self.lock().closed
    }

    fn change(&self, change: impl FnOnce(&mut Waiting)) {
        change(&mut self.lock());
        self.wake.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
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
        self.shed(task_id);
    }

    /// Leaves the events of a task behind where too many wait.
    fn shed(&mut self, task_id: &str) {
        if self.bytes > MAX_BYTES
            && let Some(written) = self.tasks.get_mut(task_id)
        {
            self.bytes -= written.bytes;
            written.leave_behind();
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
            batch.push((Signal::Missed, Arc::clone(&all)));
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
                written.leave_behind();
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
    /// Adds events behind those that wait, and returns how many bytes wait now.
    fn add(&mut self, last_event: EventId, events: Vec<Event>, is_first: bool) -> usize {
        let follows = |event: &Event| event.id() == Some(self.last_event.next());
        let goes_on = !self.events.is_empty() && events.first().is_some_and(follows);
        if !is_first && !goes_on {
            // Something was written without its events: whoever reads has to look for it.
            self.leave_behind();
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

    fn leave_behind(&mut self) {
        self.events = VecDeque::new();
        self.bytes = 0;
    }
}

/// What an event takes in a message; at most, if it has free data.
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
    use a2a_operations::testing::store::scenery::{at, chunk, positions};

    use super::*;

    const LIMIT: usize = 256 << 10;

    /// The tasks of a batch, each with its position and the positions of its events.
    fn told(batch: &Batch) -> Vec<(&str, u64, Vec<u64>)> {
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
    async fn the_writes_of_a_task_are_one_signal() {
        let outbox = Outbox::new();
        outbox.written(&"t".into(), at(2), chunks("t", 1, 2));
        outbox.written(&"u".into(), at(1), chunks("u", 1, 1));
        outbox.written(&"t".into(), at(4), chunks("t", 3, 4));
        let batch = outbox.next(LIMIT).await.unwrap();
        assert_eq!(told(&batch), [("t", 4, vec![1, 2, 3, 4]), ("u", 1, vec![1])]);
    }

    #[tokio::test]
    async fn a_write_without_events_makes_readers_look() {
        let outbox = Outbox::new();
        outbox.written(&"t".into(), at(2), chunks("t", 1, 2));
        outbox.written(&"t".into(), EventId::FIRST, Vec::new());
        outbox.written(&"t".into(), at(3), chunks("t", 3, 3));
        let batch = outbox.next(LIMIT).await.unwrap();
        assert_eq!(told(&batch), [("t", 3, vec![])]);
    }

    #[tokio::test]
    async fn only_the_newest_events_of_a_task_travel() {
        let outbox = Outbox::new();
        outbox.written(&"t".into(), at(2_000), chunks("t", 1, 2_000));
        let batch = outbox.next(LIMIT).await.unwrap();
        let [(_, 2_000, events)] = &*told(&batch) else { panic!("{batch:?}") };
        assert_eq!(events.last(), Some(&2_000));
        assert!((50..1_000).contains(&events.len()), "{}", events.len());
    }

    #[tokio::test]
    async fn a_batch_is_not_too_long_and_the_rest_comes_next() {
        let outbox = Outbox::new();
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
        assert_eq!(outbox.lock().bytes, 0);
    }

    #[tokio::test]
    async fn what_waits_is_bounded_and_then_missed() {
        let outbox = Outbox::new();
        for number in 0..=MAX_WAITING {
            assert!(outbox.lock().bytes <= MAX_BYTES);
            let id = number.to_string();
            outbox.written(&id.as_str().into(), at(20), chunks(&id, 1, 20));
        }
        let batch = outbox.next(LIMIT).await.unwrap();
        assert!(matches!(&*batch, [(Signal::Missed, _)]), "{}", batch.len());
        for number in 0..=MAX_WAITING {
            let command_id = number.to_string().into();
            outbox.say(Signal::Answered { command_id }, "");
        }
        let batch = outbox.next(LIMIT).await.unwrap();
        assert!(matches!(&*batch, [(Signal::Missed, _)]), "{}", batch.len());
    }
}
