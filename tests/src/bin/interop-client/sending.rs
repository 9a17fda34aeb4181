//! The card, and sends.

use a2a_core::{
    AgentCard, ErrorKind, ExtensionSet, Message, Part, ProtocolVersion, Role, TaskState, fresh_id,
    v1::{AgentInterface, ListTasksRequest},
};
use a2a_kit_client::{Client, MessageRequest, SendOutcome, Transport};
use serde_json::json;

use crate::{
    expect::{Result, expect, same, state_is},
    peer::{Peer, answer},
};

const EXTENSION: &str = "https://example.com/extensions/interop/v1";

pub(crate) async fn card(peer: &Peer) -> Result {
    let version = peer.version.as_str();
    let spoken = |transport: &Transport| {
        let mut interfaces = peer.card.supported_interfaces.iter();
        interfaces.any(|one| {
            one.protocol_binding == transport.as_str() && one.protocol_version == version
        })
    };
    // The SDKs of 0.2 do not have all bindings.
    let all = peer.version < ProtocolVersion::V0_3 || Transport::ALL.iter().all(spoken);
    expect(all, "the card has all three bindings")?;
    let capabilities = peer.card.capabilities.clone().unwrap_or_default();
    same(capabilities.streaming, Some(true), "streaming")?;
    same(capabilities.push_notifications, Some(true), "push notifications")?;
    same(capabilities.extended_agent_card, Some(true), "extended card")?;
    expect(peer.client.interface().is_some(), "an interface was selected")
}

pub(crate) async fn extended_card(peer: &Peer) -> Result {
    let extended = peer.client.extended_card().await?;
    same(&extended.name, &peer.card.name, "name")?;
    same(extended.skills.len(), peer.card.skills.len() + 1, "skills")
}

pub(crate) async fn send(peer: &Peer) -> Result {
    let context_id = fresh_id();
    let message = MessageRequest::from("echo hello").in_context(&context_id);
    let task = peer.task_with_history(message).await?;
    state_is(&task, TaskState::Completed)?;
    same(&task.context_id, &context_id, "context id")?;
    same(task.text().as_str(), "hello", "text of the artifacts")?;
    let has_time = task.status.is_some_and(|status| status.timestamp.is_some());
    expect(has_time || peer.is_lossy(), "there is a timestamp")?;
    let first = task.history.first().map(|message| (message.role(), message.text()));
    same(first, Some((Role::User, "echo hello".to_owned())), "first message of the history")
}

pub(crate) async fn send_message(peer: &Peer) -> Result {
    let SendOutcome::Message(message) = peer.client.send("message hi").await? else {
        return Err("the response is a task".into());
    };
    same(message.role(), Role::Agent, "role")?;
    same(message.text().as_str(), "message: hi", "text")
}

pub(crate) async fn send_parts(peer: &Peer) -> Result {
    let data = json!({
        "whole": 7, "big": 9_007_199_254_740_991_u64, "fraction": 0.25, "text": "Grüße, 世界 🌍",
        "null": null, "list": [true, {"deep": [1, 2]}],
    });
    let bytes: Vec<u8> = (0..=u8::MAX).collect();
    let parts = [
        Part::text("Grüße, 世界 🌍\n\"quoted\"").with_media_type("text/plain"),
        Part::data(data).with_metadata([("note", "a")].into()),
        Part::raw(bytes).with_filename("bytes.bin").with_media_type("application/octet-stream"),
        Part::url("https://example.com/a%20b?c=d").with_filename("b").with_media_type("text/html"),
    ];
    let parts = if peer.is_older() { older_parts() } else { parts.to_vec() };
    let mut message = Message::new(Role::User, parts.clone());
    message.message_id = format!("acc-echo-{}", message.message_id);
    let task = peer.task_with_history(message).await?;
    state_is(&task, TaskState::Completed)?;
    same(task.artifacts.first().map(|artifact| &artifact.parts), Some(&parts), "parts")?;
    same(task.history.first().map(|message| &message.parts), Some(&parts), "parts of the history")
}

