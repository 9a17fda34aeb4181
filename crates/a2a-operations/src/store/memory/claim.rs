//! The idempotency keys of all scopes.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::time::Instant;

use super::lock;
use crate::{Scope, store::Claim};

/// Idempotency keys and the tasks that they are tied to, up to a number and an age.
#[derive(Debug)]
pub(super) struct Claims {
    maps: Mutex<Maps>,
    max: usize,
    max_age: Duration,
}

/// Trees, because they don't stop while they grow.
#[derive(Debug, Default)]
struct Maps {
    by_key: BTreeMap<Arc<(Scope, String)>, Claimed>,
    by_turn: BTreeMap<u64, Arc<(Scope, String)>>,
    /// The turns of each owner, oldest first.
    by_owner: BTreeMap<Arc<str>, BTreeSet<u64>>,
    /// The owners by how many keys they have.
    by_number: BTreeSet<(usize, Arc<str>)>,
    next_turn: u64,
}

#[derive(Debug)]
struct Claimed {
    task_id: String,
    fingerprint: u64,
    turn: u64,
    since: Instant,
}

impl Claims {
    pub(super) fn new(max: usize, max_age: Duration) -> Self {
        Self { maps: Mutex::default(), max, max_age }
    }

    pub(super) fn claim(&self, scope: &Scope, key: &str, fingerprint: u64, task_id: &str) -> Claim {
        self.claim_if(scope, key, fingerprint, task_id, |_| false)
    }

    /// Ties a key that is not tied, or to a task for which `is_free` says so.
    pub(super) fn claim_if(
        &self,
        scope: &Scope,
        key: &str,
        fingerprint: u64,
        task_id: &str,
        is_free: impl FnOnce(&str) -> bool,
    ) -> Claim {
        let key = Arc::new((scope.clone(), key.to_owned()));
        let now = Instant::now();
        let mut maps = lock(&self.maps);
        maps.forget_before(now, self.max_age, usize::MAX);
        if let Some(claimed) = maps.by_key.get_mut(&key) {
            if !is_free(&claimed.task_id) {
                let Claimed { task_id, fingerprint, .. } = claimed;
                return Claim::Known { task_id: task_id.clone(), fingerprint: *fingerprint };
            }
            (claimed.task_id, claimed.fingerprint) = (task_id.to_owned(), fingerprint);
            return Claim::New;
        }
        let turn = maps.next_turn;
        maps.next_turn += 1;
        let claimed = Claimed { task_id: task_id.to_owned(), fingerprint, turn, since: now };
        maps.insert(turn, key, claimed);
        while maps.by_key.len() > self.max && maps.forget_of_largest() {}
        Claim::New
    }

    /// Does something for a task, while no key is tied anew, or returns the other task that its
    /// key is tied to.
    pub(super) fn under<T>(
        &self,
        scope: &Scope,
        key: String,
        task_id: &str,
        work: impl FnOnce() -> T,
    ) -> Result<T, String> {
        let maps = lock(&self.maps);
        match maps.by_key.get(&(scope.clone(), key)) {
            Some(claimed) if claimed.task_id != task_id => Err(claimed.task_id.clone()),
            Some(_) | None => Ok(work()),
        }
    }

    /// Forgets up to `limit` keys that are older than an age.
    pub(super) fn sweep(&self, age: Duration, limit: usize) {
        lock(&self.maps).forget_before(Instant::now(), age, limit);
    }

    pub(super) fn unclaim(&self, scope: &Scope, key: &str, task_id: &str) {
        let key = (scope.clone(), key.to_owned());
        let mut maps = lock(&self.maps);
        if let Some(claimed) = maps.by_key.get(&key).filter(|claimed| claimed.task_id == task_id) {
            let turn = claimed.turn;
            maps.forget(turn);
        }
    }
}

impl Maps {
    /// Forgets up to `limit` keys that are older than an age.
    fn forget_before(&mut self, now: Instant, max_age: Duration, limit: usize) {
        for _ in 0..limit {
            if let Some((turn, oldest)) = self.by_turn.first_key_value()
                && let Some(claimed) = self.by_key.get(oldest)
                && now.duration_since(claimed.since) > max_age
            {
                let turn = *turn;
                self.forget(turn);
            } else {
                return;
            }
        }
    }

    fn insert(&mut self, turn: u64, key: Arc<(Scope, String)>, claimed: Claimed) {
        self.change_turns(&Arc::clone(&key.0.owner), |turns| {
            turns.insert(turn);
        });
        self.by_turn.insert(turn, Arc::clone(&key));
        self.by_key.insert(key, claimed);
    }

    fn forget(&mut self, turn: u64) {
        let Some(key) = self.by_turn.remove(&turn) else { return };
        self.by_key.remove(&key);
        self.change_turns(&key.0.owner, |turns| {
            turns.remove(&turn);
        });
    }

    /// Forgets the oldest key of the owner that has the most: one that has few keeps them,
    /// however many another one claims.
    fn forget_of_largest(&mut self) -> bool {
        let largest = self.by_number.last().map(|(_, owner)| owner);
        let turns = largest.and_then(|owner| self.by_owner.get(owner));
        let oldest = turns.and_then(|turns| turns.first().copied());
        oldest.is_some_and(|turn| {
            self.forget(turn);
            true
        })
    }

    fn change_turns(&mut self, owner: &Arc<str>, change: impl FnOnce(&mut BTreeSet<u64>)) {
        let turns = self.by_owner.entry(Arc::clone(owner)).or_default();
        self.by_number.remove(&(turns.len(), Arc::clone(owner)));
        change(turns);
        if turns.is_empty() {
            self.by_owner.remove(owner);
        } else {
            self.by_number.insert((turns.len(), Arc::clone(owner)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(tenant: &str, owner: &str) -> Scope {
        Scope { tenant: tenant.into(), owner: owner.into() }
    }

    #[test]
    fn one_owner_cannot_evict_the_keys_of_another() {
        let claims = Claims::new(100, Duration::from_secs(60));
        let ann = scope("", "ann");
        for number in 0..10 {
            claims.claim(&ann, &number.to_string(), 1, &format!("ann {number}"));
        }
        for number in 0..1_000 {
            let bob = scope(&(number % 50).to_string(), "bob");
            claims.claim(&bob, &number.to_string(), 1, &format!("bob {number}"));
        }
        for number in 0..10 {
            let known = claims.claim(&ann, &number.to_string(), 1, "again");
            let task_id = format!("ann {number}");
            assert_eq!(known, Claim::Known { task_id, fingerprint: 1 });
        }
        let maps = lock(&claims.maps);
        assert_eq!((maps.by_key.len(), maps.by_turn.len()), (100, 100));
        assert_eq!(maps.by_owner.values().map(BTreeSet::len).sum::<usize>(), 100);
        drop(maps);
        claims.sweep(Duration::ZERO, usize::MAX);
        let maps = lock(&claims.maps);
        assert!(maps.by_owner.is_empty() && maps.by_number.is_empty());
    }
}
