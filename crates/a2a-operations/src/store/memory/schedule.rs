//! What is to be looked at when its time has come.

use std::{collections::BTreeMap, sync::Mutex};

use tokio::time::Instant;

use super::lock;

/// Things in the order of their times.
#[derive(Debug)]
pub(super) struct Schedule<T>(Mutex<Turns<T>>);

/// The place of a thing: its time, and a number that no other thing has.
pub(super) type Turn = (Instant, u64);

#[derive(Debug)]
struct Turns<T> {
    things: BTreeMap<Turn, T>,
    next: u64,
}

impl<T: Clone> Schedule<T> {
    pub(super) fn new() -> Self {
        Self(Mutex::new(Turns { things: BTreeMap::new(), next: 0 }))
    }

    /// Puts a thing at a time.
    pub(super) fn put(&self, time: Instant, thing: T) -> Turn {
        let mut turns = lock(&self.0);
        let turn = (time, turns.next);
        turns.next += 1;
        turns.things.insert(turn, thing);
        turn
    }

    /// Takes a thing out.
    pub(super) fn remove(&self, turn: Turn) {
        lock(&self.0).things.remove(&turn);
    }

    /// Returns up to `limit` things whose time has come, oldest first. They stay.
    pub(super) fn due(&self, now: Instant, limit: usize) -> Vec<T> {
        let turns = lock(&self.0);
        turns.things.range(..=(now, u64::MAX)).take(limit).map(|(_, thing)| thing.clone()).collect()
    }

    /// How many things there are.
    pub(super) fn len(&self) -> usize {
        lock(&self.0).things.len()
    }

    /// Returns the time of the thing that is first.
    pub(super) fn first(&self) -> Option<Instant> {
        lock(&self.0).things.first_key_value().map(|((time, _), _)| *time)
    }
}
