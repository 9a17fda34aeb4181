//! Lists: order, filters, totals and paging.

use std::sync::Arc;

use a2a_core::{Message, TaskState, v1::Task, well_known::Timestamp};

use super::fixtures::{change, ids, insert, list, query, scope, task};
use a2a_kit_operations::{Store, store::PageKey};

const STATES: [TaskState; 4] =
    [TaskState::Working, TaskState::Completed, TaskState::InputRequired, TaskState::Failed];

/// Newest status first; equal times are ordered by id, greatest first.
pub async fn list_is_ordered_by_status_time_then_id(store: Arc<dyn Store>) {
    let scope = scope("ann");
    let times = [("b", 7), ("a", 7), ("e", 5), ("c", 7), ("d", 9), ("f", -3)];
    for ((id, millis), state) in times.into_iter().zip(STATES.into_iter().cycle()) {
        insert(&*store, &scope, &task(id, "c", state, millis)).await;
    }
    let page = list(&*store, &scope, &query(10)).await;
    assert_eq!(ids(&page), ["d", "c", "b", "a", "e", "f"]);
    assert_eq!((page.total, page.has_more), (6, false));
    let in_context = query(10).with_context_id("c".to_owned());
    assert_eq!(ids(&list(&*store, &scope, &in_context).await), ids(&page));
}

/// A task moves when its status time changes.
pub async fn status_change_reorders_the_list(store: Arc<dyn Store>) {
    let scope = scope("ann");
    for (id, millis) in [("a", 1), ("b", 2), ("c", 3)] {
        insert(&*store, &scope, &task(id, "c", TaskState::Working, millis)).await;
    }
    change(&*store, &scope, "a", TaskState::Working, 4).await;
    assert_eq!(ids(&list(&*store, &scope, &query(10)).await), ["a", "c", "b"]);
    change(&*store, &scope, "b", TaskState::Completed, 4).await;
    let page = list(&*store, &scope, &query(10)).await;
    assert_eq!(ids(&page), ["b", "a", "c"]);
    assert_eq!(page.total, 3);
}

/// Pages return every task once, and whether more follow.
pub async fn pages_return_every_task_once(store: Arc<dyn Store>) {
    let scope = scope("ann");
    for number in 0..25_u8 {
        let id = format!("t{number:02}");
        let state = STATES[usize::from(number) % STATES.len()];
        // Three tasks share a time, and pages of four cut through them.
        insert(&*store, &scope, &task(&id, "c", state, i64::from(number / 3))).await;
    }
    let all = list(&*store, &scope, &query(100)).await;
    assert_eq!(all.tasks.len(), 25);
    for limit in [1, 4, 5, 25] {
        let mut seen = Vec::new();
        let mut query = query(limit);
        loop {
            let page = list(&*store, &scope, &query).await;
            assert_eq!(page.total, 25, "paging does not change the total");
            query.after = page.tasks.last().map(|task| PageKey::of(task));
            seen.extend(page.tasks);
            if !page.has_more {
                break;
            }
        }
        assert_eq!(seen, all.tasks, "pages of {limit}");
    }
}

/// A page ends before it exceeds the limit in bytes, a larger task is returned alone, and totals
/// are unaffected.
pub async fn page_is_limited_by_bytes(store: Arc<dyn Store>) {
    let scope = scope("ann");
    for (number, size) in [10, 600, 600, 600, 5_000, 10, 10].into_iter().enumerate() {
        let id = format!("t{number}");
        let millis = i64::try_from(number).unwrap_or_default();
        let mut task = task(&id, "c", TaskState::Completed, millis);
        task.history = vec![Message::user("x".repeat(size))];
        insert(&*store, &scope, &task).await;
    }
    for state in [None, Some(TaskState::Completed)] {
        let mut query = query(10).with_max_bytes(1_500).with_state(state);
        let mut pages = Vec::new();
        loop {
            let page = list(&*store, &scope, &query).await;
            assert_eq!(page.total, 7);
            query.after = page.tasks.last().map(|task| PageKey::of(task));
            pages.push(ids(&page).join(" "));
            if !page.has_more {
                break;
            }
        }
        // The overhead per task depends on the store.
        assert_eq!(pages, ["t6 t5", "t4", "t3 t2", "t1 t0"]);
    }
    let page = list(&*store, &scope, &query(10).with_max_bytes(0)).await;
    assert_eq!((ids(&page), page.has_more), (vec!["t6"], true));
    let page = list(&*store, &scope, &query(7).with_max_bytes(1 << 20)).await;
    assert_eq!((page.tasks.len(), page.has_more), (7, false));
}

