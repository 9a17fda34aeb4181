//! Sends that wait no longer than their client can be expected to.

use std::time::Duration;

use a2a_core::{
    Result, Task,
    v1::{
        GetTaskRequest, ListTasksRequest, SendMessageRequest, SendMessageResponse,
        send_message_response::Payload,
    },
};
use a2a_operations::{Agent, Call, CallContext, Reply};

use crate::{AnyAnswer, AnyRequest, AnyResponse, call};

/// How many tasks of a conversation, and messages of each, are looked through for a message.
const LOOKED_THROUGH: i32 = 100;

/// Sends a message and waits for what comes of it, but not without end: then it is answered with
/// the task as it is, and goes on. Where the agent can't tell which task that is, there is
/// nothing for it but to wait.
///
/// # Errors
///
/// Those of the agent.
pub(super) async fn send_within(
    patience: Duration,
    agent: &dyn Agent,
    context: CallContext,
    request: SendMessageRequest,
) -> Result<Reply<AnyAnswer>> {
    let sent = Sent::of(&request);
    let mut answer = Box::pin(call(agent, context.clone(), AnyRequest::SendMessage(request)));
    match tokio::time::timeout(patience, &mut answer).await {
        Ok(answer) => answer,
        Err(_elapsed) => match sent.task(agent, context).await {
            Ok(Some(reply)) => Ok(reply),
            Ok(None) => answer.await,
            Err(error) => {
                tracing::debug!(%error, "the task of a send can't be read, so its end is awaited");
                answer.await
            }
        },
    }
}

/// What a task is found by after a message was sent to it.
struct Sent {
    task_id: String,
    context_id: String,
    message_id: String,
    history_length: Option<i32>,
}

impl Sent {
    fn of(request: &SendMessageRequest) -> Self {
        let message = request.message.clone().unwrap_or_default();
        let configuration = request.configuration.as_ref();
        Self {
            task_id: message.task_id,
            context_id: message.context_id,
            message_id: message.message_id,
            history_length: configuration.and_then(|configuration| configuration.history_length),
        }
    }

    /// The task as it is.
    async fn task(
        &self,
        agent: &dyn Agent,
        context: CallContext,
    ) -> Result<Option<Reply<AnyAnswer>>> {
        let id = if self.task_id.is_empty() {
            match find_task(agent, context.clone(), &self.context_id, &self.message_id).await? {
                Some(id) => id,
                None => return Ok(None),
            }
        } else {
            self.task_id.clone()
        };
        let history_length = self.history_length;
        let request = GetTaskRequest { id, history_length, ..GetTaskRequest::default() };
        let reply = agent.get_task(Call::from_parts(context, request)).await?;
        Ok(Some(reply.map(|task| {
            let payload = Some(Payload::Task(std::sync::Arc::unwrap_or_clone(task)));
            AnyAnswer::One(AnyResponse::Sent(SendMessageResponse { payload }))
        })))
    }
}

/// Finds the task that a message made.
///
/// # Errors
///
/// Those of the agent.
pub(super) async fn find_task(
    agent: &dyn Agent,
    context: CallContext,
    context_id: &str,
    message_id: &str,
) -> Result<Option<String>> {
    let request = ListTasksRequest {
        context_id: context_id.to_owned(),
        page_size: Some(LOOKED_THROUGH),
        history_length: Some(LOOKED_THROUGH),
        ..ListTasksRequest::default()
    };
    let page = agent.list_tasks(Call::from_parts(context, request)).await?.response;
    let has_message =
        |task: &Task| task.history.iter().any(|message| message.message_id == message_id);
    Ok(page.tasks.into_iter().find(has_message).map(|task| task.id))
}
