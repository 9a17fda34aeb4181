//! The example exchanges of the documents of 0.2.
//!
//! A fixture has a request, its responses, and both in 1.0. Examples are unchanged, except for
//! invalid JSON (comments, trailing commas) and invalid base64.
#![allow(clippy::expect_used, reason = "the helpers of tests fail as tests do")]

use std::{fs, path::PathBuf};

use a2a_core::{
    Operation, ProtocolVersion,
    v1::{SendMessageRequest, StreamResponse, stream_response::Payload},
};
use a2a_kit_compat::{
    AnyRequest, AnyResponse, Dialect,
    v0_3::{V0_3, read_card, write_card, write_task},
};
use serde_json::{Value, json};

fn fixture(name: &str) -> Value {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/v0_2");
    let text = fs::read(folder.join(name).with_extension("json")).expect(name);
    serde_json::from_slice(&text).expect(name)
}

const EXCHANGES: [&str; 9] = [
    "file-upload",
    "hello-world",
    "input-given",
    "missing-input",
    "quick-message",
    "quick-task",
    "stream-of-a-long-paper",
    "structured-data",
    "webhook",
];

//
#[test]
fn requests_are_read() {
    for name in EXCHANGES {
        let fixture = fixture(name);
        let Some(request) = fixture.get("request") else { continue };
        let method = request["method"].as_str().unwrap();
        let read = V0_3.read_request(method, request["params"].clone()).expect(name);
        let inner = match &read {
            AnyRequest::SendMessage(inner) if method == "message/send" => inner,
            AnyRequest::SendStreamingMessage(inner) if method == "message/stream" => inner,
            other => panic!("{name}: {other:?}"),
        };
        let expected: SendMessageRequest =
            serde_json::from_value(fixture["v1"]["request"].clone()).expect(name);
        assert_eq!(*inner, expected, "{name}");

        let (written_method, written) = V0_3.write_request(read.clone()).unwrap();
        assert_eq!(written_method, method, "{name}");
        assert_eq!(written["message"]["kind"], "message", "{name}");
        let mut read = read;
        if let AnyRequest::SendMessage(inner) | AnyRequest::SendStreamingMessage(inner) = &mut read
        {
            inner.configuration.get_or_insert_default();
        }
        assert_eq!(V0_3.read_request(method, written).unwrap(), read, "{name}");
    }
}

#[test]
fn responses_are_read_and_written_with_kind() {
    for name in EXCHANGES {
        let fixture = fixture(name);
        let answers = fixture["answers"].as_array().unwrap();
        let expected = fixture["v1"]["answers"].as_array().unwrap();
        assert_eq!(answers.len(), expected.len(), "{name}");
        for (answer, expected) in answers.iter().zip(expected) {
            let event = V0_3.read_event(answer["result"].clone()).expect(name);
            let expected: StreamResponse = serde_json::from_value(expected.clone()).expect(name);
            assert_eq!(event, expected, "{name}");

            let written = V0_3.write_event(&event, false);
            let kind = match &event.payload {
                Some(Payload::Task(_)) => "task",
                Some(Payload::Message(_)) => "message",
                Some(Payload::StatusUpdate(_)) => "status-update",
                Some(Payload::ArtifactUpdate(_)) => "artifact-update",
                None => panic!("{name}: nothing was read"),
            };
            assert_eq!(written["kind"], kind, "{name}");
            assert_eq!(V0_3.read_event(written).unwrap(), event, "{name}");
        }
    }
}

#[test]
fn send_response_equals_the_first_event() {
    for name in ["quick-task", "quick-message", "hello-world", "missing-input", "webhook"] {
        let answer = fixture(name)["answers"][0]["result"].take();
        let event = V0_3.read_event(answer.clone()).unwrap();
        let response = V0_3.read_response(Operation::SendMessage, answer).unwrap();
        let as_event = V0_3.write_event(&event, false);
        assert!(matches!(response, AnyResponse::Sent(_)), "{name}");
        assert_eq!(V0_3.write_response(Operation::SendMessage, response), as_event, "{name}");
    }
}

#[test]
fn stream_ends_with_a_final_status() {
    let fixture = fixture("stream-of-a-long-paper");
    let last = fixture["answers"].as_array().unwrap().last().unwrap()["result"].clone();
    let event = V0_3.read_event(last.clone()).unwrap();
    let written = V0_3.write_event(&event, true);
    assert_eq!(written["final"], true);
    assert_eq!(written["status"]["state"], last["status"]["state"]);
    assert_eq!(written["status"]["timestamp"], "2025-04-02T16:59:35.331844Z");
}

//
#[test]
fn webhook_gets_the_task_with_kind() {
    let body = fixture("webhook-body");
    let AnyResponse::Task(task) = V0_3.read_response(Operation::GetTask, body.clone()).unwrap()
    else {
        panic!("not a task");
    };
    let mut written = write_task(&task);
    assert_eq!(written["status"]["timestamp"], "2024-03-15T18:30:00.000Z");
    written["status"]["timestamp"] = body["status"]["timestamp"].clone();
    assert_eq!(written, body);
}

#[test]
fn card_has_one_interface_of_its_revision() {
    let document = fixture("card");
    let card = read_card(document.clone()).unwrap();
    assert_eq!(card.supported_interfaces.len(), 1);
    let interface = &card.supported_interfaces[0];
    assert_eq!(interface.url, document["url"]);
    assert_eq!(interface.protocol_binding, "JSONRPC");
    assert_eq!(interface.protocol_version.parse(), Ok(ProtocolVersion::V0_2));
    assert!(card.can_stream() && card.can_push() && card.has_extended_card());
    let read = serde_json::to_value(&card).unwrap();
    assert_eq!(
        read["securitySchemes"]["google"]["openIdConnectSecurityScheme"]["openIdConnectUrl"],
        document["securitySchemes"]["google"]["openIdConnectUrl"]
    );
    assert_eq!(
        read["securityRequirements"],
        json!([{"schemes": {"google": {"list": ["openid", "profile", "email"]}}}])
    );

    // Members that were added or removed without effect.
    let mut expected = document;
    expected["preferredTransport"] = "JSONRPC".into();
    expected["protocolVersion"] = "0.2.6".into();
    expected["capabilities"].as_object_mut().unwrap().remove("stateTransitionHistory");
    assert_eq!(write_card(&card), expected);
}
