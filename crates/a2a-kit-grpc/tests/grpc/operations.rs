//! Operations, from client to agent.

use a2a_core::{
    Message, Operation,
    v1::{
        CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
        GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTasksRequest, SendMessageRequest,
        SubscribeToTaskRequest, TaskPushNotificationConfig, send_message_response,
    },
};
use a2a_kit_grpc::operations::{Agent as _, Call, EventId};
use serde_json::json;
use tokio_stream::StreamExt as _;

use crate::fake::{Served, config, task};

#[tokio::test]
async fn send_message_returns_a_task() {
    let served = Served::new().await;
    let message = Message::user("hello");
    let request = SendMessageRequest {
        tenant: "acme".into(),
        message: Some(message.clone()),
        ..Default::default()
    };
    let reply = served.client().send_message(Call::new(request.clone())).await.unwrap();
    assert_eq!(reply.response.payload, Some(send_message_response::Payload::Task(task())));
    let asked = served.agent.last();
    assert_eq!(asked.operation, Operation::SendMessage);
    assert_eq!(asked.request, serde_json::to_value(&request).unwrap());
}

#[tokio::test]
async fn stream_has_events_in_order_with_ids() {
    let served = Served::new().await;
    let client = served.client();
    let message = Some(Message::user("hello"));
    let send = SendMessageRequest { message, ..Default::default() };
    let subscribe = SubscribeToTaskRequest { id: "t1".into(), ..Default::default() };
    for (operation, stream) in [
        (
            Operation::SendStreamingMessage,
            client.send_streaming_message(Call::new(send)).await.unwrap(),
        ),
        (Operation::SubscribeToTask, client.subscribe_to_task(Call::new(subscribe)).await.unwrap()),
    ] {
        let events: Vec<_> = stream.response.map(Result::unwrap).collect().await;
        let ids: Vec<_> = events.iter().map(|event| event.id().map(EventId::get)).collect();
        assert_eq!(ids, [Some(1), Some(2)], "{operation:?}");
        assert_eq!(events[0].task(), Some(&task()), "{operation:?}");
    }
    let asked: Vec<_> = served.agent.asked().into_iter().map(|asked| asked.operation).collect();
    assert_eq!(asked, [Operation::SendStreamingMessage, Operation::SubscribeToTask]);
}

#[tokio::test]
async fn tasks_are_read_listed_and_canceled() {
    let served = Served::new().await;
    let client = served.client();

    let request = GetTaskRequest { id: "t1".into(), history_length: Some(0), ..Default::default() };
    let reply = client.get_task(Call::new(request)).await.unwrap();
    assert_eq!(*reply.response, task());
    assert_eq!(served.agent.last().request, json!({"id": "t1", "historyLength": 0}));

    let request = ListTasksRequest { context_id: "c1".into(), ..Default::default() };
    let page = client.list_tasks(Call::new(request)).await.unwrap().response;
    assert_eq!((page.tasks, page.total_size), (vec![task()], 1));
    assert_eq!(served.agent.last().operation, Operation::ListTasks);

    let request = CancelTaskRequest { id: "t1".into(), ..Default::default() };
    assert_eq!(*client.cancel_task(Call::new(request)).await.unwrap().response, task());
    assert_eq!(served.agent.last().operation, Operation::CancelTask);
}

#[tokio::test]
async fn webhooks_are_created_read_listed_and_deleted() {
    let served = Served::new().await;
    let client = served.client();

    let created = TaskPushNotificationConfig { id: String::new(), ..config() };
    let reply = client.create_task_push_notification_config(Call::new(created)).await.unwrap();
    assert_eq!(reply.response, config());

    let (id, task_id) = ("p1".to_owned(), "t1".to_owned());
    let request = GetTaskPushNotificationConfigRequest {
        id: id.clone(),
        task_id: task_id.clone(),
        ..Default::default()
    };
    let reply = client.get_task_push_notification_config(Call::new(request)).await.unwrap();
    assert_eq!(reply.response, config());

    let request = ListTaskPushNotificationConfigsRequest {
        tenant: "acme".into(),
        task_id: task_id.clone(),
        ..Default::default()
    };
    let reply = client.list_task_push_notification_configs(Call::new(request)).await.unwrap();
    assert_eq!(reply.response.configs, [config()]);
    assert_eq!(served.agent.last().request["tenant"], "acme");

    let request = DeleteTaskPushNotificationConfigRequest { id, task_id, ..Default::default() };
    client.delete_task_push_notification_config(Call::new(request)).await.unwrap();
    assert_eq!(served.agent.last().operation, Operation::DeleteTaskPushNotificationConfig);
}

#[tokio::test]
async fn extended_card_is_returned() {
    let served = Served::new().await;
    let request = GetExtendedAgentCardRequest::default();
    let reply = served.client().get_extended_agent_card(Call::new(request)).await.unwrap();
    assert_eq!(reply.response.name, "Fake");
    assert_eq!(served.agent.last().operation, Operation::GetExtendedAgentCard);
}
