//! Leases between nodes.

use std::{
    collections::BTreeSet,
    sync::Arc,
    time::{Duration, Instant},
};

use a2a_core::TaskState;

use super::fixtures::{ann, orphan};
use crate::store::fixtures::{
    chunk, get, insert, insert_held, positions, replayed, task, transition,
};
use a2a_kit_operations::{
    Store,
    store::{Acquired, StoreError, StoredTask},
};

/// Both nodes see the same data, whichever writes.
pub async fn nodes_share_stored_tasks(one: Arc<dyn Store>, two: Arc<dyn Store>) {
    assert_ne!(one.node(), two.node());
    insert(&*one, &ann(), &task("t", "c", TaskState::Working, 5)).await;
    for (version, store) in (1..).zip([&two, &one, &two]) {
        let write = transition("t", version, 1, vec![chunk(version + 1, "t", "x")]);
        store.commit(&ann(), write).await.expect("version and epoch are current");
    }
    for store in [&one, &two] {
        assert_eq!(get(&**store, &ann(), "t").await.task.text(), "xxx");
        assert_eq!(positions(&replayed(&**store, &ann(), "t", 1).await), [2, 3, 4]);
    }
}

/// A leased task cannot be acquired by another node until it is released.
pub async fn lease_is_exclusive(one: Arc<dyn Store>, two: Arc<dyn Store>) {
    insert_held(&*one, &ann(), "t", b"work").await;
    for (holder, other, epoch) in [(&one, &two, 1), (&two, &one, 2), (&one, &two, 3)] {
        let acquired = other.acquire(&ann(), "t").await.expect("the store succeeds");
        let Some(Acquired::Elsewhere(stored)) = acquired else { panic!("{acquired:?}") };
        assert_eq!((stored.node.as_deref(), stored.epoch), (Some(holder.node()), epoch));
        let node = get(&**other, &ann(), "t").await.node;
        assert_eq!(node.as_deref(), Some(holder.node()));
        assert!(holder.release("t", epoch).await.expect("the store succeeds"));
        let acquired = other.acquire(&ann(), "t").await.expect("the store succeeds");
        let Some(Acquired::Here(stored)) = acquired else { panic!("{acquired:?}") };
        assert_eq!((stored.node.as_deref(), stored.epoch), (Some(other.node()), epoch + 1));
    }
}

/// Of nodes that acquire a task concurrently, one succeeds.
pub async fn concurrent_acquires_have_one_winner(one: Arc<dyn Store>, two: Arc<dyn Store>) {
    for number in 0..20 {
        let id = format!("t{number}");
        insert(&*one, &ann(), &task(&id, "c", TaskState::Working, 5)).await;
        let reach = |store: &Arc<dyn Store>| {
            let (store, id) = (Arc::clone(store), id.clone());
            tokio::spawn(async move { store.acquire(&ann(), &id).await })
        };
        let mut here = 0;
        for reached in [reach(&one), reach(&two)] {
            let acquired = reached.await.expect("no panic").expect("the store succeeds");
            match acquired.expect("the task exists") {
                Acquired::Here(stored) => {
                    here += 1;
                    assert_eq!(stored.epoch, 2);
                }
                Acquired::Elsewhere(stored) => assert_eq!(stored.epoch, 2),
                Acquired::Reacquired(orphan) => panic!("unexpected checkpoint: {orphan:?}"),
            }
        }
        assert_eq!(here, 1);
    }
}

/// A node that does not renew loses its lease, and can no longer write.
pub async fn expired_lease_is_lost(one: Arc<dyn Store>, two: Arc<dyn Store>) {
    insert_held(&*one, &ann(), "t", b"work").await;
    let taken = orphan(&*two, "t").await;
    assert_eq!(
        (&taken.scope, &*taken.checkpoint, taken.checkpoint_epoch),
        (&ann(), &b"work"[..], 1)
    );
    let StoredTask { version, epoch, node, .. } = taken.stored;
    assert_eq!((version, epoch, node.as_deref()), (1, 2, Some(two.node())));
    let late = one.commit(&ann(), transition("t", 1, 1, vec![chunk(2, "t", "late")])).await;
    assert!(matches!(late, Err(StoreError::Conflict { .. })), "{late:?}");
    one.renew(&[("t".into(), 1)]).await.expect("lost leases are ignored");
    assert!(one.release("t", 1).await.expect("the store succeeds"), "already released");
    one.abandon("t", 1).await.expect("lost leases are ignored");
    let stored = get(&*one, &ann(), "t").await;
    assert_eq!((stored.node.as_deref(), stored.epoch), (Some(two.node()), 2));
    let write = transition("t", 1, 2, vec![chunk(2, "t", "x")]);
    two.commit(&ann(), write).await.expect("version and epoch are current");
    assert_eq!(get(&*one, &ann(), "t").await.task.text(), "x");
}

