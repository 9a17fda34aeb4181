//! A key is tied to the first task that names it.

use std::sync::Arc;

use a2a_core::TaskState;

use super::scenery::{insert, new_task, scope, task};
use crate::{
    Store,
    store::{Claim, Committed, NewTask, StoreError, TaskQuery},
};

/// The first claim wins, and later ones learn of it.
pub async fn a_key_stays_tied_to_the_first_task(store: Arc<dyn Store>) {
    let scope = scope("ann");
    let claim = async |task_id, fingerprint| {
        store.claim(&scope, "key", fingerprint, task_id).await.expect("the store works")
    };
    assert_eq!(claim("t1", 11).await, Claim::New);
    let known = Claim::Known { task_id: "t1".into(), fingerprint: 11 };
    assert_eq!(claim("t1", 11).await, known);
    assert_eq!(claim("t2", u64::MAX).await, known);
}

/// A fingerprint comes back with all of its bits.
pub async fn a_fingerprint_is_kept_whole(store: Arc<dyn Store>) {
    let scope = scope("ann");
    for (key, fingerprint) in [("zero", 0), ("half", 1 << 63), ("all", u64::MAX)] {
        let claim = async || store.claim(&scope, key, fingerprint, "t").await;
        assert_eq!(claim().await.expect("the store works"), Claim::New, "{key}");
        let known = Claim::Known { task_id: "t".into(), fingerprint };
        assert_eq!(claim().await.expect("the store works"), known, "{key}");
    }
}

/// A key that was given up is free.
pub async fn a_released_key_can_be_claimed_again(store: Arc<dyn Store>) {
    let scope = scope("ann");
    let claim =
        async |task_id| store.claim(&scope, "key", 1, task_id).await.expect("the store works");
    store.unclaim(&scope, "key", "t1").await.expect("what is not there may be released");
    assert_eq!(claim("t1").await, Claim::New);
    store.unclaim(&scope, "key", "t1").await.expect("the store works");
    assert_eq!(claim("t2").await, Claim::New);
    store.unclaim(&scope, "key", "t1").await.expect("it is not the task's any more");
    assert_eq!(claim("t3").await, Claim::Known { task_id: "t2".into(), fingerprint: 1 });
}

/// A key means something only in its scope.
pub async fn keys_of_two_scopes_are_different_keys(store: Arc<dyn Store>) {
    for owner in ["ann", "bob"] {
        let claim = store.claim(&scope(owner), "key", 1, owner).await.expect("the store works");
        assert_eq!(claim, Claim::New, "{owner}");
    }
    store.unclaim(&scope("bob"), "key", "bob").await.expect("the store works");
    let claim = store.claim(&scope("ann"), "key", 2, "t").await.expect("the store works");
    assert_eq!(claim, Claim::Known { task_id: "ann".into(), fingerprint: 1 });
}

/// Of many who claim a key at once, one gets it.
pub async fn one_of_many_claims_at_once_is_new(store: Arc<dyn Store>) {
    let claims = (0..16).map(|number| {
        let store = Arc::clone(&store);
        tokio::spawn(async move {
            let task_id = format!("t{number}");
            store.claim(&scope("ann"), "key", 1, &task_id).await.expect("the store works")
        })
    });
    let mut new = 0;
    for claim in claims.collect::<Vec<_>>() {
        new += usize::from(claim.await.expect("no claim panics") == Claim::New);
    }
    assert_eq!(new, 1);
}

/// A key is tied anew only while its task is not there.
pub async fn a_key_is_tied_anew_while_its_task_is_not_there(store: Arc<dyn Store>) {
    let ann = scope("ann");
    let reclaim = async |gone, task_id, fingerprint| {
        let claim = store.reclaim(&ann, "key", fingerprint, gone, task_id).await;
        claim.expect("the store works")
    };
    let known = |task_id: &str, fingerprint| Claim::Known { task_id: task_id.into(), fingerprint };
    assert_eq!(reclaim("t0", "t1", 1).await, Claim::New, "it was not tied at all");
    assert_eq!(reclaim("t0", "t2", 2).await, known("t1", 1), "it is tied to a third one");
    // A task of somebody else does not count.
    insert(&*store, &scope("bob"), &task("t1", "c", TaskState::Working, 5)).await;
    assert_eq!(reclaim("t1", "t2", 2).await, Claim::New);
    assert_eq!(reclaim("t1", "t3", 3).await, known("t2", 2));
    insert(&*store, &ann, &task("t2", "c", TaskState::Working, 5)).await;
    assert_eq!(reclaim("t2", "t3", 3).await, known("t2", 2), "the task is there");
}

/// A new task is stored only while its key is tied to it, or to nothing, and leaves nothing
/// behind otherwise.
pub async fn a_task_is_not_stored_under_the_key_of_another(store: Arc<dyn Store>) {
    let ann = scope("ann");
    store.claim(&ann, "key", 1, "t1").await.expect("the store works");
    store.reclaim(&ann, "key", 1, "t1", "t2").await.expect("the store works");
    let late = insert_under(&store, "key", "t1").await;
    assert!(matches!(&late, Err(StoreError::Claimed { task_id }) if task_id == "t2"), "{late:?}");
    assert!(store.get(&ann, "t1").await.expect("the store works").is_none());
    let listed = store.list(&ann, &TaskQuery::default()).await.expect("the store works");
    assert_eq!((listed.tasks.len(), listed.total), (0, 0));
    insert_under(&store, "key", "t2").await.expect("the key is tied to it");
    insert_under(&store, "forgotten", "t3").await.expect("the key is tied to nothing");
    store.claim(&scope("bob"), "bob's", 1, "t9").await.expect("the store works");
    insert_under(&store, "bob's", "t4").await.expect("it is a key of another scope");
    let again = insert_under(&store, "key", "t2").await;
    assert!(matches!(again, Err(StoreError::Conflict { .. })), "{again:?}");
}

/// Of one who stores a task under a key and one who ties the key to another task at the same
/// time, one learns of the other.
pub async fn a_key_is_tied_anew_or_its_task_is_stored(store: Arc<dyn Store>) {
    let ann = scope("ann");
    for number in 0..30 {
        let key = format!("key{number}");
        let [first, second] = ["a", "b"].map(|name| format!("{name}{number}"));
        store.claim(&ann, &key, 1, &first).await.expect("the store works");
        let inserting = {
            let (store, key, first) = (Arc::clone(&store), key.clone(), first.clone());
            tokio::spawn(async move { insert_under(&store, &key, &first).await })
        };
        let claim = store.reclaim(&ann, &key, 1, &first, &second).await.expect("the store works");
        match inserting.await.expect("it does not panic") {
            Ok(_) => assert_eq!(claim, Claim::Known { task_id: first, fingerprint: 1 }),
            Err(StoreError::Claimed { task_id }) => {
                assert_eq!((task_id, claim), (second, Claim::New));
            }
            other => panic!("{other:?}"),
        }
    }
}

async fn insert_under(
    store: &Arc<dyn Store>,
    key: &str,
    task_id: &str,
) -> Result<Committed, StoreError> {
    let new = new_task(&task(task_id, "c", TaskState::Working, 5));
    store.insert(&scope("ann"), NewTask { key: Some(key.into()), ..new }).await
}
