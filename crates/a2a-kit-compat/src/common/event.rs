//! Responses of sends, and stream events.

use a2a_core::{
    Artifact, Error, Result, Role, TaskState, json,
    v1::{
        SendMessageResponse, StreamResponse, TaskStatus, TaskStatusUpdateEvent,
        send_message_response, stream_response::Payload,
    },
};
use serde_json::Value;

use super::{
    Format,
    json::{
        Object, has, object, read_response, rename, retain_camel_case, take, unreadable,
        write_object,
    },
    part::{decode, encode},
    parts::Parts as _,
    task::{TaskIds, artifact_id, artifact_index, drop_invalid_timestamp, index_of_id, read_id},
};

/// Members of an artifact update, which 0.1 has in the artifact.
const FLAGS: [&str; 2] = ["append", "lastChunk"];

/// Members of which each known event has at least one, by itself or in a wrapper.
const EVENT_MEMBERS: [&str; 14] = [
    "task",
    "message",
    "msg",
    "statusUpdate",
    "status_update",
    "artifactUpdate",
    "artifact_update",
    "artifact",
    "parts",
    "status",
    "taskId",
    "id",
    "error",
    "code",
];

/// Returns whether an event is of a type that no revision has: a client skips it. It names another
/// kind, or has members, but none of a known event.
pub(crate) fn is_unknown_event(event: &Value) -> bool {
    let Some(members) = event.as_object() else { return false };
    let kind = members.get("kind").and_then(Value::as_str);
    let known: &[&str] = match kind {
        Some("task" | "message" | "status-update" | "artifact-update") => return false,
        // An id does not make it an event of a known type.
        Some(_) => &EVENT_MEMBERS[..10],
        None => &EVENT_MEMBERS,
    };
    let is_set = |name: &&str| has(members, name);
    let is_unknown = members.values().any(|member| !member.is_null()) && !known.iter().any(is_set);
    if is_unknown {
        tracing::debug!(
            event = json::quote(&event.to_string()),
            "event of an unknown type skipped"
        );
    }
    is_unknown
}

impl Format {
    /// Reads an event.
    ///
    /// # Errors
    ///
    /// [`InvalidAgentResponse`](a2a_core::ErrorKind::InvalidAgentResponse).
    pub(crate) fn read_event(self, event: Value) -> Result<StreamResponse> {
        let (name, payload) = self.identify(event)?;
        let read = || {
            let mut payload = payload;
            if let Value::Object(payload) = &mut payload {
                self.read_payload(name, payload)?;
            }
            // A union is also read without its member.
            if !payload.is_object() {
                return Err(Error::invalid_params(name, "must be an object"));
            }
            read_response::<StreamResponse>(&object([(name, payload)]))
        };
        let mut event = read().map_err(unreadable)?;
        event.each_part(decode);
        Ok(event)
    }

    /// Reads the response of a send.
    ///
    /// # Errors
    ///
    /// [`InvalidAgentResponse`](a2a_core::ErrorKind::InvalidAgentResponse).
    pub(crate) fn read_sent(self, response: Value) -> Result<SendMessageResponse> {
        let payload = match self.read_event(response)?.payload {
            Some(Payload::Task(task)) => send_message_response::Payload::Task(task),
            Some(Payload::Message(message)) => send_message_response::Payload::Message(message),
            Some(Payload::StatusUpdate(_) | Payload::ArtifactUpdate(_)) | None => {
                return Err(Error::invalid_response(
                    "the response is neither a task nor a message",
                ));
            }
        };
        Ok(SendMessageResponse { payload: Some(payload) })
    }

    /// The payload of an event and its name in 1.0: identified by its `kind`, by `type`, by a
    /// wrapper, or else by its members.
    fn identify(self, mut event: Value) -> Result<(&'static str, Value)> {
        const WRAPPERS: [(&str, &str); 7] = [
            ("task", "task"),
            ("message", "message"),
            ("msg", "message"),
            ("statusUpdate", "statusUpdate"),
            ("status_update", "statusUpdate"),
            ("artifactUpdate", "artifactUpdate"),
            ("artifact_update", "artifactUpdate"),
        ];
        let Some(members) = event.as_object_mut() else {
            return Err(Error::invalid_response("the response is not an object"));
        };
        if self == Self::V0_1 {
            let is_task =
                ["artifacts", "history", "sessionId"].iter().any(|name| has(members, name));
            let name = match members {
                _ if has(members, "artifact") => "artifactUpdate",
                _ if is_task && !has(members, "final") => "task",
                _ => "statusUpdate",
            };
            return Ok((name, event));
        }
        let kind = ["kind", "type"].iter().find_map(|name| members.get(*name)?.as_str());
        let name = match kind {
            Some("task" | "Task") => "task",
            Some("message" | "Message") => "message",
            Some("status-update" | "TaskStatusUpdateEvent") => "statusUpdate",
            Some("artifact-update" | "TaskArtifactUpdateEvent") => "artifactUpdate",
            _ => {
                let is_wrapper =
                    |(older, _): &(&str, &str)| members.get(*older).is_some_and(Value::is_object);
                if let Some((older, name)) = WRAPPERS.into_iter().find(is_wrapper) {
                    return Ok((name, members.remove(older).unwrap_or_default()));
                }
                match members {
                    _ if has(members, "artifact") => "artifactUpdate",
                    _ if has(members, "parts") => "message",
                    _ if has(members, "taskId") => "statusUpdate",
                    _ if has(members, "id") || has(members, "status") => "task",
                    _ => {
                        let shown = json::quote(&event.to_string());
                        return Err(Error::invalid_response(format!(
                            "the response is neither a task, a message nor an update: {shown}"
                        )));
                    }
                }
            }
        };
        Ok((name, event))
    }

