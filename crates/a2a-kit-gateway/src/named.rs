//! Which requests name a task.

use a2a_core::{
    Request, Validate,
    v1::{
        CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
        GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTasksRequest, SendMessageRequest,
        SubscribeToTaskRequest, TaskPushNotificationConfig,
    },
};

/// A request, and whether it names a task.
pub(crate) trait Named: Request + Validate {
    /// Whether the operation is on a task.
    const IS_OF_TASK: bool = true;

    /// The message to send, if it is one.
    fn send(&mut self) -> Option<&mut SendMessageRequest> {
        None
    }
}

impl Named for GetTaskRequest {}
impl Named for CancelTaskRequest {}
impl Named for SubscribeToTaskRequest {}
impl Named for TaskPushNotificationConfig {}
impl Named for GetTaskPushNotificationConfigRequest {}
impl Named for ListTaskPushNotificationConfigsRequest {}
impl Named for DeleteTaskPushNotificationConfigRequest {}

impl Named for GetExtendedAgentCardRequest {
    const IS_OF_TASK: bool = false;
}

impl Named for ListTasksRequest {
    const IS_OF_TASK: bool = false;
}

impl Named for SendMessageRequest {
    const IS_OF_TASK: bool = false;

    fn send(&mut self) -> Option<&mut SendMessageRequest> {
        Some(self)
    }
}