/// A page may start after a task that does not exist, or has moved.
pub async fn page_can_start_after_any_key(store: Arc<dyn Store>) {
    let scope = scope("ann");
    for (id, millis) in [("a", 1), ("b", 2), ("c", 3)] {
        insert(&*store, &scope, &task(id, "c", TaskState::Working, millis)).await;
    }
    let places = [
        ((9, ""), vec!["c", "b", "a"]),
        ((3, "cc"), vec!["c", "b", "a"]),
        ((3, "bb"), vec!["b", "a"]),
        ((2, "b"), vec!["a"]),
        ((1, "a"), vec![]),
        ((0, ""), vec![]),
    ];
    for ((millis, task_id), expected) in places {
        let after = Some(PageKey::new(millis, task_id));
        for since in [None, Some(Timestamp::from_millis(1))] {
            let query = query(10).with_after(after.clone()).with_since(since);
            let page = list(&*store, &scope, &query).await;
            assert_eq!(ids(&page), expected, "{millis} {task_id:?} {since:?}");
        }
    }
}

/// Filters by context, state and time combine, with exact totals.
pub async fn filters_combine_and_totals_are_exact(store: Arc<dyn Store>) {
    let scope = scope("ann");
    let mut all = Vec::new();
    for number in 0..60_u8 {
        let state = STATES[usize::from(number) % STATES.len()];
        let context = ["one", "two", "three"][usize::from(number / 7) % 3];
        let task = task(&format!("t{number:02}"), context, state, i64::from(number / 2));
        insert(&*store, &scope, &task).await;
        all.push(task);
    }
    all.reverse();
    for context in [None, Some("one"), Some("two"), Some("none")] {
        for state in [None, Some(TaskState::Completed), Some(TaskState::Rejected)] {
            for time in [None, Some(0), Some(11), Some(29), Some(30)] {
                let wanted = |task: &&Task| {
                    context.is_none_or(|context| context == task.context_id)
                        && state.is_none_or(|state| state == task.state())
                        && time.is_none_or(|time| PageKey::millis_of(task) >= time)
                };
                let expected: Vec<&str> =
                    all.iter().filter(wanted).map(|task| task.id.as_str()).collect();
                let query = query(7)
                    .with_context_id(context.map(str::to_owned))
                    .with_state(state)
                    .with_since(time.map(Timestamp::from_millis));
                let page = list(&*store, &scope, &query).await;
                let case = format!("{context:?} {state:?} {time:?}");
                assert_eq!(ids(&page), expected[..expected.len().min(7)], "{case}");
                assert_eq!(page.total, expected.len(), "{case}");
                assert_eq!(page.has_more, expected.len() > 7, "{case}");
            }
        }
    }
}

/// Totals track state changes.
pub async fn totals_track_state_changes(store: Arc<dyn Store>) {
    let scope = scope("ann");
    for id in ["a", "b", "c"] {
        insert(&*store, &scope, &task(id, "c", TaskState::Working, 1)).await;
    }
    change(&*store, &scope, "a", TaskState::InputRequired, 2).await;
    change(&*store, &scope, "b", TaskState::Completed, 3).await;
    change(&*store, &scope, "a", TaskState::Completed, 4).await;
    let totals = [
        (TaskState::Working, 1),
        (TaskState::InputRequired, 0),
        (TaskState::Completed, 2),
        (TaskState::Failed, 0),
    ];
    for (state, total) in totals {
        for context_id in [None, Some("c".to_owned())] {
            let query = query(1).with_state(state).with_context_id(context_id);
            assert_eq!(list(&*store, &scope, &query).await.total, total, "{query:?}");
        }
    }
}

/// Under concurrent writes, pages return no task twice, and every unchanged task.
pub async fn paging_is_stable_under_concurrent_writes(store: Arc<dyn Store>) {
    let scope = scope("ann");
    for number in 0..200 {
        let id = format!("t{number:03}");
        insert(&*store, &scope, &task(&id, "c", TaskState::Working, number)).await;
    }
    let writer = {
        let (store, scope) = (Arc::clone(&store), scope.clone());
        tokio::spawn(async move {
            for number in 0..200 {
                let id = format!("n{number:03}");
                insert(&*store, &scope, &task(&id, "c", TaskState::Working, 1_000 + number)).await;
                if number % 2 == 0 {
                    let id = format!("t{number:03}");
                    change(&*store, &scope, &id, TaskState::Completed, 1_000 + number).await;
                }
                tokio::task::yield_now().await;
            }
        })
    };
    let mut seen = Vec::new();
    let mut query = query(7);
    loop {
        let page = list(&*store, &scope, &query).await;
        query.after = page.tasks.last().map(|task| PageKey::of(task));
        seen.extend(page.tasks.iter().map(|task| task.id.clone()));
        if !page.has_more {
            break;
        }
        tokio::task::yield_now().await;
    }
    writer.await.expect("the writer does not panic");
    let unchanged = seen.iter().filter(|id| {
        let number = id.strip_prefix('t').and_then(|number| number.parse::<i64>().ok());
        number.is_some_and(|number| number % 2 == 1)
    });
    assert_eq!(unchanged.count(), 100, "every unchanged task is returned");
    let count = seen.len();
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), count, "no task is returned twice");
}
