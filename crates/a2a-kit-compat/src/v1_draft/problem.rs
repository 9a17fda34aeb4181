//! Errors of HTTP+JSON: problem details (RFC 9457), with the status codes of the draft.

use a2a_core::{Detail, Error, ErrorKind};
use serde_json::{Map, Value};

use crate::common::error_data;

/// The media type of problem details.
pub const PROBLEM_JSON: &str = "application/problem+json";

/// The prefix of problem types.
const TYPES: &str = "https://a2a-protocol.org/errors/";

/// The standard members of problem details.
const MEMBERS: [&str; 5] = ["type", "title", "status", "detail", "instance"];

/// An error as an HTTP response.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Problem {
    /// The HTTP status.
    pub status: u16,
    /// The problem details.
    pub body: Value,
}

/// The HTTP status of an error in the draft.
pub const fn http_status(kind: ErrorKind) -> u16 {
    match kind {
        ErrorKind::TaskNotCancelable => 409,
        ErrorKind::ContentTypeNotSupported => 415,
        ErrorKind::InvalidAgentResponse => 502,
        _ => kind.codes().http,
    }
}

/// The gRPC status code of an error in the draft.
pub const fn grpc_status(kind: ErrorKind) -> i32 {
    match kind {
        ErrorKind::PushNotificationNotSupported
        | ErrorKind::UnsupportedOperation
        | ErrorKind::VersionNotSupported => 12,
        _ => kind.codes().grpc,
    }
}

/// Writes an error.
pub fn problem(error: &Error) -> Problem {
    let status = http_status(error.kind());
    let words = error.kind().codes().reason.to_ascii_lowercase();
    let mut body = Map::new();
    if is_of_protocol(error.kind()) {
        body.insert("type".into(), format!("{TYPES}{}", words.replace('_', "-")).into());
    }
    body.insert("title".into(), title(&words).into());
    body.insert("status".into(), status.into());
    body.insert("detail".into(), error.message().into());
    for (name, value) in error_data::members(error) {
        if !MEMBERS.contains(&name.as_str()) {
            body.insert(name, value);
        }
    }
    Problem { status, body: Value::Object(body) }
}

/// Reads an error with the given HTTP status. `None` if the body has no problem details.
pub fn read_problem(status: u16, body: &Value) -> Option<Error> {
    let body = body.as_object()?;
    let text = |name: &str| body.get(name).and_then(Value::as_str);
    let message = text("detail").or_else(|| text("title"))?;
    let named = text("type").and_then(|kind| kind.strip_prefix(TYPES));
    let kind = named.and_then(|name| {
        ErrorKind::from_reason(&name.trim_end_matches('/').replace('-', "_").to_ascii_uppercase())
    });
    let kind = kind.unwrap_or_else(|| ErrorKind::from_http(status));
    let others = body.iter().filter(|(name, _)| !MEMBERS.contains(&name.as_str()));
    let others: Map<_, _> = others.map(|(name, value)| (name.clone(), value.clone())).collect();
    let details = Detail::read_all(error_data::details(Value::Object(others)));
    Some(Error::from_wire(kind, message.to_owned(), details))
}

/// Whether the draft has a problem type for the error.
fn is_of_protocol(kind: ErrorKind) -> bool {
    (-32099..=-32001).contains(&kind.codes().jsonrpc)
}

fn title(words: &str) -> String {
    let mut title = String::new();
    for word in words.split('_') {
        let mut letters = word.chars();
        if !title.is_empty() {
            title.push(' ');
        }
        title.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        title.push_str(letters.as_str());
    }
    title
}
