//! A model test of the store against the simplest correct implementation: a list of tasks that is
//! searched and sorted for each query.

use std::sync::Arc;

use a2a_core::{
    TaskState,
    v1::{Task, stream_response::Payload},
    well_known::Timestamp,
};
use a2a_kit_operations::{
    Event, EventId, MemoryStore, Scope,
    store::{MemoryLimits, PageKey, Replay, StoreError, TaskQuery, TaskStore as _},
};
use a2a_kit_store_testing::store::fixtures::{
    at, changed, chunk, positions, scope, shown, status, task, transition, with_events,
};
use futures_util::FutureExt as _;
use proptest::{collection::vec, option, prelude::*, sample::select};

/// Maximum number of events in a log.
const KEPT: usize = 4;

#[derive(Clone, Debug)]
enum Step {
    Insert { scope: Scope, task: Box<Task> },
    Change { scope: Scope, id: String, state: TaskState, millis: i64, late: bool },
    Chunks { scope: Scope, id: String, count: u64, late: bool },
    Get { scope: Scope, id: String },
    List { scope: Scope, query: TaskQuery },
    Replay { scope: Scope, id: String, after: u64 },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let owner = || select(vec!["ann", "bob"]).prop_map(scope);
    let id = || select(vec!["a", "b", "c", "d", "e", "f"]).prop_map(str::to_owned);
    let context = || select(vec!["", "one", "two"]).prop_map(str::to_owned);
    let state = || {
        select(vec![
            TaskState::Submitted,
            TaskState::Working,
            TaskState::InputRequired,
            TaskState::Completed,
            TaskState::Failed,
        ])
    };
    let millis = || -2..4_i64;
    let place = || (millis(), id()).prop_map(|(millis, task_id)| PageKey::new(millis, task_id));
    let late = || prop::bool::weighted(0.1);
    let query = (
        option::of(context()),
        option::of(state()),
        option::of(millis()),
        option::of(place()),
        0..5_usize,
    )
        .prop_map(|(context_id, state, since, after, limit)| {
            TaskQuery::default()
                .with_context_id(context_id)
                .with_state(state)
                .with_since(since.map(Timestamp::from_millis))
                .with_after(after)
                .with_limit(limit)
        });
    let step = prop_oneof![
        4 => (owner(), id(), context(), state(), millis()).prop_map(
            |(scope, id, context, state, millis)| {
                let task = task(&id, &context, state, millis);
                Step::Insert { scope, task: Box::new(task) }
            }
        ),
        4 => (owner(), id(), state(), millis(), late()).prop_map(
            |(scope, id, state, millis, late)| Step::Change { scope, id, state, millis, late }
        ),
        2 => (owner(), id(), 0..4_u64, late()).prop_map(
            |(scope, id, count, late)| Step::Chunks { scope, id, count, late }
        ),
        2 => (owner(), id()).prop_map(|(scope, id)| Step::Get { scope, id }),
        4 => (owner(), query).prop_map(|(scope, query)| Step::List { scope, query }),
        2 => (owner(), id(), 1..9_u64).prop_map(
            |(scope, id, after)| Step::Replay { scope, id, after }
        ),
    ];
    vec(step, 1..80)
}

/// A task of the model, with all of its events.
struct Known {
    scope: Scope,
    task: Task,
    version: u64,
    events: Vec<Event>,
}

impl Known {
    fn last(&self) -> u64 {
        self.events.len() as u64
    }

    /// Writes to the store and the model, if the version is current.
    fn commit(&mut self, store: &MemoryStore, events: Vec<Event>, task: Option<Task>, late: bool) {
        let version = if late { self.version - 1 } else { self.version };
        let transition = transition(&self.task.id, version, 1, events.clone())
            .with_snapshot(task.clone().map(Arc::new));
        let written = now(store.commit(&self.scope, transition));
        if late {
            assert!(matches!(written, Err(StoreError::Conflict { .. })));
            return;
        }
        written.unwrap();
        self.version += 1;
        self.events.extend(events);
        if let Some(task) = task {
            self.task = task;
        }
    }
}

#[derive(Default)]
struct Model(Vec<Known>);

impl Model {
    fn find(&mut self, scope: &Scope, id: &str) -> Option<&mut Known> {
        self.0.iter_mut().find(|known| known.scope == *scope && known.task.id == id)
    }

