//! A task at rest.

use std::sync::Arc;

use a2a_core::v1::Task;
use prost::{DecodeError, Message as _};

use super::plain;

/// The longest encoding that a task is packed to. The longer a task, the less of its memory
/// is overhead, and the longer it takes to unpack.
const MAX_PACKED_BYTES: usize = 16 * 1024;

/// A task, packed or not. As a message it takes some three times the memory of its encoding.
#[derive(Debug)]
pub(super) enum Body {
    /// The task itself.
    Loose(Arc<Task>),
    /// Its protobuf encoding without its ids.
    Packed(Box<[u8]>),
}

/// The ids of a task and of its context: half of what a small task says, as each message says
/// them too.
pub(super) type Ids<'a> = [&'a str; 2];

impl Body {
    /// Returns the task.
    pub(super) fn read(&self, ids: Ids<'_>) -> Result<Arc<Task>, DecodeError> {
        match self {
            Self::Loose(task) => Ok(Arc::clone(task)),
            Self::Packed(bytes) => Task::decode(&*with_ids(bytes, ids)).map(Arc::new),
        }
    }

    /// Keeps only the encoding, where that is short and says everything.
    pub(super) fn pack(&mut self, ids: Ids<'_>) {
        if let Self::Loose(task) = self
            && let Some(bytes) = pack(task, ids)
        {
            *self = Self::Packed(bytes);
        }
    }

    /// Changes the task, which is not packed afterwards.
    pub(super) fn change(&mut self, ids: Ids<'_>, change: impl FnOnce(&mut Task)) {
        if let Self::Packed(_) = self
            && let Ok(task) = self.read(ids)
        {
            *self = Self::Loose(task);
        }
        if let Self::Loose(task) = self {
            change(Arc::make_mut(task));
        }
    }
}

fn pack(task: &Task, ids: Ids<'_>) -> Option<Box<[u8]>> {
    if task.encoded_len() > MAX_PACKED_BYTES {
        return None;
    }
    let bytes = task.encode_to_vec();
    // Protobuf has doubles for the integers of JSON, and a bound to nesting.
    let exact = plain::task(task) || Task::decode(&*bytes).is_ok_and(|decoded| decoded == *task);
    exact.then(|| without_ids(&bytes, ids))
}

/// The most ids that are cut out of a packed task.
const MAX_CUTS: usize = u8::MAX as usize;

/// Cuts ids out of an encoding. In front of what is left are the number of cuts, and for each the
/// place where it was, in two bytes, of which the first bit says which id it is.
fn without_ids(bytes: &[u8], ids: Ids<'_>) -> Box<[u8]> {
    // In front of each text is its length, in one byte if it is short.
    let len = |id: &str| u8::try_from(id.len()).ok().filter(|len| (3..128).contains(len));
    let [first, second] = ids.map(len);
    let (Some(first), Some(second)) = (first.or(second), second.or(first)) else {
        return uncut(bytes);
    };
    let mut cuts: Vec<(usize, usize)> = Vec::new();
    let mut from = 0;
    while let Some(found) = memchr::memchr2(first, second, &bytes[from..])
        && cuts.len() < MAX_CUTS
    {
        let at = from + found + 1;
        let is_here = |id: &&str| {
            usize::from(bytes[at - 1]) == id.len() && bytes[at..].starts_with(id.as_bytes())
        };
        from = at;
        if let Some(which) = ids.iter().position(is_here) {
            cuts.push((at, which));
            from += ids[which].len();
        }
    }
    let cut: usize = cuts.iter().map(|(_, which)| ids[*which].len() - CUT_BYTES).sum();
    let mut packed = Vec::with_capacity(1 + bytes.len() - cut);
    packed.push(u8::try_from(cuts.len()).unwrap_or(u8::MAX));
    for (at, which) in &cuts {
        let place = u16::try_from(at | which << WHICH).unwrap_or_default();
        packed.extend(place.to_le_bytes());
    }
    let mut rest = 0;
    for (at, which) in cuts {
        packed.extend(&bytes[rest..at]);
        rest = at + ids[which].len();
    }
    packed.extend(&bytes[rest..]);
    packed.into_boxed_slice()
}

fn uncut(bytes: &[u8]) -> Box<[u8]> {
    [&[0], bytes].concat().into_boxed_slice()
}

