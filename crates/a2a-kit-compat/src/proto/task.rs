//! Tasks and their events.

use std::sync::Arc;

use a2a_core::v1;

use super::{
    ListTasksResponse, SendMessageResponse, StreamResponse, Task, TaskArtifactUpdateEvent,
    TaskStatus, TaskStatusUpdateEvent, convert::convert, send_message_response, stream_response,
};

convert! {
    TaskStatus: same(state, timestamp), optional(update = message), lists();
    Task:
        same(id, context_id, metadata),
        optional(status = status),
        lists(artifacts = artifacts, history = history);
    TaskArtifactUpdateEvent:
        same(task_id, context_id, append, last_chunk, metadata),
        optional(artifact = artifact),
        lists();
    ListTasksResponse:
        same(next_page_token, page_size, total_size),
        optional(),
        lists(tasks = tasks);
}

impl From<Arc<v1::Task>> for Task {
    fn from(task: Arc<v1::Task>) -> Self {
        Arc::unwrap_or_clone(task).into()
    }
}

impl From<SendMessageResponse> for v1::SendMessageResponse {
    fn from(response: SendMessageResponse) -> Self {
        use send_message_response::Payload;
        let payload = response.payload.map(|payload| match payload {
            Payload::Task(task) => v1::send_message_response::Payload::Task(task.into()),
            Payload::Msg(message) => v1::send_message_response::Payload::Message(message.into()),
        });
        Self { payload }
    }
}

impl From<v1::SendMessageResponse> for SendMessageResponse {
    fn from(response: v1::SendMessageResponse) -> Self {
        use send_message_response::Payload;
        let payload = response.payload.map(|payload| match payload {
            v1::send_message_response::Payload::Task(task) => Payload::Task(task.into()),
            v1::send_message_response::Payload::Message(message) => Payload::Msg(message.into()),
        });
        Self { payload }
    }
}

impl From<StreamResponse> for v1::StreamResponse {
    fn from(event: StreamResponse) -> Self {
        use stream_response::Payload;
        use v1::stream_response::Payload as Current;
        let payload = event.payload.map(|payload| match payload {
            Payload::Task(task) => Current::Task(task.into()),
            Payload::Msg(message) => Current::Message(message.into()),
            Payload::StatusUpdate(event) => Current::StatusUpdate(v1::TaskStatusUpdateEvent {
                task_id: event.task_id,
                context_id: event.context_id,
                status: event.status.map(Into::into),
                metadata: event.metadata,
            }),
            Payload::ArtifactUpdate(event) => Current::ArtifactUpdate(event.into()),
        });
        Self { payload }
    }
}

/// Converts an event of a stream; `is_last`: whether the stream ends with it.
pub(crate) fn event_from_v1(event: v1::StreamResponse, is_last: bool) -> StreamResponse {
    use stream_response::Payload;
    use v1::stream_response::Payload as Current;
    let payload = event.payload.map(|payload| match payload {
        Current::Task(task) => Payload::Task(task.into()),
        Current::Message(message) => Payload::Msg(message.into()),
        Current::StatusUpdate(event) => Payload::StatusUpdate(TaskStatusUpdateEvent {
            task_id: event.task_id,
            context_id: event.context_id,
            status: event.status.map(Into::into),
            r#final: is_last,
            metadata: event.metadata,
        }),
        Current::ArtifactUpdate(event) => Payload::ArtifactUpdate(event.into()),
    });
    StreamResponse { payload }
}
