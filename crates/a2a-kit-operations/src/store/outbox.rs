use std::{fmt, sync::Arc, time::Duration};

use a2a_core::{v1::Task, well_known::Timestamp};
use async_trait::async_trait;
use derive_setters::Setters;

use super::StoreError;
use crate::{Event, EventId, Scope, Webhook};

/// A webhook with pending events, claimed by this node.
#[derive(Clone, Debug, Setters)]
#[non_exhaustive]
#[setters(prefix = "with_", into)]
pub struct ClaimedDelivery {
    /// Identifies the claim.
    pub key: DeliveryKey,
    /// The scope of the task.
    pub scope: Scope,
    /// The webhook to deliver to.
    pub webhook: Webhook,
    /// The current task.
    pub task: Arc<Task>,
    /// The pending events, oldest first: at least one, not necessarily all.
    pub events: Vec<Event>,
    /// Failed attempts to deliver the first of them.
    pub attempts: u32,
}

impl ClaimedDelivery {
    /// A claim of the pending events of a webhook, none of which was attempted.
    pub fn new(
        key: DeliveryKey,
        scope: Scope,
        webhook: Webhook,
        task: Arc<Task>,
        events: Vec<Event>,
    ) -> Self {
        Self { key, scope, webhook, task, events, attempts: 0 }
    }
}

/// Identifies a claimed webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeliveryKey {
    /// The task.
    pub task_id: Arc<str>,
    /// The id of the webhook, unique within its task.
    pub config_id: Arc<str>,
    /// The number of the claim; a later claim voids it.
    pub claim: u64,
}

impl DeliveryKey {
    /// The key of a claim of a webhook.
    pub fn new(task_id: impl Into<Arc<str>>, config_id: impl Into<Arc<str>>, claim: u64) -> Self {
        Self { task_id: task_id.into(), config_id: config_id.into(), claim }
    }
}

/// The result of [`PushStore::claim_deliveries`].
#[derive(Clone, Debug, Default)]
pub struct ClaimedDeliveries {
    /// The webhooks that this node has claimed.
    pub deliveries: Vec<ClaimedDelivery>,
    /// When to poll again, if events are pending that are not due yet.
    pub next: Option<Duration>,
}

/// The number and age of pending deliveries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Backlog {
    /// Webhooks with pending events.
    pub webhooks: u64,
    /// How long the oldest of them has been due. Retries that are not due yet and claimed webhooks
    /// do not count.
    pub overdue: Duration,
}

impl Backlog {
    /// Creates a backlog.
    pub fn new(webhooks: u64, overdue: Duration) -> Self {
        Self { webhooks, overdue }
    }
}

/// The outcome of an attempt to deliver the first event of a claimed webhook.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum DeliveryOutcome {
    /// Delivered. The claim continues with the next event.
    Delivered(EventId),
    /// Failed, to be retried after a delay; ends the claim.
    Retry {
        /// The event.
        event: EventId,
        /// The delay.
        after: Duration,
    },
    /// Failed for good; stored as a dead letter. The claim continues with the next event.
    DeadLetter {
        /// The event.
        event: EventId,
        /// The reason, for operators.
        error: String,
    },
    /// Not attempted, because of a concurrency limit; ends the claim. Due again after a delay.
    Postponed {
        /// The delay.
        after: Duration,
    },
    /// The node stops delivering; ends the claim. The rest is due immediately.
    Released,
}

/// An event that could not be delivered.
#[derive(Clone, Debug, PartialEq, Eq, Setters)]
#[non_exhaustive]
#[setters(prefix = "with_", into)]
pub struct DeadLetter {
    /// The scope of the task.
    pub scope: Scope,
    /// The task.
    pub task_id: String,
    /// The webhook.
    pub config_id: String,
    /// Its URL, without credentials.
    pub url: String,
    /// The event.
    pub event: EventId,
    /// The number of attempts.
    pub attempts: u32,
    /// The last error.
    pub error: String,
    /// When it was given up.
    pub time: Timestamp,
}

impl DeadLetter {
    /// An event for a webhook that was given up at a time.
    pub fn new(
        scope: Scope,
        task_id: impl Into<String>,
        config_id: impl Into<String>,
        event: EventId,
        time: Timestamp,
    ) -> Self {
        Self {
            scope,
            task_id: task_id.into(),
            config_id: config_id.into(),
            url: String::new(),
            event,
            attempts: 0,
            error: String::new(),
            time,
        }
    }
}

