//! Live tasks and logs of the engine, without a store.

use std::collections::VecDeque;

use a2a_core::{
    TaskState,
    v1::{TaskStatusUpdateEvent, stream_response::Payload},
};
use a2a_kit_operations::{
    Event,
    testing::{EventLog, LiveTask},
};
use a2a_kit_store_testing::store::fixtures;

use crate::message;

/// How many updates there are in a row.
pub const UPDATES: usize = 10;

/// How many events a full log has.
pub const EVENTS: u64 = 100;

/// A task that is stored, with an executor at work.
pub fn at_work() -> LiveTask {
    LiveTask::new(message::message())
}

/// A task with updates that are not stored yet.
pub fn updated(updates: Vec<Payload>) -> LiveTask {
    let mut task = at_work();
    for update in updates {
        task.update(update).expect("the executor is at work");
    }
    task
}

/// Updates that change the status.
pub fn statuses() -> Vec<Payload> {
    let status = |millis| fixtures::status(TaskState::Working, millis);
    let update =
        |millis| TaskStatusUpdateEvent { status: Some(status(millis)), ..Default::default() };
    (1..).take(UPDATES).map(|millis| Payload::StatusUpdate(update(millis))).collect()
}

/// Updates that add to an artifact.
pub fn chunks() -> Vec<Payload> {
    vec![message::chunk(); UPDATES]
}

/// A log that forgets its oldest event with the next one.
pub fn log() -> EventLog {
    let events = usize::try_from(EVENTS).expect("there are few events");
    let mut log = EventLog::new(events);
    (1..=EVENTS).for_each(|position| log.push(message::event(position)));
    log
}

/// Where a full log fits in.
pub fn buffer() -> VecDeque<Event> {
    VecDeque::with_capacity(usize::try_from(EVENTS).expect("there are few events"))
}
