//! Packed representation of ended tasks.

use std::sync::Arc;

use a2a_core::v1::Task;
use prost::{DecodeError, Message as _};

use super::lossless;

/// Maximum size of a packed encoding. Longer tasks have less overhead to save, and take longer to
/// unpack.
const MAX_PACKED_BYTES: usize = 16 * 1024;

/// A task, packed or not. Unpacked it takes about three times the memory of its encoding.
#[derive(Debug)]
pub(super) enum TaskBody {
    /// The task itself.
    Unpacked(Arc<Task>),
    /// The protobuf encoding, without the ids.
    Packed(Box<[u8]>),
}

/// The ids of a task and of its context. They are repeated in each message, and make up half of a
/// small task.
pub(super) type Ids<'a> = [&'a str; 2];

impl TaskBody {
    /// Returns the task.
    pub(super) fn read(&self, ids: Ids<'_>) -> Result<Arc<Task>, DecodeError> {
        match self {
            Self::Unpacked(task) => Ok(Arc::clone(task)),
            Self::Packed(bytes) => Task::decode(&*restore_ids(bytes, ids)).map(Arc::new),
        }
    }

    /// Packs the task, whose encoding has this length, if that is short and lossless.
    pub(super) fn pack(&mut self, len: usize, ids: Ids<'_>) {
        if let Self::Unpacked(task) = self
            && len <= MAX_PACKED_BYTES
            && let Some(bytes) = pack(task, len, ids)
        {
            *self = Self::Packed(bytes);
        }
    }

    /// Modifies the task, unpacking it if necessary.
    pub(super) fn change(&mut self, ids: Ids<'_>, change: impl FnOnce(&mut Task)) {
        if let Self::Packed(_) = self
            && let Ok(task) = self.read(ids)
        {
            *self = Self::Unpacked(task);
        }
        if let Self::Unpacked(task) = self {
            change(Arc::make_mut(task));
        }
    }
}

fn pack(task: &Task, len: usize, ids: Ids<'_>) -> Option<Box<[u8]>> {
    let mut bytes = Vec::with_capacity(len);
    task.encode_raw(&mut bytes);
    // Protobuf stores JSON integers as doubles, and its nesting depth is limited.
    let exact = lossless::task(task) || Task::decode(&*bytes).is_ok_and(|decoded| decoded == *task);
    exact.then(|| strip_ids(&bytes, ids))
}

/// Maximum number of ids that are removed from a packed task.
const MAX_CUTS: usize = u8::MAX as usize;

/// Removes the ids from an encoding. The result starts with the number of removed ids and the
/// offset of each, in two bytes whose highest bit tells which id it is.
fn strip_ids(bytes: &[u8], ids: Ids<'_>) -> Box<[u8]> {
    // A text is preceded by its length, in one byte if it is short.
    let len = |id: &str| u8::try_from(id.len()).ok().filter(|len| (3..128).contains(len));
    let [first, second] = ids.map(len);
    let (Some(first), Some(second)) = (first.or(second), second.or(first)) else {
        return [&[0], bytes].concat().into_boxed_slice();
    };
    let mut cuts = [0_u16; MAX_CUTS];
    let (mut count, mut cut, mut from) = (0, 0, 0);
    while let Some(found) = memchr::memchr2(first, second, &bytes[from..])
        && count < MAX_CUTS
    {
        let at = from + found + 1;
        let is_here = |id: &&str| {
            usize::from(bytes[at - 1]) == id.len() && bytes[at..].starts_with(id.as_bytes())
        };
        from = at;
        if let Some(which) = ids.iter().position(is_here) {
            cuts[count] = u16::try_from(at | which << WHICH).unwrap_or_default();
            count += 1;
            cut += ids[which].len() - CUT_BYTES;
            from += ids[which].len();
        }
    }
    let mut packed = Vec::with_capacity(1 + bytes.len() - cut);
    packed.push(u8::try_from(count).unwrap_or(u8::MAX));
    packed.extend(cuts[..count].iter().flat_map(|cut| cut.to_le_bytes()));
    let mut rest = 0;
    for cut in &cuts[..count] {
        let (at, which) = place(*cut);
        packed.extend_from_slice(&bytes[rest..at]);
        rest = at + ids[which].len();
    }
    packed.extend_from_slice(&bytes[rest..]);
    packed.into_boxed_slice()
}

