//! The link between a node and its store, with latency and faults.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use a2a_kit_operations::{
    EventId, Scope, Webhook,
    store::{
        Acquired, Backlog, Claim, ClaimedDeliveries, Command, Committed, DeadLetter,
        DeadLetterQuery, DeliveryKey, DeliveryOutcome, LeaseStore, NewTask, Orphan, PushStore,
        Redelivery, Replay, Signals, StoreError, StoredTask, Sweep, TaskPage, TaskQuery, TaskStore,
        Transition, Usage,
    },
};
use a2a_kit_store_testing::MemoryNode;
use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use tokio::sync::watch;

use super::call::Shared;

/// The state of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    Up,
    /// Partitioned, temporarily.
    Frozen,
    /// Dead: no call gets through.
    Down,
}

/// The link of a node.
#[derive(Debug)]
pub(super) struct Link {
    condition: watch::Sender<Condition>,
    /// Whether it was ever partitioned, shut down, or failing.
    troubled: AtomicBool,
    /// Whether store calls fail occasionally.
    pub(super) fails: AtomicBool,
    /// Whether store responses are occasionally delayed.
    pub(super) slow: AtomicBool,
    chance: AtomicU64,
}

impl Link {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            condition: watch::Sender::new(Condition::Up),
            troubled: AtomicBool::new(false),
            fails: AtomicBool::new(false),
            slow: AtomicBool::new(false),
            chance: AtomicU64::new(seed | 1),
        }
    }

    pub(super) fn condition(&self) -> Condition {
        *self.condition.borrow()
    }

    pub(super) fn become_(&self, condition: Condition) {
        if condition != Condition::Up {
            self.trouble();
        }
        self.condition.send_replace(condition);
    }

    pub(super) fn trouble(&self) {
        self.troubled.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_troubled(&self) -> bool {
        self.troubled.load(Ordering::Relaxed)
    }

    /// A number below `bound`, by xorshift, so that cases are reproducible.
    fn below(&self, bound: u64) -> u64 {
        let mut x = self.chance.load(Ordering::Relaxed);
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        self.chance.store(x, Ordering::Relaxed);
        x % bound
    }

    /// Passes the link once.
    async fn pass(&self) {
        match self.below(8) {
            0 => tokio::task::yield_now().await,
            1 => tokio::time::sleep(Duration::from_millis(1)).await,
            2 => tokio::time::sleep(Duration::from_millis(self.below(8))).await,
            _ => {}
        }
        let mut condition = self.condition.subscribe();
        let _ = condition.wait_for(|condition| *condition == Condition::Up).await;
    }

    fn fail(&self) -> Result<(), StoreError> {
        let fails = self.fails.load(Ordering::Relaxed) && self.below(4) == 0;
        if fails { Err(StoreError::failed("as the model wants it")) } else { Ok(()) }
    }

    /// Makes a store call.
    async fn call<T>(
        &self,
        work: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        self.pass().await;
        self.fail()?;
        let result = work.await;
        if self.slow.load(Ordering::Relaxed) && self.below(2) == 0 {
            tokio::time::sleep(Duration::from_millis(self.below(40))).await;
        }
        self.pass().await;
        self.fail()?;
        result
    }
}

/// The store of a node behind its link. Writes go to the journal.
pub(super) struct Linked {
    pub(super) store: MemoryNode,
    pub(super) link: Arc<Link>,
    pub(super) shared: Arc<Shared>,
}

impl fmt::Debug for Linked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.store.fmt(f)
    }
}

#[async_trait]
impl TaskStore for Linked {
    async fn insert(&self, scope: &Scope, new: NewTask) -> Result<Committed, StoreError> {
        let id = new.task.id.clone();
        let work = async {
            let committed = self.store.insert(scope, new.clone()).await?;
            self.shared.journal.insert(new);
            Ok(committed)
        };
        let committed = self.link.call(work).await?;
        self.shared.journal.show(&id);
        Ok(committed)
    }

    async fn commit(&self, scope: &Scope, transition: Transition) -> Result<Committed, StoreError> {
        let work = async {
            let committed = self.store.commit(scope, transition.clone()).await?;
            self.shared.journal.commit(transition);
            Ok(committed)
        };
        self.link.call(work).await
    }

    async fn get(&self, scope: &Scope, task_id: &str) -> Result<Option<StoredTask>, StoreError> {
        let stored = self.link.call(self.store.get(scope, task_id)).await?;
        stored.iter().for_each(|_| self.shared.journal.show(task_id));
        Ok(stored)
    }

    async fn load(
        &self,
        scope: &Scope,
        task_id: &str,
        after: EventId,
    ) -> Result<Option<(StoredTask, Replay)>, StoreError> {
        self.link.call(self.store.load(scope, task_id, after)).await
    }

    async fn replay(
        &self,
        scope: &Scope,
        task_id: &str,
        after: EventId,
    ) -> Result<Option<Replay>, StoreError> {
        self.link.call(self.store.replay(scope, task_id, after)).await
    }

    async fn list(&self, scope: &Scope, query: &TaskQuery) -> Result<TaskPage, StoreError> {
        self.link.call(self.store.list(scope, query)).await
    }

    async fn usage(&self, owner: &str) -> Result<Usage, StoreError> {
        self.link.call(self.store.usage(owner)).await
    }

