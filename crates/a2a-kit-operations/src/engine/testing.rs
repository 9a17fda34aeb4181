//! The pure parts of the engine, for benchmarks.

#![expect(clippy::expect_used, reason = "a benchmark stops where something does not work")]

use std::{
    collections::VecDeque,
    sync::Arc,
    time::{Duration, Instant},
};

use a2a_core::{
    TaskState,
    v1::{Message, Task, TaskStatus, TaskStatusUpdateEvent, stream_response::Payload},
    well_known::Timestamp,
};

use super::task::{self, AdmissionLimits, Confirmation, Creation, Log, Now, RunEnd, Sender};
use crate::{CallContext, Event, TaskLimits, UpdateError, engine::TurnRequest};

/// The state machine of an active task, with a running executor and without a store.
#[derive(Debug)]
pub struct LiveTask {
    live: task::LiveTask,
    limits: TaskLimits,
    now: Now,
}

impl LiveTask {
    /// Creates a task that is stored in the state `working`.
    ///
    /// # Panics
    ///
    /// Never: the slots of a new engine are free.
    pub fn new(message: Message) -> Self {
        let status = Some(TaskStatus { state: TaskState::Submitted.into(), ..Default::default() });
        let turn = turn(message);
        let history = vec![Message::clone(&turn.message)];
        let task = Task { id: "task".to_owned(), status, history, ..Task::default() };
        let mut live = Self {
            live: task::LiveTask::draft(task, Log::new(0, 1_000, usize::MAX)),
            limits: TaskLimits::default(),
            now: Now { instant: Instant::now(), time: Timestamp::from_millis(0) },
        };
        let creation = Creation { is_streamed: true, ..Creation::default() };
        live.live.begin(turn, creation, true, live.now.instant);
        drop(live.live.take_effects(true));
        live.update(update_to(TaskState::Working)).expect("the executor is at work");
        live.write();
        live
    }

    /// Applies an update of the executor, and returns its position.
    ///
    /// # Errors
    ///
    /// The error that the executor gets.
    pub fn update(&mut self, payload: Payload) -> Result<u64, UpdateError> {
        self.now.instant += Duration::from_millis(1);
        let generation = self.live.generation();
        self.live.update(generation, Event::of(payload), &self.limits, self.now)
    }

    /// Takes the pending changes as if the store had written them, and returns the number of
    /// events.
    pub fn write(&mut self) -> usize {
        let mut events = 0;
        if self.live.begin_writing() {
            while let Some(group) = self.live.next_group() {
                events += group.events().count();
                self.live.stored(*group, CONFIRMATION);
            }
        }
        events
    }

    /// Takes another client message, and returns whether it was accepted.
    pub fn message(&mut self, message: Message) -> bool {
        let limits = AdmissionLimits { task: &self.limits, max_queued: usize::MAX, may_run: true };
        self.live.take(turn(message), Sender::Waits, limits, self.now).is_ok()
    }

    /// Ends the run of the executor, and returns whether another turn begins.
    pub fn returned(&mut self) -> bool {
        let generation = self.live.generation();
        self.live.end_run(generation, RunEnd::Returned, false, self.now).is_some()
    }
}

/// What a store says that is not shared and has no webhooks.
const CONFIRMATION: Confirmation =
    Confirmation { begun: None, has_pushes: false, is_shared: false };

/// The log of the newest events of a task.
#[derive(Debug)]
pub struct EventLog(Log);

impl EventLog {
    /// Creates an empty log that keeps a number of events.
    pub fn new(max_events: usize) -> Self {
        Self(Log::new(0, max_events, usize::MAX))
    }

    /// Adds the next event.
    pub fn push(&mut self, event: Event) {
        self.0.push(event);
    }

    /// Copies up to `limit` events from position `from` into `buffer`, and returns whether none of
    /// them was trimmed.
    pub fn read(&self, from: u64, limit: usize, buffer: &mut VecDeque<Event>) -> bool {
        self.0.read(from, limit, buffer).is_ok()
    }
}

fn update_to(state: TaskState) -> Payload {
    let status = Some(TaskStatus { state: state.into(), ..TaskStatus::default() });
    Payload::StatusUpdate(TaskStatusUpdateEvent { status, ..TaskStatusUpdateEvent::default() })
}

fn turn(message: Message) -> TurnRequest {
    TurnRequest {
        message: Arc::new(message),
        call: Arc::new(CallContext::default()),
        accepted_output_modes: Arc::default(),
        metadata: None,
        streams: false,
        key: Some("key".into()),
        joins_from: Some(0),
        rerun: false,
        is_lost: false,
        commands: Vec::new(),
    }
}