/// Puts the ids back.
fn with_ids(packed: &[u8], ids: Ids<'_>) -> Vec<u8> {
    let Some((count, packed)) = packed.split_first() else { return Vec::new() };
    let (cuts, mut left) = packed.split_at(packed.len().min(usize::from(*count) * CUT_BYTES));
    let mut bytes = Vec::with_capacity(left.len() + usize::from(*count) * ids[0].len());
    for cut in cuts.chunks_exact(CUT_BYTES) {
        let place = usize::from(u16::from_le_bytes([cut[0], cut[1]]));
        let (at, which) = (place & !(1 << WHICH), place >> WHICH);
        let (before, behind) = left.split_at(at.saturating_sub(bytes.len()).min(left.len()));
        bytes.extend(before);
        bytes.extend(ids[which].as_bytes());
        left = behind;
    }
    bytes.extend(left);
    bytes
}

/// The bit of a cut that says which id was there.
const WHICH: usize = 15;

/// What a cut takes itself.
const CUT_BYTES: usize = 2;

#[cfg(test)]
mod tests {
    use a2a_core::{Artifact, Message, Part, TaskState, well_known::Value};
    use serde_json::json;

    use super::*;
    use crate::testing::store::scenery::task;

    fn packed(task: Task) -> Body {
        let ids = [task.id.clone(), task.context_id.clone()];
        let mut body = Body::Loose(Arc::new(task));
        body.pack([&ids[0], &ids[1]]);
        body
    }

    fn is_packed(body: &Body) -> bool {
        matches!(body, Body::Packed(_))
    }

    fn with_data(data: serde_json::Value) -> Task {
        let artifact = Artifact::new("data", Part::data(Value::from(data)));
        Task { artifacts: vec![artifact], ..task("t", "c", TaskState::Completed, 5) }
    }

    #[test]
    fn a_packed_task_reads_as_it_was() {
        let ids = |id: &str, context_id: &str| Task {
            id: id.to_owned(),
            context_id: context_id.to_owned(),
            history: (0..100)
                .map(|_| Message {
                    task_id: id.to_owned(),
                    context_id: context_id.to_owned(),
                    ..Message::user(format!("{context_id}{id}{id}"))
                })
                .collect(),
            ..Task::default()
        };
        for task in [
            Task::default(),
            task("t", "c", TaskState::Completed, -5),
            with_data(json!({ "a": [1, 2.5, null, {}] })),
            Task { history: ids("0123", "01").history[..20].to_vec(), ..ids("0123", "01") },
            ids("0123", "0123"),
            ids("abcabc", "abc"),
            ids("abc", "bca"),
            ids("", "abc"),
        ] {
            let body = packed(task.clone());
            assert!(is_packed(&body), "{}", task.id);
            assert!(*body.read([&task.id, &task.context_id]).unwrap() == task, "{}", task.id);
        }
    }

    #[test]
    fn a_packed_task_says_its_ids_nowhere() {
        let task = Task {
            id: "01a205e2-128e-75fb-9b2e-2d905879d5f0".to_owned(),
            history: vec![Message {
                task_id: "01a205e2-128e-75fb-9b2e-2d905879d5f0".to_owned(),
                ..Message::user("hi")
            }],
            ..Task::default()
        };
        let bytes = task.encoded_len();
        let Body::Packed(packed) = packed(task) else { panic!("it is not packed") };
        assert_eq!(packed.len(), bytes + 1 + 2 * CUT_BYTES - 2 * 36);
    }

    #[test]
    fn a_task_that_protobuf_can_not_hold_exactly_is_not_packed() {
        let mut deep = json!(1);
        for _ in 0..200 {
            deep = json!([deep]);
        }
        for data in [json!({ "id": u64::MAX }), json!([i64::MIN + 1]), deep] {
            let body = packed(with_data(data));
            assert!(!is_packed(&body), "{body:?}");
        }
    }

    #[test]
    fn a_packed_task_can_still_be_changed() {
        let mut body = packed(task("t", "c", TaskState::Completed, 5));
        let late = Artifact::new("late", Part::text("late"));
        body.change(["t", "c"], |task| task.artifacts.push(late));
        assert_eq!(body.read(["t", "c"]).unwrap().text(), "late");
    }

    #[test]
    fn a_long_task_is_not_packed() {
        let mut task = task("t", "c", TaskState::Completed, 5);
        task.artifacts = vec![Artifact::new("long", Part::text("x".repeat(MAX_PACKED_BYTES)))];
        assert!(!is_packed(&packed(task)));
    }
}
