//! Replay of the event log.

use std::sync::Arc;

use a2a_core::TaskState;

use super::fixtures::{
    at, change, changed, chunk, commit, get, insert, positions, scope, shown, task, with_events,
};
use a2a_kit_operations::{Event, Store, store::Replay};

/// A short log can be replayed from every position, exactly.
pub async fn replay_returns_exactly_the_events_after_a_position(store: Arc<dyn Store>) {
    let scope = scope("ann");
    let task = task("t", "c", TaskState::Working, 5);
    let events = vec![shown(1, &task), changed(2, &task)];
    store.insert(&scope, with_events(&task, events)).await.expect("the task is new");
    let events = (3..=6).map(|position| chunk(position, "t", "x")).collect();
    commit(&*store, &scope, "t", 1, events, None).await.expect("the version is current");
    let events = vec![chunk(7, "t", "y")];
    commit(&*store, &scope, "t", 2, events, None).await.expect("the version is current");
    for after in 1..=8 {
        let events = replayed(&*store, "t", after).await.expect("nothing was trimmed");
        assert_eq!(positions(&events), (after + 1..=7).collect::<Vec<_>>(), "behind {after}");
    }
    let last = replayed(&*store, "t", 6).await.expect("nothing was trimmed");
    assert_eq!(last[0].response(), chunk(7, "t", "y").response());
}

/// The log outlives the end of its task.
pub async fn replay_works_after_completion(store: Arc<dyn Store>) {
    let scope = scope("ann");
    insert(&*store, &scope, &task("t", "c", TaskState::Working, 5)).await;
    change(&*store, &scope, "t", TaskState::Working, 6).await;
    change(&*store, &scope, "t", TaskState::Completed, 7).await;
    let events = replayed(&*store, "t", 1).await.expect("nothing was trimmed");
    assert_eq!(positions(&events), [2, 3]);
    assert_eq!(events[1].state(), Some(TaskState::Completed));
    assert_eq!(replayed(&*store, "t", 3).await.map(|events| events.len()), Some(0));
}

/// However long the log, a replay is complete or reports that it was trimmed.
pub async fn replay_has_no_gaps(store: Arc<dyn Store>) {
    const GROUPS: u64 = 25;
    const EVENTS: u64 = 500;
    let scope = scope("ann");
    insert(&*store, &scope, &task("t", "c", TaskState::Working, 5)).await;
    for version in 1..=GROUPS {
        let first = 2 + (version - 1) * EVENTS;
        let events = (first..first + EVENTS).map(|position| chunk(position, "t", "x")).collect();
        let written = commit(&*store, &scope, "t", version, events, None).await;
        written.expect("the version is current");
    }
    let last = 1 + GROUPS * EVENTS;
    for after in [1, 2, 2_500, 2_501, 2_502, last - 1, last] {
        if let Some(events) = replayed(&*store, "t", after).await {
            assert_eq!(positions(&events), (after + 1..=last).collect::<Vec<_>>());
        }
    }
    let newest = replayed(&*store, "t", last - 1).await.expect("the newest event is kept");
    assert_eq!(positions(&newest), [last]);
    let task = get(&*store, &scope, "t").await.task;
    assert_eq!(u64::try_from(task.text().len()), Ok(last - 1), "the task has every chunk");
}

/// The events after a position; `None` if the log was trimmed.
async fn replayed(store: &dyn Store, task_id: &str, after: u64) -> Option<Vec<Event>> {
    let replay = store.replay(&scope("ann"), task_id, at(after)).await.expect("the store succeeds");
    match replay.expect("the task exists") {
        Replay::Events(events) => Some(events),
        Replay::Trimmed => None,
    }
}