    fn list(&self, scope: &Scope, query: &TaskQuery) -> (Vec<&Task>, usize, bool) {
        let mut tasks: Vec<&Task> = self
            .0
            .iter()
            .filter(|known| known.scope == *scope)
            .map(|known| &known.task)
            .filter(|task| query.context_id.as_ref().is_none_or(|id| *id == task.context_id))
            .filter(|task| query.state.is_none_or(|state| state == task.state()))
            .filter(|task| {
                query.since.is_none_or(|since| PageKey::millis_of(task) >= since.as_millis())
            })
            .collect();
        let order = |task: &Task| (PageKey::millis_of(task), task.id.clone());
        tasks.sort_by_key(|task| std::cmp::Reverse(order(task)));
        let total = tasks.len();
        if let Some(after) = &query.after {
            tasks.retain(|task| order(task) < (after.millis, after.task_id.clone()));
        }
        let has_more = tasks.len() > query.limit;
        tasks.truncate(query.limit);
        (tasks, total, has_more)
    }
}

/// The result of a future that never waits.
fn now<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().expect("a store in memory never waits")
}

fn take(step: Step, model: &mut Model, store: &MemoryStore) {
    match step {
        Step::Insert { scope, task } => {
            let events = vec![shown(1, &task)];
            let written = now(store.insert(&scope, with_events(&task, events.clone())));
            if model.0.iter().any(|known| known.task.id == task.id) {
                assert!(matches!(written, Err(StoreError::Conflict { .. })));
            } else {
                written.unwrap();
                model.0.push(Known { scope, task: *task, version: 1, events });
            }
        }
        Step::Change { scope, id, state, millis, late } => {
            let Some(known) = model.find(&scope, &id) else { return };
            let task = Task { status: Some(status(state, millis)), ..known.task.clone() };
            let events = vec![changed(known.last() + 1, &task)];
            known.commit(store, events, Some(task), late);
        }
        Step::Chunks { scope, id, count, late } => {
            let Some(known) = model.find(&scope, &id) else { return };
            let before = known.events.len();
            let position = |number: u64| known.last() + number;
            let events = (1..=count)
                .map(position)
                .map(|position| chunk(position, &id, &format!("{position},")))
                .collect();
            known.commit(store, events, None, late);
            for event in &known.events[before..] {
                if let Some(Payload::ArtifactUpdate(update)) = event.payload() {
                    known.task.apply_artifact(update);
                }
            }
        }
        Step::Get { scope, id } => {
            let stored = now(store.get(&scope, &id)).unwrap();
            let known = model.find(&scope, &id);
            assert_eq!(stored.is_some(), known.is_some());
            if let (Some(stored), Some(known)) = (stored, known) {
                assert_eq!(*stored.task, known.task);
                assert_eq!(stored.version, known.version);
                assert_eq!(stored.last_event.get(), known.last());
            }
        }
        Step::List { scope, query } => {
            let page = now(store.list(&scope, &query)).unwrap();
            let tasks = page.tasks.iter().map(|task| &**task).collect();
            assert_eq!((tasks, page.total, page.has_more), model.list(&scope, &query));
        }
        Step::Replay { scope, id, after } => {
            let replay = now(store.replay(&scope, &id, at(after))).unwrap();
            let known = model.find(&scope, &id);
            assert_eq!(replay.is_some(), known.is_some());
            if let (Some(replay), Some(known)) = (replay, known) {
                let trimmed = known.events.len().saturating_sub(KEPT);
                let behind = known.events.iter().filter_map(Event::id).map(EventId::get);
                match replay {
                    Replay::Trimmed => assert!(after < trimmed as u64),
                    Replay::Events(events) => {
                        assert!(after >= trimmed as u64);
                        let expected: Vec<u64> = behind.filter(|id| *id > after).collect();
                        assert_eq!(positions(&events), expected);
                    }
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn memory_store_matches_the_model(steps in steps()) {
        let limits = MemoryLimits::default().with_max_log(KEPT, usize::MAX);
        let (mut model, store) = (Model::default(), MemoryStore::with_limits(limits));
        for step in steps {
            take(step, &mut model, &store);
        }
    }
}
