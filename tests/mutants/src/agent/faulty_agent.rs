//! A wrapper around an agent that adds a fault.

use std::sync::Arc;

use a2a_core::{
    Error, ErrorKind, Result, TaskState,
    v1::{
        CancelTaskRequest, DeleteTaskPushNotificationConfigRequest,
        GetTaskPushNotificationConfigRequest, GetTaskRequest, ListTasksRequest, ListTasksResponse,
        SendMessageRequest, SendMessageResponse, StreamResponse, SubscribeToTaskRequest, Task,
        TaskPushNotificationConfig, TaskStatus, send_message_response, stream_response,
    },
};
use a2a_kit_operations::{Agent, Call, CallContext, Event, EventStream, Reply, forward_agent};
use async_trait::async_trait;
use futures_util::stream;

use super::{AgentFault, stream as faulty_stream};

/// An agent with a fault in one operation.
#[derive(Debug)]
pub struct FaultyAgent<A> {
    agent: A,
    fault: AgentFault,
}

impl<A: Agent> FaultyAgent<A> {
    /// Adds a fault to an agent.
    pub fn new(agent: A, fault: AgentFault) -> Self {
        Self { agent, fault }
    }

    async fn task(&self, context: &CallContext, tenant: &str, id: &str) -> Result<Arc<Task>> {
        let request = GetTaskRequest {
            tenant: tenant.to_owned(),
            id: id.to_owned(),
            ..GetTaskRequest::default()
        };
        let call = Call::from_parts(context.clone(), request);
        Ok(self.agent.get_task(call).await?.response)
    }

    /// Changes a message before the agent gets it. Returns a task if that is the response.
    async fn received(&self, call: &mut Call<SendMessageRequest>) -> Option<Arc<Task>> {
        let request = &mut call.request;
        let message = request.message.as_mut()?;
        match self.fault {
            AgentFault::EndedTaskTakesMessages if !message.task_id.is_empty() => {
                let task = self.task(&call.context, &request.tenant, &message.task_id).await;
                return task.ok().filter(|task| task.state().is_terminal());
            }
            AgentFault::ContextIsReplaced if message.task_id.is_empty() => {
                message.context_id.clear();
            }
            _ => {}
        }
        None
    }
}

#[async_trait]
impl<A: Agent> Agent for FaultyAgent<A> {
    async fn send_message(
        &self,
        mut call: Call<SendMessageRequest>,
    ) -> Result<Reply<SendMessageResponse>> {
        if let Some(task) = self.received(&mut call).await {
            let payload = send_message_response::Payload::Task(Task::clone(&task));
            return Ok(Reply::new(SendMessageResponse { payload: Some(payload) }));
        }
        self.agent.send_message(call).await
    }

    async fn send_streaming_message(
        &self,
        mut call: Call<SendMessageRequest>,
    ) -> Result<Reply<EventStream>> {
        if let Some(task) = self.received(&mut call).await {
            return Ok(Reply::new(only(&task)));
        }
        let reply = self.agent.send_streaming_message(call).await?;
        Ok(reply.map(|events| faulty_stream::sent(self.fault, events)))
    }

    async fn get_task(&self, mut call: Call<GetTaskRequest>) -> Result<Reply<Arc<Task>>> {
        let id = call.request.id.clone();
        let limit = call.request.history_length.and_then(|length| usize::try_from(length).ok());
        let is_limited = limit.is_some_and(|limit| limit > 0);
        if self.fault == AgentFault::HistoryHasOldestMessages && is_limited {
            call.request.history_length = None;
        }
        match (self.agent.get_task(call).await, self.fault) {
            (Err(error), AgentFault::UnknownTaskIsEmpty)
                if error.kind() == ErrorKind::TaskNotFound =>
            {
                let status = Some(TaskStatus::now(TaskState::Submitted, None));
                Ok(Reply::new(Arc::new(Task { id, status, ..Task::default() })))
            }
            (Ok(reply), AgentFault::HistoryHasOldestMessages) if is_limited => {
                Ok(reply.map(|task| {
                    let mut task = Task::clone(&task);
                    task.history.truncate(limit.unwrap_or_default());
                    Arc::new(task)
                }))
            }
            (result, _) => result,
        }
    }

