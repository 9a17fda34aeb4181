//! The eleven operations of an engine.

mod bounds;
mod cancel;
mod check;
mod key;
mod list;
mod page;
mod replies;
mod response;
mod send;
mod webhook;

use std::sync::Arc;

use a2a_core::{
    Error, ErrorKind, Result, fresh_id,
    v1::{
        AgentCard, CancelTaskRequest, DeleteTaskPushNotificationConfigRequest,
        GetExtendedAgentCardRequest, GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
        ListTasksRequest, ListTasksResponse, SendMessageConfiguration, SendMessageRequest,
        SendMessageResponse, SubscribeToTaskRequest, Task, TaskPushNotificationConfig,
    },
};
use async_trait::async_trait;
use futures_util::{future::BoxFuture, stream};

use crate::{
    Agent, Call, EventId, EventStream, Reply, Scope, Webhook,
    engine::{
        Engine, Inner,
        runtime::Reader,
        task::{Cursor, LiveTask, Until, snapshot},
    },
    store::{PageKey, Replay, TaskView},
    trace::TraceContext,
};

use self::check::history_length;
pub use self::{list::list_stored, replies::DirectReply};
pub(crate) use self::{replies::Replies, webhook::Registrations};

#[async_trait]
impl Agent for Engine {
    // Not async: the future would have room for two copies of the call.
    fn send_message<'a, 'b>(
        &'a self,
        mut call: Call<SendMessageRequest>,
    ) -> BoxFuture<'b, Result<Reply<SendMessageResponse>>>
    where
        'a: 'b,
    {
        Box::pin(async move {
            let activated = self.inner.check(&call.context, &call.request)?;
            let configuration = call.request.configuration.as_ref();
            let at_once =
                configuration.is_some_and(|configuration| configuration.return_immediately);
            let limit = limit_of(configuration)?;
            let accepted = self.inner.accept(call.context, &mut call.request, false).await?;
            Ok(Reply { response: accepted.response(at_once, limit).await?, activated })
        })
    }

    async fn send_streaming_message(
        &self,
        call: Call<SendMessageRequest>,
    ) -> Result<Reply<EventStream>> {
        let activated = self.inner.check(&call.context, &call.request)?;
        self.inner.check_streaming()?;
        let mut call = call;
        if let Some(configuration) = &mut call.request.configuration {
            // The flag is ignored for streams (spec §3.2.2).
            configuration.return_immediately = false;
        }
        let limit = limit_of(call.request.configuration.as_ref())?;
        let accepted = self.inner.accept(call.context, &mut call.request, true).await?;
        Ok(Reply { response: accepted.stream(limit).await?, activated })
    }

    async fn get_task(&self, call: Call<GetTaskRequest>) -> Result<Reply<Arc<Task>>> {
        let activated = self.inner.check(&call.context, &call.request)?;
        let request = call.request;
        let limit = history_length("historyLength", request.history_length)?;
        let scope = Scope::new(&request.tenant, &call.context.caller);
        let task = self.inner.visible(&scope, &request.id).await?;
        let response = match limit {
            Some(limit) if task.history.len() > limit => {
                Arc::new(TaskView::of_history(Some(limit)).apply(task))
            }
            _ => task,
        };
        Ok(Reply { response, activated })
    }

    async fn list_tasks(&self, call: Call<ListTasksRequest>) -> Result<Reply<ListTasksResponse>> {
        let activated = self.inner.check(&call.context, &call.request)?;
        let response =
            list_stored(&*self.inner.store, &call, self.inner.config.max_list_bytes).await?;
        Ok(Reply { response, activated })
    }

    async fn cancel_task(&self, call: Call<CancelTaskRequest>) -> Result<Reply<Arc<Task>>> {
        let activated = self.inner.check(&call.context, &call.request)?;
        let response = self.inner.cancel(call.context, call.request).await?;
        Ok(Reply { response, activated })
    }

    async fn subscribe_to_task(
        &self,
        call: Call<SubscribeToTaskRequest>,
    ) -> Result<Reply<EventStream>> {
        let activated = self.inner.check(&call.context, &call.request)?;
        self.inner.check_streaming()?;
        let scope = Scope::new(&call.request.tenant, &call.context.caller);
        let id = &call.request.id;
        let response = self.inner.subscribe(&scope, id, call.context.last_event_id).await?;
        Ok(Reply { response, activated })
    }

