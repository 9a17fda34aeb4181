//! The revision in which each task was created, and the task ids that clients of 0.1 chose.
//!
//! The size of the table is limited in bytes, in total and per scope. A scope over its limit loses
//! its own oldest entries; if the table is over its limit, the largest scope does.

mod claim;
mod scope_entries;

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use a2a_core::ProtocolVersion;
use a2a_kit_operations::Scope;
use tokio::{
    runtime::Handle,
    task::{AbortHandle, JoinHandle},
    time::Instant,
};

use self::scope_entries::{Entry, ScopeEntries, Target};
pub(crate) use self::{
    claim::{Claim, Claimed, Unresolved},
    scope_entries::MessageKey,
};

/// Default limit of the table, in bytes.
const MAX_BYTES: usize = 64 << 20;

/// Interval between sweeps of the entries of ended tasks.
const SWEEP_INTERVAL: Duration = Duration::from_secs(60);

/// Records which tasks were created in an older revision, and the task ids that clients of 0.1
/// chose. Clones share their entries.
///
/// An entry is removed when the agent no longer has the task, and
/// [`with_retention`](Self::with_retention) after the task ended. Without an entry, the revision is
/// detected from the request alone, and the id that the client chose is unknown.
#[derive(Clone, Debug, Default)]
pub struct TaskRevisions(Arc<Mutex<Inner>>);

#[derive(Debug)]
struct Inner {
    scopes: HashMap<Scope, ScopeEntries>,
    /// The scopes by size, in bytes.
    sizes: BTreeSet<(usize, Scope)>,
    bytes: usize,
    max_bytes: usize,
    retention: Option<Duration>,
    sweeper: Option<AbortHandle>,
    /// Sequence number of the last inserted entry.
    last_number: u64,
}

/// The origin of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskRevision {
    /// The revision in which it was created.
    pub revision: ProtocolVersion,
    /// Its id at the agent. Clients of 0.1 use an id of their own.
    pub task_id: String,
}

impl TaskRevisions {
    /// Sets the limit of all entries, in bytes. A scope may use a quarter of it. Default: 64 MiB.
    #[must_use]
    pub fn with_max_bytes(self, bytes: usize) -> Self {
        self.lock().max_bytes = bytes;
        self
    }

    /// Sets how long an entry is kept after its task ended: the retention time of the agent's
    /// tasks. Default: unlimited.
    #[must_use]
    pub fn with_retention(self, retention: Option<Duration>) -> Self {
        self.lock().retention = retention;
        self
    }

    /// Finds the origin of a task by the id that the client uses.
    pub fn find(&self, scope: &Scope, id: &str) -> Option<TaskRevision> {
        let inner = self.lock();
        let entry = inner.entry(scope, id)?;
        match &entry.target {
            Target::Task(task_id) => {
                Some(TaskRevision { revision: entry.revision, task_id: task_id.to_string() })
            }
            Target::Send(_) => None,
        }
    }

    /// The revision in which a task was or is being created, by the id that the client uses.
    pub fn revision(&self, scope: &Scope, id: &str) -> Option<ProtocolVersion> {
        self.lock().entry(scope, id).map(|entry| entry.revision)
    }

