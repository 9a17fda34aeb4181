//! The task that the events of a stream of 1.0 add up to.

use serde_json::{Map, Value};

use crate::exchange::text;

/// The artifacts that a list of events adds up to, and what is wrong with the events.
#[derive(Debug, Default)]
pub(crate) struct Folded {
    pub(crate) artifacts: Vec<Value>,
    pub(crate) faults: Vec<String>,
    /// The artifacts whose last chunk has come.
    complete: Vec<String>,
}

impl Folded {
    /// Applies the events in their order.
    pub(crate) fn of<'a>(events: impl IntoIterator<Item = &'a Value>) -> Self {
        let mut folded = Self::default();
        for event in events {
            if let Some(task) = event.get("task") {
                let artifacts = task.get("artifacts").and_then(Value::as_array);
                folded.artifacts = artifacts.cloned().unwrap_or_default();
                folded.complete.clear();
            } else if let Some(update) = event.get("artifactUpdate") {
                folded.apply(update);
            }
        }
        folded
    }

    fn apply(&mut self, update: &Value) {
        let Some(artifact) = update.get("artifact") else { return };
        let id = text(artifact, "artifactId");
        let appends = update.get("append").and_then(Value::as_bool).unwrap_or_default();
        let known = self.artifacts.iter_mut().find(|known| text(known, "artifactId") == id);
        match known {
            Some(known) if appends => {
                if self.complete.iter().any(|complete| complete == id) {
                    self.faults.push(format!(
                        "the artifact {id:?} got a chunk after the one with `lastChunk`"
                    ));
                }
                let more = artifact.get("parts").and_then(Value::as_array).cloned();
                if let Some(parts) = known.get_mut("parts").and_then(Value::as_array_mut) {
                    parts.extend(more.unwrap_or_default());
                }
            }
            Some(known) => {
                self.complete.retain(|complete| complete != id);
                *known = artifact.clone();
            }
            None => {
                if appends {
                    self.faults.push(format!(
                        "the first chunk of the artifact {id:?} has `append`, so that nothing is \
                         there to append it to"
                    ));
                }
                self.artifacts.push(artifact.clone());
            }
        }
        if update.get("lastChunk").and_then(Value::as_bool).unwrap_or_default() {
            self.complete.push(id.to_owned());
        }
    }
}

/// The contents of artifacts by id: texts are joined, as a server may join chunks of text.
pub(crate) fn contents(artifacts: &[Value]) -> Map<String, Value> {
    let mut contents = Map::new();
    for artifact in artifacts {
        let mut joined = String::new();
        for part in artifact.get("parts").and_then(Value::as_array).into_iter().flatten() {
            match part.get("text").and_then(Value::as_str) {
                Some(text) => joined.push_str(text),
                None => joined.push_str(&part.to_string()),
            }
        }
        contents.insert(text(artifact, "artifactId").to_owned(), Value::String(joined));
    }
    contents
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn chunk(text: &str, append: bool, last: bool) -> Value {
        json!({"artifactUpdate": {
            "artifact": {"artifactId": "a", "parts": [{"text": text}]},
            "append": append, "lastChunk": last,
        }})
    }

    #[test]
    fn chunks_are_appended_in_their_order() {
        let events = [chunk("1", false, false), chunk("2", true, true)];
        let folded = Folded::of(&events);
        assert_eq!(contents(&folded.artifacts), *json!({"a": "12"}).as_object().unwrap());
        assert!(folded.faults.is_empty());
    }

    #[test]
    fn chunks_in_the_wrong_order_are_faults() {
        let events = [chunk("2", true, true), chunk("1", false, false)];
        assert_eq!(Folded::of(&events).faults.len(), 1);
        let events = [chunk("1", false, true), chunk("2", true, false)];
        assert_eq!(Folded::of(&events).faults.len(), 1);
    }
}
