//! Tasks, messages and artifacts: names of states and roles, parts, and ids.

use a2a_core::{Error, Message, Result, Role, Task, TaskState, fresh_id, v1::TaskStatus};
use serde_json::{Value, json};

use super::{
    Format,
    json::{
        Object, has, object_in, objects_in, read_response, rename, require, retain_camel_case,
        take, unreadable, write_object,
    },
    member,
    part::{decode, encode},
    parts::Parts as _,
};

/// Members of a message of 0.1.
const MESSAGE_OF_V0_1: [&str; 3] = ["role", "parts", "metadata"];

/// The ids of a task and its context.
#[derive(Clone, Debug)]
pub(crate) struct TaskIds {
    pub(crate) task_id: String,
    pub(crate) context_id: String,
}

impl TaskIds {
    /// The ids in the members `task_id` and `contextId`.
    pub(super) fn of(object: &Object, task_id: &str) -> Self {
        let text = |name| object.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        Self { task_id: text(task_id), context_id: text("contextId") }
    }
}

/// Reading. `path` is the path of the object, with a dot.
impl Format {
    /// Reads a task of a response.
    ///
    /// # Errors
    ///
    /// [`InvalidAgentResponse`](a2a_core::ErrorKind::InvalidAgentResponse).
    pub(crate) fn read_task(self, task: Value) -> Result<Task> {
        let read = || {
            let mut task = task;
            if let Value::Object(task) = &mut task {
                self.read_task_members(task)?;
            }
            read_response::<Task>(&task)
        };
        let mut task = read().map_err(unreadable)?;
        task.each_part(decode);
        Ok(task)
    }

    /// Rewrites a task as one of 1.0.
    pub(super) fn read_task_members(self, task: &mut Object) -> Result<()> {
        retain_camel_case(task);
        if self == Self::V0_1 {
            read_id(task, "id")?;
            rename(task, "sessionId", "contextId");
        }
        self.require(task, "", &["id", "status"])?;
        self.read_context_id(task, "id");
        let ids = TaskIds::of(task, "id");
        self.read_status_member(task, &ids)?;
        let sender = if self == Self::V0_3 { Role::Agent } else { Role::User };
        for message in objects_in(task, "history") {
            self.read_received(message, "history.", sender, &ids)?;
        }
        let mut known: Vec<String> = Vec::new();
        for (position, artifact) in (0..).zip(objects_in(task, "artifacts")) {
            if self == Self::V0_1 {
                // Indexes may be missing or equal; ids are unique.
                let mut ids = (artifact_index(artifact)..=u32::MAX).map(artifact_id);
                let id = ids.find(|id| !known.contains(id)).unwrap_or_default();
                artifact.insert("artifactId".into(), id.clone().into());
                known.push(id);
            }
            self.read_artifact(artifact, "artifacts.", position)?;
        }
        Ok(())
    }

    /// Rewrites an artifact at a position.
    pub(super) fn read_artifact(
        self,
        artifact: &mut Object,
        path: &str,
        position: u32,
    ) -> Result<()> {
        // Missing in an example.
        if self == Self::Draft && !has(artifact, "artifactId") {
            artifact.insert("artifactId".into(), artifact_id(position).into());
        }
        self.read_parts(artifact, path)
    }

    /// Rewrites the status of a task or an update.
    pub(super) fn read_status_member(self, object: &mut Object, ids: &TaskIds) -> Result<()> {
        if self == Self::V0_3 && !has(object, "status") {
            object.insert("status".into(), json!({}));
        }
        let Some(status) = object_in(object, "status") else { return Ok(()) };
        retain_camel_case(status);
        if let Some(name) = status.get("state").and_then(Value::as_str) {
            let Some(state) = TaskState::from_any_name(name) else {
                let why = format!("unknown task state {name:?}");
                return Err(Error::invalid_params("status.state", why));
            };
            status.insert("state".into(), state.as_str_name().into());
        }
        if let Some(time) = status.remove("timestamp").and_then(|text| member::timestamp(&text)) {
            status.insert("timestamp".into(), time.to_string().into());
        }
        // The proto of 0.3 named it `update`.
        if self == Self::Draft && !has(status, "message") {
            rename(status, "update", "message");
        }
        match object_in(status, "message") {
            Some(message) => self.read_received(message, "status.message.", Role::Agent, ids),
            None => Ok(()),
        }
    }

