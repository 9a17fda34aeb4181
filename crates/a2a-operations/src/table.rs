//! Things found by their names, in many small tables.

use std::{
    hash::{BuildHasher, Hash, RandomState},
    sync::{Mutex, MutexGuard, PoisonError},
};

use hashbrown::{DefaultHashBuilder, HashTable, hash_table};

/// One big table under one lock stops the world while it grows: with a million things in 256
/// tables, the longest pause is that of four thousand.
const SHARDS: usize = 256;

/// What can be found by a name.
pub(crate) trait Named {
    type Name<'a>: Copy + Hash
    where
        Self: 'a;

    fn is_named(&self, name: Self::Name<'_>) -> bool;
}

/// A table in shards. No shard's lock is held while any other lock is taken.
///
/// With the hasher that it has unless told, nobody can choose names that meet in one place.
#[derive(Debug)]
pub(crate) struct Table<T, S = RandomState> {
    shards: Box<[Mutex<HashTable<Hashed<T>>>]>,
    hasher: S,
}

/// A table whose names are made here, so that nobody chooses them.
pub(crate) type OwnNames<T> = Table<T, DefaultHashBuilder>;

/// A thing with the hash of its name, so that a table that grows reads no names.
#[derive(Debug)]
struct Hashed<T> {
    hash: u64,
    thing: T,
}

/// A shard of a table under its lock, at the place of one name.
pub(crate) struct Place<'a, T: Named + 'a> {
    shard: MutexGuard<'a, HashTable<Hashed<T>>>,
    hash: u64,
    name: T::Name<'a>,
}

/// What is at a place.
pub(crate) enum Slot<'a, T> {
    Occupied(Occupied<'a, T>),
    Vacant(Vacant<'a, T>),
}

/// A place with something in it.
pub(crate) struct Occupied<'a, T>(hash_table::OccupiedEntry<'a, Hashed<T>>);

/// A place with nothing in it.
pub(crate) struct Vacant<'a, T> {
    entry: hash_table::VacantEntry<'a, Hashed<T>>,
    hash: u64,
}

impl<T: Named, S: BuildHasher + Default> Table<T, S> {
    pub(crate) fn new() -> Self {
        Self {
            shards: std::iter::repeat_with(Mutex::default).take(SHARDS).collect(),
            hasher: S::default(),
        }
    }

    /// Locks the shard of a name.
    pub(crate) fn at<'a>(&'a self, name: T::Name<'a>) -> Place<'a, T> {
        let hash = self.hasher.hash_one(name);
        // The ends of the hash are what the table inside uses.
        let shard = usize::from(hash.to_be_bytes()[2]) % self.shards.len();
        Place { shard: lock(&self.shards[shard]), hash, name }
    }

    /// Looks at everything, one shard after the other.
    pub(crate) fn for_each(&self, mut look: impl FnMut(&T)) {
        for shard in &self.shards {
            lock(shard).iter().for_each(|one| look(&one.thing));
        }
    }
}

impl<T: Named> Place<'_, T> {
    pub(crate) fn get(&self) -> Option<&T> {
        let found = self.shard.find(self.hash, |one| one.is(self.hash, self.name));
        found.map(|one| &one.thing)
    }

    /// The place in the table itself, to put something there or to take it away.
    pub(crate) fn slot(&mut self) -> Slot<'_, T> {
        let Self { shard, hash, name } = self;
        match shard.entry(*hash, |one| one.is(*hash, *name), |one| one.hash) {
            hash_table::Entry::Occupied(entry) => Slot::Occupied(Occupied(entry)),
            hash_table::Entry::Vacant(entry) => Slot::Vacant(Vacant { entry, hash: *hash }),
        }
    }
}

impl<T: Named> Hashed<T> {
    fn is(&self, hash: u64, name: T::Name<'_>) -> bool {
        self.hash == hash && self.thing.is_named(name)
    }
}

impl<'a, T> Slot<'a, T> {
    /// What is there, or is put there now.
    pub(crate) fn or_insert_with(self, make: impl FnOnce() -> T) -> &'a mut T {
        match self {
            Self::Occupied(occupied) => occupied.into_mut(),
            Self::Vacant(vacant) => vacant.insert(make()),
        }
    }
}

impl<'a, T> Occupied<'a, T> {
    pub(crate) fn get_mut(&mut self) -> &mut T {
        &mut self.0.get_mut().thing
    }

    fn into_mut(self) -> &'a mut T {
        &mut self.0.into_mut().thing
    }

    pub(crate) fn remove(self) {
        self.0.remove();
    }
}

impl<'a, T> Vacant<'a, T> {
    pub(crate) fn insert(self, thing: T) -> &'a mut T {
        let Self { entry, hash } = self;
        &mut entry.insert(Hashed { hash, thing }).into_mut().thing
    }
}

fn lock<T>(shard: &Mutex<HashTable<T>>) -> MutexGuard<'_, HashTable<T>> {
    // Every change is complete before anything in it can panic.
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}
