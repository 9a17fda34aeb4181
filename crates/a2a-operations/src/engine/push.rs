//! Follows a task and delivers its events to webhooks.

use std::time::Duration;

use a2a_core::v1::stream_response::Payload;
use futures_util::{StreamExt as _, future::join_all};
use tracing::Instrument as _;

use super::{
    entry::Handle,
    reader::{Reader, Until},
};
use crate::{Delivery, Event, PushError, Webhook};

impl Handle {
    /// Follows the task from position `next` on, unless somebody does already.
    pub(super) fn spawn_push(&self, next: u64) {
        let next = {
            let mut state = self.lock();
            if self.inner.push.is_none() || state.pushing || state.is_over() {
                return;
            }
            state.pushing = true;
            next.max(state.log.first())
        };
        let span = tracing::info_span!("push", task.id = %self.task_id);
        self.inner.tasks.spawn(follow(self.clone(), next).instrument(span));
    }

    /// Forgets the webhooks of a task that never appeared: a message answered in its place.
    pub(super) async fn forget_webhooks(&self) {
        let store = &self.inner.store;
        let Ok(webhooks) = store.configs(&self.scope, &self.task_id).await else { return };
        for Webhook { config, .. } in webhooks {
            if let Err(error) = store.delete_config(&self.scope, &self.task_id, &config.id).await {
                tracing::warn!(error = ?error, "a webhook without a task could not be removed");
            }
        }
    }
}

async fn follow(handle: Handle, next: u64) {
    let mut events = Reader::new(handle.clone(), Until::Idle, next);
    loop {
        let event = match events.next().await {
            Some(Ok(event)) => event,
            Some(Err(error)) => {
                tracing::warn!(error = %error, "webhooks are no longer called for this task");
                break;
            }
            // Between two turns there is nothing to follow; the next turn starts it again.
            None => {
                let next = events.next_position();
                let mut state = handle.lock();
                if state.running || state.log.last() >= next {
                    drop(state);
                    events = Reader::new(handle.clone(), Until::Idle, next);
                    continue;
                }
                state.pushing = false;
                return;
            }
        };
        if is_pushed(&handle, &event) {
            deliver(&handle, &event).await;
        }
    }
    handle.lock().pushing = false;
}

fn is_pushed(handle: &Handle, event: &Event) -> bool {
    match event.payload() {
        Some(Payload::Task(_) | Payload::StatusUpdate(_)) => true,
        Some(Payload::ArtifactUpdate(_)) => handle.inner.config.push_artifacts,
        Some(Payload::Message(_)) | None => false,
    }
}

async fn deliver(handle: &Handle, event: &Event) {
    // Read again for each event: a webhook that was deleted gets no more.
    match handle.inner.store.configs(&handle.scope, &handle.task_id).await {
        Ok(webhooks) => {
            let delivery = Delivery { event: event.clone(), task: handle.task() };
            join_all(webhooks.iter().map(|webhook| deliver_to(handle, webhook, &delivery))).await;
        }
        Err(error) => tracing::error!(error = ?error, "webhooks could not be read"),
    }
}

/// Delivers one event to one webhook: at least once where it answers, at most the configured
/// number of tries.
async fn deliver_to(handle: &Handle, webhook: &Webhook, delivery: &Delivery) {
    let Some(push) = &handle.inner.push else { return };
    let mut pause = handle.inner.config.push_backoff;
    let mut left = handle.inner.config.push_attempts;
    loop {
        left = left.saturating_sub(1);
        let wait = match push.deliver(webhook, delivery).await {
            Ok(()) => return,
            Err(PushError::Retry { after, .. }) if left > 0 => after.unwrap_or(pause),
            Err(error) => {
                tracing::warn!(push.config.id = %webhook.config.id, error = ?error, "an event did not reach its webhook");
                return;
            }
        };
        let draining = handle.inner.draining.cancelled();
        if tokio::time::timeout(wait.min(MAX_PAUSE), draining).await.is_ok() {
            return;
        }
        pause *= 2;
    }
}

/// The longest pause between two tries, whatever the receiver asks for.
const MAX_PAUSE: Duration = Duration::from_secs(60);
