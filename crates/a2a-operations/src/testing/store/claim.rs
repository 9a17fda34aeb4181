//! A key is tied to the first task that names it.

use std::sync::Arc;

use super::scenery::scope;
use crate::{Store, store::Claim};

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
    store.unclaim(&scope, "key").await.expect("what is not there may be released");
    assert_eq!(claim("t1").await, Claim::New);
    store.unclaim(&scope, "key").await.expect("the store works");
    assert_eq!(claim("t2").await, Claim::New);
    assert_eq!(claim("t3").await, Claim::Known { task_id: "t2".into(), fingerprint: 1 });
}

/// A key means something only in its scope.
pub async fn keys_of_two_scopes_are_different_keys(store: Arc<dyn Store>) {
    for owner in ["ann", "bob"] {
        let claim = store.claim(&scope(owner), "key", 1, owner).await.expect("the store works");
        assert_eq!(claim, Claim::New, "{owner}");
    }
    store.unclaim(&scope("bob"), "key").await.expect("the store works");
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
