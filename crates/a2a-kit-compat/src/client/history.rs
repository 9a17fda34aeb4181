//! Truncates history to the requested length, for agents that return more.

use std::sync::Arc;

use a2a_core::{Task, v1::send_message_response::Payload};

use crate::{AnyRequest, AnyResponse};

/// The requested history length; `None` leaves it to the agent.
///
/// Agents of 0.2 and 0.3 treat the length 0 as unset, and return the whole history.
pub(crate) fn requested_history(request: &AnyRequest) -> Option<usize> {
    let length = match request {
        AnyRequest::SendMessage(request) => request.configuration.as_ref()?.history_length,
        AnyRequest::GetTask(request) => request.history_length,
        AnyRequest::ListTasks(request) => request.history_length,
        AnyRequest::SendStreamingMessage(_)
        | AnyRequest::CancelTask(_)
        | AnyRequest::SubscribeToTask(_)
        | AnyRequest::CreateTaskPushNotificationConfig(_)
        | AnyRequest::GetTaskPushNotificationConfig(_)
        | AnyRequest::ListTaskPushNotificationConfigs(_)
        | AnyRequest::DeleteTaskPushNotificationConfig(_)
        | AnyRequest::GetExtendedAgentCard(_) => None,
    };
    // The agent rejects negative lengths.
    usize::try_from(length?).ok()
}

/// Truncates the history of the tasks in a response.
pub(crate) fn limit_history(response: &mut AnyResponse, limit: Option<usize>) {
    let exceeds = |task: &Task| limit.is_some_and(|limit| task.history.len() > limit);
    match response {
        AnyResponse::Sent(sent) => {
            if let Some(Payload::Task(task)) = &mut sent.payload {
                task.limit_history(limit);
            }
        }
        AnyResponse::Task(task) if exceeds(task) => Arc::make_mut(task).limit_history(limit),
        AnyResponse::Tasks(page) => {
            page.tasks.iter_mut().for_each(|task| task.limit_history(limit));
        }
        AnyResponse::Task(_)
        | AnyResponse::Config(_)
        | AnyResponse::Configs(_)
        | AnyResponse::Deleted
        | AnyResponse::Card(_) => {}
    }
}
