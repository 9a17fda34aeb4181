//! The journal of actual writes: the reference for all responses and events.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use a2a_core::{
    Message, Role, Task, TaskState,
    v1::{StreamResponse, stream_response::Payload},
};
use a2a_kit_operations::{
    Event, EventId,
    store::{NewTask, Transition},
};

/// All tasks that were ever stored.
#[derive(Debug, Default)]
pub(super) struct Journal(Mutex<Records>);

#[derive(Debug, Default)]
pub(super) struct Records {
    /// The visible tasks, in order.
    pub(super) ids: Vec<String>,
    pub(super) tasks: HashMap<String, Record>,
}

/// A task with all of its writes.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) events: Vec<Event>,
    /// The task after each write.
    pub(super) versions: Vec<Task>,
    /// The position of the newest event of each version.
    pub(super) positions: Vec<u64>,
    /// Whether it was old enough to be swept.
    pub(super) is_swept: bool,
}

impl Record {
    pub(super) fn task(&self) -> &Task {
        self.versions.last().unwrap()
    }

    pub(super) fn last(&self) -> u64 {
        self.events.len() as u64
    }

    /// The task that results from the events up to a position, without its client messages.
    fn folded(&self, last: u64) -> Task {
        let Some(Payload::Task(task)) = self.events[0].payload() else {
            panic!("the first event is not a task")
        };
        let mut task = task.clone();
        for event in self.events.iter().take(last.try_into().unwrap()).skip(1) {
            apply(&mut task, event);
        }
        without_callers(&task)
    }

    /// Returns whether a client message is in the history.
    pub(super) fn count(&self, message_id: &str) -> usize {
        let said = |message: &&Message| message.message_id == message_id;
        self.task().history.iter().filter(said).count()
    }

    /// The last client message that was handled. One that was not is followed by the reason.
    pub(super) fn last_said(&self) -> &Message {
        let history = &self.task().history;
        let next = history[1..].iter().map(Some).chain([None]);
        let handled = history.iter().zip(next).filter(|(message, next)| {
            let is_refused = next.is_some_and(|next| {
                next.role() == Role::Agent
                    && next.text().starts_with("this message was not handled")
            });
            message.role() == Role::User && !is_refused
        });
        handled.last().unwrap().0
    }

    /// The first version with the event at a position.
    pub(super) fn version_at(&self, position: u64) -> usize {
        self.positions.iter().position(|last| *last >= position).unwrap_or(self.positions.len())
    }

    fn write(&mut self, events: Vec<Event>, snapshot: Option<&Task>) {
        let id = self.task().id.clone();
        assert!(!self.task().state().is_terminal(), "{id} was written to after its end");
        let mut task = self.task().clone();
        for event in events {
            let position = event.id().map(EventId::get);
            assert_eq!(position, Some(self.last() + 1), "{id} has a gap, or an event twice");
            apply(&mut task, &event);
            self.events.push(event);
        }
        if let Some(snapshot) = snapshot {
            assert_eq!(
                without_callers(snapshot),
                without_callers(&task),
                "the snapshot is not what the events lead to"
            );
            let (before, after) = (said(&task), said(snapshot));
            assert!(after.starts_with(&before), "{before:?} became {after:?}");
            task.clone_from(snapshot);
        }
        self.versions.push(task);
        self.positions.push(self.last());
    }
}

impl Journal {
    pub(super) fn lock(&self) -> MutexGuard<'_, Records> {
        // A panic under the lock has failed the test already.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a stored task.
    pub(super) fn insert(&self, new: NewTask) {
        let mut records = self.lock();
        let id = new.task.id.clone();
        let mut events = new.events;
        let opening = if events.is_empty() {
            // A task that was unknown until its end appears with its final state.
            assert!(new.task.state().is_terminal() && new.webhooks.is_empty());
            let payload = Some(Payload::Task((*new.task).clone()));
            Event::new(Some(EventId::FIRST), StreamResponse { payload })
        } else {
            events.remove(0)
        };
        let Some(Payload::Task(first)) = opening.payload() else {
            panic!("the first event is not a task")
        };
        let mut record = Record {
            events: Vec::new(),
            versions: vec![first.clone()],
            positions: vec![1],
            is_swept: false,
        };
        assert_eq!(opening.id(), Some(EventId::FIRST));
        record.events.push(opening);
        if !record.task().state().is_terminal() {
            record.write(events, Some(&new.task));
        }
        let before = records.tasks.insert(id, record);
        assert!(before.is_none_or(|before| before.is_swept), "a task was stored twice");
    }

