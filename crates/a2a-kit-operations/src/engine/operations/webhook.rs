//! Registration of webhooks within the limits of a task.

use std::hash::{BuildHasher as _, RandomState};

use a2a_core::{Error, ErrorKind, Result, v1::TaskPushNotificationConfig};
use tokio::sync::Semaphore;

use crate::{Scope, Webhook, engine::Inner};

/// Number of semaphores shared by all tasks.
const TURNS: usize = 64;

/// Serializes the registration of webhooks per task, so that concurrent requests cannot exceed a
/// limit together.
#[derive(Debug)]
pub(crate) struct Registrations {
    hasher: RandomState,
    turns: Box<[Semaphore]>,
}

impl Default for Registrations {
    fn default() -> Self {
        let turns = (0..TURNS).map(|_| Semaphore::new(1)).collect();
        Self { hasher: RandomState::new(), turns }
    }
}

impl Registrations {
    fn turn(&self, task_id: &str) -> Option<&Semaphore> {
        let turns = u64::try_from(self.turns.len()).ok()?;
        let turn = self.hasher.hash_one(task_id).checked_rem(turns)?;
        self.turns.get(usize::try_from(turn).ok()?)
    }
}

/// What the registration of a webhook replaced.
#[derive(Debug)]
pub(crate) struct Replaced {
    task_id: String,
    id: String,
    previous: Option<Webhook>,
}

impl Inner {
    /// Stores a webhook of an existing task, and returns what it replaced.
    ///
    /// # Errors
    ///
    /// [`ResourceExhausted`](ErrorKind::ResourceExhausted) beyond a limit.
    pub(crate) async fn put_webhook(&self, scope: &Scope, webhook: Webhook) -> Result<Replaced> {
        let _turn = match self.push.registrations.turn(&webhook.config.task_id) {
            Some(turn) => turn.acquire().await.ok(),
            None => None,
        };
        let (task_id, id) = (webhook.config.task_id.clone(), webhook.config.id.clone());
        let previous = self.check_webhook_limits(scope, &webhook.config).await?;
        self.store.put_config(scope, webhook).await.map_err(Error::from)?;
        Ok(Replaced { task_id, id, previous })
    }

    /// Undoes the registration of a webhook whose message was refused.
    pub(crate) async fn restore_webhook(&self, scope: &Scope, replaced: Replaced) {
        let Replaced { task_id, id, previous } = replaced;
        let restored = match previous {
            Some(previous) => self.store.put_config(scope, previous).await,
            None => self.store.delete_config(scope, &task_id, &id).await,
        };
        if let Err(error) = restored {
            tracing::warn!(
                task.id = task_id, webhook.id = id, error = ?error,
                "failed to remove the webhook of a refused message"
            );
        }
    }

    /// Checks a webhook against the limits, and returns the one that it replaces.
    async fn check_webhook_limits(
        &self,
        scope: &Scope,
        config: &TaskPushNotificationConfig,
    ) -> Result<Option<Webhook>> {
        let mut others = self.webhooks(scope, &config.task_id).await?;
        let before = others.len();
        let replaced = others.iter().position(|other| other.config.id == config.id);
        let replaced = replaced.map(|index| others.remove(index));
        let exhausted = |limit: String| Err(Error::new(ErrorKind::ResourceExhausted, limit));
        let max = self.config.max_push_configs;
        if others.len() == before && before >= max {
            return exhausted(format!("the task already has {max} webhooks (max_push_configs)"));
        }
        let Some(push) = &self.push.sender else { return Ok(replaced) };
        let host = push.destination(config);
        let same = others.iter().filter(|other| push.destination(&other.config) == host).count();
        let max = self.config.max_push_configs_per_host;
        if same >= max {
            return exhausted(format!(
                "the task already has {max} webhooks at {host} (max_push_configs_per_host)"
            ));
        }
        Ok(replaced)
    }
}