    /// Rewrites a message of a task or a response, whose ids may be missing. `sender` is the
    /// default role.
    pub(crate) fn read_received(
        self,
        message: &mut Object,
        path: &str,
        sender: Role,
        ids: &TaskIds,
    ) -> Result<()> {
        if self == Self::V0_1 {
            message.retain(|name, _| MESSAGE_OF_V0_1.contains(&name.as_str()));
            message.insert("taskId".into(), ids.task_id.as_str().into());
            message.insert("contextId".into(), ids.context_id.as_str().into());
        }
        if self != Self::V0_3 && !has(message, "messageId") {
            message.insert("messageId".into(), fresh_id().into());
        }
        let role = message.get("role").and_then(Value::as_str).filter(|name| !name.is_empty());
        if role.is_some_and(|name| member::role(name).is_none()) {
            // Every sender but the user is the agent's side.
            message.insert("role".into(), Role::Agent.as_str_name().into());
        }
        self.read_message(message, path, sender)
    }

    /// Rewrites a message. `sender` is the default role.
    ///
    /// # Errors
    ///
    /// [`InvalidParams`](a2a_core::ErrorKind::InvalidParams) with the path of the invalid part.
    pub(crate) fn read_message(self, message: &mut Object, path: &str, sender: Role) -> Result<()> {
        let role = match message.get("role") {
            None | Some(Value::Null) => sender,
            Some(Value::String(name)) if name.is_empty() => sender,
            Some(name) => match name.as_str().and_then(member::role) {
                Some(role) => role,
                // Validation rejects unknown roles in requests.
                None => return self.read_parts(message, path),
            },
        };
        message.insert("role".into(), role.as_str_name().into());
        self.read_parts(message, path)
    }

    pub(super) fn read_parts(self, object: &mut Object, path: &str) -> Result<()> {
        retain_camel_case(object);
        self.require(object, path, &["parts"])?;
        let parts = object.get_mut("parts").and_then(Value::as_array_mut);
        for (index, part) in parts.into_iter().flatten().enumerate() {
            self.read_part(part)
                .map_err(|why| Error::invalid_params(format!("{path}parts[{index}]"), why))?;
        }
        Ok(())
    }

    /// Members are optional in 0.3: requests are validated as those of 1.0.
    pub(super) fn require(self, object: &Object, path: &str, names: &[&str]) -> Result<()> {
        if self == Self::V0_3 { Ok(()) } else { require(object, path, names) }
    }

    /// Sets a missing context id to the task id: 0.3 requires one, and all objects of a task must
    /// agree on it.
    pub(super) fn read_context_id(self, object: &mut Object, task_id: &str) {
        if self == Self::V0_3 {
            set_context_id(object, task_id);
        }
    }
}

/// Writing: rewrites messages of 1.0, after [`encode`].
impl Format {
    /// Writes a task.
    pub(crate) fn write_task(self, mut task: Task) -> Value {
        task.each_part(encode);
        task.each_status(drop_invalid_timestamp);
        let mut written = write_object(&task);
        self.write_task_members(&mut written);
        written.into()
    }

    /// Writes a message.
    pub(crate) fn write_message(self, mut message: Message) -> Value {
        message.each_part(encode);
        let mut written = write_object(&message);
        self.write_message_members(&mut written);
        written.into()
    }

    pub(super) fn write_task_members(self, task: &mut Object) {
        match self {
            Self::V0_1 => rename(task, "contextId", "sessionId"),
            Self::V0_3 => drop(task.insert("kind".into(), "task".into())),
            Self::Draft => {}
        }
        self.write_context_id(task, "id");
        self.write_status_member(task);
        objects_in(task, "history").for_each(|message| self.write_message_members(message));
        for (index, artifact) in (0..).zip(objects_in(task, "artifacts")) {
            self.write_artifact(artifact, index);
        }
    }

