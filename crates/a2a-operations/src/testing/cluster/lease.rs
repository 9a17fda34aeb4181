//! One node holds a task, until it lets go or its lease runs out.

use std::{
    collections::BTreeSet,
    sync::Arc,
    time::{Duration, Instant},
};

use a2a_core::TaskState;

use super::scenery::{ann, orphan};
use crate::{
    Store,
    store::{Acquired, StoreError, StoredTask},
    testing::store::scenery::{
        chunk, get, insert, insert_held, positions, replayed, task, transition,
    },
};

/// Both nodes see the same, whichever writes.
pub async fn nodes_share_what_they_store(one: Arc<dyn Store>, two: Arc<dyn Store>) {
    assert_ne!(one.node(), two.node());
    insert(&*one, &ann(), &task("t", "c", TaskState::Working, 5)).await;
    for (version, store) in (1..).zip([&two, &one, &two]) {
        let write = transition("t", version, 1, vec![chunk(version + 1, "t", "x")]);
        store.commit(&ann(), write).await.expect("version and epoch are the stored ones");
    }
    for store in [&one, &two] {
        assert_eq!(get(&**store, &ann(), "t").await.task.text(), "xxx");
        assert_eq!(positions(&replayed(&**store, &ann(), "t", 1).await), [2, 3, 4]);
    }
}

/// What a node holds another one does not get, until it is let go.
pub async fn a_task_is_held_by_one_node(one: Arc<dyn Store>, two: Arc<dyn Store>) {
    insert_held(&*one, &ann(), "t", b"work").await;
    for (holder, other, epoch) in [(&one, &two, 1), (&two, &one, 2), (&one, &two, 3)] {
        let acquired = other.acquire(&ann(), "t").await.expect("the store works");
        let Some(Acquired::Elsewhere(stored)) = acquired else { panic!("{acquired:?}") };
        assert_eq!((stored.node.as_deref(), stored.epoch), (Some(holder.node()), epoch));
        let node = get(&**other, &ann(), "t").await.node;
        assert_eq!(node.as_deref(), Some(holder.node()));
        assert!(holder.release("t", epoch).await.expect("the store works"));
        let acquired = other.acquire(&ann(), "t").await.expect("the store works");
        let Some(Acquired::Here(stored)) = acquired else { panic!("{acquired:?}") };
        assert_eq!((stored.node.as_deref(), stored.epoch), (Some(other.node()), epoch + 1));
    }
}

/// Of nodes that reach for a task at once, one gets it.
pub async fn of_nodes_that_reach_for_a_task_one_gets_it(one: Arc<dyn Store>, two: Arc<dyn Store>) {
    for number in 0..20 {
        let id = format!("t{number}");
        insert(&*one, &ann(), &task(&id, "c", TaskState::Working, 5)).await;
        let reach = |store: &Arc<dyn Store>| {
            let (store, id) = (Arc::clone(store), id.clone());
            tokio::spawn(async move { store.acquire(&ann(), &id).await })
        };
        let mut here = 0;
        for reached in [reach(&one), reach(&two)] {
            let acquired = reached.await.expect("it does not panic").expect("the store works");
            match acquired.expect("the task is there") {
                Acquired::Here(stored) => {
                    here += 1;
                    assert_eq!(stored.epoch, 2);
                }
                Acquired::Elsewhere(stored) => assert_eq!(stored.epoch, 2),
                Acquired::Again(orphan) => panic!("nobody worked on it: {orphan:?}"),
            }
        }
        assert_eq!(here, 1);
    }
}

