//! The JSON of 1.0: names, enums, timestamps and REQUIRED members, in every answer.

use a2a_core::TaskState;
use a2a_kit_client::Transport;
use serde_json::Value;

use super::definition::{Check, must, should};
use crate::{
    evidence::Evidence,
    exchange::{Answer, Exchange},
    timestamp,
    verdict::Verdict,
};

const JSON: &[Transport] = &[Transport::JsonRpc, Transport::Rest];

pub(super) const CHECKS: &[Check] = &[
    must("R-228", "5.5", "Names of members are camelCase").by(camel_case).on(JSON),
    must("R-229", "5.5", "Enums have the names of the proto").by(enums).on(JSON),
    must("R-230", "5.6.1", "Timestamps are ISO 8601 in UTC").by(timestamps).on(JSON),
    must("R-233", "5.6.1", "Timestamps end with `Z`").by(zones).on(JSON),
    should("R-231", "5.6.1", "Timestamps have milliseconds").by(milliseconds).on(JSON),
    must("R-234", "5.7", "REQUIRED members are present").by(required),
    must("R-226", "4.1", "Messages and artifacts have at least one part").by(parts),
    must("R-211", "4.1.4", "Messages of the agent name their context and task").by(contexts),
    should("R-014", "A.2.1", "Members of older revisions (`kind`, `final`) are not sent")
        .by(no_legacy)
        .on(JSON),
];

/// Every object of the protocol in the answers, with its exchange and the name it has.
fn objects(evidence: &Evidence) -> Vec<(&Exchange, &str, &Value)> {
    let mut objects = Vec::new();
    for exchange in evidence.all().filter(|exchange| is_of_protocol(exchange)) {
        match &exchange.answer {
            Answer::Result(result) => {
                walk(exchange, root(exchange.operation), result, &mut objects);
            }
            Answer::Events(stream) => {
                for event in &stream.events {
                    walk(exchange, "event", &event.value, &mut objects);
                }
            }
            Answer::Error(_) | Answer::Unusable(_) => {}
        }
    }
    objects
}

fn is_of_protocol(exchange: &Exchange) -> bool {
    exchange.operation != "GetExtendedAgentCard"
        && exchange.operation.chars().next().is_some_and(char::is_uppercase)
        && !exchange.operation.contains(' ')
}

/// The name of the result of an operation.
fn root(operation: &str) -> &'static str {
    match operation {
        "GetTask" | "CancelTask" => "task",
        "ListTasks" => "list",
        "CreateTaskPushNotificationConfig" | "GetTaskPushNotificationConfig" => "config",
        _ => "response",
    }
}