/// An expired lease is not acquired but taken over, so that the next holder gets the checkpoint.
pub async fn expired_lease_is_taken_over_but_not_acquired(
    one: Arc<dyn Store>,
    two: Arc<dyn Store>,
) {
    insert_held(&*one, &ann(), "t", b"work").await;
    one.abandon("t", 1).await.expect("the store succeeds");
    let acquired = two.acquire(&ann(), "t").await.expect("the store succeeds");
    let Some(Acquired::Elsewhere(stored)) = acquired else { panic!("{acquired:?}") };
    assert_eq!((stored.node.as_deref(), stored.epoch), (Some(one.node()), 1));
    let orphans = two.take_over(10).await.expect("the store succeeds");
    assert_eq!(orphans.len(), 1, "abandoned leases are taken over at once: {orphans:?}");
}

/// A renewed lease does not expire.
pub async fn renewed_lease_does_not_expire(one: Arc<dyn Store>, two: Arc<dyn Store>) {
    let held = ["a", "b"].map(|id| (Arc::from(id), 1));
    for (id, _) in &held {
        insert_held(&*one, &ann(), id, b"work").await;
    }
    insert_held(&*one, &ann(), "forgotten", b"work").await;
    let begin = Instant::now();
    let mut forgotten = 0;
    while begin.elapsed() < Duration::from_secs(1) {
        let renewed = Instant::now();
        one.renew(&held).await.expect("the store succeeds");
        tokio::time::sleep(Duration::from_millis(20)).await;
        let orphans = two.take_over(10).await.expect("the store succeeds");
        if renewed.elapsed() > Duration::from_millis(200) {
            // This machine is too slow for the test.
            return;
        }
        for orphan in orphans {
            assert_eq!(orphan.stored.task.id, "forgotten");
            forgotten += 1;
        }
    }
    assert!(forgotten > 0, "leases that are not renewed expire");
}

/// A node that is late to renew its leases does not take them over, which would interrupt its own
/// work. It still can if it has abandoned them.
pub async fn late_leases_are_not_taken_over_by_their_own_node(
    one: Arc<dyn Store>,
    two: Arc<dyn Store>,
) {
    insert_held(&*one, &ann(), "t", b"work").await;
    let lease = one.lease().expect("leases of several nodes expire");
    tokio::time::sleep(lease + Duration::from_millis(50)).await;
    let own = one.take_over(10).await.expect("the store succeeds");
    assert!(own.is_empty(), "{own:?}");
    let lost = one.renew(&[("t".into(), 1)]).await.expect("the store succeeds");
    assert!(lost.is_empty(), "it is late, but still its own");
    one.abandon("t", 1).await.expect("the store succeeds");
    let own = one.take_over(10).await.expect("the store succeeds");
    assert_eq!(own.len(), 1, "abandoned leases are taken over by any node");
    drop(two);
}

/// Concurrent takeovers get different tasks.
pub async fn concurrent_takeovers_get_different_tasks(one: Arc<dyn Store>, two: Arc<dyn Store>) {
    const TASKS: usize = 20;
    for number in 0..TASKS {
        let id = format!("t{number}");
        insert_held(&*one, &ann(), &id, b"work").await;
        one.abandon(&id, 1).await.expect("the store succeeds");
    }
    let take_over = |store: &Arc<dyn Store>| {
        let store = Arc::clone(store);
        tokio::spawn(async move {
            let mut taken = Vec::new();
            loop {
                let orphans = store.take_over(3).await.expect("the store succeeds");
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
        taken.extend(taker.await.expect("no panic"));
    }
    // On a slow machine the new leases expire too, and are taken over in turn.
    let epochs: BTreeSet<_> =
        taken.iter().map(|stored| (stored.task.id.as_str(), stored.epoch)).collect();
    assert_eq!(epochs.len(), taken.len(), "no epoch is granted twice");
    assert_eq!(epochs.iter().filter(|(_, epoch)| *epoch == 2).count(), TASKS);
}
