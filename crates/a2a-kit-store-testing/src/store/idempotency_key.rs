//! Idempotency keys.

use std::sync::Arc;

use a2a_core::TaskState;

use super::fixtures::{insert, new_task, scope, task};
use a2a_kit_operations::{
    Store,
    store::{Claim, Committed, StoreError, TaskQuery},
};

/// The first claim wins, and later ones return it.
pub async fn first_claim_of_a_key_wins(store: Arc<dyn Store>) {
    let scope = scope("ann");
    let claim = async |task_id, fingerprint| {
        store.claim_key(&scope, "key", fingerprint, task_id).await.expect("the store succeeds")
    };
    assert_eq!(claim("t1", 11).await, Claim::New);
    let known = Claim::Known { task_id: "t1".into(), fingerprint: 11 };
    assert_eq!(claim("t1", 11).await, known);
    assert_eq!(claim("t2", u64::MAX).await, known);
}

/// A fingerprint is stored with all 64 bits.
pub async fn fingerprint_keeps_all_its_bits(store: Arc<dyn Store>) {
    let scope = scope("ann");
    for (key, fingerprint) in [("zero", 0), ("half", 1 << 63), ("all", u64::MAX)] {
        let claim = async || store.claim_key(&scope, key, fingerprint, "t").await;
        assert_eq!(claim().await.expect("the store succeeds"), Claim::New, "{key}");
        let known = Claim::Known { task_id: "t".into(), fingerprint };
        assert_eq!(claim().await.expect("the store succeeds"), known, "{key}");
    }
}

/// A released key can be claimed again.
pub async fn released_key_can_be_claimed_again(store: Arc<dyn Store>) {
    let scope = scope("ann");
    let claim = async |task_id| {
        store.claim_key(&scope, "key", 1, task_id).await.expect("the store succeeds")
    };
    store.release_key(&scope, "key", "t1").await.expect("releasing an unbound key succeeds");
    assert_eq!(claim("t1").await, Claim::New);
    store.release_key(&scope, "key", "t1").await.expect("the store succeeds");
    assert_eq!(claim("t2").await, Claim::New);
    store.release_key(&scope, "key", "t1").await.expect("bound to another task");
    assert_eq!(claim("t3").await, Claim::Known { task_id: "t2".into(), fingerprint: 1 });
}

/// Keys are separate per scope.
pub async fn keys_are_separate_per_scope(store: Arc<dyn Store>) {
    for owner in ["ann", "bob"] {
        let claim =
            store.claim_key(&scope(owner), "key", 1, owner).await.expect("the store succeeds");
        assert_eq!(claim, Claim::New, "{owner}");
    }
    store.release_key(&scope("bob"), "key", "bob").await.expect("the store succeeds");
    let claim = store.claim_key(&scope("ann"), "key", 2, "t").await.expect("the store succeeds");
    assert_eq!(claim, Claim::Known { task_id: "ann".into(), fingerprint: 1 });
}

/// Of concurrent claims of a key, one succeeds.
pub async fn concurrent_claims_have_one_winner(store: Arc<dyn Store>) {
    let claims = (0..16).map(|number| {
        let store = Arc::clone(&store);
        tokio::spawn(async move {
            let task_id = format!("t{number}");
            store.claim_key(&scope("ann"), "key", 1, &task_id).await.expect("the store succeeds")
        })
    });
    let mut new = 0;
    for claim in claims.collect::<Vec<_>>() {
        new += usize::from(claim.await.expect("no claim panics") == Claim::New);
    }
    assert_eq!(new, 1);
}

/// A key can be taken over only while its task is absent.
pub async fn key_is_taken_over_only_while_its_task_is_absent(store: Arc<dyn Store>) {
    let ann = scope("ann");
    let take_over_key = async |gone, task_id, fingerprint| {
        let claim = store.take_over_key(&ann, "key", fingerprint, gone, task_id).await;
        claim.expect("the store succeeds")
    };
    let known = |task_id: &str, fingerprint| Claim::Known { task_id: task_id.into(), fingerprint };
    assert_eq!(take_over_key("t0", "t1", 1).await, Claim::New, "unbound");
    assert_eq!(take_over_key("t0", "t2", 2).await, known("t1", 1), "bound to a third task");
    // A task of another scope does not count.
    insert(&*store, &scope("bob"), &task("t1", "c", TaskState::Working, 5)).await;
    assert_eq!(take_over_key("t1", "t2", 2).await, Claim::New);
    assert_eq!(take_over_key("t1", "t3", 3).await, known("t2", 2));
    insert(&*store, &ann, &task("t2", "c", TaskState::Working, 5)).await;
    assert_eq!(take_over_key("t2", "t3", 3).await, known("t2", 2), "the task exists");
}

/// A task is inserted only while its key is bound to it, or unbound; otherwise nothing is left
/// behind.
pub async fn insert_rejects_a_key_claimed_by_another_task(store: Arc<dyn Store>) {
    let ann = scope("ann");
    store.claim_key(&ann, "key", 1, "t1").await.expect("the store succeeds");
    store.take_over_key(&ann, "key", 1, "t1", "t2").await.expect("the store succeeds");
    let late = insert_under(&store, "key", "t1").await;
    assert!(matches!(&late, Err(StoreError::Claimed { task_id }) if task_id == "t2"), "{late:?}");
    assert!(store.get(&ann, "t1").await.expect("the store succeeds").is_none());
    let listed = store.list(&ann, &TaskQuery::default()).await.expect("the store succeeds");
    assert_eq!((listed.tasks.len(), listed.total), (0, 0));
    insert_under(&store, "key", "t2").await.expect("the key is bound to it");
    insert_under(&store, "forgotten", "t3").await.expect("the key is unbound");
    store.claim_key(&scope("bob"), "bob's", 1, "t9").await.expect("the store succeeds");
    insert_under(&store, "bob's", "t4").await.expect("a key of another scope");
    let again = insert_under(&store, "key", "t2").await;
    assert!(matches!(again, Err(StoreError::Conflict { .. })), "{again:?}");
}

/// Of a concurrent insert under a key and a takeover of the key, one fails with the result of the
/// other.
pub async fn key_takeover_excludes_insert_of_the_first_task(store: Arc<dyn Store>) {
    let ann = scope("ann");
    for number in 0..30 {
        let key = format!("key{number}");
        let [first, second] = ["a", "b"].map(|name| format!("{name}{number}"));
        store.claim_key(&ann, &key, 1, &first).await.expect("the store succeeds");
        let inserting = {
            let (store, key, first) = (Arc::clone(&store), key.clone(), first.clone());
            tokio::spawn(async move { insert_under(&store, &key, &first).await })
        };
        let claim =
            store.take_over_key(&ann, &key, 1, &first, &second).await.expect("the store succeeds");
        match inserting.await.expect("no panic") {
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
    store.insert(&scope("ann"), new.with_key(key.to_owned())).await
}
