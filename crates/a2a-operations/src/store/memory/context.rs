//! The tasks of each context.

use std::sync::Arc;

use super::{
    entry::{Entry, Standing},
    order::Ordered,
};
use crate::{
    Scope,
    table::{Named, Slot, Table},
};

/// The contexts that have tasks.
#[derive(Debug)]
pub(super) struct Contexts(Table<Context>);

/// The tasks of a context. Most contexts have one, which then costs no set.
#[derive(Debug)]
enum Context {
    One(Standing, Arc<Entry>),
    Many(Box<Many>),
}

#[derive(Debug)]
struct Many {
    /// Any task of the context: it knows the scope and the name.
    witness: Arc<Entry>,
    order: Ordered,
}

impl Named for Context {
    type Name<'a> = (&'a Scope, &'a str);

    fn is_named(&self, (scope, context_id): Self::Name<'_>) -> bool {
        let witness = self.witness();
        witness.context_id() == context_id && witness.scoped().scope == *scope
    }
}

impl Context {
    fn witness(&self) -> &Entry {
        match self {
            Self::One(_, entry) => entry,
            Self::Many(many) => &many.witness,
        }
    }

    fn insert(&mut self, standing: Standing, entry: &Arc<Entry>) {
        match self {
            Self::Many(many) => many.order.insert(standing, entry),
            Self::One(standing_of_first, first) => {
                let mut order = Ordered::default();
                order.insert(*standing_of_first, first);
                order.insert(standing, entry);
                *self = Self::Many(Box::new(Many { witness: Arc::clone(entry), order }));
            }
        }
    }

    /// Removes a task, and returns whether the context is empty now.
    fn remove(&mut self, standing: Standing, entry: &Entry) -> bool {
        match self {
            Self::One(_, one) => one.task_id() == entry.task_id(),
            Self::Many(many) => {
                many.order.remove(standing, entry);
                if let Some(any) = many.order.any() {
                    many.witness = Arc::clone(any);
                }
                many.order.is_empty()
            }
        }
    }
}

impl Contexts {
    pub(super) fn new() -> Self {
        Self(Table::new())
    }

    pub(super) fn insert(&self, standing: Standing, entry: &Arc<Entry>) {
        match self.0.at((&entry.scoped().scope, entry.context_id())).slot() {
            Slot::Occupied(mut slot) => slot.get_mut().insert(standing, entry),
            Slot::Vacant(slot) => {
                slot.insert(Context::One(standing, Arc::clone(entry)));
            }
        }
    }

    /// Moves a task to where it stands now.
    pub(super) fn move_to(&self, from: Standing, to: Standing, entry: &Arc<Entry>) {
        let mut place = self.0.at((&entry.scoped().scope, entry.context_id()));
        let Slot::Occupied(mut slot) = place.slot() else { return };
        match slot.get_mut() {
            Context::One(standing, _) => *standing = to,
            Context::Many(many) => {
                many.order.remove(from, entry);
                many.order.insert(to, entry);
            }
        }
    }

    pub(super) fn remove(&self, standing: Standing, entry: &Entry) {
        let mut place = self.0.at((&entry.scoped().scope, entry.context_id()));
        if let Slot::Occupied(mut slot) = place.slot()
            && slot.get_mut().remove(standing, entry)
        {
            slot.remove();
        }
    }

    /// Lets somebody look at the tasks of a context, unless there are none.
    pub(super) fn read<T>(
        &self,
        scope: &Scope,
        context_id: &str,
        read: impl FnOnce(&Ordered) -> T,
    ) -> Option<T> {
        match self.0.at((scope, context_id)).get()? {
            Context::Many(many) => Some(read(&many.order)),
            Context::One(standing, entry) => {
                let mut order = Ordered::default();
                order.insert(*standing, entry);
                Some(read(&order))
            }
        }
    }
}