    /// Records that a node knows that a task is stored.
    pub(super) fn show(&self, id: &str) {
        let mut records = self.lock();
        if !records.ids.iter().any(|known| known == id) {
            records.ids.push(id.to_owned());
        }
    }

    /// Records a committed transition.
    pub(super) fn commit(&self, transition: Transition) {
        let mut records = self.lock();
        let record = records.tasks.get_mut(&*transition.task_id).expect("the task is stored");
        record.write(transition.events, transition.snapshot.as_deref());
    }

    /// Checks a task in a response.
    pub(super) fn check_task(&self, task: &Task) {
        let records = self.lock();
        let Some(record) = records.tasks.get(&task.id) else {
            panic!("a task is seen that is not stored: {task:?}")
        };
        assert!(record.versions.contains(task), "a task is seen that was never so: {task:?}");
    }

    /// Checks an event of a stream.
    pub(super) fn check_event(&self, task_id: &str, event: &Event) {
        let records = self.lock();
        let Some(record) = records.tasks.get(task_id) else {
            panic!("{task_id} is not stored, and seen: {event:?}")
        };
        let position = event.id().expect("events of tasks have positions").get();
        assert!(position <= record.last(), "an event is seen that is not stored: {event:?}");
        match event.payload() {
            Some(Payload::Task(task)) => {
                assert_eq!(without_callers(task), record.folded(position), "at {position}");
            }
            _ => {
                let index = usize::try_from(position - 1).unwrap();
                assert_eq!(event.response(), record.events[index].response());
            }
        }
    }

    /// Checks a task at the end: it matches its log, and waits for nothing but its caller.
    pub(super) fn check_rest(&self, task_id: &str) {
        let records = self.lock();
        let record = &records.tasks[task_id];
        assert_eq!(without_callers(record.task()), record.folded(record.last()));
        let said = record.last_said();
        let script = said.text();
        if let Some(told) = record.task().status.as_ref().unwrap().message.as_ref() {
            assert!(!told.text().starts_with("the agent failed"), "an executor panicked");
        }
        let waits = match record.task().state() {
            TaskState::InputRequired => true,
            TaskState::Working | TaskState::Submitted => script.ends_with("return"),
            state => state.is_terminal(),
        };
        assert!(waits, "{task_id} is stuck: {:?} after {script:?}", record.task().state());
        for artifact in &record.task().artifacts {
            let numbers: Vec<_> =
                artifact.parts.iter().map(|part| part.as_text().unwrap()).collect();
            let expected: Vec<_> = (0..numbers.len()).map(|number| number.to_string()).collect();
            assert_eq!(numbers, expected, "chunks of {task_id} are missing, or come twice");
        }
        if record.task().state() == TaskState::Completed {
            let of_last = |artifact: &&a2a_core::Artifact| artifact.artifact_id == said.message_id;
            let written = record.task().artifacts.iter().find(of_last);
            let wanted = script.split(' ').filter(|word| *word == "chunk").count();
            assert_eq!(written.map_or(0, |artifact| artifact.parts.len()), wanted, "{script}");
        }
    }
}

fn apply(task: &mut Task, event: &Event) {
    match event.payload() {
        Some(Payload::StatusUpdate(update)) => task.apply_status(update),
        Some(Payload::ArtifactUpdate(update)) => task.apply_artifact(update),
        other => panic!("no event of a task that goes on: {other:?}"),
    }
}

/// A task without its client messages, which events do not contain.
fn without_callers(task: &Task) -> Task {
    let mut task = task.clone();
    task.history.retain(|message| message.role() != Role::User);
    task
}

fn said(task: &Task) -> Vec<&str> {
    let callers = task.history.iter().filter(|message| message.role() == Role::User);
    callers.map(|message| message.message_id.as_str()).collect()
}
