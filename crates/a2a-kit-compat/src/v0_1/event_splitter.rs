//! Splits events so that 0.1 can represent them.

use a2a_core::v1::{
    Artifact, StreamResponse, TaskArtifactUpdateEvent, TaskStatusUpdateEvent,
    stream_response::Payload,
};

use crate::common::task::artifact_id;

/// Splits the events of a stream into status and artifact updates.
///
/// The artifacts get ids that represent their position in the task, which is the index on the wire.
/// An ended task is split into its artifacts and its status, which no later event would report; so
/// is every task [in a subscription](Self::with_snapshots).
#[derive(Clone, Debug, Default)]
pub(crate) struct EventSplitter {
    /// The ids of the artifacts, by position.
    artifacts: Vec<String>,
    writes_snapshots: bool,
}

impl EventSplitter {
    /// Creates a splitter for a new stream.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Sets the artifacts that the task has before the stream, in order: a resumed stream does not
    /// begin with them.
    #[must_use]
    pub(crate) fn with_known(mut self, artifacts: &[Artifact]) -> Self {
        self.artifacts = artifacts.iter().map(|artifact| artifact.artifact_id.clone()).collect();
        self
    }

    /// Sets whether the artifacts of a running task are written: its subscribers have not seen them.
    #[must_use]
    pub(crate) fn with_snapshots(mut self, writes_snapshots: bool) -> Self {
        self.writes_snapshots = writes_snapshots;
        self
    }

    /// Returns the events to write for an event of the stream.
    pub(crate) fn split(&mut self, event: StreamResponse) -> Vec<StreamResponse> {
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
                let has_ended = task.state().is_terminal();
                if has_ended || self.writes_snapshots {
                    let artifacts = task.artifacts.into_iter().map(|artifact| {
                        Payload::ArtifactUpdate(TaskArtifactUpdateEvent {
                            task_id: task.id.clone(),
                            context_id: task.context_id.clone(),
                            artifact: Some(artifact),
                            last_chunk: has_ended,
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
