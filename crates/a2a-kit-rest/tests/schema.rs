//! The JSON Schema bundle and the OpenAPI document, checked against every fixture of `tests/wire`.
//!
//! Responses, events and requests of this implementation must be valid, and requests of fixtures as
//! well, except rejected ones and those in formats that are only accepted for compatibility.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "failed expectations panic"
)]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use a2a_core::{Operation, Part, ROUTES};
use jsonschema::Validator;
use serde_json::{Value, json};

const BUNDLE: &str = include_str!("../schema/a2a.schema.json");

/// Fixtures whose requests use formats that are accepted but should not be sent.
const LENIENT: [&str; 2] = ["jsonrpc/input-forms.http", "jsonrpc/parts.http"];

/// The types of the protocol, each with its validator.
struct Schemas {
    bundle: Value,
    validators: BTreeMap<String, Validator>,
    used: BTreeSet<String>,
    faults: Vec<String>,
    checked: usize,
}

impl Schemas {
    fn new(document: &Value, place: &str) -> Self {
        let mut bundle = document.clone();
        let names: Vec<String> =
            document.pointer(place).unwrap().as_object().unwrap().keys().cloned().collect();
        let mut validators = BTreeMap::new();
        for name in names {
            bundle["$ref"] = format!("#{place}/{name}").into();
            let validator = jsonschema::draft202012::new(&bundle);
            validators.insert(name.clone(), validator.unwrap_or_else(|e| panic!("{name}: {e}")));
        }
        Self { bundle, validators, used: BTreeSet::new(), faults: Vec::new(), checked: 0 }
    }

    fn check(&mut self, place: &str, name: &str, value: &Value) {
        self.checked += 1;
        self.used.insert(name.to_owned());
        let validator = self.validators.get(name).unwrap_or_else(|| panic!("no schema of {name}"));
        for error in validator.iter_errors(value) {
            let at = error.instance_path();
            self.faults.push(format!("{place}: {name}{at}: {error}"));
        }
    }
}

/// A request and its response, with values for all placeholders.
struct Exchange {
    request: String,
    response: String,
}

fn wire() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/wire")
}

fn read(file: &str) -> Vec<Exchange> {
    let text = fs::read_to_string(wire().join(file)).unwrap_or_else(|e| panic!("{file}: {e}"));
    let mut exchanges: Vec<Exchange> = Vec::new();
    for section in text.split("=== ").skip(1) {
        let (title, content) = section.split_once('\n').unwrap();
        match title {
            "request" => {
                exchanges.push(Exchange { request: filled(content), response: String::new() });
            }
            "response" => exchanges.last_mut().unwrap().response = filled(content),
            _ => {}
        }
    }
    exchanges
}

fn files(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(wire().join(folder)).unwrap();
    let name = |entry: fs::DirEntry| entry.file_name().into_string().unwrap();
    let mut files: Vec<_> =
        entries.map(|entry| format!("{folder}/{}", name(entry.unwrap()))).collect();
    files.sort();
    files
}

/// Replaces placeholders by values of their type.
fn filled(text: &str) -> String {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((name, after)) = after.split_once("}}") else { break };
        filled.push_str(before);
        let value = match name.split([':', ' ']).next().unwrap() {
            "time" => "2026-01-02T03:04:05.678Z",
            "number" => "7",
            "repeat" => "x",
            "any" if filled.ends_with("TASK_STATE_") => "WORKING",
            _ => "0190b5a1-0000-7000-8000-000000000001",
        };
        filled.push_str(value);
        rest = after;
    }
    filled + rest
}

/// The JSON bodies of a message: one, or one per event.
fn bodies(message: &str) -> Vec<Value> {
    let Some((_, body)) = message.split_once("\n\n") else { return Vec::new() };
    let events: Vec<Value> = body
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .filter_map(|data| serde_json::from_str(data).ok())
        .collect();
    if events.is_empty() { serde_json::from_str(body).ok().into_iter().collect() } else { events }
}

fn is_ok(response: &str) -> bool {
    response.is_empty() || response.starts_with("HTTP/1.1 2")
}

