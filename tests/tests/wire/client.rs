//! Requests of our clients: every operation, with all metadata.
//!
//! The files are `tests/wire/client-*.txt`: requests with the headers that matter, in the order
//! of the calls made here.

use std::sync::Arc;

use a2a_core::{
    Message, Part, TaskState,
    v1::{
        AuthenticationInfo, CancelTaskRequest, DeleteTaskPushNotificationConfigRequest,
        GetExtendedAgentCardRequest, GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTasksRequest, SendMessageConfiguration,
        SendMessageRequest, SubscribeToTaskRequest, TaskPushNotificationConfig,
    },
};
use a2a_kit_operations::{Agent, Call, CallContext, Caller, EventId};
use tokio::sync::mpsc;

use crate::{
    pattern::{Bindings, check},
    recorder::recorder,
};

fn message() -> Message {
    let mut message = Message::user("héllo \"you\"")
        .with_part(Part::raw(vec![0xff, 0xfe]).with_media_type("image/png").with_filename("a.png"))
        .with_part(Part::data(serde_json::json!({"n": null, "i": 1, "f": 1.5})))
        .with_context_id("any context: ü/..");
    message.message_id = "m-1".into();
    message.reference_task_ids = vec!["t-0".into()];
    message
}

/// All metadata of a call; the caller is never sent.
fn context() -> CallContext {
    let mut context = CallContext::default();
    context.extensions = ["urn:a", "urn:b"].into_iter().collect();
    context.parameters.insert("a2a-budget".into(), "7".into());
    context.parameters.insert(
        "traceparent".into(),
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".into(),
    );
    context.caller = Caller::authenticated("alice");
    context
}

/// Makes each call, and ignores the error responses.
async fn call_everything(agent: Arc<dyn Agent>) {
    let tenant = || "acme/eu".to_owned();
    let id = || "a b/c?ü".to_owned();
    let send = SendMessageRequest {
        tenant: tenant(),
        message: Some(message()),
        configuration: Some(SendMessageConfiguration {
            accepted_output_modes: vec!["text/plain".into(), "image/*".into()],
            task_push_notification_config: Some(TaskPushNotificationConfig {
                url: "https://example.com/hook".into(),
                ..Default::default()
            }),
            history_length: Some(0),
            return_immediately: true,
        }),
        metadata: Some([("k", "v")].into()),
    };
    let mut sending = context();
    sending.idempotency_key = Some("key-1".into());
    let _ = agent.send_message(Call::from_parts(sending, send)).await;
    let plain = SendMessageRequest { message: Some(message()), ..Default::default() };
    let _ = agent.send_streaming_message(Call::new(plain)).await;
    let get = GetTaskRequest { tenant: tenant(), id: id(), history_length: Some(0) };
    let _ = agent.get_task(Call::from_parts(context(), get)).await;
    let get = GetTaskRequest { id: "t-1".into(), ..Default::default() };
    let _ = agent.get_task(Call::new(get)).await;
    let list = ListTasksRequest {
        tenant: tenant(),
        context_id: "any context: ü/..".into(),
        status: TaskState::InputRequired.into(),
        page_size: Some(7),
        page_token: "x=y&z+".into(),
        history_length: Some(0),
        status_timestamp_after: Some("2026-01-02T03:04:05.678Z".parse().expect("a time")),
        include_artifacts: Some(false),
    };
    let _ = agent.list_tasks(Call::new(list)).await;
    let _ = agent.list_tasks(Call::new(ListTasksRequest::default())).await;
    let cancel = CancelTaskRequest {
        tenant: tenant(),
        id: id(),
        metadata: Some([("why", "changed my mind")].into()),
    };
    let _ = agent.cancel_task(Call::new(cancel)).await;
    let subscribe = SubscribeToTaskRequest { id: "t-1".into(), ..Default::default() };
    let mut resuming = CallContext::default();
    resuming.last_event_id = EventId::new(12);
    let _ = agent.subscribe_to_task(Call::from_parts(resuming, subscribe)).await;
    let config = TaskPushNotificationConfig {
        tenant: tenant(),
        id: "c-1".into(),
        task_id: "t-1".into(),
        url: "https://example.com/hook".into(),
        token: "secret".into(),
        authentication: Some(AuthenticationInfo {
            scheme: "Bearer".into(),
            credentials: "more secret".into(),
        }),
    };
    let _ = agent.create_task_push_notification_config(Call::new(config)).await;
    let get = GetTaskPushNotificationConfigRequest {
        task_id: "t-1".into(),
        id: "c/1".into(),
        ..Default::default()
    };
    let _ = agent.get_task_push_notification_config(Call::new(get)).await;
    let list = ListTaskPushNotificationConfigsRequest {
        task_id: "t-1".into(),
        page_size: 3,
        page_token: "next".into(),
        tenant: tenant(),
    };
    let _ = agent.list_task_push_notification_configs(Call::new(list)).await;
    let delete = DeleteTaskPushNotificationConfigRequest {
        tenant: tenant(),
        task_id: "t-1".into(),
        id: "c-1".into(),
    };
    let _ = agent.delete_task_push_notification_config(Call::new(delete)).await;
    let card = GetExtendedAgentCardRequest { tenant: tenant() };
    let _ = agent.get_extended_agent_card(Call::new(card)).await;
    let _ = agent.get_extended_agent_card(Call::new(GetExtendedAgentCardRequest::default())).await;
}

async fn compare(agent: Arc<dyn Agent>, mut requests: mpsc::UnboundedReceiver<String>, file: &str) {
    call_everything(agent).await;
    let expected: Vec<&str> =
        file.split("=== request\n").skip(1).map(|text| text.trim_end_matches('\n')).collect();
    let mut bindings = Bindings::new();
    let mut faults = Vec::new();
    for (index, expected) in expected.iter().enumerate() {
        let request = requests.try_recv().expect("one more request");
        let fault = check(expected, request.trim_end_matches('\n'), &mut bindings);
        faults.extend(fault.err().map(|fault| format!("request {}: {fault}", index + 1)));
    }
    assert!(requests.try_recv().is_err(), "there are no more requests");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

//
#[tokio::test]
async fn client_sends_the_expected_bytes_over_json_rpc() {
    let (url, requests) = recorder("400 Bad Request").await;
    let url = format!("{url}/base");
    let client = Arc::new(a2a_kit_jsonrpc::Client::new(&url).expect("a client"));
    compare(client, requests, include_str!("../../wire/client-jsonrpc.txt")).await;
}

//
#[tokio::test]
async fn client_sends_the_expected_bytes_over_http_json() {
    let (url, requests) = recorder("400 Bad Request").await;
    let url = format!("{url}/base");
    let client = Arc::new(a2a_kit_rest::Client::new(&url).expect("a client"));
    compare(client, requests, include_str!("../../wire/client-rest.txt")).await;
}
