//! Events and tasks of the test double, for the unit tests of this crate.

use a2a_core::{
    Artifact, ErrorKind, Result, Task, TaskState,
    v1::{
        CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
        GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTasksRequest, SendMessageRequest,
        StreamResponse, SubscribeToTaskRequest, TaskArtifactUpdateEvent,
        TaskPushNotificationConfig, TaskStatus, TaskStatusUpdateEvent, stream_response::Payload,
    },
};
use a2a_kit_operations::{Agent, Call, Event, EventId};
pub(crate) use a2a_kit_script::TestAgent;

/// Calls every operation once and returns the kinds of the errors.
pub(crate) async fn call_every_operation(agent: &dyn Agent) -> Vec<Option<ErrorKind>> {
    fn kind<T>(result: Result<T>) -> Option<ErrorKind> {
        result.err().map(|error| error.kind())
    }
    vec![
        kind(agent.send_message(Call::new(SendMessageRequest::default())).await),
        kind(agent.send_streaming_message(Call::new(SendMessageRequest::default())).await),
        kind(agent.get_task(Call::new(GetTaskRequest::default())).await),
        kind(agent.list_tasks(Call::new(ListTasksRequest::default())).await),
        kind(agent.cancel_task(Call::new(CancelTaskRequest::default())).await),
        kind(agent.subscribe_to_task(Call::new(SubscribeToTaskRequest::default())).await),
        kind(
            agent
                .create_task_push_notification_config(Call::new(
                    TaskPushNotificationConfig::default(),
                ))
                .await,
        ),
        kind(
            agent
                .get_task_push_notification_config(Call::new(
                    GetTaskPushNotificationConfigRequest::default(),
                ))
                .await,
        ),
        kind(
            agent
                .list_task_push_notification_configs(Call::new(
                    ListTaskPushNotificationConfigsRequest::default(),
                ))
                .await,
        ),
        kind(
            agent
                .delete_task_push_notification_config(Call::new(
                    DeleteTaskPushNotificationConfigRequest::default(),
                ))
                .await,
        ),
        kind(
            agent.get_extended_agent_card(Call::new(GetExtendedAgentCardRequest::default())).await,
        ),
    ]
}

pub(crate) fn task(state: TaskState) -> Task {
    Task {
        id: "t".into(),
        context_id: "c".into(),
        status: Some(TaskStatus { state: state.into(), ..TaskStatus::default() }),
        ..Task::default()
    }
}

fn event(id: u64, payload: Payload) -> Event {
    Event::new(EventId::new(id), StreamResponse { payload: Some(payload) })
}

/// Returns a task snapshot event. An id of 0 means no position.
pub(crate) fn snapshot(id: u64, task: Task) -> Event {
    event(id, Payload::Task(task))
}

pub(crate) fn status(id: u64, state: TaskState) -> Event {
    event(
        id,
        Payload::StatusUpdate(TaskStatusUpdateEvent {
            task_id: "t".into(),
            context_id: "c".into(),
            status: task(state).status,
            ..TaskStatusUpdateEvent::default()
        }),
    )
}

pub(crate) fn chunk(id: u64, text: &str) -> Event {
    event(
        id,
        Payload::ArtifactUpdate(TaskArtifactUpdateEvent {
            task_id: "t".into(),
            context_id: "c".into(),
            artifact: Some(Artifact::new("a", text).with_id("a")),
            append: true,
            ..TaskArtifactUpdateEvent::default()
        }),
    )
}

/// Describes an event in a word.
pub(crate) fn describe(event: &Event) -> String {
    match event.payload() {
        Some(Payload::Task(task)) => {
            format!("task {} {:?}", task.state().as_str_name(), task.text())
        }
        Some(Payload::Message(message)) => format!("message {:?}", message.text()),
        Some(Payload::StatusUpdate(_)) => {
            format!("status {}", event.state().unwrap_or_default().as_str_name())
        }
        Some(Payload::ArtifactUpdate(update)) => update.text(),
        None => "nothing".into(),
    }
    .replace("TASK_STATE_", "")
}