/// Selects dead letters; all filters that are set apply.
#[derive(Clone, Debug, PartialEq, Eq, Setters)]
#[non_exhaustive]
#[setters(prefix = "with_", into)]
pub struct DeadLetterQuery {
    /// Of this task.
    pub task_id: Option<String>,
    /// Of webhooks with this id.
    pub config_id: Option<String>,
    /// Of tasks of this tenant.
    pub tenant: Option<String>,
    /// Of tasks of this owner.
    pub owner: Option<String>,
    /// Only letters given up before this time.
    pub before: Option<Timestamp>,
    /// Maximum number of letters, newest first. Default: all.
    #[setters(into = false)]
    pub limit: usize,
}

impl Default for DeadLetterQuery {
    fn default() -> Self {
        Self {
            task_id: None,
            config_id: None,
            tenant: None,
            owner: None,
            before: None,
            limit: usize::MAX,
        }
    }
}

impl DeadLetterQuery {
    /// Selects the newest letters.
    pub fn newest(limit: usize) -> Self {
        Self { limit, ..Self::default() }
    }

    /// Returns whether a letter matches, ignoring the limit.
    pub fn matches(&self, letter: &DeadLetter) -> bool {
        let is = |wanted: &Option<String>, value: &str| {
            wanted.as_ref().is_none_or(|wanted| wanted == value)
        };
        is(&self.task_id, &letter.task_id)
            && is(&self.config_id, &letter.config_id)
            && is(&self.tenant, &letter.scope.tenant)
            && is(&self.owner, &letter.scope.owner)
            && self.before.is_none_or(|before| letter.time.as_millis() < before.as_millis())
    }
}

/// The result of redelivering dead letters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Redelivery {
    /// Letters queued for delivery; they are no longer dead letters.
    pub queued: u64,
    /// Letters that stay, because their task, webhook or event no longer exists.
    pub lost: u64,
}

impl Redelivery {
    /// Creates the result of a redelivery.
    pub fn new(queued: u64, lost: u64) -> Self {
        Self { queued, lost }
    }
}

/// Webhooks and their outbox.
///
/// The log of a task is the outbox of its webhooks: each webhook has a cursor, and every pushed
/// event after the cursor is pending from the moment it is stored. An event that readers can see is
/// never missing from the outbox.
///
/// # Laws
///
/// - A webhook receives the pushed events that are stored after it, in order, each until it is
///   delivered or dead-lettered.
/// - A webhook is claimed by at most one node. A claim expires if no outcome is recorded for some
///   time.
/// - A deleted webhook receives nothing more.
#[async_trait]
pub trait PushStore: fmt::Debug + Send + Sync + 'static {
    /// Stores a webhook under its task and id. An existing one is replaced and keeps its cursor.
    /// The engine has checked that the task belongs to the caller.
    async fn put_config(&self, scope: &Scope, webhook: Webhook) -> Result<(), StoreError>;

    /// Returns the webhooks of a task, ordered by id.
    async fn configs(&self, scope: &Scope, task_id: &str) -> Result<Vec<Webhook>, StoreError>;

    /// Deletes a webhook, if it exists.
    async fn delete_config(&self, scope: &Scope, task_id: &str, id: &str)
    -> Result<(), StoreError>;

    /// Claims up to `limit` webhooks with pending events, longest waiting first.
    async fn claim_deliveries(&self, limit: usize) -> Result<ClaimedDeliveries, StoreError>;

    /// Records the outcome of an attempt. Returns whether the claim still holds; if not, another
    /// node delivers the rest, or the webhook is gone.
    async fn record_delivery(
        &self,
        key: &DeliveryKey,
        outcome: DeliveryOutcome,
    ) -> Result<bool, StoreError>;

    /// Returns the backlog of all scopes, for operators.
    async fn backlog(&self) -> Result<Backlog, StoreError>;

    /// Returns dead letters of all scopes, newest first, for operators.
    async fn dead_letters(&self, query: &DeadLetterQuery) -> Result<Vec<DeadLetter>, StoreError>;

    /// Redelivers dead letters with all attempts. Each webhook is rewound to the first of its
    /// letters to keep the order, so later events may be delivered again; they are no longer dead
    /// letters.
    async fn redeliver(&self, query: &DeadLetterQuery) -> Result<Redelivery, StoreError>;

    /// Deletes dead letters, and returns how many.
    async fn purge_dead_letters(&self, query: &DeadLetterQuery) -> Result<u64, StoreError>;
}
