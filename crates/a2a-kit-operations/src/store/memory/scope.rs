//! State per scope.

use std::sync::{Arc, atomic::AtomicUsize};

use parking_lot::Mutex;

use super::{entry::ScopeState, usage::Owners};
use crate::{
    Scope,
    sharded_map::{Keyed, ShardedMap},
    store::Usage,
};

/// The scopes that have tasks.
#[derive(Debug)]
pub(super) struct Scopes {
    table: ShardedMap<Used>,
    owners: Owners,
}

/// A scope and its number of tasks; it is removed with the last one.
#[derive(Debug)]
struct Used {
    scoped: Arc<ScopeState>,
    tasks: usize,
}

impl Keyed for Used {
    type Key<'a> = &'a Scope;

    fn has_key(&self, scope: &Scope) -> bool {
        self.scoped.scope == *scope
    }
}

impl Scopes {
    pub(super) fn new() -> Self {
        Self { table: ShardedMap::new(), owners: Owners::default() }
    }

    pub(super) fn find(&self, scope: &Scope) -> Option<Arc<ScopeState>> {
        self.table.at(scope).get().map(|used| Arc::clone(&used.scoped))
    }

    /// Returns a scope, and counts one more task.
    pub(super) fn acquire(&self, scope: &Scope) -> Arc<ScopeState> {
        if let Some(used) = self.table.at(scope).get_mut() {
            used.tasks += 1;
            return Arc::clone(&used.scoped);
        }
        let owner_usage = self.owners.acquire(&scope.owner);
        let mut is_new = false;
        let mut shard = self.table.at(scope);
        let used = shard.get_or_insert_with(|| {
            is_new = true;
            Used {
                scoped: Arc::new(ScopeState {
                    scope: scope.clone(),
                    index: Mutex::default(),
                    webhooks: AtomicUsize::new(0),
                    owner_usage,
                }),
                tasks: 0,
            }
        });
        used.tasks += 1;
        let scoped = Arc::clone(&used.scoped);
        drop(shard);
        if !is_new {
            // Another task has created it meanwhile.
            self.owners.release(&scope.owner);
        }
        scoped
    }

    /// Counts one task less.
    pub(super) fn release(&self, scope: &Scope) {
        let mut shard = self.table.at(scope);
        let Some(used) = shard.get_mut() else { return };
        used.tasks = used.tasks.saturating_sub(1);
        if used.tasks == 0 {
            shard.remove();
            drop(shard);
            self.owners.release(&scope.owner);
        }
    }

    /// The bytes of all tasks and events.
    pub(super) fn bytes(&self) -> u64 {
        self.owners.bytes()
    }

    /// The usage of an owner.
    pub(super) fn usage(&self, owner: &str) -> Usage {
        self.owners.usage(owner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scope_is_removed_with_its_last_task() {
        let scopes = Scopes::new();
        let scope = Scope::default();
        scopes.acquire(&scope);
        scopes.acquire(&scope);
        scopes.release(&scope);
        assert!(scopes.find(&scope).is_some());
        scopes.release(&scope);
        assert!(scopes.find(&scope).is_none());
    }
}
