//! Blocking sends with a timeout.

use std::time::Duration;

use a2a_core::{
    Result, Task,
    v1::{
        GetTaskRequest, ListTasksRequest, SendMessageRequest, SendMessageResponse,
        send_message_response::Payload,
    },
};
use a2a_kit_operations::{Agent, Call, CallContext, Reply};

use crate::{AnyOutput, AnyRequest, AnyResponse, call};

/// Number of tasks of a context, and of messages of each, that are searched for a message.
const SEARCH_LIMIT: i32 = 100;

/// Sends a message. After `timeout`, returns the task in its current state while the send
/// continues. If the task can't be determined, waits for the response of the send.
///
/// # Errors
///
/// Those of the agent.
pub(super) async fn send_with_timeout(
    timeout: Duration,
    agent: &dyn Agent,
    context: CallContext,
    request: SendMessageRequest,
) -> Result<Reply<AnyOutput>> {
    let sent = Sent::of(&request);
    let mut response = Box::pin(call(agent, context.clone(), AnyRequest::SendMessage(request)));
    match tokio::time::timeout(timeout, &mut response).await {
        Ok(response) => response,
        Err(_elapsed) => match sent.task(agent, context).await {
            Ok(Some(reply)) => Ok(reply),
            Ok(None) => response.await,
            Err(error) => {
                tracing::debug!(%error, "failed to read the task of a timed-out send");
                response.await
            }
        },
    }
}

/// Identifies the task of a sent message.
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

    /// Reads the task in its current state.
    async fn task(
        &self,
        agent: &dyn Agent,
        context: CallContext,
    ) -> Result<Option<Reply<AnyOutput>>> {
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
            AnyOutput::Unary(AnyResponse::Sent(SendMessageResponse { payload }))
        })))
    }
}

/// Finds the task that a message created.
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
        page_size: Some(SEARCH_LIMIT),
        history_length: Some(SEARCH_LIMIT),
        ..ListTasksRequest::default()
    };
    let page = agent.list_tasks(Call::from_parts(context, request)).await?.response;
    let has_message =
        |task: &Task| task.history.iter().any(|message| message.message_id == message_id);
    Ok(page.tasks.into_iter().find(has_message).map(|task| task.id))
}