    pub(super) fn write_status_member(self, object: &mut Object) {
        let status = object.entry("status").or_insert_with(|| json!({}));
        let Some(status) = status.as_object_mut() else { return };
        let state = status.remove("state");
        let state = state.as_ref().and_then(Value::as_str).and_then(TaskState::from_any_name);
        if let Some(name) = self.state_name(state.unwrap_or_default()) {
            status.insert("state".into(), name.into());
        }
        if let Some(message) = object_in(status, "message") {
            self.write_message_members(message);
        }
    }

    pub(super) fn write_message_members(self, message: &mut Object) {
        let role = take(message, &["role"]);
        let role = role.as_ref().and_then(Value::as_str).and_then(member::role);
        let role = match member::role_name(role.unwrap_or_default()) {
            // 0.3 only has two roles: any role but the user's becomes the agent's.
            None if self == Self::V0_3 => Some("agent"),
            role => role,
        };
        message.extend(role.map(|role| ("role".to_owned(), role.into())));
        match self {
            Self::V0_1 => message.retain(|name, _| MESSAGE_OF_V0_1.contains(&name.as_str())),
            Self::V0_3 => drop(message.insert("kind".into(), "message".into())),
            Self::Draft => {}
        }
        self.write_parts(message);
    }

    pub(super) fn write_artifact(self, artifact: &mut Object, index: u32) {
        if self == Self::V0_1 {
            artifact.remove("artifactId");
            artifact.remove("extensions");
            artifact.insert("index".into(), index.into());
        }
        self.write_parts(artifact);
    }

    fn write_parts(self, object: &mut Object) {
        objects_in(object, "parts").for_each(|part| self.write_part(part));
    }

    /// Both revisions require a context id.
    pub(super) fn write_context_id(self, object: &mut Object, task_id: &str) {
        if self != Self::V0_1 {
            set_context_id(object, task_id);
        }
    }

    /// The name of a state; `None` if the member is omitted.
    pub(crate) fn state_name(self, state: TaskState) -> Option<&'static str> {
        Some(match state {
            TaskState::Unspecified if self == Self::Draft => return None,
            TaskState::Unspecified => "unknown",
            TaskState::Submitted => "submitted",
            TaskState::Working => "working",
            TaskState::Completed => "completed",
            TaskState::Canceled if self == Self::Draft => "cancelled",
            TaskState::Canceled => "canceled",
            TaskState::Rejected if self != Self::V0_1 => "rejected",
            TaskState::Failed | TaskState::Rejected => "failed",
            TaskState::AuthRequired if self != Self::V0_1 => "auth-required",
            TaskState::InputRequired | TaskState::AuthRequired => "input-required",
        })
    }
}

fn set_context_id(object: &mut Object, task_id: &str) {
    let is_set = object.get("contextId").and_then(Value::as_str).is_some_and(|id| !id.is_empty());
    if !is_set && let Some(task_id) = object.get(task_id).cloned() {
        object.insert("contextId".into(), task_id);
    }
}

/// Rewrites an id, which examples of 0.1 also write as a number.
pub(crate) fn read_id(object: &mut Object, name: &str) -> Result<()> {
    match object.get_mut(name) {
        None | Some(Value::Null | Value::String(_)) => Ok(()),
        Some(id) => match id.as_i64() {
            Some(number) => {
                *id = number.to_string().into();
                Ok(())
            }
            None => Err(Error::invalid_params(name, "must be a string or an integer")),
        },
    }
}

/// Drops a timestamp that JSON can't represent.
pub(crate) fn drop_invalid_timestamp(status: &mut TaskStatus) {
    status.timestamp = status.timestamp.filter(|time| serde_json::to_value(time).is_ok());
}

/// The index of an artifact of 0.1.
pub(super) fn artifact_index(artifact: &Object) -> u32 {
    let index = artifact.get("index").and_then(Value::as_u64);
    index.and_then(|index| index.try_into().ok()).unwrap_or(0)
}

/// The artifact id for an index.
pub(crate) fn artifact_id(index: u32) -> String {
    format!("artifact-{index}")
}

/// The index of an id created by [`artifact_id`].
pub(crate) fn index_of_id(artifact_id: &str) -> Option<u32> {
    artifact_id.strip_prefix("artifact-")?.parse().ok()
}
