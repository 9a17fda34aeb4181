//! Table 1: behaviour by the start of the message id.

use std::time::Duration;

use a2a_core::{Artifact, Message, Part};
use serde_json::json;

use super::{Done, Turn, artifact};

/// The names that a message id may start with.
pub(super) const NAMES: [&str; 22] = [
    "tck-complete-task",
    "tck-artifact-text",
    "tck-artifact-file",
    "tck-artifact-file-url",
    "tck-artifact-data",
    "tck-message-response",
    "tck-input-required",
    "tck-reject-task",
    "tck-stream-001",
    "tck-stream-002",
    "tck-stream-003",
    "tck-stream-ordering-001",
    "tck-stream-artifact-text",
    "tck-stream-artifact-file",
    "tck-stream-artifact-chunked",
    "test-resubscribe-message-id",
    "acc-echo",
    "acc-slow",
    "acc-hold",
    "acc-fail",
    "acc-auth",
    "acc-ext",
];

pub(super) async fn run(name: &str, turn: Turn) -> Done {
    let updates = &turn.updates;
    match name {
        "tck-complete-task" => updates.complete("Hello from TCK").await?,
        "tck-artifact-text" => {
            turn.answer(Artifact::new("text", "Generated text content")).await?;
        }
        "tck-artifact-file" => turn.answer(Artifact::new("file", inline_file())).await?,
        "tck-artifact-file-url" => turn.answer(Artifact::new("file", file_by_url())).await?,
        "tck-artifact-data" => {
            let data = Part::from(json!({"key": "value", "count": 42}));
            turn.answer(Artifact::new("data", data)).await?;
        }
        "tck-message-response" => updates.reply(Message::agent("Direct message response")).await?,
        "tck-input-required" => updates.require_input("Please say more").await?,
        "tck-reject-task" => updates.reject("This task is rejected on purpose").await?,
        "tck-stream-001" => streamed(&turn, Part::text("Stream hello from TCK")).await?,
        "tck-stream-002" => updates.complete("Completed at once").await?,
        "tck-stream-003" => streamed(&turn, Part::text("Stream task lifecycle")).await?,
        "tck-stream-ordering-001" => streamed(&turn, Part::text("Ordered output")).await?,
        "tck-stream-artifact-text" => streamed(&turn, Part::text("Streamed text content")).await?,
        "tck-stream-artifact-file" => streamed(&turn, inline_file()).await?,
        "tck-stream-artifact-chunked" => chunked(&turn).await?,
        "test-resubscribe-message-id" => {
            let time = turn.agent.streaming_timeout * 2;
            hold(&turn, time, "Completed after the streaming timeout").await?;
        }
        "acc-echo" => {
            turn.start().await?;
            turn.give(artifact("echo", turn.message().parts.clone())).await?;
            updates.complete(format!("Echo: {}", turn.text())).await?;
        }
        "acc-slow" => slow(&turn).await?,
        "acc-hold" => hold(&turn, Duration::from_secs(60), "Held to the end").await?,
        "acc-fail" => {
            turn.start().await?;
            updates.fail("Failed on purpose").await?;
        }
        "acc-auth" => updates.require_auth("Please authorize this").await?,
        _ => {
            let extensions: Vec<_> = turn.context.call().extensions.iter().collect();
            updates.complete(format!("extensions: {}", extensions.join(","))).await?;
        }
    }
    Ok(())
}

/// The inline file of the suites.
pub(super) fn inline_file() -> Part {
    Part::raw("Generated file content").with_filename("output.txt").with_media_type("text/plain")
}

/// The same file, elsewhere.
pub(super) fn file_by_url() -> Part {
    Part::url("https://example.com/output.txt")
        .with_filename("output.txt")
        .with_media_type("text/plain")
}

async fn streamed(turn: &Turn, part: Part) -> Done {
    turn.start().await?;
    turn.answer(Artifact::new("output", part)).await
}

async fn chunked(turn: &Turn) -> Done {
    turn.start().await?;
    turn.chunks("output", "output", &["chunk-1 ", "chunk-2"]).await?;
    turn.updates.complete(()).await?;
    Ok(())
}

async fn slow(turn: &Turn) -> Done {
    let metadata = turn.message().metadata.as_ref();
    let delay = metadata.and_then(|metadata| metadata.get("delayMs")?.as_f64()).unwrap_or(2000.0);
    let delay = Duration::try_from_secs_f64(delay / 1000.0).unwrap_or(Duration::from_secs(2));
    turn.start().await?;
    if !turn.canceled_within(delay).await {
        turn.answer(Artifact::new("slow", format!("slow: {}", turn.text()))).await?;
    }
    Ok(())
}

/// Works for a time, unless canceled, and completes.
async fn hold(turn: &Turn, time: Duration, text: &str) -> Done {
    turn.start().await?;
    if !turn.canceled_within(time).await {
        turn.updates.complete(text).await?;
    }
    Ok(())
}
