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
    Scope, intercept_store,
    store::{
        Committed, LeaseStore, NewTask, Orphan, PushStore, Signals, StoreError, StoredTask,
        TaskStore, Transition,
    },
};
use a2a_kit_store_testing::MemoryNode;
use async_trait::async_trait;
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

impl Linked {
    async fn call<T>(
        &self,
        _: &'static str,
        work: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        self.link.call(work).await
    }
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

    intercept_store! {
        call, TaskStore: this => this.store;
        load, replay, list, usage, open_tasks, claim_key, take_over_key, release_key, sweep, probe,
        close,
    }
}

#[async_trait]
impl LeaseStore for Linked {
    intercept_store! {
        call, LeaseStore: this => this.store;
        node, lease, acquire, renew, release, abandon, post_command, commands, answer_command,
        read_answer, delete_answer,
    }

    async fn take_over(&self, limit: usize) -> Result<Vec<Orphan>, StoreError> {
        let orphans = self.link.call(self.store.take_over(limit)).await?;
        orphans.iter().for_each(|orphan| self.shared.journal.show(&orphan.stored.task.id));
        Ok(orphans)
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

impl PushStore for Linked {
    intercept_store!(call, PushStore: this => this.store);
}
