//! Several nodes on one store in memory.

mod mailbox;

use std::{collections::HashMap, sync::Arc, time::Duration};

use a2a_kit_operations::{
    Event, EventId, MemoryStore, Scope, forward_store,
    store::{
        Acquired, Command, Committed, LeaseStore, LeaseUpdate, NewTask, Orphan, PushStore, Replay,
        Signal, Signals, StoreError, StoredTask, TaskStore, Transition,
    },
};
use async_trait::async_trait;
use bytes::Bytes;
use futures_util::FutureExt as _;
use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;

use self::mailbox::{Mailbox, Mailboxes};

/// Maximum number of events in a signal.
const MAX_SIGNALLED_EVENTS: usize = 16;

/// One of several nodes that share a [`MemoryStore`], for tests of what runs on many nodes.
///
/// Leases expire by tokio's clock, and nodes receive signals of each other. Join all nodes before
/// giving the first one to an engine.
///
/// ```
/// use a2a_kit_operations::store::LeaseStore as _;
/// use a2a_kit_store_testing::MemoryNode;
///
/// let one = MemoryNode::new();
/// let two = one.join("two");
/// assert!(one.lease().is_some());
/// assert_ne!(one.node(), two.node());
/// ```
#[derive(Debug)]
pub struct MemoryNode {
    shared: Arc<Shared>,
    node: Arc<str>,
    mailbox: Arc<Mailbox>,
}

/// What the nodes share. The store itself has one node, which holds all leases.
#[derive(Debug)]
struct Shared {
    store: MemoryStore,
    lease: Duration,
    state: Mutex<State>,
    mailboxes: Mailboxes,
}

#[derive(Debug, Default)]
struct State {
    /// The leases by task.
    leases: HashMap<Arc<str>, Lease>,
    /// The nodes that posted the pending commands, by command.
    posters: HashMap<Arc<str>, Arc<str>>,
}

#[derive(Debug)]
struct Lease {
    scope: Scope,
    node: Arc<str>,
    epoch: u64,
    until: Instant,
    /// Whether the holder has given up the lease, so that it may take the task over too.
    is_abandoned: bool,
}

impl MemoryNode {
    /// Creates the first node of an empty store, with leases of ten seconds.
    pub fn new() -> Self {
        Self::with_lease(Duration::from_secs(10))
    }

    /// Creates the first node of an empty store, with leases of the given duration.
    pub fn with_lease(lease: Duration) -> Self {
        let shared = Shared {
            store: MemoryStore::new(),
            lease,
            state: Mutex::default(),
            mailboxes: Mailboxes::default(),
        };
        Self::node_of(Arc::new(shared), "one")
    }

    /// Adds a node that shares the data of this one. Node names must be unique; the first one is
    /// `one`.
    #[must_use]
    pub fn join(&self, node: &str) -> Self {
        Self::node_of(Arc::clone(&self.shared), node)
    }

    fn node_of(shared: Arc<Shared>, node: &str) -> Self {
        let node: Arc<str> = node.into();
        let mailbox = shared.mailboxes.join(Arc::clone(&node));
        Self { shared, node, mailbox }
    }

    fn store(&self) -> &MemoryStore {
        &self.shared.store
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock()
    }

    /// A lease that is granted to this node.
    fn granted(&self, scope: &Scope, epoch: u64) -> Lease {
        let until = Instant::now() + self.shared.lease;
        let node = Arc::clone(&self.node);
        Lease { scope: scope.clone(), node, epoch, until, is_abandoned: false }
    }

    /// Signals a write to the other nodes.
    fn signal_written(&self, scope: &Scope, task_id: &str, events: Vec<Event>) {
        let Ok(Some(stored)) = ready(self.store().get(scope, task_id)) else { return };
        let task_id = task_id.into();
        let signal = Signal::Written { task_id, last_event: stored.last_event, events };
        self.shared.mailboxes.broadcast(&self.node, &signal);
    }

    /// Signals the answer to a command to the node that posted it.
    fn signal_answered(&self, state: &mut State, command_id: &str) {
        if let Some((command_id, from)) = state.posters.remove_entry(command_id) {
            self.shared.mailboxes.send_to(&from, &Signal::Answered { command_id });
        }
    }
}

