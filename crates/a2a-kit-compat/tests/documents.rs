//! The example exchanges of the documents of 0.1 and the draft of 1.0, read and written by both
//! sides.
//!
//! A fixture has a request and its responses or events. The expected output is the input without
//! null members, except where `written` overrides it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that can't be set up fails"
)]

use std::{fs, path::PathBuf};

use a2a_core::{
    ErrorKind, Operation, TaskState, v1::stream_response::Payload, well_known::Timestamp,
};
use a2a_kit_compat::{Dialect, v0_1, v0_1::V0_1, v1_draft, v1_draft::V1Draft};
use serde_json::{Map, Value, json};

fn folder(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests", "fixtures", name].iter().collect()
}

fn fixture(path: &str) -> Value {
    let text = fs::read_to_string(folder(path)).expect("a fixture");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The names of the fixtures with an exchange in a folder.
fn exchanges(name: &str) -> Vec<(String, Value)> {
    let files = fs::read_dir(folder(name)).expect("a folder of fixtures");
    let mut names: Vec<_> =
        files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    let all = names.into_iter().map(|file| {
        let path = format!("{name}/{file}");
        let value = fixture(&path);
        (path, value)
    });
    all.filter(|(_, value)| value.get("request").is_some()).collect()
}

/// The expected output: no nulls, and timestamps in milliseconds.
fn normal(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let members = members.into_iter().filter(|(_, value)| !value.is_null());
            let members = members.map(|(name, value)| match value.as_str().map(str::parse) {
                Some(Ok::<Timestamp, _>(time)) if name == "timestamp" => {
                    (name, time.to_string().into())
                }
                _ => (name, normal(value)),
            });
            members.collect::<Map<_, _>>().into()
        }
        Value::Array(elements) => elements.into_iter().map(normal).collect(),
        other => other,
    }
}

/// Round-trips every exchange in both directions, and returns the differences: file, place,
/// expected and written.
fn differences(folder: &str, dialect: &dyn Dialect) -> Vec<(String, String, Value, Value)> {
    let mut differences = Vec::new();
    let exchanges = exchanges(folder);
    assert!(exchanges.len() > 10, "{folder}");
    for (path, exchange) in exchanges {
        let mut check = |place: String, read: &Value, written: Value| {
            let pointer = format!("/written/{}", place.replace(' ', "/"));
            let expected = exchange.pointer(&pointer).cloned();
            let expected = expected.unwrap_or_else(|| normal(read.clone()));
            if written != expected {
                differences.push((path.clone(), place, expected, written));
            }
        };
        let method = exchange["request"]["method"].as_str().unwrap();
        let params = &exchange["request"]["params"];
        let request = dialect.read_request(method, params.clone());
        let request = request.unwrap_or_else(|error| panic!("{path}: {error:?}"));
        let operation = request.operation();
        let (name, written) = dialect.write_request(request).unwrap();
        assert_eq!(name, method, "{path}");
        check("params".into(), params, written);

        let answers = exchange["answers"].as_array().unwrap();
        for (index, answer) in answers.iter().enumerate() {
            let result = &answer["result"];
            let written = if operation.is_streaming() {
                let event = dialect.read_event(result.clone());
                let event = event.unwrap_or_else(|error| panic!("{path}: {error:?}"));
                dialect.write_event(&event, index + 1 == answers.len())
            } else {
                let answer = dialect.read_response(operation, result.clone());
                let answer = answer.unwrap_or_else(|error| panic!("{path}: {error:?}"));
                dialect.write_response(operation, answer)
            };
            check(format!("answers {index}"), result, written);
        }
    }
    differences
}

#[test]
fn exchanges_of_0_1_round_trip() {
    assert_eq!(differences("v0_1", &V0_1), []);
}

#[test]
fn exchanges_of_the_draft_round_trip() {
    assert_eq!(differences("v1_draft", &V1Draft), []);
}

#[test]
fn webhook_of_0_1_gets_the_final_status() {
    let body = fixture("v0_1/webhook-body.json");
    let event = v0_1::read_webhook(&body).unwrap();
    let Some(Payload::StatusUpdate(update)) = &event.payload else { panic!("{event:?}") };
    assert_eq!(update.task_id, "task-report-gen-777");
    assert_eq!(update.status.as_ref().unwrap().state(), TaskState::Completed);
    let mut expected = body.clone();
    expected["finalStatus"]["timestamp"] = "2024-10-28T18:30:00.000Z".into();
    assert_eq!(v0_1::write_webhook(&event), Some(expected));
    let task = json!({"id": "t", "status": {"state": "failed"}});
    let event = v0_1::read_webhook(&task).unwrap();
    assert!(matches!(event.payload, Some(Payload::Task(task)) if task.id == "t"));
}

