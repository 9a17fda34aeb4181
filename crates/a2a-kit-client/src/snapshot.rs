//! A task assembled from its events.

use std::{
    collections::{HashMap, HashSet},
    mem,
};

use a2a_core::{
    Error, ErrorKind, Result,
    v1::{Artifact, Message, Part, Task, stream_response::Payload},
};
use a2a_kit_operations::Event;
use prost::Message as _;

/// The task as described by the events of a stream so far.
#[derive(Clone, Debug)]
pub struct Snapshot {
    task: Option<Task>,
    is_complete: bool,
    /// At least the size of the task.
    bytes: usize,
    max_bytes: usize,
    has_artifacts: bool,
}

impl Snapshot {
    /// The default of [`with_max_bytes`](Self::with_max_bytes): 256 MiB.
    pub const DEFAULT_MAX_BYTES: usize = 256 << 20;

    /// Creates an empty snapshot.
    pub fn new() -> Self {
        let max_bytes = Self::DEFAULT_MAX_BYTES;
        Self { task: None, is_complete: false, bytes: 0, max_bytes, has_artifacts: true }
    }

    /// Sets whether artifacts are part of the task.
    pub(crate) fn with_artifacts(mut self, has_artifacts: bool) -> Self {
        self.has_artifacts = has_artifacts;
        self
    }

    /// Sets the maximum size of the task, in bytes: that of its encoding, and what each message,
    /// artifact and part takes in memory besides. Default: 256 MiB.
    #[must_use]
    pub fn with_max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Applies an event. A `Task` replaces the previous state, except for artifacts that it does not
    /// list: not every agent includes in a `Task` what it has streamed.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidAgentResponse`] if the task exceeds the
    /// [maximum size](Self::with_max_bytes), after which it is incomplete.
    pub fn apply(&mut self, event: &Event) -> Result<()> {
        match event.payload() {
            Some(Payload::Task(task)) => {
                let before = self.task.take().filter(|before| before.id == task.id);
                let mut task = task.clone();
                let known = before.map(|before| before.artifacts).unwrap_or_default();
                task.artifacts =
                    if self.has_artifacts { merge(known, task.artifacts) } else { Vec::new() };
                self.bytes = size_of_task(&task);
                self.task = Some(task);
                self.is_complete = true;
            }
            Some(Payload::StatusUpdate(update)) => {
                self.task_mut(&update.task_id, &update.context_id).apply_status(update);
                let message = update.status.as_ref().and_then(|status| status.message.as_ref());
                self.bytes += update.encoded_len() + message.map_or(0, overhead_of_message);
            }
            Some(Payload::ArtifactUpdate(update)) => {
                let has_artifacts = self.has_artifacts;
                let task = self.task_mut(&update.task_id, &update.context_id);
                if !has_artifacts {
                    return Ok(());
                }
                task.apply_artifact(update);
                let artifact = update.artifact.as_ref();
                self.bytes += update.encoded_len() + artifact.map_or(0, overhead_of_artifact);
            }
            Some(Payload::Message(_)) | None => {}
        }
        self.check_size()
    }

    /// Checks the size, which is counted again if it seems to be exceeded: updates also replace.
    fn check_size(&mut self) -> Result<()> {
        if self.bytes <= self.max_bytes {
            return Ok(());
        }
        self.bytes = self.task.as_ref().map_or(0, size_of_task);
        if self.bytes <= self.max_bytes {
            return Ok(());
        }
        let message = format!("the task exceeds {} bytes (max_task_bytes)", self.max_bytes);
        Err(Error::new(ErrorKind::InvalidAgentResponse, message))
    }

    // Some agents open a stream with an update instead of the task.
    fn task_mut(&mut self, task_id: &str, context_id: &str) -> &mut Task {
        self.task.get_or_insert_with(|| Task {
            id: task_id.to_owned(),
            context_id: context_id.to_owned(),
            ..Task::default()
        })
    }

    /// The task so far; `None` before the first event of a task.
    pub fn task(&self) -> Option<&Task> {
        self.task.as_ref()
    }

    /// Returns whether an event contained the whole task, and not only updates of it.
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Returns the task.
    pub fn into_task(self) -> Option<Task> {
        self.task
    }

    /// Returns whether `task` has the known status, and no artifact that is unknown or different.
    /// The history is ignored: its length differs between responses.
    pub(crate) fn covers(&self, task: &Task) -> bool {
        let Some(known) = &self.task else { return false };
        if known.status != task.status {
            return false;
        }
        if known.artifacts == task.artifacts {
            return true;
        }
        let by_id: HashMap<_, _> =
            known.artifacts.iter().map(|artifact| (&*artifact.artifact_id, artifact)).collect();
        task.artifacts.iter().all(|new| by_id.get(&*new.artifact_id) == Some(&new))
    }
}

impl Default for Snapshot {
    fn default() -> Self {
        Self::new()
    }
}

/// Adds the known artifacts that a snapshot does not list, each after the one that it followed.
fn merge(known: Vec<Artifact>, listed: Vec<Artifact>) -> Vec<Artifact> {
    if known.is_empty() {
        return listed;
    }
    let ids: HashSet<_> = listed.iter().map(|artifact| artifact.artifact_id.clone()).collect();
    // The unlisted artifacts by the listed one before them.
    let mut first = Vec::new();
    let mut following: HashMap<String, Vec<Artifact>> = HashMap::new();
    let mut previous = None;
    for artifact in known {
        if ids.contains(&artifact.artifact_id) {
            previous = Some(artifact.artifact_id);
            continue;
        }
        match &previous {
            None => first.push(artifact),
            Some(id) => following.entry(id.clone()).or_default().push(artifact),
        }
    }
    let mut merged = first;
    for artifact in listed {
        let unlisted = following.get_mut(&artifact.artifact_id).map(mem::take);
        merged.push(artifact);
        merged.extend(unlisted.unwrap_or_default());
    }
    merged
}

