//! Things found by their names, in many small tables.

use std::{
    hash::{BuildHasher as _, Hash, RandomState},
    sync::{Mutex, MutexGuard},
};

use hashbrown::{HashTable, hash_table};

use super::lock;

/// One big table under one lock stops the world while it grows: with a million things in 256
/// tables, the longest pause is that of four thousand.
const SHARDS: usize = 256;

/// What can be found by a name.
pub(super) trait Named {
    type Name<'a>: Copy + Hash
    where
        Self: 'a;

    fn name(&self) -> Self::Name<'_>;
    fn is_named(&self, name: Self::Name<'_>) -> bool;
}

/// A table in shards. No shard's lock is held while any other lock is taken.
#[derive(Debug)]
pub(super) struct Table<T> {
    shards: Box<[Mutex<HashTable<T>>]>,
    hasher: RandomState,
}

/// A shard of a table under its lock, at the place of one name.
pub(super) struct Place<'a, T: Named + 'a> {
    shard: MutexGuard<'a, HashTable<T>>,
    hasher: &'a RandomState,
    hash: u64,
    name: T::Name<'a>,
}

impl<T: Named> Table<T> {
    pub(super) fn new() -> Self {
        Self {
            shards: std::iter::repeat_with(Mutex::default).take(SHARDS).collect(),
            hasher: RandomState::new(),
        }
    }

    /// Locks the shard of a name.
    pub(super) fn at<'a>(&'a self, name: T::Name<'a>) -> Place<'a, T> {
        let hash = self.hasher.hash_one(name);
        // The ends of the hash are what the table inside uses.
        let shard = usize::from(hash.to_be_bytes()[2]) % self.shards.len();
        Place { shard: lock(&self.shards[shard]), hasher: &self.hasher, hash, name }
    }
}

impl<T: Named> Place<'_, T> {
    pub(super) fn get(&self) -> Option<&T> {
        self.shard.find(self.hash, |thing| thing.is_named(self.name))
    }

    /// The place in the table itself, to put something there or to take it away.
    pub(super) fn entry(&mut self) -> hash_table::Entry<'_, T> {
        let Self { name, hasher, .. } = self;
        self.shard.entry(
            self.hash,
            |thing| thing.is_named(*name),
            |thing| hasher.hash_one(thing.name()),
        )
    }
}