    async fn create_task_push_notification_config(
        &self,
        call: Call<TaskPushNotificationConfig>,
    ) -> Result<Reply<TaskPushNotificationConfig>> {
        let activated = self.inner.check(&call.context, &call.request)?;
        self.inner.check_push()?;
        let mut config = call.request;
        if config.task_id.is_empty() {
            return Err(Error::invalid_params("taskId", "is required"));
        }
        let scope = Scope::new(&config.tenant, &call.context.caller);
        self.inner.visible(&scope, &config.task_id).await?;
        self.inner.check_webhook(&config, "").await?;
        if config.id.is_empty() {
            config.id = fresh_id();
        }
        let trace = TraceContext::of(&call.context.parameters);
        let webhook = Webhook { config: config.clone(), revision: call.context.version, trace };
        self.inner.put_webhook(&scope, webhook).await?;
        // A replaced webhook may have pending events.
        self.inner.push.outbox.iter().for_each(|outbox| outbox.wake());
        Ok(Reply { response: config, activated })
    }

    async fn get_task_push_notification_config(
        &self,
        call: Call<GetTaskPushNotificationConfigRequest>,
    ) -> Result<Reply<TaskPushNotificationConfig>> {
        let activated = self.inner.check(&call.context, &call.request)?;
        self.inner.check_push()?;
        let request = call.request;
        let scope = Scope::new(&request.tenant, &call.context.caller);
        self.inner.visible(&scope, &request.task_id).await?;
        let webhooks = self.inner.webhooks(&scope, &request.task_id).await?;
        let mut configs = webhooks.into_iter().map(|webhook| webhook.config);
        let found = configs.find(|config| config.id == request.id);
        let response = found.map(without_secrets).ok_or_else(|| {
            Error::new(
                ErrorKind::TaskNotFound,
                format!("push notification config not found: {}", request.id),
            )
            .with_metadata("taskId", request.task_id)
            .with_metadata("pushNotificationConfigId", request.id)
        })?;
        Ok(Reply { response, activated })
    }

    async fn list_task_push_notification_configs(
        &self,
        call: Call<ListTaskPushNotificationConfigsRequest>,
    ) -> Result<Reply<ListTaskPushNotificationConfigsResponse>> {
        let activated = self.inner.check(&call.context, &call.request)?;
        self.inner.check_push()?;
        let request = call.request;
        let scope = Scope::new(&request.tenant, &call.context.caller);
        self.inner.visible(&scope, &request.task_id).await?;
        let size = page::config_size(request.page_size)?;
        let after = page::key(&request.page_token)?.map(|key| key.task_id);
        let webhooks = self.inner.webhooks(&scope, &request.task_id).await?;
        let mut configs: Vec<_> = webhooks
            .into_iter()
            .map(|webhook| webhook.config)
            .filter(|config| after.as_ref().is_none_or(|after| config.id > *after))
            .map(without_secrets)
            .collect();
        let has_more = configs.len() > size;
        configs.truncate(size);
        let next_page_token = match configs.last() {
            Some(last) if has_more => page::token(&PageKey { millis: 0, task_id: last.id.clone() }),
            _ => String::new(),
        };
        let response = ListTaskPushNotificationConfigsResponse { configs, next_page_token };
        Ok(Reply { response, activated })
    }

    async fn delete_task_push_notification_config(
        &self,
        call: Call<DeleteTaskPushNotificationConfigRequest>,
    ) -> Result<Reply<()>> {
        let activated = self.inner.check(&call.context, &call.request)?;
        self.inner.check_push()?;
        let request = call.request;
        let scope = Scope::new(&request.tenant, &call.context.caller);
        self.inner.visible(&scope, &request.task_id).await?;
        let deleted = self.inner.store.delete_config(&scope, &request.task_id, &request.id).await;
        deleted.map_err(Error::from)?;
        Ok(Reply { response: (), activated })
    }

    async fn get_extended_agent_card(
        &self,
        call: Call<GetExtendedAgentCardRequest>,
    ) -> Result<Reply<AgentCard>> {
        let activated = self.inner.check(&call.context, &call.request)?;
        if !self.inner.agent.card.has_extended_card() {
            return Err(Error::unsupported("this agent has no extended card"));
        }
        let response = self.inner.agent.extended_card.clone().ok_or_else(|| {
            Error::new(
                ErrorKind::ExtendedAgentCardNotConfigured,
                "the extended card of this agent is not configured",
            )
        })?;
        Ok(Reply { response, activated })
    }
}

