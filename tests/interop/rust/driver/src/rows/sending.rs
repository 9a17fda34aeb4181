//! The cards, and messages that are answered by one response.

use serde_json::{Value, json};

use crate::{
    agent::EXTENSION,
    expect::{
        Result, expect, ids, is_set, list_at, same, same_json, state_is, state_of, status_text,
        text_at, text_of,
    },
    message::{Ask, fresh_id},
    peer::{Peer, Session, fails_with},
};

pub(crate) async fn card(peer: &dyn Peer) -> Result {
    let card = peer.card();
    let interfaces = list_at(&card, "/supportedInterfaces").iter();
    let current = interfaces.filter(|interface| text_at(interface, "/protocolVersion") == "1.0");
    let mut bindings: Vec<_> = current.map(|one| text_at(one, "/protocolBinding")).collect();
    bindings.sort_unstable();
    bindings.dedup();
    same(bindings, ["GRPC", "HTTP+JSON", "JSONRPC"], "bindings")?;
    let named = !text_at(&card, "/name").is_empty() && !text_at(&card, "/version").is_empty();
    expect(named, "the card has no name or no version")?;
    expect(is_set(&card, "/capabilities/streaming"), "streaming is not declared")?;
    let pushes = is_set(&card, "/capabilities/pushNotifications");
    expect(pushes, "push notifications are not declared")?;
    expect(!list_at(&card, "/skills").is_empty(), "the card has no skill")
}

pub(crate) async fn extended_card(peer: &dyn Peer) -> Result {
    let (card, extended) = (peer.card(), peer.extended_card().await?);
    same(text_at(&extended, "/name"), text_at(&card, "/name"), "name")?;
    let (skills, more) = (list_at(&card, "/skills").len(), list_at(&extended, "/skills").len());
    expect(more > skills, format!("the extended card has {more} skills, the public one {skills}"))
}

pub(crate) async fn send(peer: &dyn Peer) -> Result {
    let context_id = fresh_id();
    let task = peer.task(Ask::text("echo hello").in_context(&context_id)).await?;
    state_is(&task, "COMPLETED")?;
    same(text_at(&task, "/contextId"), &*context_id, "context id")?;
    let artifacts = list_at(&task, "/artifacts");
    same(artifacts.len(), 1, "artifacts")?;
    expect(text_of(&artifacts[0]).contains("hello"), format!("the artifact is {}", artifacts[0]))?;
    expect(!text_at(&task, "/status/timestamp").is_empty(), "the status has no timestamp")?;
    same(text_at(&task, "/history/0/role"), "ROLE_USER", "role of the first message")?;
    same(text_of(&task["history"][0]), "echo hello", "first message of the history")
}

pub(crate) async fn send_message(peer: &dyn Peer) -> Result {
    let answer = peer.send(Ask::text("message hi").into()).await?;
    let message = answer.get("message").ok_or_else(|| format!("no message, but {answer}"))?;
    same(text_at(message, "/role"), "ROLE_AGENT", "role")?;
    expect(!text_at(message, "/messageId").is_empty(), "the message has no id")?;
    expect(!text_of(message).is_empty(), "the message has no text")
}

pub(crate) async fn send_parts(peer: &dyn Peer) -> Result {
    let data = json!({
        "whole": 7,
        "big": 9_007_199_254_740_991_u64,
        "fraction": 0.25,
        "text": "Grüße, 世界 🌍",
        "null": null,
        "list": [true, {"deep": [1, 2]}],
    });
    let parts = json!([
        {"text": "Grüße, 世界 🌍\n\"quoted\"", "mediaType": "text/plain"},
        {"data": data, "metadata": {"note": "a"}},
        {"raw": EVERY_BYTE, "filename": "bytes.bin", "mediaType": "application/octet-stream"},
        {"url": "https://example.com/a%20b?c=d", "filename": "b", "mediaType": "text/html"},
    ]);
    let task = peer.task(Ask::parts(&parts).with_id_prefix("acc-echo")).await?;
    state_is(&task, "COMPLETED")?;
    same_json(&task["artifacts"][0]["parts"], &parts, "parts")?;
    same_json(&task["history"][0]["parts"], &parts, "parts of the history")
}

