//! Shorthands for the calls of behaviours.

use std::sync::Arc;

use a2a_core::{
    Error, Message, Result, Task,
    v1::{
        CancelTaskRequest, GetTaskRequest, ListTasksRequest, ListTasksResponse,
        SendMessageConfiguration, SendMessageRequest, SubscribeToTaskRequest,
        send_message_response::Payload,
    },
};
use a2a_kit_operations::{Agent, Call, Event, EventId, EventStream};
use futures_util::StreamExt as _;

pub fn send(text: &str) -> Call<SendMessageRequest> {
    with(Message::user(text))
}

pub fn with(message: Message) -> Call<SendMessageRequest> {
    Call::new(SendMessageRequest { message: Some(message), ..SendMessageRequest::default() })
}

pub fn to_task(task_id: &str, text: &str) -> Call<SendMessageRequest> {
    with(Message::user(text).with_task_id(task_id))
}

pub fn configured(
    mut call: Call<SendMessageRequest>,
    configuration: SendMessageConfiguration,
) -> Call<SendMessageRequest> {
    call.request.configuration = Some(configuration);
    call
}

pub fn at_once(call: Call<SendMessageRequest>) -> Call<SendMessageRequest> {
    let configuration = SendMessageConfiguration {
        return_immediately: true,
        ..SendMessageConfiguration::default()
    };
    configured(call, configuration)
}

pub fn get(id: &str) -> Call<GetTaskRequest> {
    Call::new(GetTaskRequest { id: id.into(), ..GetTaskRequest::default() })
}

pub fn cancel(id: &str) -> Call<CancelTaskRequest> {
    Call::new(CancelTaskRequest { id: id.into(), ..CancelTaskRequest::default() })
}

pub fn subscribe(id: &str) -> Call<SubscribeToTaskRequest> {
    Call::new(SubscribeToTaskRequest { id: id.into(), ..SubscribeToTaskRequest::default() })
}

pub fn resume(id: &str, after: EventId) -> Call<SubscribeToTaskRequest> {
    let mut call = subscribe(id);
    call.context.last_event_id = Some(after);
    call
}

/// Sends and expects a task.
pub async fn task_of(agent: &Arc<dyn Agent>, call: Call<SendMessageRequest>) -> Task {
    match agent.send_message(call).await.expect("an answer").response.payload {
        Some(Payload::Task(task)) => task,
        other => panic!("not a task: {other:?}"),
    }
}

/// Sends and expects a message.
pub async fn message_of(agent: &Arc<dyn Agent>, call: Call<SendMessageRequest>) -> Message {
    match agent.send_message(call).await.expect("an answer").response.payload {
        Some(Payload::Message(message)) => message,
        other => panic!("not a message: {other:?}"),
    }
}

/// Sends and expects an error.
pub async fn rejection_of(agent: &Arc<dyn Agent>, call: Call<SendMessageRequest>) -> Error {
    agent.send_message(call).await.expect_err("an error")
}

/// Sends and expects a stream.
pub async fn stream_of(agent: &Arc<dyn Agent>, call: Call<SendMessageRequest>) -> EventStream {
    agent.send_streaming_message(call).await.expect("a stream").response
}

/// Subscribes and expects a stream.
pub async fn subscription(
    agent: &Arc<dyn Agent>,
    call: Call<SubscribeToTaskRequest>,
) -> EventStream {
    agent.subscribe_to_task(call).await.expect("a stream").response
}

/// Lists and expects a page.
pub async fn list(agent: &Arc<dyn Agent>, request: ListTasksRequest) -> ListTasksResponse {
    agent.list_tasks(Call::new(request)).await.expect("a page").response
}

/// Reads a stream to its end.
pub async fn all(stream: EventStream) -> Vec<Event> {
    stream.map(|event: Result<Event>| event.expect("an event")).collect().await
}

/// Reads the next event.
pub async fn next(stream: &mut EventStream) -> Event {
    stream.next().await.expect("not the end").expect("an event")
}

/// The positions of events.
pub fn positions(events: &[Event]) -> Vec<u64> {
    events.iter().filter_map(Event::id).map(EventId::get).collect()
}