    async fn open_tasks(&self, owner: &str) -> Result<usize, StoreError> {
        self.link.call(self.store.open_tasks(owner)).await
    }

    async fn claim_key(
        &self,
        scope: &Scope,
        key: &str,
        fingerprint: u64,
        task_id: &str,
    ) -> Result<Claim, StoreError> {
        self.link.call(self.store.claim_key(scope, key, fingerprint, task_id)).await
    }

    async fn take_over_key(
        &self,
        scope: &Scope,
        key: &str,
        fingerprint: u64,
        gone: &str,
        task_id: &str,
    ) -> Result<Claim, StoreError> {
        self.link.call(self.store.take_over_key(scope, key, fingerprint, gone, task_id)).await
    }

    async fn release_key(&self, scope: &Scope, key: &str, task_id: &str) -> Result<(), StoreError> {
        self.link.call(self.store.release_key(scope, key, task_id)).await
    }

    async fn sweep(&self, sweep: Sweep) -> Result<Vec<Arc<str>>, StoreError> {
        self.link.call(self.store.sweep(sweep)).await
    }

    async fn probe(&self) -> Result<(), StoreError> {
        self.link.call(self.store.probe()).await
    }

    async fn close(&self) {
        self.store.close().await;
    }
}

#[async_trait]
impl LeaseStore for Linked {
    fn node(&self) -> &str {
        self.store.node()
    }

    fn lease(&self) -> Option<Duration> {
        self.store.lease()
    }

    async fn acquire(&self, scope: &Scope, task_id: &str) -> Result<Option<Acquired>, StoreError> {
        self.link.call(self.store.acquire(scope, task_id)).await
    }

    async fn renew(&self, held: &[(Arc<str>, u64)]) -> Result<Vec<Arc<str>>, StoreError> {
        self.link.call(self.store.renew(held)).await
    }

    async fn release(&self, task_id: &str, epoch: u64) -> Result<bool, StoreError> {
        self.link.call(self.store.release(task_id, epoch)).await
    }

    async fn abandon(&self, task_id: &str, epoch: u64) -> Result<(), StoreError> {
        self.link.call(self.store.abandon(task_id, epoch)).await
    }

    async fn take_over(&self, limit: usize) -> Result<Vec<Orphan>, StoreError> {
        let orphans = self.link.call(self.store.take_over(limit)).await?;
        orphans.iter().for_each(|orphan| self.shared.journal.show(&orphan.stored.task.id));
        Ok(orphans)
    }

    async fn post_command(
        &self,
        scope: &Scope,
        task_id: &str,
        command: Command,
    ) -> Result<bool, StoreError> {
        self.link.call(self.store.post_command(scope, task_id, command)).await
    }

    async fn commands(&self, task_id: &str) -> Result<Vec<Command>, StoreError> {
        self.link.call(self.store.commands(task_id)).await
    }

    async fn answer_command(&self, command_id: &str, answer: Bytes) -> Result<(), StoreError> {
        self.link.call(self.store.answer_command(command_id, answer)).await
    }

    async fn read_answer(&self, command_id: &str) -> Result<Option<Bytes>, StoreError> {
        self.link.call(self.store.read_answer(command_id)).await
    }

    async fn delete_answer(&self, command_id: &str) -> Result<(), StoreError> {
        self.link.call(self.store.delete_answer(command_id)).await
    }

    fn signals(&self) -> Option<Signals> {
        let signals = self.store.signals()?;
        let link = Arc::clone(&self.link);
        // Delayed too, but in order.
        let late = stream::unfold((signals, link), async |(mut signals, link)| {
            let signal = signals.next().await?;
            link.pass().await;
            Some((signal, (signals, link)))
        });
        Some(Box::pin(late))
    }
}

#[async_trait]
impl PushStore for Linked {
    async fn put_config(&self, scope: &Scope, webhook: Webhook) -> Result<(), StoreError> {
        self.link.call(self.store.put_config(scope, webhook)).await
    }

    async fn configs(&self, scope: &Scope, task_id: &str) -> Result<Vec<Webhook>, StoreError> {
        self.link.call(self.store.configs(scope, task_id)).await
    }

    async fn delete_config(
        &self,
        scope: &Scope,
        task_id: &str,
        id: &str,
    ) -> Result<(), StoreError> {
        self.link.call(self.store.delete_config(scope, task_id, id)).await
    }

    async fn claim_deliveries(&self, limit: usize) -> Result<ClaimedDeliveries, StoreError> {
        self.link.call(self.store.claim_deliveries(limit)).await
    }

    async fn record_delivery(
        &self,
        key: &DeliveryKey,
        outcome: DeliveryOutcome,
    ) -> Result<bool, StoreError> {
        self.link.call(self.store.record_delivery(key, outcome)).await
    }

    async fn backlog(&self) -> Result<Backlog, StoreError> {
        self.link.call(self.store.backlog()).await
    }

    async fn dead_letters(&self, query: &DeadLetterQuery) -> Result<Vec<DeadLetter>, StoreError> {
        self.link.call(self.store.dead_letters(query)).await
    }

    async fn redeliver(&self, query: &DeadLetterQuery) -> Result<Redelivery, StoreError> {
        self.link.call(self.store.redeliver(query)).await
    }

    async fn purge_dead_letters(&self, query: &DeadLetterQuery) -> Result<u64, StoreError> {
        self.link.call(self.store.purge_dead_letters(query)).await
    }
}
