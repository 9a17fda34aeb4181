//! The webhooks of a scope.

use std::collections::BTreeMap;

use crate::Webhook;

/// Webhooks by task and id.
#[derive(Debug, Default)]
pub(super) struct Webhooks(BTreeMap<(String, String), Webhook>);

/// What became of a webhook that was put.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Put {
    Added,
    Replaced,
    /// There are as many as there may be.
    Full,
}

impl Webhooks {
    pub(super) fn put(&mut self, webhook: Webhook, max: usize) -> Put {
        let key = (webhook.config.task_id.clone(), webhook.config.id.clone());
        if let Some(known) = self.0.get_mut(&key) {
            *known = webhook;
            return Put::Replaced;
        }
        if self.0.len() >= max {
            return Put::Full;
        }
        self.0.insert(key, webhook);
        Put::Added
    }

    /// Returns the webhooks of a task, in the order of their ids.
    pub(super) fn of(&self, task_id: &str) -> Vec<Webhook> {
        let start = (task_id.to_owned(), String::new());
        let of_task = self.0.range(start..).take_while(|((task, _), _)| task == task_id);
        of_task.map(|(_, webhook)| webhook.clone()).collect()
    }

    /// Removes a webhook, and returns whether it was there.
    pub(super) fn delete(&mut self, task_id: &str, id: &str) -> bool {
        self.0.remove(&(task_id.to_owned(), id.to_owned())).is_some()
    }

    /// Removes the webhooks of a task, and returns how many there were.
    pub(super) fn delete_all(&mut self, task_id: &str) -> usize {
        if self.0.is_empty() {
            return 0;
        }
        let of_task = self.of(task_id);
        of_task.iter().filter(|webhook| self.delete(task_id, &webhook.config.id)).count()
    }
}
