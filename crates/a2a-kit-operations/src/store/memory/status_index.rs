//! Tasks indexed by state and status time, in list order.

use std::{
    borrow::Borrow,
    cmp::{Ordering, Reverse},
    collections::{BTreeSet, btree_set},
    iter::Peekable,
    ops::Bound::{Excluded, Included, Unbounded},
    sync::Arc,
};

use a2a_core::{TaskState, v1::Task};

use crate::store::PageKey;

/// Maximum number of tasks to count one by one.
const MAX_COUNT: usize = 10_000;

/// The index key of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StatusKey {
    pub(super) state: TaskState,
    pub(super) millis: i64,
}

impl StatusKey {
    pub(super) fn of(task: &Task) -> Self {
        Self { state: task.state(), millis: PageKey::millis_of(task) }
    }
}

/// What is listed.
pub(super) trait Listed {
    fn task_id(&self) -> &str;
}

/// A position in list order.
pub(super) trait ListPosition {
    fn millis(&self) -> i64;
    fn task_id(&self) -> &str;
}

/// A task at its position.
#[derive(Debug)]
pub(super) struct Key<T> {
    pub(super) millis: i64,
    pub(super) entry: Arc<T>,
}

impl<T: Listed> ListPosition for Key<T> {
    fn millis(&self) -> i64 {
        self.millis
    }

    fn task_id(&self) -> &str {
        self.entry.task_id()
    }
}

impl ListPosition for PageKey {
    fn millis(&self) -> i64 {
        self.millis
    }

    fn task_id(&self) -> &str {
        &self.task_id
    }
}

impl ListPosition for (i64, &str) {
    fn millis(&self) -> i64 {
        self.0
    }

    fn task_id(&self) -> &str {
        self.1
    }
}

// Positions are looked up by reference, without constructing a key.
impl Ord for dyn ListPosition + '_ {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_id = || Reverse(self.task_id()).cmp(&Reverse(other.task_id()));
        Reverse(self.millis()).cmp(&Reverse(other.millis())).then_with(by_id)
    }
}

impl PartialOrd for dyn ListPosition + '_ {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for dyn ListPosition + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for dyn ListPosition + '_ {}

impl<'a, T: Listed + 'a> Borrow<dyn ListPosition + 'a> for Key<T> {
    fn borrow(&self) -> &(dyn ListPosition + 'a) {
        self
    }
}

impl<T: Listed> Ord for Key<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        let (this, other): (&dyn ListPosition, &dyn ListPosition) = (self, other);
        this.cmp(other)
    }
}

impl<T: Listed> PartialOrd for Key<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T: Listed> PartialEq for Key<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<T: Listed> Eq for Key<T> {}

/// Selects tasks of an index.
#[derive(Clone, Copy, Debug)]
pub(super) struct Filter {
    pub(super) state: Option<TaskState>,
    pub(super) since_millis: Option<i64>,
}

/// Tasks in list order, with one set per state.
///
/// A page of one state touches no task of another, a page of all states is a merge, and the lengths
/// of the sets are the totals.
#[derive(Debug)]
pub(super) struct StatusIndex<T> {
    /// Only states with tasks.
    states: Vec<(TaskState, BTreeSet<Key<T>>)>,
}

impl<T> Default for StatusIndex<T> {
    fn default() -> Self {
        Self { states: Vec::new() }
    }
}

impl<T: Listed> StatusIndex<T> {
    pub(super) fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    /// Any task of the index.
    pub(super) fn any(&self) -> Option<&Arc<T>> {
        self.states.first()?.1.first().map(|key| &key.entry)
    }

    pub(super) fn insert(&mut self, status_key: StatusKey, entry: &Arc<T>) {
        let StatusKey { state, millis } = status_key;
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

    pub(super) fn remove(&mut self, status_key: StatusKey, entry: &T) {
        let StatusKey { state, millis } = status_key;
        let Some(index) = self.states.iter().position(|(known, _)| *known == state) else { return };
        let keys = &mut self.states[index].1;
        let place: &dyn ListPosition = &(millis, entry.task_id());
        keys.remove(place);
        if keys.is_empty() {
            self.states.swap_remove(index);
        }
    }

    /// Counts the matching tasks: exactly without a time filter, otherwise up to 10,000.
    pub(super) fn count(&self, filter: Filter) -> usize {
        let sets = self.sets(filter.state);
        match filter.since_millis {
            None => sets.map(BTreeSet::len).sum(),
            Some(_) => {
                sets.flat_map(|keys| range(keys, None, filter.since_millis)).take(MAX_COUNT).count()
            }
        }
    }

    /// Returns up to `limit` matching tasks after a key, and whether there are more.
    pub(super) fn slice(
        &self,
        filter: Filter,
        after: Option<&PageKey>,
        limit: usize,
    ) -> (Vec<Key<T>>, bool) {
        let sets = self.sets(filter.state);
        let mut merge = Merge {
            heads: sets.map(|keys| range(keys, after, filter.since_millis).peekable()).collect(),
        };
        let copy = |key: &Key<T>| Key { millis: key.millis, entry: Arc::clone(&key.entry) };
        let keys = merge.by_ref().take(limit).map(copy).collect();
        (keys, merge.next().is_some())
    }

    fn sets(&self, state: Option<TaskState>) -> impl Iterator<Item = &BTreeSet<Key<T>>> {
        let wanted = move |known: TaskState| state.is_none_or(|state| state == known);
        self.states.iter().filter(move |(known, _)| wanted(*known)).map(|(_, keys)| keys)
    }
}

/// The keys after a position whose time is not before `since_millis`.
fn range<'a, T: Listed>(
    keys: &'a BTreeSet<Key<T>>,
    after: Option<&PageKey>,
    since_millis: Option<i64>,
) -> btree_set::Range<'a, Key<T>> {
    // The empty id is the last one within its millisecond.
    let last = since_millis.map(|millis| (millis, ""));
    let after = after.map(|after| after as &dyn ListPosition);
    let last = last.as_ref().map(|last| last as &dyn ListPosition);
    match (after, last) {
        // A range panics if its start is not before its end.
        (Some(after), Some(last)) if after >= last => btree_set::Range::default(),
        (after, last) => keys.range::<dyn ListPosition, _>((
            after.map_or(Unbounded, Excluded),
            last.map_or(Unbounded, Included),
        )),
    }
}

/// Merges several sets in order. There are few states, so a linear scan is fast.
struct Merge<'a, T> {
    heads: Vec<Peekable<btree_set::Range<'a, Key<T>>>>,
}

impl<'a, T: Listed> Iterator for Merge<'a, T> {
    type Item = &'a Key<T>;

    fn next(&mut self) -> Option<Self::Item> {
        let heads = self.heads.iter_mut().enumerate();
        let (_, index) = heads.filter_map(|(index, head)| Some((*head.peek()?, index))).min()?;
        self.heads[index].next()
    }
}
