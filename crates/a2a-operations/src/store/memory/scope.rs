//! What the store keeps for each scope.

use std::sync::{Arc, Mutex, atomic::AtomicUsize};

use super::{
    order::Ordered,
    owner::{Owned, Owners},
};
use crate::{
    Scope,
    store::Usage,
    table::{Named, Slot, Table},
};

/// All tasks of a scope.
#[derive(Debug)]
pub(super) struct Scoped {
    pub(super) scope: Scope,
    pub(super) order: Mutex<Ordered>,
    /// How many webhooks they have.
    pub(super) webhooks: AtomicUsize,
    /// What the owner has, in all tenants.
    pub(super) owned: Arc<Owned>,
}

/// The scopes that have tasks.
#[derive(Debug)]
pub(super) struct Scopes {
    table: Table<Used>,
    owners: Owners,
}

/// A scope, and how many tasks are in it: it goes with the last of them.
#[derive(Debug)]
struct Used {
    scoped: Arc<Scoped>,
    tasks: usize,
}

impl Named for Used {
    type Name<'a> = &'a Scope;

    fn is_named(&self, scope: &Scope) -> bool {
        self.scoped.scope == *scope
    }
}

impl Scopes {
    pub(super) fn new() -> Self {
        Self { table: Table::new(), owners: Owners::default() }
    }

    pub(super) fn find(&self, scope: &Scope) -> Option<Arc<Scoped>> {
        self.table.at(scope).get().map(|used| Arc::clone(&used.scoped))
    }

    /// Returns a scope that has one more task from now on.
    pub(super) fn acquire(&self, scope: &Scope) -> Arc<Scoped> {
        let owned = self.owners.acquire(&scope.owner);
        let mut place = self.table.at(scope);
        let used = place.slot().or_insert_with(|| Used {
            scoped: Arc::new(Scoped {
                scope: scope.clone(),
                order: Mutex::default(),
                webhooks: AtomicUsize::new(0),
                owned,
            }),
            tasks: 0,
        });
        used.tasks += 1;
        Arc::clone(&used.scoped)
    }

    /// Notes that a scope has one task less.
    pub(super) fn release(&self, scope: &Scope) {
        let mut place = self.table.at(scope);
        if let Slot::Occupied(mut slot) = place.slot() {
            let used = slot.get_mut();
            used.tasks = used.tasks.saturating_sub(1);
            if used.tasks == 0 {
                slot.remove();
            }
        }
        drop(place);
        self.owners.release(&scope.owner);
    }

    /// What an owner has.
    pub(super) fn usage(&self, owner: &str) -> Usage {
        self.owners.usage(owner)
    }
}
