use std::collections::BTreeMap;

use serde_json::Value;

/// A task as the sum of its events: status and artifacts.
///
/// User messages are not events, so the history is not part of it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fold {
    /// Null as long as it is unknown.
    status: Value,
    artifacts: Vec<Value>,
}

impl Fold {
    /// The tasks after each of the consecutive events from position 1. The first event, which is
    /// the task as submitted, may be missing.
    pub(super) fn all(events: &BTreeMap<u64, Value>) -> BTreeMap<u64, Self> {
        let mut now = Self { status: Value::Null, artifacts: Vec::new() };
        let mut all = BTreeMap::new();
        let last = events.keys().next_back().copied().unwrap_or_default();
        for position in 1..=last {
            match events.get(&position) {
                Some(event) => now.apply(event),
                None if position == 1 => {}
                // The sum of the rest is unknown.
                None => break,
            }
            all.insert(position, now.clone());
        }
        all
    }

    /// Whether a task that a client received is this one.
    pub(super) fn is(&self, task: &Value) -> bool {
        let has_status = if self.status.is_null() {
            task["status"]["state"] == "TASK_STATE_SUBMITTED"
        } else {
            self.status == task["status"]
        };
        let artifacts = task["artifacts"].as_array().map(Vec::as_slice).unwrap_or_default();
        has_status && self.artifacts == artifacts
    }

    fn apply(&mut self, event: &Value) {
        if event["task"].is_object() {
            let artifacts = event["task"]["artifacts"].as_array().cloned();
            self.status = event["task"]["status"].clone();
            self.artifacts = artifacts.unwrap_or_default();
        } else if event["statusUpdate"].is_object() {
            self.status = event["statusUpdate"]["status"].clone();
        } else if event["artifactUpdate"]["artifact"].is_object() {
            let update = &event["artifactUpdate"];
            self.apply_artifact(&update["artifact"], update["append"] == true);
        }
    }

    fn apply_artifact(&mut self, new: &Value, appends: bool) {
        let is_it = |known: &&mut Value| known["artifactId"] == new["artifactId"];
        match self.artifacts.iter_mut().rev().find(is_it) {
            None => self.artifacts.push(new.clone()),
            Some(known) if !appends => *known = new.clone(),
            Some(known) => append(known, new),
        }
    }
}

/// Appends the parts of a chunk; its other members replace or extend those of the artifact.
fn append(known: &mut Value, chunk: &Value) {
    let members = chunk.as_object().cloned().unwrap_or_default();
    for (name, value) in members {
        match (name.as_str(), &mut known[&name], value) {
            ("parts", Value::Array(parts), Value::Array(new)) => parts.extend(new),
            ("metadata", Value::Object(all), Value::Object(new)) => all.extend(new),
            ("extensions", Value::Array(all), Value::Array(new)) => {
                let new: Vec<Value> = new.into_iter().filter(|uri| !all.contains(uri)).collect();
                all.extend(new);
            }
            (_, known, value) => *known = value,
        }
    }
}

/// The event at position 1 of a task in tests, and others.
#[cfg(test)]
pub(super) mod events {
    use serde_json::{Map, Value, json};

    /// A status with a timestamp of its own.
    pub(crate) fn status(state: &str, second: u64) -> Value {
        json!({ "state": format!("TASK_STATE_{state}"), "timestamp": second })
    }

    pub(crate) fn submitted() -> Value {
        json!({ "task": { "id": "t", "status": status("SUBMITTED", 0) } })
    }

    pub(crate) fn update(state: &str, second: u64) -> Value {
        json!({ "statusUpdate": { "taskId": "t", "status": status(state, second) } })
    }

    pub(crate) fn chunk(text: &str, appends: bool) -> Value {
        let artifact = json!({ "artifactId": "a", "parts": [{ "text": text }] });
        let mut update = Map::new();
        update.insert("artifact".into(), artifact);
        if appends {
            update.insert("append".into(), true.into());
        }
        json!({ "artifactUpdate": update })
    }

    /// A task as it is read.
    pub(crate) fn task(status: &Value, chunks: &[&str]) -> Value {
        let mut task = json!({ "id": "t", "status": status });
        if !chunks.is_empty() {
            let parts: Vec<Value> = chunks.iter().map(|text| json!({ "text": text })).collect();
            task["artifacts"] = json!([{ "artifactId": "a", "parts": parts }]);
        }
        task
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{
        events::{chunk, status, submitted, task, update},
        *,
    };

    fn numbered(events: Vec<Value>) -> BTreeMap<u64, Value> {
        (1..).zip(events).collect()
    }

    #[test]
    fn each_position_has_the_sum_of_its_events() {
        let events = vec![submitted(), update("WORKING", 1), chunk("x", false), chunk("y", true)];
        let folds = Fold::all(&numbered(events));
        assert!(folds[&1].is(&task(&status("SUBMITTED", 0), &[])));
        assert!(folds[&2].is(&task(&status("WORKING", 1), &[])));
        assert!(folds[&3].is(&task(&status("WORKING", 1), &["x"])));
        assert!(folds[&4].is(&task(&status("WORKING", 1), &["x", "y"])));
        assert!(!folds[&4].is(&task(&status("WORKING", 1), &["x"])));
        assert!(!folds[&4].is(&task(&status("WORKING", 2), &["x", "y"])));
    }

    #[test]
    fn artifact_without_append_replaces_the_one_before() {
        let events = vec![submitted(), chunk("x", false), chunk("y", false)];
        let folds = Fold::all(&numbered(events));
        assert!(folds[&3].is(&task(&status("SUBMITTED", 0), &["y"])));
    }

    #[test]
    fn unknown_first_event_is_a_submitted_task() {
        let mut events = numbered(vec![submitted(), update("WORKING", 1)]);
        events.remove(&1);
        let folds = Fold::all(&events);
        assert!(folds[&1].is(&task(&status("SUBMITTED", 9), &[])));
        assert!(!folds[&1].is(&task(&status("WORKING", 1), &[])));
        assert!(folds[&2].is(&task(&status("WORKING", 1), &[])));
    }

    #[test]
    fn sums_behind_a_gap_are_unknown() {
        let mut events = numbered(vec![submitted(), update("WORKING", 1), update("WORKING", 2)]);
        events.remove(&2);
        assert_eq!(Fold::all(&events).len(), 1);
    }

    #[test]
    fn other_members_of_a_chunk_are_taken_over() {
        let mut known = json!({ "artifactId": "a", "name": "n", "parts": [1],
            "metadata": { "x": 1 }, "extensions": ["u"] });
        append(
            &mut known,
            &json!({ "artifactId": "a", "name": "m", "parts": [2],
                "metadata": { "y": 2 }, "extensions": ["u", "v"] }),
        );
        let expected = json!({ "artifactId": "a", "name": "m", "parts": [1, 2],
            "metadata": { "x": 1, "y": 2 }, "extensions": ["u", "v"] });
        assert_eq!(known, expected);
    }
}
