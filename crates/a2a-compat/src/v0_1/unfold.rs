//! Streams: what their events need to know of each other.

use a2a_core::v1::{
    StreamResponse, TaskArtifactUpdateEvent, TaskStatusUpdateEvent, stream_response::Payload,
};

use super::types::artifact_id;

/// Makes the events of one stream such that each can be written alone.
///
/// The artifacts get ids that stand for their position in the task, which is their index on the
/// wire. A task that has ended already becomes events for its artifacts and its status: no other
/// event would tell of them.
#[derive(Clone, Debug, Default)]
pub struct Unfolding {
    /// The ids of the artifacts by position.
    artifacts: Vec<String>,
}

impl Unfolding {
    /// Creates one for a stream that begins.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns what is to be written for an event of the stream.
    pub fn unfold(&mut self, event: StreamResponse) -> Vec<StreamResponse> {
        let payloads = match event.payload {
            Some(Payload::ArtifactUpdate(mut update)) => {
                if let Some(artifact) = &mut update.artifact {
                    artifact.artifact_id = self.position(&artifact.artifact_id);
                }
                vec![Payload::ArtifactUpdate(update)]
            }
            Some(Payload::Task(mut task)) => {
                for artifact in &mut task.artifacts {
                    artifact.artifact_id = self.position(&artifact.artifact_id);
                }
                if task.state().is_terminal() {
                    let artifacts = task.artifacts.into_iter().map(|artifact| {
                        Payload::ArtifactUpdate(TaskArtifactUpdateEvent {
                            task_id: task.id.clone(),
                            context_id: task.context_id.clone(),
                            artifact: Some(artifact),
                            last_chunk: true,
                            ..TaskArtifactUpdateEvent::default()
                        })
                    });
                    let mut payloads: Vec<_> = artifacts.collect();
                    payloads.push(Payload::StatusUpdate(TaskStatusUpdateEvent {
                        task_id: task.id,
                        context_id: task.context_id,
                        status: task.status,
                        metadata: task.metadata,
                    }));
                    payloads
                } else {
                    vec![Payload::Task(task)]
                }
            }
            Some(other @ (Payload::StatusUpdate(_) | Payload::Message(_))) => vec![other],
            None => Vec::new(),
        };
        payloads.into_iter().map(|payload| StreamResponse { payload: Some(payload) }).collect()
    }

    fn position(&mut self, id: &str) -> String {
        let known = self.artifacts.iter().position(|known| known == id);
        let position = known.unwrap_or_else(|| {
            self.artifacts.push(id.to_owned());
            self.artifacts.len() - 1
        });
        artifact_id(u32::try_from(position).unwrap_or(u32::MAX))
    }
}
