//! Events of a run that are no text: calls of tools, and notices.

use std::time::Duration;

use a2a_core::{Artifact, Part};
use a2a_kit_operations::{TaskUpdater, UpdateError, extension::ModelEventsExtension};
use serde_json::{Value, json};

use crate::model::ToolCall;

/// Maximum length of the arguments and of the result of a call in an event, in bytes.
const MAX_VALUE: usize = 2 << 10;

/// Sends events, if the caller wants them.
#[derive(Clone, Copy)]
pub(crate) struct Events<'a>(Option<&'a TaskUpdater>);

/// Where a call of a tool is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ToolStatus {
    /// It waits for its turn, or for its approval.
    Waiting,
    Running,
    Done,
    Failed,
    /// The caller did not approve it.
    Refused,
}

/// A change of a call of a tool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ToolEvent<'a> {
    pub(crate) call: &'a ToolCall,
    /// Its position in the task, as providers may repeat the ids of calls.
    pub(crate) position: &'a str,
    pub(crate) status: ToolStatus,
    /// What the model reads of it.
    pub(crate) result: Option<&'a str>,
    /// How long the tool ran.
    pub(crate) time: Option<Duration>,
}

impl<'a> ToolEvent<'a> {
    pub(crate) fn new(call: &'a ToolCall, position: &'a str, status: ToolStatus) -> Self {
        Self { call, position, status, result: None, time: None }
    }
}

impl<'a> Events<'a> {
    pub(crate) fn new(updates: Option<&'a TaskUpdater>) -> Self {
        Self(updates)
    }

    /// Shows a call of a tool: replaces what was shown of it.
    pub(crate) async fn tool(self, event: ToolEvent<'_>) -> Result<(), UpdateError> {
        let Some(updates) = self.0 else { return Ok(()) };
        let ToolEvent { call, position, status, result, time } = event;
        let (status, is_last) = match status {
            ToolStatus::Waiting => ("waiting", false),
            ToolStatus::Running => ("running", false),
            ToolStatus::Done => ("done", true),
            ToolStatus::Failed => ("failed", true),
            ToolStatus::Refused => ("refused", true),
        };
        let mut data = json!({ "callId": call.id, "tool": call.name, "status": status });
        let arguments = call.arguments.to_string();
        data["arguments"] = match arguments.len() > MAX_VALUE {
            true => Value::from(cut(&arguments)),
            false => call.arguments.clone(),
        };
        let milliseconds = time.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
        for (member, value) in [
            ("result", result.map(|result| Value::from(cut(result)))),
            ("milliseconds", milliseconds.map(Value::from)),
        ] {
            if let Some(value) = value {
                data[member] = value;
            }
        }
        let artifact = event_artifact(&format!("tool-{position}"), "tool", data);
        match is_last {
            true => updates.artifact(artifact).await,
            false => updates.begin(artifact).await,
        }
    }

    /// Says why the answer takes longer: replaces what was said before.
    pub(crate) async fn notice(self, text: impl FnOnce() -> String) -> Result<(), UpdateError> {
        let Some(updates) = self.0 else { return Ok(()) };
        updates.artifact(event_artifact("notice", "notice", json!({ "text": text() }))).await
    }
}

fn event_artifact(id: &str, kind: &str, data: Value) -> Artifact {
    let mut artifact = Artifact::new(id, Part::data(data)).with_id(id);
    ModelEventsExtension::mark(&mut artifact, kind);
    artifact
}

/// The beginning of a text that is too long.
fn cut(text: &str) -> String {
    if text.len() <= MAX_VALUE {
        return text.to_owned();
    }
    let marker = "…";
    let end = (0..=MAX_VALUE - marker.len()).rev().find(|at| text.is_char_boundary(*at));
    format!("{}{marker}", &text[..end.unwrap_or(0)])
}