fn size_of_task(task: &Task) -> usize {
    let messages = task.history.iter().chain(task.status_message()).map(overhead_of_message);
    let artifacts = task.artifacts.iter().map(overhead_of_artifact);
    task.encoded_len() + messages.sum::<usize>() + artifacts.sum::<usize>()
}

fn overhead_of_message(message: &Message) -> usize {
    size_of::<Message>() + message.parts.len() * size_of::<Part>()
}

fn overhead_of_artifact(artifact: &Artifact) -> usize {
    size_of::<Artifact>() + artifact.parts.len() * size_of::<Part>()
}

#[cfg(test)]
mod tests {
    use a2a_core::{TaskState, v1::StreamResponse, v1::TaskArtifactUpdateEvent};

    use super::*;
    use crate::test_agent::{chunk, snapshot, status, task};

    fn artifact(id: &str, text: &str) -> Artifact {
        Artifact::new(id, text).with_id(id)
    }

    fn listing(artifacts: &[(&str, &str)]) -> Event {
        let artifacts = artifacts.iter().map(|(id, text)| artifact(id, text)).collect();
        snapshot(0, Task { artifacts, ..task(TaskState::Working) })
    }

    fn texts(snapshot: &Snapshot) -> Vec<String> {
        let artifacts = snapshot.task().unwrap().artifacts.iter();
        artifacts.map(|artifact| format!("{}:{}", artifact.artifact_id, artifact.text())).collect()
    }

    #[test]
    fn streamed_artifact_is_kept_if_a_snapshot_does_not_list_it() {
        let mut known = Snapshot::new();
        for event in [chunk(0, "one "), listing(&[]), chunk(0, "two")] {
            known.apply(&event).unwrap();
        }
        assert_eq!(texts(&known), ["a:one two"]);
    }

    #[test]
    fn artifacts_of_a_snapshot_replace_known_ones_and_keep_their_order() {
        for (known, listed, expected) in [
            (&[("a", "1"), ("b", "2")][..], &[("b", "3"), ("c", "4")][..], "a:1 b:3 c:4"),
            (&[("a", "1"), ("b", "2"), ("c", "3")], &[("c", "4"), ("a", "5")], "c:4 a:5 b:2"),
            (&[("a", "1")], &[("b", "2")], "a:1 b:2"),
            (&[("a", "1"), ("b", "2")], &[("a", "3"), ("a", "4")], "a:3 b:2 a:4"),
            (&[], &[("a", "1")], "a:1"),
        ] {
            let mut snapshot = Snapshot::new();
            snapshot.apply(&listing(known)).unwrap();
            snapshot.apply(&listing(listed)).unwrap();
            assert_eq!(texts(&snapshot).join(" "), expected, "{known:?} {listed:?}");
        }
    }

    #[test]
    fn artifacts_of_another_task_are_not_kept() {
        let mut known = Snapshot::new();
        known.apply(&chunk(0, "one")).unwrap();
        let other = Task { id: "other".into(), ..task(TaskState::Working) };
        known.apply(&snapshot(0, other)).unwrap();
        assert!(texts(&known).is_empty());
    }

    #[test]
    fn snapshot_without_news_is_covered() {
        let mut known = Snapshot::new();
        known.apply(&listing(&[("a", "1"), ("b", "2")])).unwrap();
        for (listed, covered) in [
            (&[][..], true),
            (&[("b", "2")], true),
            (&[("a", "1"), ("b", "2")], true),
            (&[("a", "1"), ("b", "3")], false),
            (&[("c", "1")], false),
        ] {
            let event = listing(listed);
            assert_eq!(known.covers(event.task().unwrap()), covered, "{listed:?}");
        }
        assert!(!known.covers(&task(TaskState::Completed)));
    }

    #[test]
    fn task_beyond_the_maximum_size_is_an_error() {
        let mut known = Snapshot::new().with_max_bytes(64 << 10);
        let text = "x".repeat(1_000);
        let applied = (0..100).take_while(|_| known.apply(&chunk(0, &text)).is_ok()).count();
        assert!((40..65).contains(&applied), "{applied}");
        let error = known.apply(&chunk(0, &text)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidAgentResponse);
        assert!(error.message().contains("65536 bytes"), "{error}");

        // Many small parts take more memory than their encoding.
        let mut known = Snapshot::new().with_max_bytes(64 << 10);
        let applied = (0..10_000).take_while(|_| known.apply(&chunk(0, "x")).is_ok()).count();
        assert!(applied < (64 << 10) / size_of::<Part>(), "{applied}");
    }

    #[test]
    fn replaced_artifacts_do_not_count() {
        let mut known = Snapshot::new().with_max_bytes(64 << 10);
        let text = "x".repeat(10_000);
        for _ in 0..100 {
            let artifact = Some(artifact("a", &text));
            let update = TaskArtifactUpdateEvent { artifact, ..Default::default() };
            let payload = Some(Payload::ArtifactUpdate(update));
            known.apply(&Event::new(None, StreamResponse { payload })).unwrap();
        }
        known.apply(&status(0, TaskState::Completed)).unwrap();
    }
}
