use std::{fmt, sync::Arc, time::Duration};

use a2a_core::{v1::Task, well_known::Timestamp};
use async_trait::async_trait;

use super::StoreError;
use crate::{Event, EventId, Scope, Webhook};

/// A webhook for which events wait, claimed for this node.
#[derive(Clone, Debug)]
pub struct DuePush {
    /// What to say it by.
    pub key: PushKey,
    /// Whose task it is.
    pub scope: Scope,
    /// Where to deliver to.
    pub webhook: Webhook,
    /// The task as it is now.
    pub task: Arc<Task>,
    /// The events that wait, oldest first: at least one, and not necessarily all.
    pub events: Vec<Event>,
    /// How often the first of them was tried.
    pub attempts: u32,
}

/// Names a webhook that a node has claimed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushKey {
    /// The task.
    pub task_id: Arc<str>,
    /// The id of the webhook, unique within its task.
    pub config_id: Arc<str>,
    /// The claim: a later one voids it.
    pub claim: u64,
}

/// What there is to deliver.
#[derive(Clone, Debug, Default)]
pub struct Due {
    /// The webhooks that this node has claimed.
    pub pushes: Vec<DuePush>,
    /// When to look again, if events wait that can't be delivered yet.
    pub next: Option<Duration>,
}

/// How much waits to be delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Backlog {
    /// How many webhooks have events to get.
    pub webhooks: u64,
    /// For how long the longest waiting of them has been due. What is tried again later, or is
    /// being delivered, is not due.
    pub overdue: Duration,
}

impl Backlog {
    /// Creates a backlog.
    pub fn new(webhooks: u64, overdue: Duration) -> Self {
        Self { webhooks, overdue }
    }
}

/// What came of a try to deliver the first event of a claimed webhook.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum PushOutcome {
    /// It arrived. The claim goes on for the next event.
    Delivered(EventId),
    /// It is to be tried again after a while; the claim ends.
    Retry {
        /// The event.
        event: EventId,
        /// When.
        after: Duration,
    },
    /// It is given up, and kept as a dead letter. The claim goes on for the next event.
    Dead {
        /// The event.
        event: EventId,
        /// Why, for operators.
        error: String,
    },
    /// It was not tried, because others of the same host or caller come first; the claim ends,
    /// and it is due after a while.
    Postponed {
        /// When.
        after: Duration,
    },
    /// The node delivers no more; the claim ends, and the rest is due at once.
    Unclaimed,
}

/// An event that never reached its webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    /// Whose task it is.
    pub scope: Scope,
    /// The task.
    pub task_id: String,
    /// The webhook.
    pub config_id: String,
    /// Where that was; never what authenticates to it.
    pub url: String,
    /// The event.
    pub event: EventId,
    /// How often it was tried.
    pub attempts: u32,
    /// Why it was given up.
    pub error: String,
    /// When it was given up.
    pub time: Timestamp,
}

/// Which dead letters are meant: those to which everything applies that is set.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeadLetterQuery {
    /// Of this task.
    pub task_id: Option<String>,
    /// Of webhooks with this id.
    pub config_id: Option<String>,
    /// Of tasks of this tenant.
    pub tenant: Option<String>,
    /// Of tasks of this owner.
    pub owner: Option<String>,
    /// Given up before this time.
    pub before: Option<Timestamp>,
    /// The most letters; the newest count. Default: all.
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
    /// The newest letters of all.
    pub fn newest(limit: usize) -> Self {
        Self { limit, ..Self::default() }
    }

    /// Returns whether a letter is meant, apart from the limit.
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

/// What became of dead letters that were to be delivered again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Redelivery {
    /// How many wait to be delivered again, and are dead letters no more.
    pub queued: u64,
    /// How many are kept as they are, because their task, webhook or event is gone.
    pub lost: u64,
}

impl Redelivery {
    /// Creates the result of a redelivery.
    pub fn new(queued: u64, lost: u64) -> Self {
        Self { queued, lost }
    }
}

/// The webhooks of tasks, and what waits to be delivered to them.
///
/// The events of a task are its outbox: a webhook has a place in them, and whatever is marked as
/// pushed behind that place waits, from the moment it is stored. So an event that is seen can't
/// miss its webhook.
///
/// # Laws
///
/// - A webhook gets the pushed events that are stored after it, in their order, each until it
///   is delivered or given up.
/// - A webhook is claimed by one node at a time. A claim ends by itself after some time in which
///   nothing was said of it.
/// - A webhook that is deleted gets nothing more.
#[async_trait]
pub trait PushStore: fmt::Debug + Send + Sync + 'static {
    /// Stores a webhook under its task and id. One that is there is replaced, and the new one
    /// goes on where it was. The engine has checked that the task is the caller's.
    async fn put_config(&self, scope: &Scope, webhook: Webhook) -> Result<(), StoreError>;

    /// Returns the webhooks of a task, in the order of their ids.
    async fn configs(&self, scope: &Scope, task_id: &str) -> Result<Vec<Webhook>, StoreError>;

    /// Removes a webhook, if it is there.
    async fn delete_config(&self, scope: &Scope, task_id: &str, id: &str)
    -> Result<(), StoreError>;

    /// Claims up to `limit` webhooks for which events wait, those that wait longest first.
    async fn due(&self, limit: usize) -> Result<Due, StoreError>;

    /// Notes what came of a try. Returns whether the claim still holds: if not, somebody else
    /// delivers the rest, or the webhook is gone.
    async fn pushed(&self, key: &PushKey, outcome: PushOutcome) -> Result<bool, StoreError>;

    /// How much waits, of all scopes: for operators.
    async fn backlog(&self) -> Result<Backlog, StoreError>;

    /// The events that were given up, newest first, of all scopes: for operators.
    async fn dead_letters(&self, query: &DeadLetterQuery) -> Result<Vec<DeadLetter>, StoreError>;

    /// Has events that were given up delivered again, with all tries. Each of their webhooks goes
    /// back to the first of them, so that the order is kept: later events that it has got already
    /// may reach it again, and are dead letters no more.
    async fn redeliver(&self, query: &DeadLetterQuery) -> Result<Redelivery, StoreError>;

    /// Forgets events that were given up, and returns how many.
    async fn purge_dead_letters(&self, query: &DeadLetterQuery) -> Result<u64, StoreError>;
}
