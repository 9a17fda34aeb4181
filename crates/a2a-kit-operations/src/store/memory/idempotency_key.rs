//! The idempotency keys of all scopes.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use a2a_core::well_known::Timestamp;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::{
    changes::Changes,
    saved::{SavedKey, encode, idempotency_key},
};
use crate::{Scope, store::Claim};

/// Idempotency keys and the tasks that they are bound to, limited by number and age.
#[derive(Debug)]
pub(super) struct IdempotencyKeys {
    maps: Mutex<Maps>,
    max: usize,
    max_age: Duration,
}

/// Trees, because growing them takes no long pause.
#[derive(Debug, Default)]
struct Maps {
    by_key: BTreeMap<Arc<(Scope, String)>, Claimed>,
    by_age: BTreeMap<u64, Arc<(Scope, String)>>,
    /// The numbers of each owner's keys, oldest first.
    by_owner: BTreeMap<Arc<str>, BTreeSet<u64>>,
    /// The owners by number of keys.
    by_count: BTreeSet<(usize, Arc<str>)>,
    next_number: u64,
    changes: Changes,
}

#[derive(Debug)]
struct Claimed {
    task_id: String,
    fingerprint: u64,
    number: u64,
    since: Instant,
}

impl IdempotencyKeys {
    pub(super) fn new(max: usize, max_age: Duration, changes: Changes) -> Self {
        Self { maps: Mutex::new(Maps { changes, ..Maps::default() }), max, max_age }
    }

    /// Binds a key that is unbound, or bound to a task that `may_replace` accepts.
    pub(super) fn claim(
        &self,
        scope: &Scope,
        key: &str,
        fingerprint: u64,
        task_id: &str,
        may_replace: impl FnOnce(&str) -> bool,
    ) -> Claim {
        let key = Arc::new((scope.clone(), key.to_owned()));
        let now = Instant::now();
        let mut maps = self.maps.lock();
        maps.remove_expired(now, self.max_age, usize::MAX);
        if let Some(claimed) = maps.by_key.get_mut(&key) {
            if !may_replace(&claimed.task_id) {
                let Claimed { task_id, fingerprint, .. } = claimed;
                return Claim::Known { task_id: task_id.clone(), fingerprint: *fingerprint };
            }
            (claimed.task_id, claimed.fingerprint) = (task_id.to_owned(), fingerprint);
            maps.save(&key);
            return Claim::New;
        }
        maps.insert(Arc::clone(&key), task_id.to_owned(), fingerprint, now);
        maps.save(&key);
        while maps.by_key.len() > self.max && maps.evict_from_largest() {}
        Claim::New
    }

    /// Restores the next oldest key.
    pub(super) fn restore(&self, saved: SavedKey<'_>) {
        let key =
            Arc::new((super::saved::scope(&saved.tenant, &saved.owner), saved.key.into_owned()));
        let age = u64::try_from(Timestamp::now().as_millis() - saved.millis).unwrap_or_default();
        let now = Instant::now();
        let since = now.checked_sub(Duration::from_millis(age)).unwrap_or(now);
        let mut maps = self.maps.lock();
        maps.insert(key, saved.task_id.into_owned(), saved.fingerprint, since);
    }

    /// Runs `work` for a task while no key can be rebound, or returns the other task that the key
    /// is bound to.
    pub(super) fn with_key<T>(
        &self,
        scope: &Scope,
        key: String,
        task_id: &str,
        work: impl FnOnce() -> T,
    ) -> Result<T, String> {
        let maps = self.maps.lock();
        match maps.by_key.get(&(scope.clone(), key)) {
            Some(claimed) if claimed.task_id != task_id => Err(claimed.task_id.clone()),
            Some(_) | None => Ok(work()),
        }
    }

    /// Removes up to `limit` keys older than `age`.
    pub(super) fn sweep(&self, age: Duration, limit: usize) {
        self.maps.lock().remove_expired(Instant::now(), age, limit);
    }

    pub(super) fn release_key(&self, scope: &Scope, key: &str, task_id: &str) {
        let key = (scope.clone(), key.to_owned());
        let mut maps = self.maps.lock();
        if let Some(claimed) = maps.by_key.get(&key).filter(|claimed| claimed.task_id == task_id) {
            let number = claimed.number;
            maps.remove(number);
        }
    }
}

