//! Faults of the form of JSON documents and of the JSON-RPC envelope.

use a2a_core::v1::SendMessageRequest;
use axum::{
    body::Body,
    response::{IntoResponse as _, Response},
};
use http::{StatusCode, header};
use serde_json::{Value, json};

use super::json::{each_object, each_string, number_of, remove_beside, rename, snake_case};
use crate::{Binding, Exchange, Fault, Interface, Mutant};

const JSON_1_0: &[Interface] = &[Interface::JSONRPC, Interface::REST];

pub(super) const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "next-page-token-is-missing",
        requirement: "R-052",
        also: &["R-048"],
        fault: Fault::Json(JSON_1_0, without_next_page_token),
    },
    Mutant {
        name: "snake-case-members-of-parts",
        requirement: "R-228",
        also: &[],
        fault: Fault::Json(JSON_1_0, snake_case_parts),
    },
    Mutant {
        name: "numeric-enums",
        requirement: "R-229",
        also: &[],
        fault: Fault::Json(&[Interface::JSONRPC], numeric_enums),
    },
    Mutant {
        name: "timestamps-with-offset",
        requirement: "R-233",
        also: &["R-230"],
        fault: Fault::Json(JSON_1_0, offset_timestamps),
    },
    Mutant {
        name: "kind-in-1.0",
        requirement: "R-014",
        also: &[],
        fault: Fault::Json(&[Interface::JSONRPC], with_kind),
    },
    Mutant {
        name: "final-in-1.0",
        requirement: "R-014",
        also: &[],
        fault: Fault::Json(&[Interface::REST], with_final),
    },
    Mutant {
        name: "artifact-without-id",
        requirement: "R-234",
        also: &[],
        fault: Fault::Json(JSON_1_0, without_artifact_id),
    },
    Mutant {
        name: "unknown-members-are-refused",
        requirement: "R-238",
        also: &[],
        fault: Fault::Respond(JSON_1_0, refuse_unknown_members),
    },
    Mutant {
        name: "id-is-not-echoed",
        requirement: "R-281",
        also: &["R-277"],
        fault: Fault::Json(&[Interface::JSONRPC], |_, document| document["id"] = Value::Null),
    },
    Mutant {
        name: "jsonrpc-is-missing",
        requirement: "R-280",
        also: &["R-277"],
        fault: Fault::Json(&[Interface::JSONRPC], |_, document| {
            remove_beside(document, "jsonrpc", "jsonrpc");
        }),
    },
];

fn without_next_page_token(_exchange: &Exchange, document: &mut Value) {
    remove_beside(document, "nextPageToken", "totalSize");
}

fn snake_case_parts(_exchange: &Exchange, document: &mut Value) {
    each_object(document, &mut |object| {
        if let Some(parts) = object.get_mut("parts") {
            rename(parts, snake_case);
        }
    });
}

fn numeric_enums(_exchange: &Exchange, document: &mut Value) {
    each_string(document, &mut |text| number_of(text).map(Value::from));
}

fn offset_timestamps(_exchange: &Exchange, document: &mut Value) {
    each_timestamp(document, |time| format!("{time}+00:00"));
}

/// Changes timestamps, which `change` gets without the `Z`.
fn each_timestamp(document: &mut Value, change: fn(&str) -> String) {
    each_object(document, &mut |object| {
        if let Some(timestamp) = object.get_mut("timestamp")
            && let Some(time) = timestamp.as_str().and_then(|text| text.strip_suffix('Z'))
        {
            *timestamp = change(time).into();
        }
    });
}

/// Adds the discriminators of 0.3.
/// Status updates as in 0.3.
fn with_final(_exchange: &Exchange, document: &mut Value) {
    if let Some(update) = document.get_mut("statusUpdate").and_then(Value::as_object_mut) {
        update.insert("final".to_owned(), false.into());
    }
}

fn with_kind(_exchange: &Exchange, document: &mut Value) {
    each_object(document, &mut |object| {
        let kind = if object.contains_key("messageId") {
            "message"
        } else if object.contains_key("status") && object.contains_key("id") {
            "task"
        } else {
            return;
        };
        object.insert("kind".to_owned(), kind.into());
    });
}

fn without_artifact_id(_exchange: &Exchange, document: &mut Value) {
    remove_beside(document, "artifactId", "parts");
}

/// Refuses messages with a member that the proto does not have.
fn refuse_unknown_members(exchange: &Exchange) -> Option<Response> {
    let is_send = exchange.operation == "SendMessage" || exchange.operation == "POST /message:send";
    if !is_send {
        return None;
    }
    let request: SendMessageRequest = serde_json::from_value(exchange.document.clone()).ok()?;
    let known = serde_json::to_value(&request).ok()?;
    let unknown = first_unknown(&exchange.document, &known)?;
    let message = format!("unknown member {unknown:?}");
    let (status, media_type, body) = match exchange.interface.binding {
        Binding::JsonRpc => {
            let error = json!({"code": -32602, "message": message});
            let body = json!({"jsonrpc": "2.0", "id": exchange.id, "error": error});
            (StatusCode::OK, "application/json", body)
        }
        Binding::Rest | Binding::Grpc => {
            let details = json!([{
                "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                "reason": "INVALID_PARAMS",
                "domain": "a2a-protocol.org",
            }]);
            let error = json!({
                "code": 400, "status": "INVALID_ARGUMENT", "message": message, "details": details,
            });
            (StatusCode::BAD_REQUEST, "application/a2a+json", json!({"error": error}))
        }
    };
    let head = [(header::CONTENT_TYPE, media_type)];
    Some((status, head, Body::from(body.to_string())).into_response())
}

/// The first member of `given` that `known` lacks, although it has a value.
fn first_unknown<'a>(given: &'a Value, known: &Value) -> Option<&'a str> {
    match (given, known) {
        (Value::Object(given), Value::Object(known)) => {
            given.iter().find_map(|(name, value)| match known.get(name) {
                Some(known) => first_unknown(value, known),
                None if is_default(value) => None,
                None => Some(name.as_str()),
            })
        }
        (Value::Array(given), Value::Array(known)) => {
            given.iter().zip(known).find_map(|(given, known)| first_unknown(given, known))
        }
        _ => None,
    }
}

/// Returns whether a value is one that ProtoJSON leaves out.
fn is_default(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::Bool(true) | Value::Object(_) => false,
    }
}
