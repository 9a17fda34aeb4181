//! Webhooks.

use a2a_core::{
    ErrorKind, TaskState,
    v1::{
        AuthenticationInfo, DeleteTaskPushNotificationConfigRequest,
        GetTaskPushNotificationConfigRequest, ListTaskPushNotificationConfigsRequest,
        SendMessageConfiguration, TaskPushNotificationConfig,
    },
};
use a2a_kit_operations::Call;

use crate::{
    Options, Topology,
    call::{configured, rejection_of, send, task_of, to_task},
    webhook::Receiver,
};

fn config(task_id: &str, id: &str, url: &str) -> TaskPushNotificationConfig {
    TaskPushNotificationConfig {
        task_id: task_id.into(),
        id: id.into(),
        url: url.into(),
        ..TaskPushNotificationConfig::default()
    }
}

fn get(task_id: &str, id: &str) -> Call<GetTaskPushNotificationConfigRequest> {
    Call::new(GetTaskPushNotificationConfigRequest {
        task_id: task_id.into(),
        id: id.into(),
        ..Default::default()
    })
}

fn delete(task_id: &str, id: &str) -> Call<DeleteTaskPushNotificationConfigRequest> {
    Call::new(DeleteTaskPushNotificationConfigRequest {
        task_id: task_id.into(),
        id: id.into(),
        ..Default::default()
    })
}

//
pub async fn webhooks_are_created_read_listed_and_deleted(topology: Topology) {
    let fixture = topology.agent(Options::default()).await;
    let agent = &fixture.agent;
    let task = task_of(agent, send("x")).await;
    let url = "http://127.0.0.1:9/hook";
    let mut with_secrets = config(&task.id, "", url);
    with_secrets.token = "secret-token".into();
    with_secrets.authentication =
        Some(AuthenticationInfo { scheme: "Bearer".into(), credentials: "secret".into() });
    let call = Call::new(with_secrets);
    let made = agent.create_task_push_notification_config(call).await.unwrap().response;
    assert!(!made.id.is_empty(), "an id is made");
    assert_eq!((&made.task_id, &*made.url), (&task.id, url));

    let found = agent.get_task_push_notification_config(get(&task.id, &made.id)).await;
    let found = found.unwrap().response;
    assert_eq!((&found.id, &*found.url), (&made.id, url));
    assert_eq!(found.authentication.as_ref().unwrap().scheme, "Bearer");
    let shown = format!("{found:?}");
    assert!(!shown.contains("secret"), "secrets are not given back: {shown}");

    for id in ["b", "a", "b"] {
        let call = Call::new(config(&task.id, id, url));
        agent.create_task_push_notification_config(call).await.unwrap();
    }
    let mut request = ListTaskPushNotificationConfigsRequest {
        task_id: task.id.clone(),
        page_size: 2,
        ..Default::default()
    };
    let first = agent.list_task_push_notification_configs(Call::new(request.clone())).await;
    let first = first.unwrap().response;
    request.page_token = first.next_page_token;
    let second = agent.list_task_push_notification_configs(Call::new(request)).await;
    let second = second.unwrap().response;
    assert_eq!((first.configs.len(), second.configs.len()), (2, 1));
    assert!(second.next_page_token.is_empty());

    for _ in 0..2 {
        agent.delete_task_push_notification_config(delete(&task.id, &made.id)).await.unwrap();
    }
    let gone = agent.get_task_push_notification_config(get(&task.id, &made.id)).await;
    let gone = gone.unwrap_err();
    assert_eq!(gone.kind(), ErrorKind::TaskNotFound);
    assert_eq!(gone.metadata().get("pushNotificationConfigId"), Some(&made.id));
}

//
pub async fn webhooks_of_an_unknown_task_are_rejected(topology: Topology) {
    let fixture = topology.agent(Options::default()).await;
    let agent = &fixture.agent;
    let call = Call::new(config("nowhere", "", "http://127.0.0.1:9/"));
    let list =
        ListTaskPushNotificationConfigsRequest { task_id: "nowhere".into(), ..Default::default() };
    for rejected in [
        agent.create_task_push_notification_config(call).await.map(drop).unwrap_err(),
        agent.get_task_push_notification_config(get("nowhere", "a")).await.map(drop).unwrap_err(),
        agent.list_task_push_notification_configs(Call::new(list)).await.map(drop).unwrap_err(),
        agent
            .delete_task_push_notification_config(delete("nowhere", "a"))
            .await
            .map(drop)
            .unwrap_err(),
    ] {
        assert_eq!(rejected.kind(), ErrorKind::TaskNotFound);
    }
}