fn request_of(operation: Operation) -> String {
    match operation {
        Operation::SendStreamingMessage => "SendMessageRequest".into(),
        Operation::CreateTaskPushNotificationConfig => "TaskPushNotificationConfig".into(),
        other => format!("{}Request", other.name()),
    }
}

/// The type of a response; `None` for an empty object.
fn response_of(operation: Operation) -> Option<&'static str> {
    Some(match operation {
        Operation::SendMessage => "SendMessageResponse",
        Operation::SendStreamingMessage | Operation::SubscribeToTask => "StreamResponse",
        Operation::GetTask | Operation::CancelTask => "Task",
        Operation::ListTasks => "ListTasksResponse",
        Operation::CreateTaskPushNotificationConfig | Operation::GetTaskPushNotificationConfig => {
            "TaskPushNotificationConfig"
        }
        Operation::ListTaskPushNotificationConfigs => "ListTaskPushNotificationConfigsResponse",
        Operation::DeleteTaskPushNotificationConfig => return None,
        Operation::GetExtendedAgentCard => "AgentCard",
    })
}

/// The operation of an HTTP+JSON request, under any prefix.
fn operation_of(request: &str) -> Option<Operation> {
    let mut words = request.lines().next()?.split(' ');
    let (method, target) = (words.next()?, words.next()?);
    let path: Vec<&str> = target.split('?').next()?.split('/').collect();
    let found = ROUTES.iter().find(|route| {
        let wanted: Vec<&str> = route.path.trim_start_matches("/{tenant}").split('/').collect();
        let wanted = &wanted[1..];
        let Some(start) = path.len().checked_sub(wanted.len()) else { return false };
        let is_same = |(wanted, given): (&&str, &&str)| match wanted.split_once('}') {
            Some((_, verb)) => given.ends_with(verb) && verb.is_empty() != given.contains(':'),
            None => wanted == given,
        };
        // Both `POST` and `GET` subscribe.
        let is_method = route.method == method || route.path.ends_with(":subscribe");
        is_method && wanted.iter().zip(&path[start..]).all(is_same)
    });
    found.map(|route| route.operation)
}

fn check_jsonrpc(schemas: &mut Schemas, file: &str) {
    for (index, exchange) in read(file).into_iter().enumerate() {
        let place = format!("{file}, exchange {}", index + 1);
        let answers = bodies(&exchange.response);
        let requests = bodies(&exchange.request);
        let Some(request) = requests.first() else { continue };
        let by_name = |operation: &Operation| request["method"] == operation.name();
        let Some(operation) = Operation::ALL.into_iter().find(by_name) else { continue };
        let is_refused = answers.iter().all(|answer| answer.get("error").is_some());
        if (answers.is_empty() || !is_refused) && !LENIENT.contains(&file) {
            let params = request.get("params").cloned().unwrap_or_else(|| json!({}));
            schemas.check(&format!("{place}, request"), &request_of(operation), &params);
        }
        for answer in answers.iter().filter_map(|answer| answer.get("result")) {
            match response_of(operation) {
                Some(name) => schemas.check(&format!("{place}, answer"), name, answer),
                None => assert_eq!(*answer, json!({}), "{place}"),
            }
        }
    }
}

fn check_rest(schemas: &mut Schemas, errors: &mut Schemas, file: &str) {
    for (index, exchange) in read(file).into_iter().enumerate() {
        let place = format!("{file}, exchange {}", index + 1);
        let Some(operation) = operation_of(&exchange.request) else { continue };
        if is_ok(&exchange.response) && !LENIENT.contains(&file) {
            for mut request in bodies(&exchange.request) {
                // Members of the path may be omitted from the body.
                for name in ["id", "taskId"] {
                    if let Some(members) = request.as_object_mut() {
                        members.entry(name).or_insert_with(|| "t".into());
                    }
                }
                schemas.check(&format!("{place}, request"), &request_of(operation), &request);
            }
        }
        for answer in bodies(&exchange.response) {
            let place = format!("{place}, answer");
            match response_of(operation) {
                _ if answer.get("error").is_some() => {
                    errors.check(&place, "ErrorResponse", &answer);
                }
                _ if !is_ok(&exchange.response) => panic!("{place}: {answer}"),
                Some(name) => {
                    schemas.check(&place, name, &answer);
                    errors.check(&place, name, &answer);
                }
                None => assert_eq!(answer, json!({}), "{place}"),
            }
        }
    }
}

