//! The order in which tasks are listed, and the sets that keep them in it.

#![expect(clippy::mutable_key_type, reason = "keys are ordered by what never changes of a task")]

use std::{
    borrow::Borrow,
    cmp::{Ordering, Reverse},
    collections::{BTreeSet, btree_set},
    iter::Peekable,
    ops::Bound::{Excluded, Included, Unbounded},
    sync::Arc,
};

use a2a_core::TaskState;

use super::entry::{Entry, Standing};
use crate::store::PageKey;

/// The most tasks that are counted where there is no counter.
const MAX_COUNT: usize = 10_000;

/// A place in the list of tasks.
pub(super) trait Place {
    fn millis(&self) -> i64;
    fn task_id(&self) -> &str;
}

/// A task at its place.
#[derive(Clone, Debug)]
pub(super) struct Key {
    pub(super) millis: i64,
    pub(super) entry: Arc<Entry>,
}

impl Place for Key {
    fn millis(&self) -> i64 {
        self.millis
    }

    fn task_id(&self) -> &str {
        self.entry.task_id()
    }
}

impl Place for PageKey {
    fn millis(&self) -> i64 {
        self.millis
    }

    fn task_id(&self) -> &str {
        &self.task_id
    }
}

impl Place for (i64, &str) {
    fn millis(&self) -> i64 {
        self.0
    }

    fn task_id(&self) -> &str {
        self.1
    }
}

// Places are looked up by reference in sets of keys, without a task to make a key of.
impl Ord for dyn Place + '_ {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_id = || Reverse(self.task_id()).cmp(&Reverse(other.task_id()));
        Reverse(self.millis()).cmp(&Reverse(other.millis())).then_with(by_id)
    }
}

impl PartialOrd for dyn Place + '_ {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for dyn Place + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for dyn Place + '_ {}

impl<'a> Borrow<dyn Place + 'a> for Key {
    fn borrow(&self) -> &(dyn Place + 'a) {
        self
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        let (this, other): (&dyn Place, &dyn Place) = (self, other);
        this.cmp(other)
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Key {}

/// Which tasks of a set are listed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Filter {
    pub(super) state: Option<TaskState>,
    pub(super) since_millis: Option<i64>,
}

/// Tasks that follow each other in the list.
#[derive(Debug, Default)]
pub(super) struct Run {
    pub(super) keys: Vec<Key>,
    pub(super) has_more: bool,
}

/// A set of tasks in the order of the list, apart for each state.
///
/// So a page of one state touches no task of another, a page of all states is a merge, and the
/// lengths of the sets are the counters behind the totals.
#[derive(Debug, Default)]
pub(super) struct Ordered {
    /// Only states that have tasks.
    states: Vec<(TaskState, BTreeSet<Key>)>,
}

impl Ordered {
    pub(super) fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    /// Any task of the set.
    pub(super) fn any(&self) -> Option<&Arc<Entry>> {
        self.states.first()?.1.first().map(|key| &key.entry)
    }

    pub(super) fn insert(&mut self, standing: Standing, entry: &Arc<Entry>) {
        let Standing { state, millis } = standing;
        let key = Key { millis, entry: Arc::clone(entry) };
        match self.states.iter_mut().find(|(known, _)| *known == state) {
            Some((_, keys)) => {
                keys.insert(key);
            }
            None => {
                self.states.reserve_exact(1);
                self.states.push((state, BTreeSet::from([key])));
            }
        }
    }

    pub(super) fn remove(&mut self, standing: Standing, entry: &Entry) {
        let Standing { state, millis } = standing;
        let Some(index) = self.states.iter().position(|(known, _)| *known == state) else { return };
        let keys = &mut self.states[index].1;
        let place: &dyn Place = &(millis, entry.task_id());
        keys.remove(place);
        if keys.is_empty() {
            self.states.swap_remove(index);
        }
    }

    /// Counts the tasks that pass a filter: exact without a time, else up to 10,000.
    pub(super) fn count(&self, filter: Filter) -> usize {
        let sets = self.sets(filter.state);
        match filter.since_millis {
            None => sets.map(BTreeSet::len).sum(),
            Some(_) => {
                sets.flat_map(|keys| range(keys, None, filter.since_millis)).take(MAX_COUNT).count()
            }
        }
    }

    /// Returns up to `limit` tasks that pass a filter, behind a place.
    pub(super) fn run(&self, filter: Filter, after: Option<&PageKey>, limit: usize) -> Run {
        let sets = self.sets(filter.state);
        let mut merge = Merge {
            heads: sets.map(|keys| range(keys, after, filter.since_millis).peekable()).collect(),
        };
        let keys = merge.by_ref().take(limit).cloned().collect();
        Run { keys, has_more: merge.next().is_some() }
    }

    fn sets(&self, state: Option<TaskState>) -> impl Iterator<Item = &BTreeSet<Key>> {
        let wanted = move |known: TaskState| state.is_none_or(|state| state == known);
        self.states.iter().filter(move |(known, _)| wanted(*known)).map(|(_, keys)| keys)
    }
}

/// The keys behind a place whose time is not before `since_millis`.
fn range<'a>(
    keys: &'a BTreeSet<Key>,
    after: Option<&PageKey>,
    since_millis: Option<i64>,
) -> btree_set::Range<'a, Key> {
    // An empty id is the last one within its millisecond.
    let last = since_millis.map(|millis| (millis, ""));
    let after = after.map(|after| after as &dyn Place);
    let last = last.as_ref().map(|last| last as &dyn Place);
    match (after, last) {
        // A range whose start is not before its end panics.
        (Some(after), Some(last)) if after >= last => btree_set::Range::default(),
        (after, last) => keys.range::<dyn Place, _>((
            after.map_or(Unbounded, Excluded),
            last.map_or(Unbounded, Included),
        )),
    }
}

/// Several sets as one, in order. There is one for each state, so looking at all is quick.
struct Merge<'a> {
    heads: Vec<Peekable<btree_set::Range<'a, Key>>>,
}

impl<'a> Iterator for Merge<'a> {
    type Item = &'a Key;

    fn next(&mut self) -> Option<Self::Item> {
        let heads = self.heads.iter_mut().enumerate();
        let (_, index) = heads.filter_map(|(index, head)| Some((*head.peek()?, index))).min()?;
        self.heads[index].next()
    }
}