impl Default for MemoryNode {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for MemoryNode {
    fn drop(&mut self) {
        self.shared.mailboxes.leave(&self.mailbox);
    }
}

/// Completes a call to the store.
fn ready<T>(call: impl Future<Output = T>) -> T {
    call.now_or_never().expect("a memory store does not wait")
}

/// The events to include in the signal of a write.
fn signalled(events: &[Event]) -> Vec<Event> {
    if events.len() <= MAX_SIGNALLED_EVENTS { events.to_vec() } else { Vec::new() }
}

impl State {
    /// Names the node that holds a task.
    fn with_holder(&self, mut stored: StoredTask) -> StoredTask {
        stored.node = self.leases.get(stored.task.id.as_str()).map(|lease| Arc::clone(&lease.node));
        stored
    }
}

#[async_trait]
impl TaskStore for MemoryNode {
    async fn insert(&self, scope: &Scope, new: NewTask) -> Result<Committed, StoreError> {
        let mut state = self.state();
        let task_id: Arc<str> = new.task.id.as_str().into();
        let (events, is_leased) = (signalled(&new.events), new.checkpoint.is_some());
        let committed = ready(self.store().insert(scope, new))?;
        if is_leased {
            state.leases.insert(Arc::clone(&task_id), self.granted(scope, 1));
        }
        self.signal_written(scope, &task_id, events);
        Ok(committed)
    }

    async fn commit(&self, scope: &Scope, transition: Transition) -> Result<Committed, StoreError> {
        let mut state = self.state();
        let task_id = transition.task_id.clone();
        let (events, lease) = (signalled(&transition.events), transition.lease.clone());
        let answered: Vec<_> = transition.answers.iter().map(|(id, _)| Arc::clone(id)).collect();
        let committed = ready(self.store().commit(scope, transition))?;
        if lease == LeaseUpdate::Release {
            state.leases.remove(&*task_id);
        }
        answered.iter().for_each(|id| self.signal_answered(&mut state, id));
        self.signal_written(scope, &task_id, events);
        Ok(committed)
    }

    async fn get(&self, scope: &Scope, task_id: &str) -> Result<Option<StoredTask>, StoreError> {
        let state = self.state();
        let stored = ready(self.store().get(scope, task_id))?;
        Ok(stored.map(|stored| state.with_holder(stored)))
    }

    async fn load(
        &self,
        scope: &Scope,
        task_id: &str,
        after: EventId,
    ) -> Result<Option<(StoredTask, Replay)>, StoreError> {
        let state = self.state();
        let loaded = ready(self.store().load(scope, task_id, after))?;
        Ok(loaded.map(|(stored, replay)| (state.with_holder(stored), replay)))
    }

    forward_store! {
        TaskStore: this => this.shared.store;
        replay, list, usage, open_tasks, claim_key, take_over_key, release_key, sweep, probe, close,
    }
}

#[async_trait]
impl LeaseStore for MemoryNode {
    fn node(&self) -> &str {
        &self.node
    }

    fn lease(&self) -> Option<Duration> {
        Some(self.shared.lease)
    }

    async fn acquire(&self, scope: &Scope, task_id: &str) -> Result<Option<Acquired>, StoreError> {
        let mut state = self.state();
        if state.leases.get(task_id).is_some_and(|lease| lease.node != self.node) {
            let stored = ready(self.store().get(scope, task_id))?;
            return Ok(stored.map(|stored| Acquired::Elsewhere(state.with_holder(stored))));
        }
        let Some(mut acquired) = ready(self.store().acquire(scope, task_id))? else {
            return Ok(None);
        };
        let (Acquired::Here(stored)
        | Acquired::Elsewhere(stored)
        | Acquired::Reacquired(Orphan { stored, .. })) = &mut acquired;
        stored.node = Some(Arc::clone(&self.node));
        state.leases.insert(task_id.into(), self.granted(scope, stored.epoch));
        self.signal_written(scope, task_id, Vec::new());
        Ok(Some(acquired))
    }

