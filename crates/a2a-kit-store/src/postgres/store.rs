use std::{sync::Arc, time::Duration};

use a2a_kit_operations::{
    EventId, Scope, Webhook,
    store::{
        Backlog, Claim, ClaimedDeliveries, Committed, DeadLetter, DeadLetterQuery, DeliveryKey,
        DeliveryOutcome, NewTask, PushStore, Redelivery, Replay, StoreError, StoredTask, Sweep,
        TaskPage, TaskQuery, TaskStore, Transition, Usage,
    },
};
use async_trait::async_trait;
use tokio::sync::Mutex;
use uuid::Uuid;

use super::{
    PostgresConfig, PostgresError,
    address::Address,
    commit::CommitRow,
    insert::InsertRow,
    link::Connector,
    migration,
    pool::Pool,
    signal::{Listener, channel},
    usage_cache::Usages,
    writer::{Setup, Write, Writers},
};
use crate::SecretKeys;

/// Stores tasks in a PostgreSQL database (version 12 or newer), shared by many nodes.
///
/// Reconnects by itself. Calls fail while there is no connection.
pub struct PostgresStore {
    pub(super) node: Arc<str>,
    pub(super) lease: Duration,
    pub(super) push_claim: Duration,
    pub(super) keys: SecretKeys,
    /// The notification channel, if notifications are enabled.
    pub(super) channel: Option<String>,
    pub(super) pool: Arc<Pool>,
    /// The connection that renews leases, so that renewals wait for nothing else.
    pub(super) renewals: Pool,
    /// Locked during a test write.
    probing: Arc<Mutex<()>>,
    pub(super) usages: Arc<Usages>,
    writers: Writers,
    pub(super) listener: Option<Listener>,
}

impl PostgresStore {
    /// Opens a database as a new node, and creates or migrates its schema.
    ///
    /// # Errors
    ///
    /// See [`PostgresError`]. Errors never contain the password.
    pub async fn connect(url: &str) -> Result<Self, PostgresError> {
        Self::connect_with(url, PostgresConfig::default()).await
    }

    /// Opens a database.
    ///
    /// # Errors
    ///
    /// As [`connect`](Self::connect).
    pub async fn connect_with(url: &str, config: PostgresConfig) -> Result<Self, PostgresError> {
        let address = Address::parse(url)?;
        let connector = Arc::new(Connector::new(address, config.schema)?);
        migration::migrate(&connector).await?;
        let node: Arc<str> = match config.node {
            Some(node) => named(&node).into(),
            None => Uuid::now_v7().to_string().into(),
        };
        let channel = config.notify.then(|| channel(connector.schema()));
        let listener = match &channel {
            None => None,
            Some(channel) => {
                let (connector, node) = (Arc::clone(&connector), Arc::clone(&node));
                let (host, database) = connector.place();
                let listener = Listener::start(connector, channel.clone(), node).await;
                Some(listener.map_err(|error| PostgresError::Connect {
                    host,
                    database,
                    source: error.into(),
                })?)
            }
        };
        let usages = Arc::<Usages>::default();
        let setup = Setup {
            connector: Arc::clone(&connector),
            node: Arc::clone(&node),
            lease: config.lease,
            channel: channel.clone(),
            usages: Arc::clone(&usages),
        };
        Ok(Self {
            node,
            lease: config.lease,
            push_claim: config.push_claim,
            keys: config.secret_keys,
            channel,
            renewals: Pool::new(Arc::clone(&connector), 1, config.acquire_timeout),
            pool: Arc::new(Pool::new(connector, config.readers, config.acquire_timeout)),
            probing: Arc::default(),
            usages,
            writers: Writers::spawn(&setup, config.writers),
            listener,
        })
    }
}

/// A node name that is safe in a line of a notification.
fn named(name: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.:".contains(letter);
    name.chars().map(|letter| if plain(letter) { letter } else { '-' }).collect()
}

a2a_core::debug_fields!(PostgresStore { node, pool, writers, .. });

#[async_trait]
impl TaskStore for PostgresStore {
    async fn insert(&self, scope: &Scope, new: NewTask) -> Result<Committed, StoreError> {
        let row = InsertRow::new(scope, new, &self.keys)?;
        self.writers.write(Write::Insert(row)).await
    }

