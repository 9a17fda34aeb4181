//! Operations, from client to agent.

use a2a_core::{
    AgentCard, Message, Operation,
    v1::{
        CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
        GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTasksRequest, ListTasksResponse,
        SendMessageRequest, SubscribeToTaskRequest, TaskPushNotificationConfig,
        send_message_response,
    },
};
use a2a_kit_grpc::operations::{
    Agent as _, AgentExecutor, BoxError, Call, Engine, EventId, RequestContext, TaskUpdater,
};
use prost::Message as _;
use serde_json::json;
use tokio_stream::StreamExt as _;

use crate::{
    fake::{Served, config, task},
    raw,
};

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

/// Completes each task at once.
struct Done;

impl AgentExecutor for Done {
    async fn execute(&self, _: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        Ok(updates.complete("done").await?)
    }
}

#[tokio::test]
async fn page_of_tasks_is_within_the_default_limit_of_clients() {
    let engine = Engine::new(AgentCard::new("Done", "Is done"), Done);
    for _ in 0..60 {
        let message = Some(Message::user("x".repeat(100_000)));
        let request = SendMessageRequest { message, ..Default::default() };
        engine.send_message(Call::new(request)).await.unwrap();
    }
    let (mut count, mut page_token) = (0, String::new());
    loop {
        let (page_size, history_length) = (Some(100), Some(1));
        let request =
            ListTasksRequest { page_size, history_length, page_token, ..Default::default() };
        let router = a2a_kit_grpc::router(engine.clone());
        let answer = raw::call(router, "ListTasks", request.encode_to_vec(), &[]).await.unwrap();
        let bytes = answer.into_inner();
        assert!(bytes.len() <= 4 << 20, "{} bytes", bytes.len());
        let page = ListTasksResponse::decode(bytes).unwrap();
        assert_eq!((page.total_size, page.page_size), (60, 100));
        count += page.tasks.len();
        page_token = page.next_page_token;
        if page_token.is_empty() {
            break;
        }
    }
    assert_eq!(count, 60);
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
