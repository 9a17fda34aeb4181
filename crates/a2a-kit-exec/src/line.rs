//! The lines that a command writes. `line.schema.json` describes them.

use a2a_core::{Artifact, Message, Part, Role, TaskState, well_known::Struct};
use serde::Deserialize;
use serde_json::{Map, Number, Value};

/// The members of which each line has one, for people.
pub(crate) const EXPECTED: &str =
    "a JSON object with one of text, parts, artifact, state, progress, message, history";

/// What a line says.
#[derive(Debug)]
pub(crate) enum Line {
    /// A chunk of the output.
    Output(Vec<Part>),
    /// A whole artifact, or a chunk of one.
    Artifact { artifact: Artifact, append: bool, last_chunk: bool },
    /// A new status; one that asks for input gets the reply on the next line of stdin.
    Status(TaskState, Option<Message>),
    /// An answer in place of a task.
    Message(Message),
    /// A request for this number of earlier tasks; they are the next line of stdin.
    History(u8),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Members {
    text: Option<String>,
    #[serde(default)]
    parts: Vec<Part>,
    metadata: Option<Struct>,
    artifact: Option<Artifact>,
    #[serde(default)]
    append: bool,
    last_chunk: Option<bool>,
    state: Option<String>,
    progress: Option<Number>,
    message: Option<Message>,
    history: Option<u8>,
}

impl Line {
    /// Reads a line; `None` if it is not of the protocol.
    ///
    /// # Errors
    ///
    /// A line of the protocol is not valid.
    pub(crate) fn parse(line: &[u8]) -> Result<Option<Self>, String> {
        const KINDS: [&str; 7] =
            ["text", "parts", "artifact", "state", "progress", "message", "history"];
        let Ok(object) = serde_json::from_slice::<Map<String, Value>>(line) else {
            return Ok(None);
        };
        if !KINDS.iter().any(|kind| object.contains_key(*kind)) {
            return Ok(None);
        }
        serde_json::from_value::<Members>(Value::Object(object))
            .map_err(|error| error.to_string())
            .and_then(Members::line)
            .map(Some)
    }
}

impl Members {
    fn line(self) -> Result<Line, String> {
        let Self { text, parts, metadata, artifact, append, last_chunk, .. } = self;
        let Self { state, progress, message, history, .. } = self;
        let has_content = text.is_some() || !parts.is_empty();
        let mut parts: Vec<_> = text.map(Part::text).into_iter().chain(parts).collect();
        let kinds = [artifact.is_some(), state.is_some(), progress.is_some(), message.is_some()];
        let kinds =
            kinds.into_iter().chain([history.is_some()]).filter(|is_there| *is_there).count();
        if kinds > 1 {
            return Err(
                "only one of artifact, state, progress, message, history is allowed".to_owned()
            );
        }
        if artifact.is_none() && (append || last_chunk.is_some()) {
            return Err("append and lastChunk need artifact".to_owned());
        }
        let is_status = state.is_some() || progress.is_some();
        if kinds == 1 && !is_status && has_content {
            return Err("text and parts belong into artifact or message".to_owned());
        }
        if metadata.is_some() && !(is_status && (has_content || progress.is_some())) {
            return Err("metadata needs state with text or parts, or progress".to_owned());
        }
        Ok(if let Some(mut artifact) = artifact {
            if artifact.artifact_id.is_empty() {
                if append {
                    return Err("append needs artifact.artifactId".to_owned());
                }
                artifact.artifact_id = a2a_core::fresh_id();
            }
            Line::Artifact { artifact, append, last_chunk: last_chunk.unwrap_or(!append) }
        } else if let Some(message) = message {
            Line::Message(message)
        } else if let Some(count) = history {
            if !(1..=100).contains(&count) {
                return Err("history is a number from 1 to 100".to_owned());
            }
            Line::History(count)
        } else if let Some(progress) = progress {
            let share = progress.as_f64().filter(|share| (0.0..=1.0).contains(share));
            let Some(share) = share else {
                return Err("progress is a number from 0 to 1".to_owned());
            };
            if !has_content {
                parts.push(Part::text(format!("{:.0} %", share * 100.0)));
            }
            let mut metadata = metadata.unwrap_or_default();
            metadata.insert("progress", Value::Number(progress));
            Line::Status(TaskState::Working, Some(message_of(parts, Some(metadata))))
        } else if let Some(state) = state {
            let message = has_content.then(|| message_of(parts, metadata));
            Line::Status(state_of(&state)?, message)
        } else {
            Line::Output(parts)
        })
    }
}

fn message_of(parts: Vec<Part>, metadata: Option<Struct>) -> Message {
    Message { metadata, ..Message::new(Role::Agent, parts) }
}

/// Reads a state: `working`, `input-required`, `TASK_STATE_WORKING`.
fn state_of(text: &str) -> Result<TaskState, String> {
    let name = text.to_ascii_uppercase().replace('-', "_");
    let name = if name.starts_with("TASK_STATE_") { name } else { format!("TASK_STATE_{name}") };
    match TaskState::from_str_name(&name) {
        Some(TaskState::Unspecified) | None => Err(format!(
            "state {text:?} is none of working, completed, failed, canceled, rejected, submitted, \
             input-required, auth-required"
        )),
        Some(state) => Ok(state),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of the protocol, and what is wrong with them.
    const LINES: [(&str, Option<&str>); 23] = [
        (r#"{"text": "a"}"#, None),
        (r#"{"parts": [{"data": {"n": 1}}]}"#, None),
        (r#"{"text": "a", "parts": [{"url": "https://a.example"}]}"#, None),
        (r#"{"artifact": {"parts": [{"text": "a"}]}}"#, None),
        (
            r#"{"artifact": {"artifactId": "x", "parts": [{"text": "a"}]}, "lastChunk": false}"#,
            None,
        ),
        (r#"{"artifact": {"artifactId": "x", "parts": [{"text": "a"}]}, "append": true}"#, None),
        (r#"{"state": "completed"}"#, None),
        (r#"{"state": "input-required", "text": "Name?", "metadata": {"a": 1}}"#, None),
        (r#"{"state": "input-required", "parts": [{"data": {"choices": [1, 2]}}]}"#, None),
        (r#"{"progress": 0.4}"#, None),
        (r#"{"progress": 1, "text": "Done", "metadata": {"a": 1}}"#, None),
        (r#"{"message": {"parts": [{"text": "a"}]}}"#, None),
        (r#"{"history": 100}"#, None),
        (r#"{"history": 101}"#, Some("history is a number from 1 to 100")),
        (r#"{"history": 1, "text": "a"}"#, Some("text and parts belong")),
        (
            r#"{"text": "a", "colour": "red"}"#,
            Some("unknown field `colour`, expected one of `text`"),
        ),
        (r#"{"text": 5}"#, Some("invalid type")),
        (r#"{"state": "happy"}"#, Some("state \"happy\" is none of working, completed")),
        (r#"{"artifact": {"parts": [{"text": "a"}]}, "append": true}"#, Some("append needs")),
        (r#"{"text": "a", "append": true}"#, Some("append and lastChunk need artifact")),
        (r#"{"state": "working", "progress": 0.1}"#, Some("only one of")),
        (r#"{"progress": 7}"#, Some("progress is a number from 0 to 1")),
        (r#"{"text": "a", "metadata": {}}"#, Some("metadata needs state")),
    ];

    #[test]
    fn line_is_valid_exactly_if_the_schema_says_so() {
        let schema = include_str!("line.schema.json");
        let schema = serde_json::from_str(schema).unwrap();
        let schema = jsonschema::validator_for(&schema).unwrap();
        for (line, fault) in LINES {
            let parsed = Line::parse(line.as_bytes());
            assert_eq!(
                schema.is_valid(&serde_json::from_str(line).unwrap()),
                fault.is_none(),
                "{line}"
            );
            match (parsed, fault) {
                (Ok(Some(_)), None) => {}
                (Err(error), Some(fault)) => {
                    assert!(error.contains(fault), "{line}: {error}");
                }
                (parsed, _) => panic!("{line}: {parsed:?}"),
            }
        }
    }

    #[test]
    fn output_outside_of_the_protocol_is_no_line() {
        for line in ["hello", "5", "[]", "{}", r#"{"level": "info"}"#, r#"{"text": "a""#] {
            assert!(Line::parse(line.as_bytes()).unwrap().is_none(), "{line}");
        }
    }
}
