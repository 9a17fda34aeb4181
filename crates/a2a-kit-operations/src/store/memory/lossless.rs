//! Whether a message has no metadata and no data parts. Those hold arbitrary JSON, which protobuf
//! may not represent exactly: its numbers are doubles, and its nesting depth is limited.

use a2a_core::{
    Artifact, Message, Part,
    v1::{Task, part::Content},
};

pub(super) fn task(task: &Task) -> bool {
    task.metadata.is_none()
        && task.status_message().is_none_or(message)
        && task.history.iter().all(message)
        && task.artifacts.iter().all(artifact)
}

pub(super) fn message(message: &Message) -> bool {
    message.metadata.is_none() && message.parts.iter().all(part)
}

pub(super) fn artifact(artifact: &Artifact) -> bool {
    artifact.metadata.is_none() && artifact.parts.iter().all(part)
}

fn part(part: &Part) -> bool {
    part.metadata.is_none() && !matches!(part.content, Some(Content::Data(_)))
}