#[test]
fn wire_fixtures_match_the_schemas() {
    let bundle = serde_json::from_str(BUNDLE).unwrap();
    let openapi = serde_json::from_str(a2a_kit_rest::OPENAPI).unwrap();
    let mut schemas = Schemas::new(&bundle, "/$defs");
    let mut openapi = Schemas::new(&openapi, "/components/schemas");
    let jsonrpc = files("jsonrpc").into_iter().chain(["client-jsonrpc.txt".into()]);
    jsonrpc.for_each(|file| check_jsonrpc(&mut schemas, &file));
    let rest = files("rest").into_iter().chain(["client-rest.txt".into()]);
    rest.for_each(|file| check_rest(&mut schemas, &mut openapi, &file));
    for exchange in read("webhook.txt") {
        for event in bodies(&exchange.request) {
            schemas.check("webhook.txt", "StreamResponse", &event);
        }
    }
    for file in files("card") {
        for exchange in read(&file) {
            let is_card = exchange.request.contains(" /.well-known/agent-card.json ");
            for card in bodies(&exchange.response).iter().filter(|_| is_card) {
                schemas.check(&file, "AgentCard", card);
            }
        }
    }
    let faults = [schemas.faults, openapi.faults].concat();
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
    // Detects fixtures that are no longer found or read.
    assert!(schemas.checked > 300, "{} values checked", schemas.checked);
    assert!(openapi.used.contains("ErrorResponse"));
    for operation in Operation::ALL {
        assert!(schemas.used.contains(&request_of(operation)), "{}", operation.name());
        let response = response_of(operation);
        assert!(response.is_none_or(|name| schemas.used.contains(name)), "{}", operation.name());
    }
}

#[test]
fn schemas_reject_invalid_messages() {
    let bundle = serde_json::from_str(BUNDLE).unwrap();
    let schemas = Schemas::new(&bundle, "/$defs");
    assert!(jsonschema::draft202012::meta::is_valid(&schemas.bundle));
    let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}]});
    let with = |name: &str, value: Value| {
        let mut message = message.clone();
        message[name] = value;
        message
    };
    for (name, value, is_valid) in [
        ("Message", message.clone(), true),
        ("Message", with("metadata", json!({"any": [1]})), true),
        ("Message", with("parts", json!([])), false),
        ("Message", with("parts", json!([{"text": "x", "url": "y"}])), false),
        ("Message", with("parts", json!([{}])), false),
        ("Message", with("role", json!("user")), false),
        ("Message", with("messageId", json!(7)), false),
        ("Message", json!({"messageId": "m", "parts": [{"text": "x"}]}), false),
        ("Task", json!({"id": "t"}), false),
        ("Task", json!({"id": "t", "status": {"state": "TASK_STATE_DONE"}}), false),
        ("StreamResponse", json!({}), false),
        ("SendMessageResponse", json!({"task": {}, "message": {}}), false),
        ("TaskStatus", json!({"state": "TASK_STATE_WORKING", "timestamp": 7}), false),
    ] {
        assert_eq!(schemas.validators[name].is_valid(&value), is_valid, "{name}: {value}");
    }
}

#[test]
fn schema_of_bytes_accepts_readable_base64() {
    let schemas = Schemas::new(&serde_json::from_str(BUNDLE).unwrap(), "/$defs");
    let read = |part: &Value| serde_json::from_value::<Part>(part.clone());
    for text in ["", "aGVsbG8=", "aGVsbG8", "aGVsbA==", "aGVsbA", "_-8=", "_-8", "/+8=", "aGVs"] {
        let part = json!({ "raw": text });
        assert!(schemas.validators["Part"].is_valid(&part), "{text}");
        assert!(read(&part).is_ok(), "{text}");
    }
    for text in ["a", "a b=", "_/8=", "aGVsbG8==", "😀"] {
        let part = json!({ "raw": text });
        assert!(!schemas.validators["Part"].is_valid(&part), "{text}");
        assert!(read(&part).is_err(), "{text}");
    }
}