#[test]
fn webhook_of_the_draft_gets_an_event() {
    let body = &fixture("v1_draft/webhook-body.json")["body"];
    let event = V1Draft.read_event(body.clone()).unwrap();
    let mut expected = body.clone();
    expected["statusUpdate"]["status"]["timestamp"] = "2024-03-15T18:30:00.000Z".into();
    assert_eq!(V1Draft.write_event(&event, true), expected);
}

#[test]
fn card_of_0_1_round_trips() {
    let mut document = fixture("v0_1/card.json");
    let card = v0_1::read_card(&document).unwrap();
    let interface = &card.supported_interfaces[0];
    assert_eq!(interface.url, "https://maps-agent.google.com");
    assert_eq!((&*interface.protocol_binding, &*interface.protocol_version), ("JSONRPC", "0.1"));
    assert_eq!(
        serde_json::to_value(&card.security_schemes).unwrap(),
        json!({"OAuth2": {"oauth2SecurityScheme": {}}})
    );
    assert_eq!(
        serde_json::to_value(&card.security_requirements).unwrap(),
        json!([{"schemes": {"OAuth2": {}}}])
    );
    assert!(card.can_stream() && !card.can_push() && !card.has_extended_card());
    document["authentication"]["schemes"] = json!(["OAuth2"]);
    assert_eq!(v0_1::write_card(&card), Some(document));
}

#[test]
fn card_of_the_draft_round_trips() {
    let mut document = fixture("v1_draft/card.json");
    let card = v1_draft::read_card(&document).unwrap();
    assert_eq!(card.supported_interfaces.len(), 3);
    assert_eq!(card.supported_interfaces[1].protocol_version, "0.3");
    assert!(card.has_extended_card() && card.can_push());
    assert!(card.signatures.is_empty(), "a signature is of the document");
    assert_eq!(
        serde_json::to_value(&card.security_requirements).unwrap(),
        json!([{"schemes": {"google": {"list": ["openid", "profile", "email"]}}}])
    );
    let members = document.as_object_mut().unwrap();
    members.remove("signatures");
    members.insert("protocolVersion".into(), "1.0".into());
    members.insert("url".into(), "https://georoute-agent.example.com/a2a/v1".into());
    members.insert("preferredTransport".into(), "JSONRPC".into());
    document["capabilities"].as_object_mut().unwrap().remove("stateTransitionHistory");
    let scheme = document["securitySchemes"]["google"].as_object_mut().unwrap();
    scheme.remove("type");
    document["securitySchemes"] =
        json!({"google": {"openIdConnectSecurityScheme": Value::from(scheme.clone())}});
    document["security"] =
        json!([{"schemes": {"google": {"list": ["openid", "profile", "email"]}}}]);
    assert_eq!(v1_draft::write_card(&card), document);
}

//
#[test]
fn problem_details_of_the_draft_round_trip() {
    for (name, kind) in [
        ("version-error", ErrorKind::VersionNotSupported),
        ("validation-error", ErrorKind::InvalidParams),
        ("task-not-found", ErrorKind::TaskNotFound),
    ] {
        let fixture = fixture(&format!("v1_draft/{name}.json"));
        let document = &fixture["problem"];
        let status = document["status"].as_u64().unwrap().try_into().unwrap();
        let error = v1_draft::read_problem(status, document).unwrap();
        assert_eq!(error.kind(), kind, "{name}");
        let problem = v1_draft::problem(&error);
        assert_eq!(problem.status, status, "{name}");
        let mut expected = document.clone();
        // The title is determined by the kind.
        expected["title"] = problem.body["title"].clone();
        assert_eq!(problem.body, expected, "{name}");
    }
}

#[test]
fn routes_of_the_draft_match_their_methods() {
    for (path, exchange) in exchanges("v1_draft") {
        let method = exchange["request"]["method"].as_str().unwrap();
        let request = V1Draft.read_request(method, exchange["request"]["params"].clone()).unwrap();
        let written = v1_draft::write_rest(&request).unwrap();
        let mut members: Vec<_> =
            written.query.into_iter().map(|(name, text)| (name.to_owned(), text)).collect();
        if let Some(id) = written.path.strip_prefix("/v1/tasks/") {
            members.push(("id".into(), id.to_owned()));
        }
        let operation = request.operation();
        let read = v1_draft::read_rest(operation, written.body.unwrap_or_default(), members);
        assert_eq!(read.unwrap(), request, "{path}");
        assert_ne!(operation, Operation::GetExtendedAgentCard);
    }
}