pub(crate) async fn send_large(peer: &dyn Peer) -> Result {
    // 3 bytes for each 4 characters: 1 MiB.
    let raw = format!("{}AA==", "AAEC".repeat((1 << 20) / 3));
    let parts = json!([{"raw": raw, "mediaType": "application/octet-stream"}]);
    let task = peer.task(Ask::parts(&parts).with_id_prefix("acc-echo")).await?;
    let echoed = text_at(&task, "/artifacts/0/parts/0/raw");
    same(echoed.len(), raw.len(), "encoded bytes")?;
    expect(echoed == raw, "the bytes came back as others")
}

pub(crate) async fn send_immediately(peer: &dyn Peer) -> Result {
    let task = peer.started("slow 1").await?;
    let state = state_of(&task);
    let early = matches!(state, "TASK_STATE_SUBMITTED" | "TASK_STATE_WORKING");
    expect(early, format!("answered when the task was {state}"))?;
    peer.until(text_at(&task, "/id"), "COMPLETED").await.map(drop)
}

pub(crate) async fn send_history_length(peer: &dyn Peer) -> Result {
    let configuration = json!({"historyLength": 0});
    let task = peer.task(Ask::text("echo hello").with_configuration(configuration)).await?;
    state_is(&task, "COMPLETED")?;
    same(list_at(&task, "/history").len(), 0, "messages in the history")
}

pub(crate) async fn multi_turn(peer: &dyn Peer) -> Result {
    let first = peer.task("ask").await?;
    state_is(&first, "INPUT_REQUIRED")?;
    expect(!status_text(&first).is_empty(), "the question has no text")?;
    let second = peer.task(Ask::answer(&first, "Ada")).await?;
    same(text_at(&second, "/id"), text_at(&first, "/id"), "task id")?;
    same(text_at(&second, "/contextId"), text_at(&first, "/contextId"), "context id")?;
    state_is(&second, "COMPLETED")?;
    let history = list_at(&second, "/history").iter();
    let said = history.filter(|message| text_at(message, "/role") == "ROLE_USER").map(text_of);
    same(said.collect::<Vec<_>>(), ["ask", "Ada"], "what the user said")
}

pub(crate) async fn tenant(peer: &dyn Peer) -> Result {
    let ours = format!("acme-{}", fresh_id());
    let sent = peer.task(Ask::text("echo hello").for_tenant(&ours)).await?;
    let id = text_at(&sent, "/id");
    let found = peer.get(json!({"id": id, "tenant": ours})).await?;
    same_json(&found, &sent, "task of the tenant")?;
    let listed = peer.list(json!({ "tenant": ours })).await?;
    same(ids(list_at(&listed, "/tasks")), [id], "tasks of the tenant")?;
    fails_with("TASK_NOT_FOUND", peer.stored(id).await)?;
    fails_with("TASK_NOT_FOUND", peer.get(json!({"id": id, "tenant": "other"})).await)
}

pub(crate) async fn failed_task(peer: &dyn Peer) -> Result {
    let task = peer.task("fail").await?;
    state_is(&task, "FAILED")?;
    expect(!status_text(&task).is_empty(), "the failure has no message")
}

pub(crate) async fn crashed_task(peer: &dyn Peer) -> Result {
    let task = peer.task("panic").await?;
    state_is(&task, "FAILED")?;
    let text = status_text(&task);
    expect(!text.contains("on purpose"), format!("internal text came out: {text}"))
}

pub(crate) async fn extensions(peer: &dyn Peer) -> Result {
    let session = Session { extensions: vec![EXTENSION.to_owned()], ..Session::default() };
    let peer = peer.with_session(session).await?;
    let task: Value = peer.task(Ask::text("extensions").with_id_prefix("acc-ext")).await?;
    state_is(&task, "COMPLETED")?;
    same(status_text(&task), format!("extensions: {EXTENSION}"), "status")
}

/// The bytes from 0 to 255, in Base64.
const EVERY_BYTE: &str = concat!(
    "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0+P0BBQkNERUZH",
    "SElKS0xNTk9QUVJTVFVWV1hZWltcXV5fYGFiY2RlZmdoaWprbG1ub3BxcnN0dXZ3eHl6e3x9fn+AgYKDhIWGh4iJiouMjY6P",
    "kJGSk5SVlpeYmZqbnJ2en6ChoqOkpaanqKmqq6ytrq+wsbKztLW2t7i5uru8vb6/wMHCw8TFxsfIycrLzM3Oz9DR0tPU1dbX",
    "2Nna29zd3t/g4eLj5OXm5+jp6uvs7e7v8PHy8/T19vf4+fr7/P3+/w==",
);
