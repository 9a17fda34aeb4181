//! Streams of a send, and subscriptions.

use futures::StreamExt as _;
use serde_json::{Value, json};

use crate::{
    expect::{Result, expect, is_set, list_at, same, state_is, text_at, text_of, texts_of},
    message::Ask,
    peer::{Peer, drain},
};

pub(crate) async fn stream(peer: &dyn Peer) -> Result {
    let events = peer.streamed("stream 5").await?;
    let task = first_task(&events)?;
    let tasks = events.iter().filter(|event| event.get("task").is_some()).count();
    same(tasks, 1, "tasks in the stream")?;
    ends_with(&events, "COMPLETED")?;
    let chunks = chunks(&events);
    same(chunks.len(), 5, "chunks")?;
    let artifact = text_at(chunks[0], "/artifact/artifactId");
    let one = chunks.iter().all(|chunk| text_at(chunk, "/artifact/artifactId") == artifact);
    expect(one, "the chunks are of several artifacts")?;
    let appended: Vec<_> = chunks.iter().map(|chunk| is_set(chunk, "/append")).collect();
    same(appended, [false, true, true, true, true], "append")?;
    expect(is_set(chunks[4], "/lastChunk"), "the last chunk is not marked")?;
    let id = text_at(task, "/id");
    let named = chunks.iter().all(|chunk| text_at(chunk, "/taskId") == id);
    expect(named, "the chunks do not name their task")?;
    let stored = peer.stored(id).await?;
    same(list_at(&stored, "/artifacts").len(), 1, "stored artifacts")?;
    let text: String = chunks.iter().map(|chunk| text_of(&chunk["artifact"])).collect();
    same(text_of(&stored["artifacts"][0]), text, "stored text")
}

pub(crate) async fn stream_message(peer: &dyn Peer) -> Result {
    let events = peer.streamed("message hi").await?;
    let [event] = events.as_slice() else {
        return Err(format!("expected one event, got {events:?}").into());
    };
    let message = event.get("message").ok_or_else(|| format!("no message, but {event}"))?;
    expect(!text_of(message).is_empty(), "the message has no text")
}

pub(crate) async fn stream_input(peer: &dyn Peer) -> Result {
    let events = peer.streamed("ask").await?;
    ends_with(&events, "INPUT_REQUIRED")?;
    let events = peer.streamed(Ask::answer(first_task(&events)?, "Ada")).await?;
    ends_with(&events, "COMPLETED")
}

pub(crate) async fn stream_crash(peer: &dyn Peer) -> Result {
    ends_with(&peer.streamed("panic").await?, "FAILED")
}

/// An agent that is silent for longer than some clients wait for an event.
pub(crate) async fn stream_silence(peer: &dyn Peer) -> Result {
    let ask = Ask::text("think").with_metadata(json!({"delayMs": 7000}));
    ends_with(&peer.streamed(ask.with_id_prefix("acc-slow")).await?, "COMPLETED")
}

/// A client that disconnects and subscribes again misses no event.
pub(crate) async fn stream_cut(peer: &dyn Peer) -> Result {
    let mut stream = peer.stream(Ask::text("stream 40").into()).await?;
    let mut before = Vec::new();
    while before.len() < 6 {
        before.push(stream.next().await.ok_or("the stream ended early")??);
    }
    drop(stream);
    let id = text_at(first_task(&before)?, "/id");
    let events = peer.subscribed(id).await?;
    let task = first_task(&events)?;
    ends_with(&events, "COMPLETED")?;
    let mut parts = texts_of(&task["artifacts"][0]);
    let some = (3..40).contains(&parts.len());
    expect(some, format!("expected a part of the text, got {} of 40 chunks", parts.len()))?;
    parts.extend(chunks(&events).iter().flat_map(|chunk| texts_of(&chunk["artifact"])));
    let stored = peer.stored(id).await?;
    let stored = texts_of(&stored["artifacts"][0]);
    same(stored.len(), 40, "parts")?;
    same(parts, stored, "the parts put together")
}

pub(crate) async fn subscribe(peer: &dyn Peer) -> Result {
    let task = peer.started("slow 2").await?;
    let events = peer.subscribed(text_at(&task, "/id")).await?;
    same(text_at(first_task(&events)?, "/id"), text_at(&task, "/id"), "task id")?;
    ends_with(&events, "COMPLETED")
}

/// A subscription to a waiting task stays open and gets the updates after the answer.
pub(crate) async fn subscribe_input(peer: &dyn Peer) -> Result {
    let asking = peer.task("ask").await?;
    let mut events = peer.subscribe(json!({ "id": asking["id"] })).await?;
    let first = events.next().await.ok_or("the stream ended immediately")??;
    state_is(&first["task"], "INPUT_REQUIRED")?;
    peer.task(Ask::answer(&asking, "Ada")).await?;
    ends_with(&drain(events).await?, "COMPLETED")
}

fn first_task(events: &[Value]) -> Result<&Value> {
    let task = events.first().and_then(|event| event.get("task"));
    task.ok_or_else(|| format!("no task before {events:?}").into())
}

/// Fails unless the last event is an update to this state.
fn ends_with(events: &[Value], state: &str) -> Result {
    let update = events.last().and_then(|event| event.get("statusUpdate"));
    let update = update.ok_or_else(|| format!("the stream ends with {:?}", events.last()))?;
    state_is(update, state)
}

fn chunks(events: &[Value]) -> Vec<&Value> {
    events.iter().filter_map(|event| event.get("artifactUpdate")).collect()
}
