//! Table 2: behaviour by the start of the first text part.

use std::time::Duration;

use a2a_core::{Artifact, Message, Part};
use serde_json::json;

use super::{
    Done, Turn, client_parse,
    message_id::{file_by_url, inline_file},
};

pub(super) async fn run(name: &str, turn: Turn) -> Done {
    let updates = &turn.updates;
    if name == "tck-message-response" {
        updates.reply(Message::agent("Direct message response")).await?;
        return Ok(());
    }
    turn.start().await?;
    match name {
        "tck-complete-task" => updates.complete("Completed at once").await?,
        "tck-task-failure" => updates.fail("Failed on purpose").await?,
        "tck-reject-task" => updates.reject("This task is rejected on purpose").await?,
        "tck-input-required" => updates.require_input("Please say more").await?,
        "tck-auth-required" => updates.require_auth("Please authorize this").await?,
        "tck-multi-turn" => {
            if turn.text().trim_start().to_lowercase().starts_with("done") {
                updates.complete("Thank you, that is all").await?;
            } else {
                updates.require_input("Say more, or `done`").await?;
            }
        }
        "tck-cancel" => turn.context.cancelled().await,
        "tck-long-running" => {
            if !turn.canceled_within(Duration::from_secs(1)).await {
                turn.answer(Artifact::new("result", "Finished after a second")).await?;
            }
        }
        "tck-artifact-text" => {
            turn.answer(Artifact::new("text", "Generated text content")).await?;
        }
        "tck-artifact-data" => {
            let data = Part::from(json!({"key": "value", "count": 42}));
            turn.answer(Artifact::new("data", data)).await?;
        }
        "tck-artifact-file" => turn.answer(Artifact::new("file", inline_file())).await?,
        "tck-artifact-file-url" => turn.answer(Artifact::new("file", file_by_url())).await?,
        "tck-stream-basic" => turn.answer(Artifact::new("output", "Streamed content")).await?,
        "tck-stream-chunked" => chunked(&turn).await?,
        "tck-client-parse" => client_parse::run(&turn).await?,
        unknown => updates.fail(format!("Unknown behaviour: {unknown}")).await?,
    }
    Ok(())
}

async fn chunked(turn: &Turn) -> Done {
    turn.chunks("output", "output", &["chunk 1 ", "chunk 2 ", "chunk 3"]).await?;
    turn.updates.complete(()).await?;
    Ok(())
}