/// The parts of 0.3: only files have a type, and the SDKs interpret bytes as text.
fn older_parts() -> Vec<Part> {
    vec![
        Part::text("Grüße, 世界 🌍\n\"quoted\""),
        Part::data(json!({"whole": 7, "list": [true, {"deep": [1, 2]}]})),
        Part::raw("AAECAw==").with_filename("b.bin").with_media_type("application/octet-stream"),
        Part::url("https://example.com/a%20b?c=d").with_filename("b").with_media_type("text/html"),
    ]
}

pub(crate) async fn send_large(peer: &Peer) -> Result {
    let bytes: Vec<u8> = (0..=u8::MAX).cycle().take(1 << 20).collect();
    let mut message = Message::user(Part::raw(bytes.clone()));
    message.message_id = format!("acc-echo-{}", message.message_id);
    let task = peer.task(message).await?;
    let echoed = task.artifacts.first().and_then(|artifact| artifact.parts.first());
    expect(echoed == Some(&Part::raw(bytes)), "the bytes came back as they were sent")
}

pub(crate) async fn send_immediately(peer: &Peer) -> Result {
    let task = peer.answered_at_once("slow 1").await?;
    let state = task.state();
    let early = matches!(state, TaskState::Submitted | TaskState::Working);
    expect(early, format!("answered when the task was {state:?}"))?;
    peer.until(&task.id, TaskState::Completed).await.map(drop)
}

pub(crate) async fn send_history_length(peer: &Peer) -> Result {
    let task = peer.task(MessageRequest::from("echo hello").with_history(0)).await?;
    state_is(&task, TaskState::Completed)?;
    same(task.history.len(), 0, "messages in the history")
}

pub(crate) async fn multi_turn(peer: &Peer) -> Result {
    let first = peer.task("ask").await?;
    state_is(&first, TaskState::InputRequired)?;
    let question = first.status_text();
    same(question.as_str(), "what is your name?", "question")?;
    let second = peer.task_with_history(answer(&first, "Ada")).await?;
    same(&second.id, &first.id, "task id")?;
    same(&second.context_id, &first.context_id, "context id")?;
    state_is(&second, TaskState::Completed)?;
    let users = second.history.iter().filter(|message| message.role() == Role::User);
    let texts: Vec<_> = users.map(Message::text).collect();
    same(texts, ["ask", "Ada"], "messages of the user")
}

/// The tenant in the card is sent with every request.
pub(crate) async fn tenant(peer: &Peer) -> Result {
    let interface = peer.client.interface().ok_or("no interface was selected")?;
    let interface = AgentInterface { tenant: "acme".to_owned(), ..interface.clone() };
    let card = AgentCard { supported_interfaces: vec![interface], ..peer.card.clone() };
    let client = Client::builder().build(card)?;
    let sent = client.send("echo hello").await?;
    let sent = sent.task().ok_or("the response is a message")?;
    let got = client.get(&sent.id).await?;
    same((&got.id, &got.artifacts), (&sent.id, &sent.artifacts), "task of the tenant")?;
    let page = client.list_page(ListTasksRequest::default()).await?;
    expect(page.tasks.iter().any(|task| task.id == sent.id), "the tenant's tasks have it")
}

pub(crate) async fn failed_task(peer: &Peer) -> Result {
    let task = peer.task("fail").await?;
    state_is(&task, TaskState::Failed)?;
    let reason = task.status_text();
    same(reason.as_str(), "failed as asked", "reason")
}

/// An executor that panics: one SDK returns a failed task, the other an internal error.
pub(crate) async fn crashed_task(peer: &Peer) -> Result {
    match peer.client.send("panic").await {
        Ok(outcome) => same(outcome.state(), Some(TaskState::Failed), "state"),
        Err(error) => same(error.kind(), ErrorKind::Internal, "kind"),
    }
}

pub(crate) async fn extensions(peer: &Peer) -> Result {
    let mut context = peer.client.context().clone();
    context.extensions = ExtensionSet::from_iter([EXTENSION]);
    let outcome = peer.client.with_context(context).send("extensions").await?;
    same(outcome.text(), format!("extensions: {EXTENSION}"), "status")
}
