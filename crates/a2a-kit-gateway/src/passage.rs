//! The passage of one call: what its caller may name, and what it may see of the answer.

use std::{future::Future, sync::Arc};

use a2a_core::{
    Result, Task,
    v1::{
        AgentCard, ListTaskPushNotificationConfigsResponse, ListTasksResponse, SendMessageResponse,
        TaskPushNotificationConfig, send_message_response::Payload,
    },
};
use a2a_kit_operations::{Event, EventStream};
use futures_util::{StreamExt as _, stream};
use tokio::time::timeout;

use crate::{
    card::front_card,
    detached,
    owned::Owned,
    owner_index::{SWEEP, foreign},
    upstream_error::translate_error,
};

/// How the answer to one call is translated for its caller.
#[derive(Default)]
pub(crate) struct Passage {
    /// The tenant of the caller's request, if tenants are mapped.
    pub(crate) tenant: Option<String>,
    pub(crate) forwards_credentials: bool,
    /// What is the caller's, if the gateway keeps an index of owners.
    pub(crate) owned: Option<Owned>,
}

impl Passage {
    /// Whether the answer may be about a task that is not recorded yet.
    pub(crate) fn begins(&self) -> bool {
        self.owned.as_ref().is_some_and(Owned::begins)
    }

    /// The next event of a stream, checked and translated, or that its task was removed meanwhile.
    async fn next(mut self, mut events: EventStream) -> Option<(Result<Event>, Rest)> {
        let event = loop {
            if let Ok(event) = timeout(SWEEP, events.next()).await {
                break event?;
            }
            if let Some(owned) = &self.owned
                && let Some(removed) = owned.removed().await
            {
                return Some((Err(removed), (events, self)));
            }
        };
        let item = match (event, &mut self.owned) {
            (Ok(event), Some(owned)) => owned.event(event).await,
            (Ok(event), None) => Ok(event),
            (Err(error), _) => Err(translate_error(error, self.forwards_credentials)),
        };
        Some((item, (events, self)))
    }
}

/// The rest of a stream.
type Rest = (EventStream, Passage);

/// An answer that can be translated for the caller.
pub(crate) trait Deliver: Sized {
    /// Checks the answer, and translates it for the caller.
    fn deliver(self, passage: Passage) -> impl Future<Output = Result<Self>> + Send;
}

impl Deliver for () {
    async fn deliver(self, _: Passage) -> Result<Self> {
        Ok(())
    }
}

impl Deliver for Arc<Task> {
    async fn deliver(mut self, passage: Passage) -> Result<Self> {
        if let Some(mut owned) = passage.owned
            && owned.see_task(&self).await?
        {
            owned.task(Self::make_mut(&mut self)).await?;
        }
        Ok(self)
    }
}

impl Deliver for SendMessageResponse {
    async fn deliver(mut self, passage: Passage) -> Result<Self> {
        let Some(mut owned) = passage.owned else { return Ok(self) };
        match &mut self.payload {
            Some(Payload::Task(task)) => {
                owned.see_task(task).await?;
                owned.task(task).await?;
            }
            Some(Payload::Message(message)) => owned.message(message).await?,
            None => {}
        }
        Ok(self)
    }
}

impl Deliver for EventStream {
    async fn deliver(self, passage: Passage) -> Result<Self> {
        Ok(Self::new(stream::unfold((self, passage), |(events, passage): Rest| async move {
            if !passage.begins() {
                return passage.next(events).await;
            }
            // The first event is recorded, also if its reader has gone.
            detached::run(passage.next(events)).await.ok().flatten()
        })))
    }
}

/// Lists are answered from the index; one of the upstream agent passes only without an index.
impl Deliver for ListTasksResponse {
    async fn deliver(self, passage: Passage) -> Result<Self> {
        if passage.owned.is_some() { Err(foreign("task")) } else { Ok(self) }
    }
}

impl Deliver for TaskPushNotificationConfig {
    async fn deliver(mut self, passage: Passage) -> Result<Self> {
        if let Some(owned) = &passage.owned {
            owned.webhook(&self)?;
        }
        if let Some(tenant) = passage.tenant {
            self.tenant = tenant;
        }
        Ok(self)
    }
}

impl Deliver for ListTaskPushNotificationConfigsResponse {
    async fn deliver(mut self, passage: Passage) -> Result<Self> {
        for config in &mut self.configs {
            if let Some(owned) = &passage.owned {
                owned.webhook(config)?;
            }
            if let Some(tenant) = &passage.tenant {
                config.tenant.clone_from(tenant);
            }
        }
        Ok(self)
    }
}

impl Deliver for AgentCard {
    async fn deliver(self, passage: Passage) -> Result<Self> {
        Ok(front_card(&self, passage.forwards_credentials))
    }
}
