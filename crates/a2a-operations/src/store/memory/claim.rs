//! The idempotency keys of all scopes.

use std::{
    collections::BTreeMap,
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
        maps.by_turn.insert(turn, Arc::clone(&key));
        maps.by_key.insert(key, claimed);
        while maps.by_key.len() > self.max && maps.forget_oldest() {}
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
            maps.by_turn.remove(&turn);
            maps.by_key.remove(&key);
        }
    }
}

impl Maps {
    /// Forgets up to `limit` keys that are older than an age.
    fn forget_before(&mut self, now: Instant, max_age: Duration, limit: usize) {
        for _ in 0..limit {
            if let Some((_, oldest)) = self.by_turn.first_key_value()
                && let Some(claimed) = self.by_key.get(oldest)
                && now.duration_since(claimed.since) > max_age
            {
                self.forget_oldest();
            } else {
                return;
            }
        }
    }

    fn forget_oldest(&mut self) -> bool {
        let oldest = self.by_turn.pop_first();
        oldest.is_some_and(|(_, key)| self.by_key.remove(&key).is_some())
    }
}