/// Inserts the ids again.
fn restore_ids(packed: &[u8], ids: Ids<'_>) -> Vec<u8> {
    let Some((count, packed)) = packed.split_first() else { return Vec::new() };
    let (cuts, mut left) = packed.split_at(packed.len().min(usize::from(*count) * CUT_BYTES));
    let mut bytes = Vec::with_capacity(left.len() + usize::from(*count) * ids[0].len());
    for cut in cuts.chunks_exact(CUT_BYTES) {
        let (at, which) = place(u16::from_le_bytes([cut[0], cut[1]]));
        let (before, behind) = left.split_at(at.saturating_sub(bytes.len()).min(left.len()));
        bytes.extend(before);
        bytes.extend(ids[which].as_bytes());
        left = behind;
    }
    bytes.extend(left);
    bytes
}

/// The offset of a removed id, and which one it is.
fn place(cut: u16) -> (usize, usize) {
    let cut = usize::from(cut);
    (cut & !(1 << WHICH), cut >> WHICH)
}

/// The bit of an offset that tells which id was removed.
const WHICH: usize = 15;

/// The size of an offset.
const CUT_BYTES: usize = 2;

#[cfg(test)]
mod tests {
    use a2a_core::{
        Artifact, Message, Part, TaskState,
        v1::TaskStatus,
        well_known::{Timestamp, Value},
    };
    use serde_json::json;

    use super::*;

    fn task(id: &str, context_id: &str, state: TaskState, millis: i64) -> Task {
        let timestamp = Some(Timestamp::from_millis(millis));
        Task {
            id: id.to_owned(),
            context_id: context_id.to_owned(),
            status: Some(TaskStatus { timestamp, ..TaskStatus::now(state, None) }),
            history: vec![Message::user(format!("please do {id}"))],
            ..Task::default()
        }
    }

    fn packed(task: Task) -> TaskBody {
        let ids = [task.id.clone(), task.context_id.clone()];
        let len = task.encoded_len();
        let mut body = TaskBody::Unpacked(Arc::new(task));
        body.pack(len, [&ids[0], &ids[1]]);
        body
    }

    fn is_packed(body: &TaskBody) -> bool {
        matches!(body, TaskBody::Packed(_))
    }

    fn with_data(data: serde_json::Value) -> Task {
        let artifact = Artifact::new("data", Part::data(Value::from(data)));
        Task { artifacts: vec![artifact], ..task("t", "c", TaskState::Completed, 5) }
    }

    #[test]
    fn packed_task_unpacks_unchanged() {
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
    fn packed_task_does_not_contain_its_ids() {
        let task = Task {
            id: "01a205e2-128e-75fb-9b2e-2d905879d5f0".to_owned(),
            history: vec![Message {
                task_id: "01a205e2-128e-75fb-9b2e-2d905879d5f0".to_owned(),
                ..Message::user("hi")
            }],
            ..Task::default()
        };
        let bytes = task.encoded_len();
        let TaskBody::Packed(packed) = packed(task) else { panic!("it is not packed") };
        assert_eq!(packed.len(), bytes + 1 + 2 * CUT_BYTES - 2 * 36);
    }

    #[test]
    fn lossy_task_is_not_packed() {
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
    fn packed_task_can_be_modified() {
        let mut body = packed(task("t", "c", TaskState::Completed, 5));
        let late = Artifact::new("late", Part::text("late"));
        body.change(["t", "c"], |task| task.artifacts.push(late));
        assert_eq!(body.read(["t", "c"]).unwrap().text(), "late");
    }

    #[test]
    fn long_task_is_not_packed() {
        let mut task = task("t", "c", TaskState::Completed, 5);
        task.artifacts = vec![Artifact::new("long", Part::text("x".repeat(MAX_PACKED_BYTES)))];
        assert!(!is_packed(&packed(task)));
    }
}