/// A node that says nothing loses its task, and can't write to it any more.
pub async fn a_silent_node_loses_its_task(one: Arc<dyn Store>, two: Arc<dyn Store>) {
    insert_held(&*one, &ann(), "t", b"work").await;
    let taken = orphan(&*two, "t").await;
    assert_eq!((&taken.scope, &*taken.execution, taken.recorded), (&ann(), &b"work"[..], 1));
    let StoredTask { version, epoch, node, .. } = taken.stored;
    assert_eq!((version, epoch, node.as_deref()), (1, 2, Some(two.node())));
    let late = one.commit(&ann(), transition("t", 1, 1, vec![chunk(2, "t", "late")])).await;
    assert!(matches!(late, Err(StoreError::Conflict { .. })), "{late:?}");
    one.renew(&[("t".into(), 1)]).await.expect("it may be lost");
    assert!(one.release("t", 1).await.expect("the store works"), "it is let go already");
    one.abandon("t", 1).await.expect("it may be lost");
    let stored = get(&*one, &ann(), "t").await;
    assert_eq!((stored.node.as_deref(), stored.epoch), (Some(two.node()), 2));
    let write = transition("t", 1, 2, vec![chunk(2, "t", "x")]);
    two.commit(&ann(), write).await.expect("version and epoch are the stored ones");
    assert_eq!(get(&*one, &ann(), "t").await.task.text(), "x");
}

/// A lease that has run out is not taken by reaching for the task: who goes on with it has to
/// learn what was worked on.
pub async fn a_task_of_a_silent_node_is_only_taken_over(one: Arc<dyn Store>, two: Arc<dyn Store>) {
    insert_held(&*one, &ann(), "t", b"work").await;
    one.abandon("t", 1).await.expect("the store works");
    let acquired = two.acquire(&ann(), "t").await.expect("the store works");
    let Some(Acquired::Elsewhere(stored)) = acquired else { panic!("{acquired:?}") };
    assert_eq!((stored.node.as_deref(), stored.epoch), (Some(one.node()), 1));
    let orphans = two.take_over(10).await.expect("the store works");
    assert_eq!(orphans.len(), 1, "it was abandoned, so nobody has to wait: {orphans:?}");
}

/// A node that says again and again that it holds a task keeps it.
pub async fn a_lease_that_is_renewed_goes_on(one: Arc<dyn Store>, two: Arc<dyn Store>) {
    let held = ["a", "b"].map(|id| (Arc::from(id), 1));
    for (id, _) in &held {
        insert_held(&*one, &ann(), id, b"work").await;
    }
    insert_held(&*one, &ann(), "forgotten", b"work").await;
    let begin = Instant::now();
    let mut forgotten = 0;
    while begin.elapsed() < Duration::from_secs(1) {
        let renewed = Instant::now();
        one.renew(&held).await.expect("the store works");
        tokio::time::sleep(Duration::from_millis(20)).await;
        let orphans = two.take_over(10).await.expect("the store works");
        if renewed.elapsed() > Duration::from_millis(200) {
            // This machine is too slow to tell.
            return;
        }
        for orphan in orphans {
            assert_eq!(orphan.stored.task.id, "forgotten");
            forgotten += 1;
        }
    }
    assert!(forgotten > 0, "what is not named runs out");
}

/// Of nodes that take over at once, each gets other tasks.
pub async fn nodes_that_take_over_share_the_tasks(one: Arc<dyn Store>, two: Arc<dyn Store>) {
    const TASKS: usize = 20;
    for number in 0..TASKS {
        let id = format!("t{number}");
        insert_held(&*one, &ann(), &id, b"work").await;
        one.abandon(&id, 1).await.expect("the store works");
    }
    let take_over = |store: &Arc<dyn Store>| {
        let store = Arc::clone(store);
        tokio::spawn(async move {
            let mut taken = Vec::new();
            loop {
                let orphans = store.take_over(3).await.expect("the store works");
                assert!(orphans.len() <= 3);
                if orphans.is_empty() {
                    return taken;
                }
                let ours = orphans.iter().all(|o| o.stored.node.as_deref() == Some(store.node()));
                assert!(ours, "{orphans:?}");
                taken.extend(orphans.into_iter().map(|orphan| orphan.stored));
            }
        })
    };
    let mut taken = Vec::new();
    for taker in [take_over(&one), take_over(&two)] {
        taken.extend(taker.await.expect("it does not panic"));
    }
    // On a slow machine the new leases run out too, and are taken over in turn.
    let epochs: BTreeSet<_> =
        taken.iter().map(|stored| (stored.task.id.as_str(), stored.epoch)).collect();
    assert_eq!(epochs.len(), taken.len(), "no hold is given twice");
    assert_eq!(epochs.iter().filter(|(_, epoch)| *epoch == 2).count(), TASKS);
}