/// Collects objects, without the contents of metadata and data, which belong to the agent.
fn walk<'a>(
    exchange: &'a Exchange,
    name: &'a str,
    value: &'a Value,
    objects: &mut Vec<(&'a Exchange, &'a str, &'a Value)>,
) {
    match value {
        Value::Object(members) => {
            objects.push((exchange, name, value));
            for (name, member) in members {
                if !matches!(name.as_str(), "metadata" | "data" | "params") {
                    walk(exchange, name, member, objects);
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                walk(exchange, name, item, objects);
            }
        }
        _ => {}
    }
}

fn camel_case(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    for (exchange, _, object) in objects(evidence) {
        for name in object.as_object().into_iter().flat_map(|object| object.keys()) {
            verdict.require(!name.contains('_'), exchange, || {
                format!("the member `{name}` is not camelCase")
            });
        }
    }
}

fn enums(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    for (exchange, name, object) in objects(evidence) {
        if let Some(state) = object.get("state").filter(|_| name == "status") {
            let known = state.as_str().and_then(TaskState::from_str_name);
            let is_known = known.is_some_and(|state| state != TaskState::Unspecified);
            verdict.require(is_known, exchange, || {
                format!("`state` is {state}, which is no TaskState")
            });
        }
        if let Some(role) = object.get("role") {
            let is_known = matches!(role.as_str(), Some("ROLE_USER" | "ROLE_AGENT"));
            verdict.require(is_known, exchange, || format!("`role` is {role}, which is no Role"));
        }
    }
}

fn each_timestamp(evidence: &Evidence) -> Vec<(&Exchange, &Value)> {
    let objects = objects(evidence).into_iter();
    objects.filter_map(|(exchange, _, object)| Some((exchange, object.get("timestamp")?))).collect()
}

fn timestamps(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    for (exchange, value) in each_timestamp(evidence) {
        let fault = value.as_str().map_or(Some("is no string"), timestamp::fault);
        verdict.require(fault.is_none(), exchange, || {
            format!("the timestamp {value} {}", fault.unwrap_or_default())
        });
    }
}

fn zones(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    for (exchange, value) in each_timestamp(evidence) {
        let ends_with_z = value.as_str().is_some_and(|text| text.ends_with('Z'));
        verdict.require(ends_with_z, exchange, || {
            format!("the timestamp {value} does not end with `Z`")
        });
    }
}

fn milliseconds(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    for (exchange, value) in each_timestamp(evidence) {
        let digits = value.as_str().map(timestamp::fraction_digits).unwrap_or_default();
        verdict.require(digits >= 3, exchange, || {
            format!("the timestamp {value} has no milliseconds")
        });
    }
}

/// The REQUIRED members of the objects of answers.
fn required_members(name: &str) -> &'static [&'static str] {
    match name {
        "task" | "tasks" => &["id", "status"],
        "status" => &["state"],
        "message" | "history" => &["messageId", "role", "parts"],
        "artifact" | "artifacts" => &["artifactId", "parts"],
        "statusUpdate" => &["taskId", "contextId", "status"],
        "artifactUpdate" => &["taskId", "contextId", "artifact"],
        "list" => &["tasks", "pageSize", "totalSize"],
        "config" | "configs" => &["url"],
        _ => &[],
    }
}

/// Returns whether a message in a history is the client's, which may be one of the invalid ones.
fn is_of_client(name: &str, object: &Value) -> bool {
    let role = object.get("role");
    name == "history" && role.and_then(Value::as_str) != Some("ROLE_AGENT")
}

fn required(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    for (exchange, name, object) in objects(evidence) {
        if is_of_client(name, object) {
            continue;
        }
        for member in required_members(name) {
            let value = object.get(*member);
            let is_present =
                value.is_some_and(|value| !value.is_null() && value.as_str() != Some(""));
            verdict.require(is_present, exchange, || {
                format!("{} lacks `{member}`, which is REQUIRED", of(name))
            });
        }
    }
}

fn of(name: &str) -> String {
    match name {
        "list" => "the list of tasks".to_owned(),
        "tasks" => "a task of a list".to_owned(),
        "history" => "a message of a history".to_owned(),
        "artifacts" => "an artifact".to_owned(),
        other => format!("`{other}`"),
    }
}

fn parts(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    for (exchange, name, object) in objects(evidence) {
        // The last chunk of an artifact may have nothing to add.
        if !matches!(name, "message" | "history" | "artifacts") || is_of_client(name, object) {
            continue;
        }
        let Some(parts) = object.get("parts").and_then(Value::as_array) else { continue };
        verdict.require(!parts.is_empty(), exchange, || format!("{} has no parts", of(name)));
        for part in parts {
            let contents = ["text", "raw", "url", "data"];
            let count = contents.iter().filter(|member| part.get(**member).is_some()).count();
            verdict.require(count == 1, exchange, || {
                format!("a part has {count} of `text`, `raw`, `url` and `data`")
            });
        }
    }
}

fn contexts(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    for (exchange, name, object) in objects(evidence) {
        let is_of_agent = object.get("role").and_then(Value::as_str) == Some("ROLE_AGENT");
        if !is_of_agent || !matches!(name, "message" | "history") {
            continue;
        }
        let has_context =
            object.get("contextId").and_then(Value::as_str).is_some_and(|id| !id.is_empty());
        verdict.require(has_context, exchange, || "a message of the agent has no `contextId`");
    }
}

fn no_legacy(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    for (exchange, name, object) in objects(evidence) {
        verdict.require(object.get("kind").is_none(), exchange, || {
            format!("{} has the member `kind`, which 1.0 does not have", of(name))
        });
        verdict.require(object.get("final").is_none(), exchange, || {
            format!("{} has the member `final`, which 1.0 does not have", of(name))
        });
    }
}
