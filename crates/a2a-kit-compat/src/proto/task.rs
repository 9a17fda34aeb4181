//! Tasks and their events.

use std::sync::Arc;

use a2a_core::v1;

use super::{
    ListTasksResponse, SendMessageResponse, StreamResponse, Task, TaskArtifactUpdateEvent,
    TaskStatus, TaskStatusUpdateEvent,
    convert::{convert, convert_union},
    send_message_response, stream_response,
};

convert! {
    TaskStatus: same(state, timestamp), optional(update = message), lists();
    Task:
        same(id, context_id, metadata),
        optional(status = status),
        lists(artifacts = artifacts, history = history);
    TaskStatusUpdateEvent:
        same(task_id, context_id, metadata),
        optional(status = status),
        lists();
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

convert_union! {
    SendMessageResponse.payload: send_message_response::Payload { Task = Task, Msg = Message }
}

convert_union! {
    StreamResponse.payload: stream_response::Payload {
        Task = Task,
        Msg = Message,
        StatusUpdate = StatusUpdate,
        ArtifactUpdate = ArtifactUpdate,
    }
}

/// Converts an event of a stream; `is_last`: whether the stream ends with it.
pub(crate) fn event_from_v1(event: v1::StreamResponse, is_last: bool) -> StreamResponse {
    let mut event = StreamResponse::from(event);
    if let Some(stream_response::Payload::StatusUpdate(update)) = &mut event.payload {
        update.r#final = is_last;
    }
    event
}
