//! A task at rest.

use std::sync::Arc;

use a2a_core::{
    Artifact, Message, Part,
    v1::{Task, part::Content},
};
use prost::{DecodeError, Message as _};

/// The longest encoding that a task is packed to. The longer a task, the less of its memory
/// is overhead, and the longer it takes to unpack.
const MAX_PACKED_BYTES: usize = 16 * 1024;

/// A task, packed or not. As a message it takes some three times the memory of its encoding.
#[derive(Debug)]
pub(super) enum Body {
    /// The task itself.
    Loose(Arc<Task>),
    /// Its protobuf encoding, and while it is read often the task beside it.
    Packed { bytes: Box<[u8]>, warm: Option<Arc<Task>> },
}

impl Body {
    /// Returns the task.
    pub(super) fn read(&self) -> Result<Arc<Task>, DecodeError> {
        match self {
            Self::Loose(task) | Self::Packed { warm: Some(task), .. } => Ok(Arc::clone(task)),
            Self::Packed { bytes, warm: None } => Task::decode(&**bytes).map(Arc::new),
        }
    }

    /// Returns the task and keeps it at hand, and whether it was not at hand before.
    pub(super) fn warm(&mut self) -> Result<(Arc<Task>, bool), DecodeError> {
        let task = self.read()?;
        let was_cold = matches!(self, Self::Packed { warm: None, .. });
        if let Self::Packed { warm, .. } = self {
            *warm = Some(Arc::clone(&task));
        }
        Ok((task, was_cold))
    }

    /// Keeps only the encoding, where that is short and says everything.
    pub(super) fn cool(&mut self) {
        match self {
            Self::Packed { warm, .. } => *warm = None,
            Self::Loose(task) => {
                if let Some(bytes) = pack(task) {
                    *self = Self::Packed { bytes, warm: None };
                }
            }
        }
    }

    /// Changes the task, which is not packed afterwards.
    pub(super) fn change(&mut self, change: impl FnOnce(&mut Task)) {
        if let Self::Packed { .. } = self
            && let Ok(task) = self.read()
        {
            *self = Self::Loose(task);
        }
        if let Self::Loose(task) = self {
            change(Arc::make_mut(task));
        }
    }
}

fn pack(task: &Task) -> Option<Box<[u8]>> {
    if task.encoded_len() > MAX_PACKED_BYTES {
        return None;
    }
    let bytes = task.encode_to_vec();
    // Protobuf has doubles for the integers of JSON, and a bound to nesting.
    let exact = is_plain(task) || Task::decode(&*bytes).is_ok_and(|decoded| decoded == *task);
    exact.then(|| bytes.into_boxed_slice())
}

/// Whether a task has no free data, which protobuf may not hold exactly.
fn is_plain(task: &Task) -> bool {
    let part =
        |part: &Part| part.metadata.is_none() && !matches!(part.content, Some(Content::Data(_)));
    let message = |message: &Message| message.metadata.is_none() && message.parts.iter().all(part);
    let artifact =
        |artifact: &Artifact| artifact.metadata.is_none() && artifact.parts.iter().all(part);
    task.metadata.is_none()
        && task.status_message().is_none_or(message)
        && task.history.iter().all(message)
        && task.artifacts.iter().all(artifact)
}

#[cfg(test)]
mod tests {
    use a2a_core::{TaskState, well_known::Value};
    use serde_json::json;

    use super::*;
    use crate::testing::store::scenery::task;

    fn cooled(task: Task) -> Body {
        let mut body = Body::Loose(Arc::new(task));
        body.cool();
        body
    }

    fn is_packed(body: &Body) -> bool {
        matches!(body, Body::Packed { .. })
    }

    fn with_data(data: serde_json::Value) -> Task {
        let artifact = Artifact::new("data", Part::data(Value::from(data)));
        Task { artifacts: vec![artifact], ..task("t", "c", TaskState::Completed, 5) }
    }

    #[test]
    fn a_packed_task_reads_as_it_was() {
        for task in [
            Task::default(),
            task("t", "c", TaskState::Completed, -5),
            with_data(json!({ "a": [1, 2.5, null, {}] })),
        ] {
            let mut body = cooled(task.clone());
            assert!(is_packed(&body), "{task:?}");
            assert_eq!(*body.read().unwrap(), task);
            assert_eq!(body.warm().unwrap(), (Arc::new(task.clone()), true));
            assert_eq!(body.warm().unwrap(), (Arc::new(task), false));
        }
    }

    #[test]
    fn a_task_that_protobuf_can_not_hold_exactly_is_not_packed() {
        let mut deep = json!(1);
        for _ in 0..200 {
            deep = json!([deep]);
        }
        for data in [json!({ "id": u64::MAX }), json!([i64::MIN + 1]), deep] {
            let body = cooled(with_data(data));
            assert!(!is_packed(&body), "{body:?}");
        }
    }

    #[test]
    fn a_packed_task_can_still_be_changed() {
        let mut body = cooled(task("t", "c", TaskState::Completed, 5));
        body.change(|task| task.artifacts.push(Artifact::new("late", Part::text("late"))));
        assert_eq!(body.read().unwrap().text(), "late");
    }

    #[test]
    fn a_long_task_is_not_packed() {
        let mut task = task("t", "c", TaskState::Completed, 5);
        task.artifacts = vec![Artifact::new("long", Part::text("x".repeat(MAX_PACKED_BYTES)))];
        assert!(!is_packed(&cooled(task)));
    }
}
