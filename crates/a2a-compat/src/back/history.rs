//! As much history as was asked for, also from agents that give more.

use std::sync::Arc;

use a2a_core::{Task, v1::send_message_response::Payload};

use crate::{AnyRequest, AnyResponse};

/// How many messages of history a request asks for at most; `None` leaves it to the agent.
///
/// Agents of 0.2 and 0.3 take the length 0 for no length, and so give everything.
pub(crate) fn asked_history(request: &AnyRequest) -> Option<usize> {
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
    // What is negative is the agent's to refuse.
    usize::try_from(length?).ok()
}

/// Leaves no more history in the tasks of an answer than was asked for.
pub(crate) fn limit_history(response: &mut AnyResponse, asked: Option<usize>) {
    let exceeds = |task: &Task| asked.is_some_and(|limit| task.history.len() > limit);
    match response {
        AnyResponse::Sent(sent) => {
            if let Some(Payload::Task(task)) = &mut sent.payload {
                task.limit_history(asked);
            }
        }
        AnyResponse::Task(task) if exceeds(task) => Arc::make_mut(task).limit_history(asked),
        AnyResponse::Tasks(page) => {
            page.tasks.iter_mut().for_each(|task| task.limit_history(asked));
        }
        AnyResponse::Task(_)
        | AnyResponse::Config(_)
        | AnyResponse::Configs(_)
        | AnyResponse::Deleted
        | AnyResponse::Card(_) => {}
    }
}