impl Maps {
    /// Removes up to `limit` keys older than `max_age`.
    fn remove_expired(&mut self, now: Instant, max_age: Duration, limit: usize) {
        for _ in 0..limit {
            if let Some((number, oldest)) = self.by_age.first_key_value()
                && let Some(claimed) = self.by_key.get(oldest)
                && now.duration_since(claimed.since) > max_age
            {
                let number = *number;
                self.remove(number);
            } else {
                return;
            }
        }
    }

    fn insert(
        &mut self,
        key: Arc<(Scope, String)>,
        task_id: String,
        fingerprint: u64,
        since: Instant,
    ) {
        let number = self.next_number;
        self.next_number += 1;
        self.change_numbers(&Arc::clone(&key.0.owner), |numbers| {
            numbers.insert(number);
        });
        self.by_age.insert(number, Arc::clone(&key));
        self.by_key.insert(key, Claimed { task_id, fingerprint, number, since });
    }

    fn save(&self, key: &(Scope, String)) {
        let Some(Claimed { task_id, fingerprint, since, .. }) = self.by_key.get(key) else {
            return;
        };
        let (scope, name) = key;
        self.changes.put(
            || idempotency_key(scope, name),
            || {
                let age = i64::try_from(since.elapsed().as_millis()).unwrap_or(i64::MAX);
                encode(&SavedKey {
                    tenant: (&*scope.tenant).into(),
                    owner: (&*scope.owner).into(),
                    key: name.into(),
                    task_id: task_id.into(),
                    fingerprint: *fingerprint,
                    millis: Timestamp::now().as_millis().saturating_sub(age),
                })
            },
        );
    }

    fn remove(&mut self, number: u64) {
        let Some(key) = self.by_age.remove(&number) else { return };
        self.by_key.remove(&key);
        self.changes.delete(|| idempotency_key(&key.0, &key.1));
        self.change_numbers(&key.0.owner, |numbers| {
            numbers.remove(&number);
        });
    }

    /// Evicts the oldest key of the owner with the most keys, so that one owner cannot evict the
    /// keys of another.
    fn evict_from_largest(&mut self) -> bool {
        let largest = self.by_count.last().map(|(_, owner)| owner);
        let numbers = largest.and_then(|owner| self.by_owner.get(owner));
        let oldest = numbers.and_then(|numbers| numbers.first().copied());
        oldest.is_some_and(|number| {
            self.remove(number);
            true
        })
    }

    fn change_numbers(&mut self, owner: &Arc<str>, change: impl FnOnce(&mut BTreeSet<u64>)) {
        let numbers = self.by_owner.entry(Arc::clone(owner)).or_default();
        self.by_count.remove(&(numbers.len(), Arc::clone(owner)));
        change(numbers);
        if numbers.is_empty() {
            self.by_owner.remove(owner);
        } else {
            self.by_count.insert((numbers.len(), Arc::clone(owner)));
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
        let claims = IdempotencyKeys::new(100, Duration::from_secs(60), Changes::default());
        let ann = scope("", "ann");
        for number in 0..10 {
            claims.claim(&ann, &number.to_string(), 1, &format!("ann {number}"), |_| false);
        }
        for number in 0..1_000 {
            let bob = scope(&(number % 50).to_string(), "bob");
            claims.claim(&bob, &number.to_string(), 1, &format!("bob {number}"), |_| false);
        }
        for number in 0..10 {
            let known = claims.claim(&ann, &number.to_string(), 1, "again", |_| false);
            let task_id = format!("ann {number}");
            assert_eq!(known, Claim::Known { task_id, fingerprint: 1 });
        }
        let maps = claims.maps.lock();
        assert_eq!((maps.by_key.len(), maps.by_age.len()), (100, 100));
        assert_eq!(maps.by_owner.values().map(BTreeSet::len).sum::<usize>(), 100);
        drop(maps);
        claims.sweep(Duration::ZERO, usize::MAX);
        let maps = claims.maps.lock();
        assert!(maps.by_owner.is_empty() && maps.by_count.is_empty());
    }
}