    /// Records a task that was created in an older revision.
    pub fn insert(&self, scope: &Scope, id: &str, revision: ProtocolVersion, task_id: &str) {
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

    /// Removes the entry of a task that no longer exists.
    pub(crate) fn remove(&self, scope: &Scope, id: &str) {
        let mut inner = self.lock();
        if inner.entry(scope, id).is_some_and(|entry| matches!(entry.target, Target::Task(_))) {
            inner.remove(scope, id);
        }
    }

    /// Marks a task as ended, which starts the retention time of its entry.
    pub(crate) fn mark_ended(&self, scope: &Scope, id: &str) {
        if let Some(entry) =
            self.lock().scopes.get_mut(scope).and_then(|entries| entries.get_mut(id))
        {
            entry.ended.get_or_insert_with(Instant::now);
        }
    }

    /// Spawns the retention sweep. It stops when the table is dropped or empty.
    fn start_sweeper(&self) -> Option<AbortHandle> {
        let table = Arc::downgrade(&self.0);
        let task: JoinHandle<()> = Handle::try_current().ok()?.spawn(async move {
            loop {
                tokio::time::sleep(SWEEP_INTERVAL).await;
                let Some(table) = Weak::upgrade(&table).map(TaskRevisions) else { return };
                if !table.sweep() {
                    return;
                }
            }
        });
        Some(task.abort_handle())
    }

    /// Removes entries past their retention time. Returns whether any entries are left.
    fn sweep(&self) -> bool {
        let scopes: Vec<Scope> = self.lock().scopes.keys().cloned().collect();
        for scope in scopes {
            // The lock is released between scopes so that requests are not blocked.
            self.lock().sweep(&scope);
        }
        let mut inner = self.lock();
        if inner.scopes.is_empty() {
            inner.sweeper = None;
            inner.scopes.shrink_to_fit();
        }
        !inner.scopes.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Inner {
    fn default() -> Self {
        Self {
            scopes: HashMap::new(),
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
        self.scopes.get(scope)?.get(id)
    }

    /// Inserts or replaces the entry of an id, and returns its sequence number.
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
        let max_scope_bytes = self.max_bytes / 4;
        self.update(scope, |entries| {
            entries.insert(id, entry);
            while entries.bytes() > max_scope_bytes {
                entries.remove_oldest();
            }
        });
        while self.bytes > self.max_bytes {
            let Some((_, largest)) = self.sizes.last().cloned() else { break };
            self.update(&largest, ScopeEntries::remove_oldest);
        }
        number
    }

    fn remove(&mut self, scope: &Scope, id: &str) {
        self.update(scope, |entries| entries.remove(id));
    }

    fn sweep(&mut self, scope: &Scope) {
        let before = self.retention.and_then(|retention| Instant::now().checked_sub(retention));
        if let Some(before) = before {
            self.update(scope, |entries| entries.remove_ended(before));
        }
    }

    /// Updates the entries of a scope and the byte counts. Drops the scope if it becomes empty.
    fn update(&mut self, scope: &Scope, update: impl FnOnce(&mut ScopeEntries)) {
        let entries = self.scopes.entry(scope.clone()).or_default();
        let before = entries.bytes();
        update(entries);
        let after = entries.bytes();
        if after == 0 {
            self.scopes.remove(scope);
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

    fn fill(revisions: &TaskRevisions, scope: &Scope, id_bytes: usize, count: usize) {
        for index in 0..count {
            revisions.insert(scope, &format!("{index:0id_bytes$}"), REVISION, "t");
        }
    }

    #[test]
    fn scope_over_its_limit_evicts_its_own_oldest_entries() {
        let revisions = TaskRevisions::default().with_max_bytes(1 << 20);
        let (ann, bob) = (scope("ann"), scope("bob"));
        revisions.insert(&ann, "order-1", REVISION, "t");
        fill(&revisions, &bob, 100, 10_000);
        assert!(revisions.find(&ann, "order-1").is_some());
        assert_eq!(revisions.find(&bob, &format!("{:0100}", 0)), None);
        assert!(revisions.find(&bob, &format!("{:0100}", 9_999)).is_some());
        let bytes = revisions.lock().bytes;
        assert!((200_000..=(1 << 18) + 1_000).contains(&bytes), "{bytes}");
    }

    #[test]
    fn full_table_evicts_from_the_largest_scope() {
        let revisions = TaskRevisions::default().with_max_bytes(1 << 20);
        let ann = scope("ann");
        revisions.insert(&ann, "order-1", REVISION, "t");
        for index in 0..20 {
            fill(&revisions, &scope(&format!("bob-{index}")), 1_000, 1_000);
        }
        assert!(revisions.find(&ann, "order-1").is_some());
        let inner = revisions.lock();
        assert!(inner.bytes <= 1 << 20, "{}", inner.bytes);
        assert_eq!(inner.bytes, inner.scopes.values().map(ScopeEntries::bytes).sum::<usize>());
        assert_eq!(inner.sizes.len(), inner.scopes.len());
    }

    #[test]
    fn entry_size_includes_the_id() {
        let revisions = TaskRevisions::default();
        fill(&revisions, &scope("bob"), 1_000, 100_000);
        let inner = revisions.lock();
        assert!(inner.bytes <= MAX_BYTES / 4, "{}", inner.bytes);
        assert!(inner.scopes.values().map(ScopeEntries::len).sum::<usize>() < 17_000);
    }

    #[test]
    fn entries_are_per_scope() {
        let revisions = TaskRevisions::default();
        revisions.insert(&scope("ann"), "mine", REVISION, "a");
        revisions.insert(&scope("bob"), "mine", REVISION, "b");
        assert_eq!(revisions.find(&scope("ann"), "mine").unwrap().task_id, "a");
        revisions.remove(&scope("ann"), "mine");
        assert_eq!(revisions.find(&scope("ann"), "mine"), None);
        assert_eq!(revisions.find(&scope("bob"), "mine").unwrap().task_id, "b");
    }

    #[tokio::test(start_paused = true)]
    async fn entries_of_ended_tasks_are_swept_after_the_retention_time() {
        let hour = Duration::from_secs(3_600);
        let revisions = TaskRevisions::default().with_retention(Some(hour));
        let ann = scope("ann");
        for id in ["ended", "waiting"] {
            revisions.insert(&ann, id, REVISION, "t");
        }
        revisions.mark_ended(&ann, "ended");
        tokio::time::sleep(hour - SWEEP_INTERVAL).await;
        assert!(revisions.find(&ann, "ended").is_some());
        tokio::time::sleep(3 * SWEEP_INTERVAL).await;
        assert_eq!(revisions.find(&ann, "ended"), None);
        assert!(revisions.find(&ann, "waiting").is_some());

        revisions.mark_ended(&ann, "waiting");
        tokio::time::sleep(hour + 2 * SWEEP_INTERVAL).await;
        let inner = revisions.lock();
        assert_eq!((inner.bytes, inner.scopes.len(), inner.sizes.len()), (0, 0, 0));
        assert!(inner.sweeper.is_none());
    }
}