//
pub async fn webhooks_are_rejected_without_push_support(topology: Topology) {
    let fixture = topology.agent(Options { push: false, ..Options::default() }).await;
    let agent = &fixture.agent;
    let task = task_of(agent, send("x")).await;
    let call = Call::new(config(&task.id, "", "http://127.0.0.1:9/"));
    let list =
        ListTaskPushNotificationConfigsRequest { task_id: task.id.clone(), ..Default::default() };
    let inline = SendMessageConfiguration {
        task_push_notification_config: Some(config("", "", "http://127.0.0.1:9/")),
        ..SendMessageConfiguration::default()
    };
    for rejected in [
        agent.create_task_push_notification_config(call).await.map(drop).unwrap_err(),
        agent.get_task_push_notification_config(get(&task.id, "a")).await.map(drop).unwrap_err(),
        agent.list_task_push_notification_configs(Call::new(list)).await.map(drop).unwrap_err(),
        agent
            .delete_task_push_notification_config(delete(&task.id, "a"))
            .await
            .map(drop)
            .unwrap_err(),
        rejection_of(agent, configured(send("x"), inline)).await,
    ] {
        assert_eq!(rejected.kind(), ErrorKind::PushNotificationNotSupported);
    }
    let listed = fixture.engine.list_tasks(Call::default()).await.unwrap().response;
    assert_eq!(listed.total_size, 1, "the rejected send made no task");
}

//
pub async fn forbidden_webhook_address_is_rejected(topology: Topology) {
    let fixture = topology.agent(Options::default()).await;
    let task = task_of(&fixture.agent, send("x")).await;
    for url in
        ["http://10.0.0.1/", "http://[::ffff:192.168.0.1]/", "ftp://example.com/", "nonsense", ""]
    {
        let call = Call::new(config(&task.id, "", url));
        let rejected = fixture.agent.create_task_push_notification_config(call).await.unwrap_err();
        assert_eq!(rejected.kind(), ErrorKind::InvalidParams, "{url}");
        assert_eq!(rejected.violations()[0].field, "url", "{url}");
        let inline = SendMessageConfiguration {
            task_push_notification_config: Some(config("", "", url)),
            ..SendMessageConfiguration::default()
        };
        let rejected = rejection_of(&fixture.agent, configured(send("x"), inline)).await;
        let field = "configuration.taskPushNotificationConfig.url";
        assert_eq!(rejected.violations()[0].field, field, "{url}");
    }
}

//
pub async fn webhooks_get_status_changes_in_order_despite_failures(topology: Topology) {
    let fixture = topology.agent(Options::default()).await;
    let mut first = Receiver::start(2).await;
    let mut second = Receiver::start(0).await;
    let mut inline = config("", "", &first.url);
    inline.token = "the-token".into();
    inline.authentication =
        Some(AuthenticationInfo { scheme: "Bearer".into(), credentials: "the-secret".into() });
    let configuration = SendMessageConfiguration {
        task_push_notification_config: Some(inline),
        return_immediately: true,
        ..SendMessageConfiguration::default()
    };
    let task = task_of(&fixture.agent, configured(send("gate"), configuration)).await;
    let also = Call::new(config(&task.id, "also", &second.url));
    fixture.agent.create_task_push_notification_config(also).await.unwrap();
    fixture.control.open();

    let mut states = Vec::new();
    while states.last() != Some(&TaskState::Completed.as_str_name().to_owned()) {
        let delivery = first.next().await;
        assert_eq!(delivery.headers["content-type"], "application/a2a+json");
        assert_eq!(delivery.headers["authorization"], "Bearer the-secret");
        assert_eq!(delivery.headers["x-a2a-notification-token"], "the-token");
        assert_eq!(delivery.headers["a2a-version"], "1.0");
        let members = delivery.body.as_object().unwrap();
        assert_eq!(members.len(), 1, "exactly one member: {members:?}");
        let (kind, content) = members.iter().next().unwrap();
        assert!(kind == "task" || kind == "statusUpdate", "{kind}");
        states.push(content["status"]["state"].as_str().unwrap().to_owned());
    }
    assert_eq!(states, ["TASK_STATE_SUBMITTED", "TASK_STATE_WORKING", "TASK_STATE_COMPLETED"]);
    loop {
        let body = second.next().await.body;
        if body["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED" {
            break;
        }
    }
}

//
pub async fn deleted_webhook_gets_no_more_deliveries(topology: Topology) {
    let fixture = topology.agent(Options::default()).await;
    let mut removed = Receiver::start(0).await;
    let mut kept = Receiver::start(0).await;
    let task = task_of(&fixture.agent, send("input")).await;
    for (id, receiver) in [("removed", &removed), ("kept", &kept)] {
        let call = Call::new(config(&task.id, id, &receiver.url));
        fixture.agent.create_task_push_notification_config(call).await.unwrap();
    }
    let gone = delete(&task.id, "removed");
    fixture.agent.delete_task_push_notification_config(gone).await.unwrap();
    task_of(&fixture.agent, to_task(&task.id, "more")).await;
    while kept.next().await.body["statusUpdate"]["status"]["state"] != "TASK_STATE_COMPLETED" {}
    assert_eq!(removed.pending(), 0);
}
