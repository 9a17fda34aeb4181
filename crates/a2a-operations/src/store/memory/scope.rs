//! What the store keeps for each scope.

use std::sync::{Arc, Mutex};

use hashbrown::hash_table::Entry as Slot;

use super::{
    order::Ordered,
    table::{Named, Table},
    webhook::Webhooks,
};
use crate::Scope;

/// All tasks and webhooks of a scope.
#[derive(Debug)]
pub(super) struct Scoped {
    pub(super) scope: Scope,
    pub(super) order: Mutex<Ordered>,
    pub(super) webhooks: Mutex<Webhooks>,
}

/// The scopes that have tasks or webhooks.
#[derive(Debug)]
pub(super) struct Scopes(Table<Used>);

/// A scope, and how many tasks and webhooks are in it: it goes with the last of them.
#[derive(Debug)]
struct Used {
    scoped: Arc<Scoped>,
    uses: usize,
}

impl Named for Used {
    fn scope(&self) -> &Scope {
        &self.scoped.scope
    }

    fn name(&self) -> &str {
        ""
    }
}

impl Scopes {
    pub(super) fn new() -> Self {
        Self(Table::new())
    }

    pub(super) fn find(&self, scope: &Scope) -> Option<Arc<Scoped>> {
        self.0.at(scope, "").get().map(|used| Arc::clone(&used.scoped))
    }

    /// Returns a scope that has one more use from now on.
    pub(super) fn acquire(&self, scope: &Scope) -> Arc<Scoped> {
        let mut place = self.0.at(scope, "");
        let used = place.entry().or_insert_with(|| Used {
            scoped: Arc::new(Scoped {
                scope: scope.clone(),
                order: Mutex::default(),
                webhooks: Mutex::default(),
            }),
            uses: 0,
        });
        let used = used.into_mut();
        used.uses += 1;
        Arc::clone(&used.scoped)
    }

    /// Gives back uses of a scope.
    pub(super) fn release(&self, scope: &Scope, uses: usize) {
        let mut place = self.0.at(scope, "");
        if let Slot::Occupied(mut slot) = place.entry() {
            let used = slot.get_mut();
            used.uses = used.uses.saturating_sub(uses);
            if used.uses == 0 {
                slot.remove();
            }
        }
    }
}
