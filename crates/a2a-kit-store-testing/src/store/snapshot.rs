//! Consistent snapshots of a task and its events.

use std::sync::Arc;

use a2a_core::TaskState;

use super::fixtures::{at, change, chunk, commit, insert, positions, scope, task, untrimmed};
use a2a_kit_operations::Store;

/// A load returns the task and the events after a position.
pub async fn load_returns_the_task_and_the_events_after_a_position(store: Arc<dyn Store>) {
    let scope = scope("ann");
    assert!(store.load(&scope, "t", at(1)).await.expect("the store succeeds").is_none());
    insert(&*store, &scope, &task("t", "c", TaskState::Working, 5)).await;
    commit(&*store, &scope, "t", 1, vec![chunk(2, "t", "x")], None).await.expect("it is new");
    change(&*store, &scope, "t", TaskState::Completed, 6).await;
    for after in 1..=4 {
        let loaded = store.load(&scope, "t", at(after)).await.expect("the store succeeds");
        let (stored, replay) = loaded.expect("the task exists");
        assert_eq!((stored.version, stored.last_event), (3, at(3)));
        assert_eq!((stored.task.state(), &*stored.task.text()), (TaskState::Completed, "x"));
        assert_eq!(positions(&untrimmed(replay)), (after + 1..=3).collect::<Vec<_>>());
    }
}

/// Under concurrent writes, a loaded task includes all of the returned events, and none that is
/// newer.
pub async fn load_is_a_consistent_snapshot(store: Arc<dyn Store>) {
    const WRITES: u64 = 300;
    let scope = scope("ann");
    insert(&*store, &scope, &task("t", "c", TaskState::Working, 5)).await;
    let writer = {
        let (store, scope) = (Arc::clone(&store), scope.clone());
        tokio::spawn(async move {
            for version in 1..=WRITES {
                let events = vec![chunk(version + 1, "t", "x")];
                let written = commit(&*store, &scope, "t", version, events, None).await;
                written.expect("there is no other writer");
                tokio::task::yield_now().await;
            }
        })
    };
    loop {
        let is_over = writer.is_finished();
        let loaded = store.load(&scope, "t", at(1)).await.expect("the store succeeds");
        let (stored, replay) = loaded.expect("the task exists");
        let last = stored.last_event.get();
        assert_eq!(positions(&untrimmed(replay)), (2..=last).collect::<Vec<_>>());
        assert_eq!(u64::try_from(stored.task.text().len()), Ok(last - 1));
        assert_eq!(stored.version, last, "each write had one event");
        if is_over {
            assert_eq!(last, WRITES + 1);
            break;
        }
        tokio::task::yield_now().await;
    }
    writer.await.expect("the writer does not panic");
}
