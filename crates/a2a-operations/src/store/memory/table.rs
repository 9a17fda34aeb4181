//! Things found by scope and name, in many small tables.

use std::{
    hash::{BuildHasher as _, RandomState},
    sync::{Mutex, MutexGuard},
};

use hashbrown::{HashTable, hash_table};

use super::lock;
use crate::Scope;

/// One big table under one lock stops the world while it grows: with a million things in 256
/// tables, the longest pause is that of four thousand.
const SHARDS: usize = 256;

/// What can be found by its scope and a name.
pub(super) trait Named {
    fn scope(&self) -> &Scope;
    fn name(&self) -> &str;
}

/// A table in shards. No shard's lock is held while any other lock is taken.
#[derive(Debug)]
pub(super) struct Table<T> {
    shards: Box<[Mutex<HashTable<T>>]>,
    hasher: RandomState,
}

/// A shard of a table under its lock, at the place of one name.
pub(super) struct Place<'a, T> {
    shard: MutexGuard<'a, HashTable<T>>,
    hasher: &'a RandomState,
    hash: u64,
    scope: &'a Scope,
    name: &'a str,
}

impl<T: Named> Table<T> {
    pub(super) fn new() -> Self {
        Self {
            shards: std::iter::repeat_with(Mutex::default).take(SHARDS).collect(),
            hasher: RandomState::new(),
        }
    }

    /// Locks the shard of a name.
    pub(super) fn at<'a>(&'a self, scope: &'a Scope, name: &'a str) -> Place<'a, T> {
        let hash = self.hasher.hash_one((scope, name));
        // The ends of the hash are what the table inside uses.
        let shard = usize::from(hash.to_be_bytes()[2]) % self.shards.len();
        Place { shard: lock(&self.shards[shard]), hasher: &self.hasher, hash, scope, name }
    }
}

impl<T: Named> Place<'_, T> {
    pub(super) fn get(&self) -> Option<&T> {
        let Self { scope, name, .. } = self;
        self.shard.find(self.hash, |thing| thing.name() == *name && thing.scope() == *scope)
    }

    /// The place in the table itself, to put something there or to take it away.
    pub(super) fn entry(&mut self) -> hash_table::Entry<'_, T> {
        let Self { scope, name, hasher, .. } = self;
        self.shard.entry(
            self.hash,
            |thing| thing.name() == *name && thing.scope() == *scope,
            |thing| hasher.hash_one((thing.scope(), thing.name())),
        )
    }
}
