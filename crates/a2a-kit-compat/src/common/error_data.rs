//! Error data of revisions before 1.0: plain members instead of typed details.

use a2a_core::{ERROR_DOMAIN, Error, ErrorKind};
use serde_json::{Map, Value, json};

use crate::ErrorObject;

/// The error names of the SDKs of 0.2 and 0.3, which identify errors by text only.
const NAMES: [(&str, ErrorKind); 12] = [
    ("TaskNotFoundError", ErrorKind::TaskNotFound),
    ("TaskNotCancelableError", ErrorKind::TaskNotCancelable),
    ("PushNotificationNotSupportedError", ErrorKind::PushNotificationNotSupported),
    ("UnsupportedOperationError", ErrorKind::UnsupportedOperation),
    ("ContentTypeNotSupportedError", ErrorKind::ContentTypeNotSupported),
    ("InvalidAgentResponseError", ErrorKind::InvalidAgentResponse),
    ("AuthenticatedExtendedCardNotConfiguredError", ErrorKind::ExtendedAgentCardNotConfigured),
    ("JSONParseError", ErrorKind::ParseError),
    ("InvalidRequestError", ErrorKind::InvalidRequest),
    ("MethodNotFoundError", ErrorKind::MethodNotFound),
    ("InvalidParamsError", ErrorKind::InvalidParams),
    ("InternalError", ErrorKind::Internal),
];

/// The name of an error kind, if it has one.
pub(crate) fn name(kind: ErrorKind) -> Option<&'static str> {
    NAMES.iter().find(|(_, known)| *known == kind).map(|(name, _)| *name)
}

/// The error kind of a name.
pub(crate) fn named(name: &str) -> Option<ErrorKind> {
    NAMES.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind)
}

/// The members that describe an error: the metadata of its `ErrorInfo`, and its field violations.
pub(crate) fn members(error: &Error) -> Map<String, Value> {
    let mut members = Map::new();
    for (key, text) in error.metadata() {
        let value = match key.as_str() {
            "supportedVersions" => text.split(',').map(str::trim).collect(),
            _ => Value::from(text.as_str()),
        };
        members.insert(key.clone(), value);
    }
    if !error.violations().is_empty() {
        let errors = error.violations().iter();
        let errors =
            errors.map(|broken| json!({"field": broken.field, "message": broken.description}));
        members.insert("errors".into(), errors.collect());
    }
    members
}

/// A JSON-RPC error with the code of a kind. Its data are [`members`] and the reason.
pub(crate) fn object(kind: ErrorKind, error: &Error) -> ErrorObject {
    let mut members = members(error);
    members.insert("reason".into(), error.kind().codes().reason.into());
    ErrorObject {
        code: kind.codes().jsonrpc,
        message: error.message().to_owned(),
        data: members.into(),
    }
}

/// Converts plain members to the typed details of 1.0; leaves other values unchanged.
pub(crate) fn details(data: Value) -> Value {
    let Value::Object(mut members) = data else { return data };
    if members.contains_key("@type") {
        return Value::Object(members);
    }
    let violations = members.remove("errors").and_then(|errors| match errors {
        Value::Array(errors) => Some(errors.iter().filter_map(violation).collect::<Vec<_>>()),
        _ => None,
    });
    let reason = members.remove("reason");
    let metadata = members.into_iter().map(|(key, value)| {
        let text = match value {
            Value::String(text) => text,
            Value::Array(items) => {
                let items = items.iter().map(|item| item.as_str().unwrap_or_default());
                items.collect::<Vec<_>>().join(",")
            }
            other => other.to_string(),
        };
        (key, Value::String(text))
    });
    let info = json!({
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": reason.as_ref().and_then(Value::as_str).unwrap_or_default(),
        "domain": ERROR_DOMAIN,
        "metadata": metadata.collect::<Map<_, _>>(),
    });
    let mut details = vec![info];
    if let Some(violations) = violations {
        details.push(json!({
            "@type": "type.googleapis.com/google.rpc.BadRequest",
            "fieldViolations": violations,
        }));
    }
    Value::Array(details)
}

fn violation(error: &Value) -> Option<Value> {
    let field = error.get("field")?.as_str()?;
    let description = error.get("message").and_then(Value::as_str).unwrap_or_default();
    Some(json!({"field": field, "description": description}))
}