    /// Rewrites the payload of an event as one of 1.0.
    fn read_payload(self, name: &str, payload: &mut Object) -> Result<()> {
        match name {
            "task" => return self.read_task_members(payload),
            "message" => {
                let ids = TaskIds { task_id: String::new(), context_id: String::new() };
                return self.read_received(payload, "", Role::Agent, &ids);
            }
            _ => retain_camel_case(payload),
        }
        if self == Self::V0_1 {
            read_id(payload, "id")?;
            rename(payload, "id", "taskId");
            payload.remove("contextId");
        }
        self.read_context_id(payload, "taskId");
        let member = if name == "statusUpdate" { "status" } else { "artifact" };
        self.require(payload, "", &["taskId", member])?;
        if member == "status" {
            let ids = TaskIds::of(payload, "taskId");
            return self.read_status_member(payload, &ids);
        }
        let mut artifact = match take(payload, &["artifact"]) {
            Some(Value::Object(artifact)) => artifact,
            Some(_) => return Err(Error::invalid_params("artifact", "must be an object")),
            None => Object::new(),
        };
        if self == Self::V0_1 {
            let id = artifact_id(artifact_index(&artifact));
            artifact.insert("artifactId".into(), id.into());
            FLAGS.iter().for_each(|flag| payload.extend(artifact.remove_entry(*flag)));
        }
        self.read_artifact(&mut artifact, "artifact.", 0)?;
        payload.insert("artifact".into(), artifact.into());
        Ok(())
    }

    /// Writes an event; null if it is empty. `is_last`: whether the stream ends with the event.
    pub(crate) fn write_event(self, mut event: StreamResponse, is_last: bool) -> Value {
        event.each_part(encode);
        if self == Self::V0_1 {
            event = event_of_v0_1(event);
        }
        event.each_status(drop_invalid_timestamp);
        let mut is_final = false;
        if let Some(Payload::StatusUpdate(update)) = &event.payload {
            let state = update.status.as_ref().map(TaskStatus::state).unwrap_or_default();
            // Clients wait for `final` before they provide input, so an interrupted state is
            // final if the stream ends with it.
            let may_be_last = self == Self::V0_3 || state.is_interrupted();
            is_final = state.is_terminal() || (may_be_last && is_last);
        }
        let Some((name, Value::Object(mut payload))) = write_object(&event).into_iter().next()
        else {
            return Value::Null;
        };
        match name.as_str() {
            "task" => self.write_task_members(&mut payload),
            "message" => self.write_message_members(&mut payload),
            "statusUpdate" => {
                payload.insert("final".into(), is_final.into());
                self.write_status_member(&mut payload);
                self.write_update(&mut payload, "status-update");
            }
            _ => {
                self.write_artifact_member(&mut payload);
                self.write_update(&mut payload, "artifact-update");
            }
        }
        match self {
            Self::V0_1 | Self::V0_3 => payload.into(),
            Self::Draft => object([(&name, payload.into())]),
        }
    }

    fn write_artifact_member(self, update: &mut Object) {
        let mut artifact = match update.remove("artifact") {
            Some(Value::Object(artifact)) => artifact,
            _ => write_object(&Artifact::default()),
        };
        let id = artifact.get("artifactId").and_then(Value::as_str).unwrap_or_default();
        let index = index_of_id(id).unwrap_or(0);
        self.write_artifact(&mut artifact, index);
        for flag in FLAGS {
            if self != Self::V0_3 {
                update.entry(flag).or_insert(false.into());
            }
            if self == Self::V0_1 {
                artifact.extend(update.remove_entry(flag));
            }
        }
        update.insert("artifact".into(), artifact.into());
    }

    fn write_update(self, update: &mut Object, kind: &str) {
        self.write_context_id(update, "taskId");
        match self {
            Self::V0_1 => {
                rename(update, "taskId", "id");
                update.remove("contextId");
            }
            Self::V0_3 => drop(update.insert("kind".into(), kind.into())),
            Self::Draft => {}
        }
    }
}

/// Converts a task to its status, and a message to the status of a completed task: 0.1 has no
/// events for them.
fn event_of_v0_1(event: StreamResponse) -> StreamResponse {
    let payload = event.payload.map(|payload| match payload {
        Payload::Task(task) => Payload::StatusUpdate(TaskStatusUpdateEvent {
            task_id: task.id,
            context_id: task.context_id,
            status: task.status,
            metadata: task.metadata,
        }),
        Payload::Message(message) => Payload::StatusUpdate(TaskStatusUpdateEvent {
            task_id: message.task_id.clone(),
            status: Some(TaskStatus {
                state: TaskState::Completed.into(),
                message: Some(message),
                timestamp: None,
            }),
            ..TaskStatusUpdateEvent::default()
        }),
        update => update,
    });
    StreamResponse { payload }
}