    async fn list_tasks(
        &self,
        mut call: Call<ListTasksRequest>,
    ) -> Result<Reply<ListTasksResponse>> {
        let request = &mut call.request;
        match self.fault {
            AgentFault::PageSizeIsIgnored => request.page_size = None,
            AgentFault::PagesRepeat => request.page_token.clear(),
            AgentFault::ArtifactsInLists => request.include_artifacts = Some(true),
            _ => {}
        }
        let mut reply = self.agent.list_tasks(call).await?;
        let page = &mut reply.response;
        match self.fault {
            AgentFault::TotalIsThePage => {
                page.total_size = i32::try_from(page.tasks.len()).unwrap_or(i32::MAX);
            }
            AgentFault::OldestFirst => page.tasks.reverse(),
            _ => {}
        }
        Ok(reply)
    }

    async fn cancel_task(&self, call: Call<CancelTaskRequest>) -> Result<Reply<Arc<Task>>> {
        let (context, request) = (call.context.clone(), call.request.clone());
        let with_state = |task: &Task, state| {
            let mut task = task.clone();
            task.status.get_or_insert_default().state = TaskState::into(state);
            Arc::new(task)
        };
        match (self.agent.cancel_task(call).await, self.fault) {
            (Ok(reply), AgentFault::CancelCompletes) => {
                Ok(reply.map(|task| with_state(&task, TaskState::Completed)))
            }
            (Err(error), AgentFault::EndedTaskIsCanceled)
                if error.kind() == ErrorKind::TaskNotCancelable =>
            {
                let task = self.task(&context, &request.tenant, &request.id).await?;
                Ok(Reply::new(with_state(&task, TaskState::Canceled)))
            }
            (result, _) => result,
        }
    }

    async fn subscribe_to_task(
        &self,
        call: Call<SubscribeToTaskRequest>,
    ) -> Result<Reply<EventStream>> {
        let (context, request) = (call.context.clone(), call.request.clone());
        match self.agent.subscribe_to_task(call).await {
            Err(error)
                if self.fault == AgentFault::EndedTaskStreams
                    && error.kind() == ErrorKind::UnsupportedOperation =>
            {
                let task = self.task(&context, &request.tenant, &request.id).await?;
                Ok(Reply::new(only(&task)))
            }
            result => result,
        }
    }

    async fn create_task_push_notification_config(
        &self,
        call: Call<TaskPushNotificationConfig>,
    ) -> Result<Reply<TaskPushNotificationConfig>> {
        let (context, request) = (call.context.clone(), call.request.clone());
        let reply = self.agent.create_task_push_notification_config(call).await?;
        if self.fault == AgentFault::PushConfigIsNotStored {
            let request = DeleteTaskPushNotificationConfigRequest {
                tenant: request.tenant,
                task_id: request.task_id,
                id: reply.response.id.clone(),
            };
            let call = Call::from_parts(context, request);
            self.agent.delete_task_push_notification_config(call).await?;
        }
        Ok(reply)
    }

    async fn delete_task_push_notification_config(
        &self,
        call: Call<DeleteTaskPushNotificationConfigRequest>,
    ) -> Result<Reply<()>> {
        let request = call.request.clone();
        let get = GetTaskPushNotificationConfigRequest {
            tenant: request.tenant,
            task_id: request.task_id,
            id: request.id.clone(),
        };
        if self.fault == AgentFault::RepeatedDeleteFails {
            let get = Call::from_parts(call.context.clone(), get);
            let existing = self.agent.get_task_push_notification_config(get).await;
            let message = || format!("no push config {:?}", request.id);
            existing.map_err(|error| error.with_message(message()))?;
        }
        self.agent.delete_task_push_notification_config(call).await
    }

    forward_agent! {
        this => this.agent;
        get_task_push_notification_config, list_task_push_notification_configs,
        get_extended_agent_card,
    }
}

/// A stream of only the task.
fn only(task: &Task) -> EventStream {
    let payload = Some(stream_response::Payload::Task(task.clone()));
    let event = Event::new(None, StreamResponse { payload });
    EventStream::new(stream::iter([Ok::<_, Error>(event)]))
}
