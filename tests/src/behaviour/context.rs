//! Contexts, tenants, and request metadata.

use a2a_core::{
    ErrorKind, ExtensionSet, Message, v1::SendMessageConfiguration, well_known::Struct,
};
use a2a_kit_operations::Call;

use crate::{
    Options, Topology,
    agent::EXTENSION,
    call::{cancel, configured, get, rejection_of, send, subscribe, task_of, to_task, with},
};

//
pub async fn tasks_of_a_context_share_only_the_context(topology: Topology) {
    let fixture = topology.agent(Options::default()).await;
    let message = Message::user("one").with_context_id("my-context");
    let first = task_of(&fixture.agent, with(message.clone())).await;
    let second = task_of(&fixture.agent, with(message)).await;
    assert_eq!((&*first.context_id, &*second.context_id), ("my-context", "my-context"));
    assert_ne!(first.id, second.id);
}

//
pub async fn context_mismatch_is_rejected(topology: Topology) {
    let fixture = topology.agent(Options::default()).await;
    let task = task_of(&fixture.agent, send("ask")).await;
    let mut call = to_task(&task.id, "this");
    call.request.message.as_mut().unwrap().context_id = "elsewhere".into();
    let rejected = rejection_of(&fixture.agent, call).await;
    assert_eq!(rejected.kind(), ErrorKind::InvalidParams);
    assert_eq!(rejected.violations()[0].field, "message.contextId");
}

//
pub async fn task_of_another_tenant_is_not_found(topology: Topology) {
    let fixture = topology.agent(Options::default()).await;
    let mut call = send("ask");
    call.request.tenant = "acme".into();
    let task = task_of(&fixture.agent, call).await;

    let mut own = get(&task.id);
    own.request.tenant = "acme".into();
    assert_eq!(fixture.agent.get_task(own).await.unwrap().response.id, task.id);

    let kinds = [
        fixture.agent.get_task(get(&task.id)).await.unwrap_err(),
        fixture.agent.cancel_task(cancel(&task.id)).await.unwrap_err(),
        fixture.agent.subscribe_to_task(subscribe(&task.id)).await.unwrap_err(),
        rejection_of(&fixture.agent, to_task(&task.id, "this")).await,
    ];
    let unknown = fixture.agent.get_task(get("unknown")).await.unwrap_err();
    for rejected in kinds {
        assert_eq!(rejected.kind(), ErrorKind::TaskNotFound);
        assert_eq!(
            rejected.message().replace(&task.id, "unknown"),
            unknown.message(),
            "absent and hidden tasks are indistinguishable"
        );
    }
    let listed = fixture.agent.list_tasks(Call::default()).await.unwrap().response;
    assert!(listed.tasks.is_empty() && listed.total_size == 0);
}

//
pub async fn request_context_reaches_the_executor(topology: Topology) {
    let fixture = topology.agent(Options::default()).await;
    let modes = vec!["text/plain".to_owned(), "image/png".to_owned()];
    let configuration = SendMessageConfiguration {
        accepted_output_modes: modes.clone(),
        ..SendMessageConfiguration::default()
    };
    let mut call = configured(send("context"), configuration);
    call.request.metadata = Some(Struct::from([("k", 1)]));
    call.context.extensions = ExtensionSet::from_iter([EXTENSION, "urn:example:unknown"]);
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    call.context.parameters.insert("traceparent".into(), trace.into());
    let task = task_of(&fixture.agent, call).await;
    let seen = serde_json::to_value(task.artifacts[0].parts[0].as_data().unwrap()).unwrap();
    assert_eq!(seen["acceptedOutputModes"], serde_json::json!(modes));
    assert_eq!(seen["metadata"], serde_json::json!({"k": 1}));
    assert_eq!(seen["parameters"]["traceparent"], trace);
    assert_eq!(seen["version"], "1.0");
    let extensions = seen["extensions"].as_array().unwrap();
    assert!(extensions.contains(&serde_json::json!(EXTENSION)), "{extensions:?}");
}

//
pub async fn requested_extension_is_activated(topology: Topology) {
    let fixture = topology.agent(Options::default()).await;
    let reply = fixture.agent.send_message(send("x")).await.unwrap();
    assert!(reply.activated.is_empty());
    let mut call = send("x");
    call.context.extensions = ExtensionSet::from_iter([EXTENSION, "urn:example:optional/2"]);
    let reply = fixture.agent.send_message(call).await.unwrap();
    assert_eq!(reply.activated, ExtensionSet::from_iter([EXTENSION]));
}

//
pub async fn required_extension_must_be_requested(topology: Topology) {
    let required = "urn:example:required";
    let options = Options { required_extension: Some(required), ..Options::default() };
    let fixture = topology.agent(options).await;
    let rejected = rejection_of(&fixture.agent, send("x")).await;
    assert_eq!(rejected.kind(), ErrorKind::ExtensionSupportRequired);
    let rejected = fixture.agent.send_streaming_message(send("x")).await.unwrap_err();
    assert_eq!(rejected.kind(), ErrorKind::ExtensionSupportRequired);
    let mut call = send("x");
    call.context.extensions = ExtensionSet::from_iter([required]);
    assert!(fixture.agent.send_message(call).await.is_ok());
}
