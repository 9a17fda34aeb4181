//! Checks that a binding transports every operation.

use a2a_core::{
    Message, Operation, Part, TaskState, v1,
    well_known::{Struct, Timestamp},
};
use a2a_kit_operations::{Agent, Call, CallContext, EventId};
use serde_json::json;

use super::Fake;

/// Calls every operation of `agent`, a client of `fake`, and checks that the request and its
/// context arrive unchanged.
pub async fn every_operation_arrives_as_it_was_sent(agent: &dyn Agent, fake: &Fake) {
    for tenant in ["", "ten/ant é"] {
        sends(agent, fake, tenant).await;
        tasks(agent, fake, tenant).await;
        configs(agent, fake, tenant).await;
    }
}

async fn sends(agent: &dyn Agent, fake: &Fake, tenant: &str) {
    let metadata = Struct::from_iter([("k", "v")]);
    let request = v1::SendMessageRequest {
        tenant: tenant.into(),
        message: Some(
            Message::user("hi")
                .with_part(Part::url("https://example.com/x"))
                .with_task_id("t/1")
                .with_context_id("c-1"),
        ),
        configuration: Some(v1::SendMessageConfiguration {
            accepted_output_modes: vec!["text/plain".into()],
            history_length: Some(0),
            return_immediately: true,
            task_push_notification_config: Some(v1::TaskPushNotificationConfig {
                url: "https://example.com/hook".into(),
                ..Default::default()
            }),
        }),
        metadata: Some(metadata),
    };
    let mut context = context();
    context.idempotency_key = Some("key-1".into());
    let reply =
        agent.send_message(Call::from_parts(context.clone(), request.clone())).await.unwrap();
    assert!(reply.response.payload.is_some() && reply.activated.contains("urn:b"));
    let seen = arrived(fake, Operation::SendMessage, &request);
    assert_eq!(seen.idempotency_key.as_deref(), Some("key-1"));

    let reply =
        agent.send_streaming_message(Call::from_parts(context, request.clone())).await.unwrap();
    assert!(reply.activated.contains("urn:b"));
    let seen = arrived(fake, Operation::SendStreamingMessage, &request);
    assert_eq!(seen.idempotency_key.as_deref(), Some("key-1"));
    assert_eq!(seen.last_event_id, None);
}

async fn tasks(agent: &dyn Agent, fake: &Fake, tenant: &str) {
    for id in ["t-1", "a/b c?d#e", "a:cancel", "%2F+é"] {
        let request =
            v1::GetTaskRequest { tenant: tenant.into(), id: id.into(), history_length: Some(3) };
        let reply = agent.get_task(Call::from_parts(context(), request.clone())).await.unwrap();
        assert_eq!(reply.response.id, id);
        arrived(fake, Operation::GetTask, &request);

        let request = v1::CancelTaskRequest {
            tenant: tenant.into(),
            id: id.into(),
            metadata: Some(Struct::from_iter([("why", "not")])),
        };
        agent.cancel_task(Call::from_parts(context(), request.clone())).await.unwrap();
        arrived(fake, Operation::CancelTask, &request);

        let request = v1::SubscribeToTaskRequest { tenant: tenant.into(), id: id.into() };
        let mut context = context();
        context.last_event_id = EventId::new(7);
        agent.subscribe_to_task(Call::from_parts(context, request.clone())).await.unwrap();
        let seen = arrived(fake, Operation::SubscribeToTask, &request);
        assert_eq!(seen.last_event_id, EventId::new(7));
    }
    let request = v1::ListTasksRequest {
        tenant: tenant.into(),
        context_id: "c&1=é".into(),
        status: TaskState::InputRequired.into(),
        page_size: Some(7),
        page_token: "a+b/c==".into(),
        history_length: Some(0),
        status_timestamp_after: Some(Timestamp::from_millis(1_767_323_045_678)),
        include_artifacts: Some(true),
    };
    for request in [request, v1::ListTasksRequest { tenant: tenant.into(), ..Default::default() }] {
        let call = Call::from_parts(context(), request.clone());
        assert_eq!(agent.list_tasks(call).await.unwrap().response.page_size, 50);
        arrived(fake, Operation::ListTasks, &request);
    }
}

async fn configs(agent: &dyn Agent, fake: &Fake, tenant: &str) {
    let config = v1::TaskPushNotificationConfig {
        tenant: tenant.into(),
        id: "p:1/2".into(),
        task_id: "t:1/2".into(),
        url: "https://example.com/hook".into(),
        token: "secret".into(),
        authentication: Some(v1::AuthenticationInfo {
            scheme: "Bearer".into(),
            credentials: "x".into(),
        }),
    };
    let call = Call::from_parts(context(), config.clone());
    let reply = agent.create_task_push_notification_config(call).await.unwrap();
    assert_eq!(reply.response, config);
    arrived(fake, Operation::CreateTaskPushNotificationConfig, &config);

    let (task_id, id) = (config.task_id, config.id);
    let request = v1::GetTaskPushNotificationConfigRequest {
        tenant: tenant.into(),
        task_id: task_id.clone(),
        id: id.clone(),
    };
    let call = Call::from_parts(context(), request.clone());
    assert_eq!(agent.get_task_push_notification_config(call).await.unwrap().response.id, id);
    arrived(fake, Operation::GetTaskPushNotificationConfig, &request);

    let request = v1::ListTaskPushNotificationConfigsRequest {
        tenant: tenant.into(),
        task_id: task_id.clone(),
        page_size: 3,
        page_token: "p".into(),
    };
    let call = Call::from_parts(context(), request.clone());
    agent.list_task_push_notification_configs(call).await.unwrap();
    arrived(fake, Operation::ListTaskPushNotificationConfigs, &request);

    let request =
        v1::DeleteTaskPushNotificationConfigRequest { tenant: tenant.into(), task_id, id };
    let call = Call::from_parts(context(), request.clone());
    agent.delete_task_push_notification_config(call).await.unwrap();
    arrived(fake, Operation::DeleteTaskPushNotificationConfig, &request);

    let request = v1::GetExtendedAgentCardRequest { tenant: tenant.into() };
    let call = Call::from_parts(context(), request.clone());
    assert_eq!(agent.get_extended_agent_card(call).await.unwrap().response.name, "Fake");
    arrived(fake, Operation::GetExtendedAgentCard, &request);
}

fn context() -> CallContext {
    let mut context = CallContext::default();
    context.extensions = ["urn:a", "urn:b"].into_iter().collect();
    context.parameters.insert("a2a-budget".into(), "7".into());
    context.parameters.insert("traceparent".into(), "00-1-2-01".into());
    context
}

#[track_caller]
fn arrived(fake: &Fake, operation: Operation, request: &impl serde::Serialize) -> CallContext {
    let seen = fake.last().unwrap_or_else(|| panic!("{operation:?} did not arrive"));
    assert_eq!(seen.operation, operation);
    assert_eq!(seen.request, json!(request), "{operation:?}");
    assert_eq!(seen.context.extensions, context().extensions, "{operation:?}");
    assert_eq!(seen.context.parameters, context().parameters, "{operation:?}");
    seen.context
}