    async fn renew(&self, held: &[(Arc<str>, u64)]) -> Result<Vec<Arc<str>>, StoreError> {
        let mut state = self.state();
        let mut lost = ready(self.store().renew(held))?;
        for (task_id, epoch) in held {
            match state.leases.get_mut(task_id).filter(|lease| lease.epoch == *epoch) {
                Some(lease) => *lease = self.granted(&lease.scope, *epoch),
                None if lost.contains(task_id) => {}
                None => lost.push(Arc::clone(task_id)),
            }
        }
        Ok(lost)
    }

    async fn release(&self, task_id: &str, epoch: u64) -> Result<bool, StoreError> {
        let mut state = self.state();
        if !ready(self.store().release(task_id, epoch))? {
            return Ok(false);
        }
        if state.leases.get(task_id).is_some_and(|lease| lease.epoch == epoch)
            && let Some(lease) = state.leases.remove(task_id)
        {
            self.signal_written(&lease.scope, task_id, Vec::new());
        }
        Ok(true)
    }

    async fn abandon(&self, task_id: &str, epoch: u64) -> Result<(), StoreError> {
        let mut state = self.state();
        let lease = state.leases.get_mut(task_id).filter(|lease| lease.epoch == epoch);
        if let Some(lease) = lease {
            (lease.until, lease.is_abandoned) = (Instant::now(), true);
            self.shared.mailboxes.broadcast(&self.node, &Signal::Abandoned);
        }
        Ok(())
    }

    async fn take_over(&self, limit: usize) -> Result<Vec<Orphan>, StoreError> {
        let mut state = self.state();
        let now = Instant::now();
        let expired = state.leases.iter().filter(|(_, lease)| lease.until <= now);
        let mut due: Vec<_> = expired.map(|(id, lease)| (lease.until, Arc::clone(id))).collect();
        due.sort();
        let mut orphans = Vec::new();
        for (_, task_id) in due {
            if orphans.len() == limit {
                break;
            }
            let Some(lease) = state.leases.get_mut(&task_id) else { continue };
            if lease.node == self.node && !lease.is_abandoned {
                // The node is late to renew it, or does not know of it.
                (lease.until, lease.is_abandoned) = (now + self.shared.lease, true);
                continue;
            }
            let scope = lease.scope.clone();
            let mut orphan = match ready(self.store().acquire(&scope, &task_id))? {
                Some(Acquired::Reacquired(orphan)) => orphan,
                Some(Acquired::Here(stored) | Acquired::Elsewhere(stored)) => {
                    let scope = scope.clone();
                    Orphan::new(scope, stored)
                }
                None => {
                    state.leases.remove(&task_id);
                    continue;
                }
            };
            orphan.stored.node = Some(Arc::clone(&self.node));
            let lease = self.granted(&scope, orphan.stored.epoch);
            state.leases.insert(Arc::clone(&task_id), lease);
            self.signal_written(&scope, &task_id, Vec::new());
            orphans.push(orphan);
        }
        Ok(orphans)
    }

    async fn post_command(
        &self,
        scope: &Scope,
        task_id: &str,
        command: Command,
    ) -> Result<bool, StoreError> {
        let mut state = self.state();
        let id = Arc::clone(&command.id);
        if !ready(self.store().post_command(scope, task_id, command))? {
            return Ok(false);
        }
        state.posters.insert(id, Arc::clone(&self.node));
        if let Some(lease) = state.leases.get(task_id) {
            let signal = Signal::Posted { task_id: task_id.into() };
            self.shared.mailboxes.send_to(&lease.node, &signal);
        }
        Ok(true)
    }

    async fn answer_command(&self, command_id: &str, answer: Bytes) -> Result<(), StoreError> {
        let mut state = self.state();
        ready(self.store().answer_command(command_id, answer))?;
        self.signal_answered(&mut state, command_id);
        Ok(())
    }

    forward_store! {
        LeaseStore: this => this.shared.store;
        commands, read_answer, delete_answer,
    }

    fn signals(&self) -> Option<Signals> {
        Some(Box::pin(self.mailbox.open()))
    }
}

impl PushStore for MemoryNode {
    forward_store!(PushStore: this => this.shared.store);
}
