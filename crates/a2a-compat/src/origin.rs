//! The revision in which each task was made, and the ids that clients of 0.1 chose for theirs.
//!
//! The table is bounded in bytes, for all scopes together and for each. A scope that exceeds its
//! share loses its own oldest entries; where all scopes together exceed theirs, the scope that
//! holds most does.

mod claim;
mod share;

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use a2a_core::ProtocolVersion;
use a2a_operations::Scope;
use tokio::{
    runtime::Handle,
    task::{AbortHandle, JoinHandle},
    time::Instant,
};

pub(crate) use self::claim::{Claim, Claimed, MessageKey, Unresolved};
use self::share::{Entry, Share, Target};

/// Most bytes of all entries, where nothing else is set.
const MAX_BYTES: usize = 64 << 20;

/// How often entries of tasks that ended are looked through.
const SWEEP_INTERVAL: Duration = Duration::from_secs(60);

/// Remembers which tasks were made in an older revision, and the ids that clients of 0.1 chose.
/// Clones share what they remember.
///
/// An entry is forgotten with its task: when the agent no longer knows the task, and
/// [`with_retention`](Self::with_retention) after its end was seen. A task whose entry is
/// forgotten is answered in the revision that the request itself shows, and is no longer known by
/// the id that its client chose.
#[derive(Clone, Debug, Default)]
pub struct Origins(Arc<Mutex<Inner>>);

#[derive(Debug)]
struct Inner {
    shares: HashMap<Scope, Share>,
    /// The scopes by the bytes that they hold.
    sizes: BTreeSet<(usize, Scope)>,
    bytes: usize,
    max_bytes: usize,
    retention: Option<Duration>,
    sweeper: Option<AbortHandle>,
    /// Numbers the entries in the order in which they came.
    last_number: u64,
}

/// Where a task comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The revision in which it was made.
    pub revision: ProtocolVersion,
    /// Its id here. In 0.1 the client chose another one.
    pub task_id: String,
}

impl Origins {
    /// Sets the most bytes that all entries take together. A scope may hold a quarter of them.
    /// Default: 64 MiB.
    #[must_use]
    pub fn with_max_bytes(self, bytes: usize) -> Self {
        self.lock().max_bytes = bytes;
        self
    }

    /// Sets how long the entry of a task is kept after the task was seen to end: as long as the
    /// agent keeps the task. Default: without an end.
    #[must_use]
    pub fn with_retention(self, retention: Option<Duration>) -> Self {
        self.lock().retention = retention;
        self
    }

    /// Finds where a task comes from, by the id that the client uses.
    pub fn find(&self, scope: &Scope, id: &str) -> Option<Origin> {
        let inner = self.lock();
        let entry = inner.entry(scope, id)?;
        match &entry.target {
            Target::Task(task_id) => {
                Some(Origin { revision: entry.revision, task_id: task_id.to_string() })
            }
            Target::Send(_) => None,
        }
    }

    /// The revision in which a task was made, or is being made, by the id that the client uses.
    pub fn revision(&self, scope: &Scope, id: &str) -> Option<ProtocolVersion> {
        self.lock().entry(scope, id).map(|entry| entry.revision)
    }

    /// Remembers a task that was made in an older revision.
    pub fn remember(&self, scope: &Scope, id: &str, revision: ProtocolVersion, task_id: &str) {
        let mut inner = self.lock();
        let is_known = inner.entry(scope, id).is_some_and(|entry| {
            entry.revision == revision
                && matches!(&entry.target, Target::Task(known) if **known == *task_id)
        });
        if !is_known {
            inner.insert(scope, id, revision, Target::Task(task_id.into()));
        }
        if inner.retention.is_some() && inner.sweeper.is_none() {
            inner.sweeper = self.start_sweeper();
        }
    }

    /// Forgets a task that is gone.
    pub(crate) fn forget(&self, scope: &Scope, id: &str) {
        let mut inner = self.lock();
        if inner.entry(scope, id).is_some_and(|entry| matches!(entry.target, Target::Task(_))) {
            inner.remove(scope, id);
        }
    }

    /// Notes that a task has ended: its entry is kept for the retention from now on.
    pub(crate) fn end(&self, scope: &Scope, id: &str) {
        if let Some(entry) = self.lock().shares.get_mut(scope).and_then(|share| share.get_mut(id)) {
            entry.ended.get_or_insert_with(Instant::now);
        }
    }

    /// Starts the task that forgets entries by their age. It ends with the table, or once nothing
    /// is left in it.
    fn start_sweeper(&self) -> Option<AbortHandle> {
        let table = Arc::downgrade(&self.0);
        let task: JoinHandle<()> = Handle::try_current().ok()?.spawn(async move {
            loop {
                tokio::time::sleep(SWEEP_INTERVAL).await;
                let Some(table) = Weak::upgrade(&table).map(Origins) else { return };
                if !table.sweep() {
                    return;
                }
            }
        });
        Some(task.abort_handle())
    }