    async fn commit(&self, scope: &Scope, transition: Transition) -> Result<Committed, StoreError> {
        let row = CommitRow::new(scope, transition)?;
        self.writers.write(Write::Commit(row)).await
    }

    async fn get(&self, scope: &Scope, task_id: &str) -> Result<Option<StoredTask>, StoreError> {
        self.read(scope, task_id).await
    }

    async fn load(
        &self,
        scope: &Scope,
        task_id: &str,
        after: EventId,
    ) -> Result<Option<(StoredTask, Replay)>, StoreError> {
        self.read_with_log(scope, task_id, after).await
    }

    async fn replay(
        &self,
        scope: &Scope,
        task_id: &str,
        after: EventId,
    ) -> Result<Option<Replay>, StoreError> {
        self.read_log(scope, task_id, after).await
    }

    async fn list(&self, scope: &Scope, query: &TaskQuery) -> Result<TaskPage, StoreError> {
        self.page(scope, query).await
    }

    async fn usage(&self, owner: &str) -> Result<Usage, StoreError> {
        self.measured(owner).await
    }

    async fn open_tasks(&self, owner: &str) -> Result<usize, StoreError> {
        self.count_open_tasks(owner).await
    }

    async fn claim_key(
        &self,
        scope: &Scope,
        key: &str,
        fingerprint: u64,
        task_id: &str,
    ) -> Result<Claim, StoreError> {
        self.try_claim_key(scope, key, fingerprint, task_id).await
    }

    async fn take_over_key(
        &self,
        scope: &Scope,
        key: &str,
        fingerprint: u64,
        gone: &str,
        task_id: &str,
    ) -> Result<Claim, StoreError> {
        self.replace_key(scope, key, fingerprint, gone, task_id).await
    }

    async fn release_key(&self, scope: &Scope, key: &str, task_id: &str) -> Result<(), StoreError> {
        self.delete_key(scope, key, task_id).await
    }

    async fn sweep(&self, sweep: Sweep) -> Result<Vec<Arc<str>>, StoreError> {
        self.forget(sweep).await
    }

    async fn probe(&self) -> Result<(), StoreError> {
        let Some(bytes) = self.pool.failing() else {
            return self.pool.read("SELECT 1", &[]).await.map(|_rows| ());
        };
        // It goes on if the check gives up, however long a write of this size takes.
        let Ok(turn) = Arc::clone(&self.probing).try_lock_owned() else {
            return Err(StoreError::Unwritable("a test write is not done yet".into()));
        };
        let pool = Arc::clone(&self.pool);
        let probe = tokio::spawn(async move {
            let written = pool.probe_write(bytes).await;
            drop(turn);
            written
        });
        probe.await.map_err(StoreError::failed)?
    }

    /// Does nothing: a write that returned is committed, and connections end with the store.
    async fn close(&self) {}
}

#[async_trait]
impl PushStore for PostgresStore {
    async fn put_config(&self, scope: &Scope, webhook: Webhook) -> Result<(), StoreError> {
        self.put_webhook(scope, &webhook).await
    }

    async fn configs(&self, scope: &Scope, task_id: &str) -> Result<Vec<Webhook>, StoreError> {
        self.webhooks(scope, task_id).await
    }

    async fn delete_config(
        &self,
        scope: &Scope,
        task_id: &str,
        id: &str,
    ) -> Result<(), StoreError> {
        self.delete_webhook(scope, task_id, id).await
    }

    async fn claim_deliveries(&self, limit: usize) -> Result<ClaimedDeliveries, StoreError> {
        self.claim_due(limit).await
    }

    async fn record_delivery(
        &self,
        key: &DeliveryKey,
        outcome: DeliveryOutcome,
    ) -> Result<bool, StoreError> {
        self.record_outcome(key, outcome).await
    }

    async fn backlog(&self) -> Result<Backlog, StoreError> {
        self.push_backlog().await
    }

    async fn dead_letters(&self, query: &DeadLetterQuery) -> Result<Vec<DeadLetter>, StoreError> {
        self.letters(query).await
    }

    async fn redeliver(&self, query: &DeadLetterQuery) -> Result<Redelivery, StoreError> {
        self.redeliver_letters(query).await
    }

    async fn purge_dead_letters(&self, query: &DeadLetterQuery) -> Result<u64, StoreError> {
        self.purge_letters(query).await
    }
}
