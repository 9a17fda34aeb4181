//! Streams of a send, and subscriptions.

use a2a_core::{
    ErrorKind, TaskState,
    v1::{TaskArtifactUpdateEvent, stream_response::Payload},
};
use a2a_kit_client::{Client, Snapshot};
use a2a_kit_operations::Event;

use crate::{
    expect::{Result, expect, same},
    peer::{Peer, answer, drain},
    proxy::{Proxy, Trouble},
};

pub(crate) async fn stream(peer: &Peer) -> Result {
    let events = drain(peer.client.stream("stream 5").await?).await?;
    let task = first_task(&events)?;
    same(events.iter().filter(|event| event.task().is_some()).count(), 1, "tasks in the stream")?;
    same(last_state(&events), Some(TaskState::Completed), "last state")?;
    let chunks: Vec<_> = events.iter().filter_map(chunk).collect();
    let appended: Vec<_> = chunks.iter().map(|chunk| chunk.append).collect();
    same(appended, [false, true, true, true, true], "append")?;
    same(chunks.last().map(|chunk| chunk.last_chunk), Some(true), "last chunk of the last")?;
    expect(chunks.iter().all(|chunk| chunk.task_id == task), "the chunks name their task")?;
    let text: String =
        chunks.iter().filter_map(|chunk| chunk.artifact.as_ref()).map(|one| one.text()).collect();
    same(text.as_str(), "chunk 0 chunk 1 chunk 2 chunk 3 chunk 4 ", "text of the chunks")?;
    let stored = peer.client.get(&task).await?;
    same(stored.artifacts.len(), 1, "stored artifacts")?;
    same(stored.text(), text, "stored text")
}

pub(crate) async fn stream_message(peer: &Peer) -> Result {
    let events = drain(peer.client.stream("message hi").await?).await?;
    let [event] = events.as_slice() else {
        return Err(format!("expected one event, got {events:?}").into());
    };
    let Some(Payload::Message(message)) = event.payload() else {
        return Err(format!("expected a message, got {event:?}").into());
    };
    same(message.text().as_str(), "message: hi", "text")
}

pub(crate) async fn stream_input(peer: &Peer) -> Result {
    let asked = drain(peer.client.stream("ask").await?).await?;
    same(last_state(&asked), Some(TaskState::InputRequired), "last state of the first turn")?;
    let task = peer.client.get(first_task(&asked)?).await?;
    let answered = drain(peer.client.stream(answer(&task, "Ada")).await?).await?;
    same(last_state(&answered), Some(TaskState::Completed), "last state of the second turn")
}

/// An executor that panics: the stream ends with a failed task or an error event.
pub(crate) async fn stream_crash(peer: &Peer) -> Result {
    match drain(peer.client.stream("panic").await?).await {
        Ok(events) => same(last_state(&events), Some(TaskState::Failed), "last state"),
        Err(error) => same(error.kind(), ErrorKind::Internal, "kind"),
    }
}

/// An agent that is silent for a while.
pub(crate) async fn stream_silence(peer: &Peer) -> Result {
    let events = drain(peer.client.stream("slow 7").await?).await?;
    same(last_state(&events), Some(TaskState::Completed), "last state")
}

/// An interrupted connection: the stream resumes without losing events.
pub(crate) async fn stream_cut(peer: &Peer) -> Result {
    let interface = peer.client.interface().ok_or("no interface was selected")?;
    // Enough for the task and some chunks, but fewer than 40, in every binding.
    let proxy = Proxy::to(interface, Trouble::CutAfter(2_000)).await?;
    let client = Client::builder().build(proxy.card(&peer.card, interface))?;
    let mut seen = Snapshot::new();
    let mut chunks = 0;
    for event in drain(client.stream("stream 40").await?).await? {
        chunks += usize::from(chunk(&event).is_some());
        seen.apply(&event)?;
    }
    let seen = seen.into_task().ok_or("there was no task")?;
    same(seen.state(), TaskState::Completed, "last state")?;
    let text: String = (0..40).map(|index| format!("chunk {index} ")).collect();
    same(seen.text(), text.clone(), "assembled text")?;
    same(peer.client.get(&seen.id).await?.text(), text, "stored text")?;
    expect(
        proxy.has_cut() && chunks > 10,
        format!("the connection was closed after {chunks} chunks"),
    )
}

pub(crate) async fn subscribe(peer: &Peer) -> Result {
    let started = peer.started("slow 2").await?;
    let events = drain(peer.client.subscribe(&started.id).await?).await?;
    same(first_task(&events)?, started.id, "task id")?;
    same(last_state(&events), Some(TaskState::Completed), "last state")
}

/// A subscription to a waiting task stays open and gets the updates after the answer.
pub(crate) async fn subscribe_input(peer: &Peer) -> Result {
    let asking = peer.task("ask").await?;
    let mut events = peer.client.subscribe(&asking.id).await?;
    let first = events.next().await.ok_or("the stream ended immediately")??;
    same(first.state(), Some(TaskState::InputRequired), "first state")?;
    peer.task(answer(&asking, "Ada")).await?;
    let events = drain(events).await?;
    same(last_state(&events), Some(TaskState::Completed), "last state")
}

fn first_task(events: &[Event]) -> Result<String> {
    let task = events.first().and_then(Event::task);
    Ok(task.ok_or_else(|| format!("no task before {events:?}"))?.id.clone())
}

fn last_state(events: &[Event]) -> Option<TaskState> {
    events.last()?.state()
}

fn chunk(event: &Event) -> Option<&TaskArtifactUpdateEvent> {
    match event.payload()? {
        Payload::ArtifactUpdate(update) => Some(update),
        Payload::Task(_) | Payload::Message(_) | Payload::StatusUpdate(_) => None,
    }
}
