//! Table 4: the profile for measurements. What is measured is the library, so nothing waits and
//! nothing is said that is not asked for.

use std::time::Duration;

use a2a_core::{Artifact, Message, Part, TaskState};

use super::{Done, Turn};

/// The most events or messages that one task may ask for.
const MAX: usize = 1_000_000;

pub(super) async fn run(turn: Turn) -> Done {
    let text = turn.text();
    match text.split_once(':') {
        Some(("stream", count)) => stream(&turn, number(count)).await,
        // So that many can subscribe before the first event.
        Some(("later", count)) => {
            turn.start().await?;
            tokio::time::sleep(Duration::from_secs(1)).await;
            stream(&turn, number(count)).await
        }
        Some(("history", count)) => history(&turn, number(count)).await,
        _ if text == "hold" => {
            turn.start().await?;
            turn.context.cancelled().await;
            Ok(())
        }
        _ => {
            turn.give(Artifact::new("echo", format!("Echo: {text}"))).await?;
            turn.updates.complete(()).await?;
            Ok(())
        }
    }
}

fn number(text: &str) -> usize {
    text.trim().parse().unwrap_or(0).min(MAX)
}

async fn stream(turn: &Turn, count: usize) -> Done {
    turn.start().await?;
    let task = turn.context.task();
    let known = task.artifacts.first().filter(|_| turn.context.is_rerun());
    let artifact_id = known.map_or_else(a2a_core::fresh_id, |known| known.artifact_id.clone());
    for index in known.map_or(0, |known| known.parts.len())..count {
        let artifact = Artifact {
            artifact_id: artifact_id.clone(),
            parts: vec![Part::text(format!("chunk {index:04} of the streamed answer"))],
            ..Artifact::default()
        };
        match (index, index + 1 == count) {
            (0, true) => turn.updates.artifact(artifact).await?,
            (0, false) => turn.updates.begin(artifact).await?,
            (_, false) => turn.updates.append(artifact).await?,
            (_, true) => turn.updates.append_last(artifact).await?,
        }
    }
    turn.updates.complete(()).await?;
    Ok(())
}

/// The message of a superseded status becomes history, and the user's is there already.
async fn history(turn: &Turn, count: usize) -> Done {
    let said = turn.context.task().history.len().max(1);
    for index in said..count {
        let message = Message::agent(format!("message {index:04} of the history"));
        turn.updates.status(TaskState::Working, message).await?;
    }
    turn.updates.complete(()).await?;
    Ok(())
}