impl Inner {
    /// Returns a task, or the error for one that is absent or belongs to another caller.
    async fn visible(self: &Arc<Self>, scope: &Scope, id: &str) -> Result<Arc<Task>> {
        let visible = self.task(scope, id).await?.map(|(task, _)| task);
        visible.ok_or_else(|| Error::task_not_found(id))
    }

    pub(crate) async fn webhooks(&self, scope: &Scope, task_id: &str) -> Result<Vec<Webhook>> {
        self.store.configs(scope, task_id).await.map_err(Error::from)
    }

    async fn subscribe(
        self: &Arc<Self>,
        scope: &Scope,
        id: &str,
        after: Option<EventId>,
    ) -> Result<EventStream> {
        let handle =
            self.find_or_load(scope, id).await?.ok_or_else(|| Error::task_not_found(id))?;
        let is_behind = |live: &LiveTask| after.is_some_and(|after| live.is_behind(after));
        if is_behind(&handle.lock()) {
            // The caller may have seen more on another node than this one has received.
            handle.catch_up().await?;
            // It may even be a write of this node that the store has published already.
            let written = |live: &LiveTask| !is_behind(live) || !live.is_storing();
            handle.wait(|live| written(live).then_some(())).await;
            if is_behind(&handle.lock()) {
                // Or this node may have lost the task without knowing.
                handle.catch_up().await?;
            }
        }
        let (log, is_current) = {
            let live = handle.lock();
            (live.stored_log(), self.current(&live).is_some())
        };
        let (mut task, first, mut last) = log.ok_or_else(|| Error::task_not_found(id))?;
        if after.is_none() && !is_current {
            // The caller may have seen more than this entry has: its events follow.
            let newest = self.task(scope, id).await?.ok_or_else(|| Error::task_not_found(id))?;
            if newest.1 >= last {
                (task, last) = newest;
            }
        }
        let has_ended = task.state().is_terminal();
        let after = match after {
            // This node may have missed events if the store failed.
            Some(after) if after.get() > last => {
                return Err(handle.lock().failure().unwrap_or_else(|| {
                    Error::invalid_params(
                        "Last-Event-ID",
                        format!("is {after}, but the newest event of the task is {last}"),
                    )
                }));
            }
            Some(after) if !has_ended || after.get() < last => after,
            _ if has_ended => {
                return Err(Error::unsupported(format!(
                    "task {id} has ended; use GetTask instead"
                ))
                .with_metadata("taskId", id));
            }
            _ => {
                let cursor = Cursor::from_task(Until::Terminal, last, &task);
                return Ok(Reader::new(handle, cursor).into_stream());
            }
        };
        let from = |next| Cursor::new(Until::Terminal, next);
        if after.get() + 1 >= first {
            return Ok(Reader::new(handle, from(after.get() + 1)).into_stream());
        }
        // Events before the log of the entry are in the store, unless they were trimmed.
        let replay = self.store.replay(scope, id, after).await.map_err(Error::from)?;
        match replay {
            Some(Replay::Events(events)) => {
                let next =
                    events.last().and_then(crate::Event::id).map_or(after.get(), EventId::get);
                Ok(Reader::new(handle, from(next + 1).after(events)).into_stream())
            }
            Some(Replay::Trimmed) if has_ended => {
                let event = snapshot(last, &task);
                Ok(EventStream::new(stream::iter([Ok(event)])))
            }
            Some(Replay::Trimmed) => Ok(Reader::from_now(handle, Until::Terminal).into_stream()),
            None => Err(Error::task_not_found(id)),
        }
    }
}

fn limit_of(configuration: Option<&SendMessageConfiguration>) -> Result<Option<usize>> {
    let length = configuration.and_then(|configuration| configuration.history_length);
    history_length("configuration.historyLength", length)
}

/// A webhook without its credentials.
fn without_secrets(mut config: TaskPushNotificationConfig) -> TaskPushNotificationConfig {
    config.token.clear();
    if let Some(authentication) = &mut config.authentication {
        authentication.credentials.clear();
    }
    config
}