    /// Forgets the tasks that ended longer ago than the retention, and returns whether anything is
    /// left.
    fn sweep(&self) -> bool {
        let scopes: Vec<Scope> = self.lock().shares.keys().cloned().collect();
        for scope in scopes {
            // Requests get their turn between two scopes.
            self.lock().sweep(&scope);
        }
        let mut inner = self.lock();
        if inner.shares.is_empty() {
            inner.sweeper = None;
            inner.shares.shrink_to_fit();
        }
        !inner.shares.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Inner {
    fn default() -> Self {
        Self {
            shares: HashMap::new(),
            sizes: BTreeSet::new(),
            bytes: 0,
            max_bytes: MAX_BYTES,
            retention: None,
            sweeper: None,
            last_number: 0,
        }
    }
}

impl Inner {
    fn entry(&self, scope: &Scope, id: &str) -> Option<&Entry> {
        self.shares.get(scope)?.get(id)
    }

    /// Adds an entry in place of the one of the same id, and returns its number.
    fn insert(
        &mut self,
        scope: &Scope,
        id: &str,
        revision: ProtocolVersion,
        target: Target,
    ) -> u64 {
        self.last_number += 1;
        let number = self.last_number;
        let entry = Entry { number, revision, target, ended: None };
        let max_share = self.max_bytes / 4;
        self.change(scope, |share| {
            share.insert(id, entry);
            while share.bytes() > max_share {
                share.remove_oldest();
            }
        });
        while self.bytes > self.max_bytes {
            let Some((_, largest)) = self.sizes.last().cloned() else { break };
            self.change(&largest, Share::remove_oldest);
        }
        number
    }

    fn remove(&mut self, scope: &Scope, id: &str) {
        self.change(scope, |share| share.remove(id));
    }

    fn sweep(&mut self, scope: &Scope) {
        let before = self.retention.and_then(|retention| Instant::now().checked_sub(retention));
        if let Some(before) = before {
            self.change(scope, |share| share.remove_ended(before));
        }
    }

    /// Changes the share of a scope and keeps account of it. An empty share is dropped.
    fn change(&mut self, scope: &Scope, change: impl FnOnce(&mut Share)) {
        let share = self.shares.entry(scope.clone()).or_default();
        let before = share.bytes();
        change(share);
        let after = share.bytes();
        if after == 0 {
            self.shares.remove(scope);
        }
        if before != after {
            self.sizes.remove(&(before, scope.clone()));
            if after > 0 {
                self.sizes.insert((after, scope.clone()));
            }
            self.bytes = self.bytes - before + after;
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Some(sweeper) = &self.sweeper {
            sweeper.abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REVISION: ProtocolVersion = ProtocolVersion::V0_1;

    fn scope(owner: &str) -> Scope {
        Scope { owner: owner.into(), ..Scope::default() }
    }

    fn fill(origins: &Origins, scope: &Scope, id_bytes: usize, count: usize) {
        for index in 0..count {
            origins.remember(scope, &format!("{index:0id_bytes$}"), REVISION, "t");
        }
    }

    #[test]
    fn a_caller_that_fills_its_share_loses_its_own_oldest_entries_alone() {
        let origins = Origins::default().with_max_bytes(1 << 20);
        let (ann, bob) = (scope("ann"), scope("bob"));
        origins.remember(&ann, "order-1", REVISION, "t");
        fill(&origins, &bob, 100, 10_000);
        assert!(origins.find(&ann, "order-1").is_some());
        assert_eq!(origins.find(&bob, &format!("{:0100}", 0)), None);
        assert!(origins.find(&bob, &format!("{:0100}", 9_999)).is_some());
        let bytes = origins.lock().bytes;
        assert!((200_000..=(1 << 18) + 1_000).contains(&bytes), "{bytes}");
    }

    #[test]
    fn many_callers_that_fill_the_table_push_out_the_entries_of_the_largest_share() {
        let origins = Origins::default().with_max_bytes(1 << 20);
        let ann = scope("ann");
        origins.remember(&ann, "order-1", REVISION, "t");
        for index in 0..20 {
            fill(&origins, &scope(&format!("bob-{index}")), 1_000, 1_000);
        }
        assert!(origins.find(&ann, "order-1").is_some());
        let inner = origins.lock();
        assert!(inner.bytes <= 1 << 20, "{}", inner.bytes);
        assert_eq!(inner.bytes, inner.shares.values().map(Share::bytes).sum::<usize>());
        assert_eq!(inner.sizes.len(), inner.shares.len());
    }

    #[test]
    fn an_entry_counts_the_bytes_of_its_id() {
        let origins = Origins::default();
        fill(&origins, &scope("bob"), 1_000, 100_000);
        let inner = origins.lock();
        assert!(inner.bytes <= MAX_BYTES / 4, "{}", inner.bytes);
        assert!(inner.shares.values().map(Share::len).sum::<usize>() < 17_000);
    }

    #[test]
    fn the_same_id_of_two_callers_is_two_entries() {
        let origins = Origins::default();
        origins.remember(&scope("ann"), "mine", REVISION, "a");
        origins.remember(&scope("bob"), "mine", REVISION, "b");
        assert_eq!(origins.find(&scope("ann"), "mine").unwrap().task_id, "a");
        origins.forget(&scope("ann"), "mine");
        assert_eq!(origins.find(&scope("ann"), "mine"), None);
        assert_eq!(origins.find(&scope("bob"), "mine").unwrap().task_id, "b");
    }

    #[tokio::test(start_paused = true)]
    async fn entries_of_ended_tasks_are_forgotten_after_the_retention() {
        let hour = Duration::from_secs(3_600);
        let origins = Origins::default().with_retention(Some(hour));
        let ann = scope("ann");
        for id in ["ended", "waiting"] {
            origins.remember(&ann, id, REVISION, "t");
        }
        origins.end(&ann, "ended");
        tokio::time::sleep(hour - SWEEP_INTERVAL).await;
        assert!(origins.find(&ann, "ended").is_some());
        tokio::time::sleep(3 * SWEEP_INTERVAL).await;
        assert_eq!(origins.find(&ann, "ended"), None);
        assert!(origins.find(&ann, "waiting").is_some());

        origins.end(&ann, "waiting");
        tokio::time::sleep(hour + 2 * SWEEP_INTERVAL).await;
        let inner = origins.lock();
        assert_eq!((inner.bytes, inner.shares.len(), inner.sizes.len()), (0, 0, 0));
        assert!(inner.sweeper.is_none());
    }
}
