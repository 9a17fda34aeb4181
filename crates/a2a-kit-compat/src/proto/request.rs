//! Requests whose members differ from those of 1.0.

use a2a_core::{v1, well_known::Timestamp};

use super::{
    CancelTaskRequest, GetTaskRequest, ListTasksRequest, SendMessageConfiguration,
    SendMessageRequest, SubscribeToTaskRequest, TaskSubscriptionRequest, task_id, task_name,
};

impl From<SendMessageRequest> for v1::SendMessageRequest {
    fn from(request: SendMessageRequest) -> Self {
        // An unset `blocking` is false, but a request without a configuration waits, as in JSON.
        let configuration =
            request.configuration.map(|configuration| v1::SendMessageConfiguration {
                accepted_output_modes: configuration.accepted_output_modes,
                task_push_notification_config: configuration.push_notification.map(Into::into),
                history_length: configuration.history_length,
                return_immediately: !configuration.blocking,
            });
        Self {
            tenant: String::new(),
            message: request.request.map(Into::into),
            configuration,
            metadata: request.metadata,
        }
    }
}

impl From<v1::SendMessageRequest> for SendMessageRequest {
    fn from(request: v1::SendMessageRequest) -> Self {
        let configuration = request.configuration.unwrap_or_default();
        let push_notification = configuration.task_push_notification_config.map(Into::into);
        Self {
            request: request.message.map(Into::into),
            configuration: Some(SendMessageConfiguration {
                accepted_output_modes: configuration.accepted_output_modes,
                push_notification,
                history_length: configuration.history_length,
                blocking: !configuration.return_immediately,
            }),
            metadata: request.metadata,
        }
    }
}

/// Implements the conversions of requests that name a task, and of members that are the same.
macro_rules! named {
    ($($request:ident($($same:ident),*) = $current:ident;)*) => {$(
        impl From<$request> for v1::$current {
            fn from(request: $request) -> Self {
                Self {
                    id: task_id(&request.name),
                    $($same: request.$same,)*
                    ..Self::default()
                }
            }
        }

        impl From<v1::$current> for $request {
            fn from(request: v1::$current) -> Self {
                Self { name: task_name(&request.id), $($same: request.$same,)* }
            }
        }
    )*};
}
named! {
    GetTaskRequest(history_length) = GetTaskRequest;
    CancelTaskRequest() = CancelTaskRequest;
    SubscribeToTaskRequest() = SubscribeToTaskRequest;
    TaskSubscriptionRequest() = SubscribeToTaskRequest;
}

impl From<ListTasksRequest> for v1::ListTasksRequest {
    fn from(request: ListTasksRequest) -> Self {
        Self {
            tenant: String::new(),
            context_id: request.context_id,
            status: request.status,
            page_size: request.page_size,
            page_token: request.page_token,
            history_length: request.history_length,
            status_timestamp_after: (request.last_updated_after != 0)
                .then(|| Timestamp::from_millis(request.last_updated_after)),
            include_artifacts: request.include_artifacts,
        }
    }
}

impl From<v1::ListTasksRequest> for ListTasksRequest {
    fn from(request: v1::ListTasksRequest) -> Self {
        Self {
            context_id: request.context_id,
            status: request.status,
            page_size: request.page_size,
            page_token: request.page_token,
            history_length: request.history_length,
            last_updated_after: request.status_timestamp_after.map_or(0, Timestamp::as_millis),
            include_artifacts: request.include_artifacts,
            metadata: None,
        }
    }
}
