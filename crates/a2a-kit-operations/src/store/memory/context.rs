//! The tasks of each context.

use std::sync::Arc;

use super::{
    entry::{Entry, Index},
    status_index::StatusKey,
};
use crate::{
    Scope,
    sharded_map::{Keyed, ShardedMap},
};

/// The contexts that have tasks.
#[derive(Debug)]
pub(super) struct Contexts(ShardedMap<Context>);

/// The tasks of a context. Most contexts have one task, which then needs no index.
#[derive(Debug)]
enum Context {
    One(StatusKey, Arc<Entry>),
    Many(Box<Many>),
}

#[derive(Debug)]
struct Many {
    /// Any task of the context, for its scope and id.
    witness: Arc<Entry>,
    index: Index,
}

impl Keyed for Context {
    type Key<'a> = (&'a Scope, &'a str);

    fn has_key(&self, (scope, context_id): Self::Key<'_>) -> bool {
        let witness = self.witness();
        witness.context_id() == context_id && witness.scoped.scope == *scope
    }
}

impl Context {
    fn witness(&self) -> &Entry {
        match self {
            Self::One(_, entry) => entry,
            Self::Many(many) => &many.witness,
        }
    }

    fn insert(&mut self, status_key: StatusKey, entry: &Arc<Entry>) {
        match self {
            Self::Many(many) => many.index.insert(status_key, entry),
            Self::One(first_key, first) => {
                let mut index = Index::default();
                index.insert(*first_key, first);
                index.insert(status_key, entry);
                *self = Self::Many(Box::new(Many { witness: Arc::clone(entry), index }));
            }
        }
    }

    /// Removes a task, and returns whether the context is now empty.
    fn remove(&mut self, status_key: StatusKey, entry: &Entry) -> bool {
        match self {
            Self::One(_, one) => one.task_id() == entry.task_id(),
            Self::Many(many) => {
                many.index.remove(status_key, entry);
                if let Some(any) = many.index.any() {
                    many.witness = Arc::clone(any);
                }
                many.index.is_empty()
            }
        }
    }
}

impl Contexts {
    pub(super) fn new() -> Self {
        Self(ShardedMap::new())
    }

    pub(super) fn insert(&self, status_key: StatusKey, entry: &Arc<Entry>) {
        let mut shard = self.0.at((&entry.scoped.scope, entry.context_id()));
        let mut is_new = false;
        let context = shard.get_or_insert_with(|| {
            is_new = true;
            Context::One(status_key, Arc::clone(entry))
        });
        if !is_new {
            context.insert(status_key, entry);
        }
    }

    /// Reindexes a task under its new key.
    pub(super) fn move_to(&self, from: StatusKey, to: StatusKey, entry: &Arc<Entry>) {
        let mut shard = self.0.at((&entry.scoped.scope, entry.context_id()));
        match shard.get_mut() {
            None => {}
            Some(Context::One(status_key, _)) => *status_key = to,
            Some(Context::Many(many)) => {
                many.index.remove(from, entry);
                many.index.insert(to, entry);
            }
        }
    }

    pub(super) fn remove(&self, status_key: StatusKey, entry: &Entry) {
        let mut shard = self.0.at((&entry.scoped.scope, entry.context_id()));
        if shard.get_mut().is_some_and(|context| context.remove(status_key, entry)) {
            shard.remove();
        }
    }

    /// Reads the index of a context, unless it is empty.
    pub(super) fn read<T>(
        &self,
        scope: &Scope,
        context_id: &str,
        read: impl FnOnce(&Index) -> T,
    ) -> Option<T> {
        match self.0.at((scope, context_id)).get()? {
            Context::Many(many) => Some(read(&many.index)),
            Context::One(status_key, entry) => {
                let mut index = Index::default();
                index.insert(*status_key, entry);
                Some(read(&index))
            }
        }
    }
}
