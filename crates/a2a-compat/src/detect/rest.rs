//! The table for HTTP+JSON.

use a2a_core::ProtocolVersion;
use serde_json::Value;

use crate::Revisions;

/// What is known of a request before its revision is.
#[derive(Clone, Copy, Debug)]
pub struct RestRequest<'a> {
    /// The path of the request.
    pub path: &'a str,
    /// `A2A-Version`, of the header or the query; `None` where it is missing or empty.
    pub version: Option<&'a str>,
    /// The body; `null` without one.
    pub body: &'a Value,
    /// The revision in which the task that is named was made, where that is known.
    pub origin: Option<ProtocolVersion>,
}

/// The shapes that HTTP+JSON had below `/v1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestShape {
    /// 0.3 as its proto has it, which the official SDKs speak.
    Proto,
    /// 0.3 as its text has it: the objects of JSON-RPC, which say their `kind`.
    Kind,
    /// The draft of 1.0.
    Draft,
}

impl RestShape {
    /// The revision that has the shape.
    pub fn revision(self) -> ProtocolVersion {
        match self {
            Self::Proto | Self::Kind => ProtocolVersion::V0_3,
            Self::Draft => ProtocolVersion::V1Draft,
        }
    }
}

/// The revision of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestDecision {
    /// The current one, or one that is not served: the current binding answers, errors of the
    /// version included.
    Current,
    /// An older one.
    Older(RestShape),
}

/// Decides in which revision an HTTP+JSON request is.
pub fn rest(request: &RestRequest<'_>, served: &Revisions) -> RestDecision {
    let is_served = |shape: &RestShape| match shape {
        // 0.2 had no HTTP+JSON.
        RestShape::Proto | RestShape::Kind => served.contains(ProtocolVersion::V0_3),
        RestShape::Draft => served.contains(ProtocolVersion::V1Draft),
    };
    match shape(request).filter(is_served) {
        Some(shape) => RestDecision::Older(shape),
        None => RestDecision::Current,
    }
}

fn shape(request: &RestRequest<'_>) -> Option<RestShape> {
    // Without `/v1` a request is one of 1.0, or none.
    let below = request.path.strip_prefix("/v1/")?;
    let version = request.version.map(str::trim).filter(|version| !version.is_empty());
    // A version that is not known has no shape; that it is not, the current binding says.
    let version = version.map(str::parse::<ProtocolVersion>).transpose().ok()?;
    match below {
        "card" => return Some(RestShape::Proto),
        "extendedAgentCard" | "tasks/list" => return Some(RestShape::Draft),
        "message:send" | "message:stream" => {
            if let Some(shape) = shape_of_send(request.body) {
                return Some(shape);
            }
        }
        _ => {}
    }
    match (version, request.origin) {
        (Some(ProtocolVersion::V1_0), _) => Some(RestShape::Draft),
        (Some(ProtocolVersion::V0_1), _) => None,
        (_, Some(ProtocolVersion::V1Draft)) => Some(RestShape::Draft),
        _ => Some(RestShape::Proto),
    }
}

/// The shape that the body of a send shows.
fn shape_of_send(body: &Value) -> Option<RestShape> {
    let message = &body["message"];
    let has = |name: &str| message.get(name).is_some();
    let says_kind = |object: &Value| object["kind"].is_string();
    let parts = message["parts"].as_array().map_or(&[][..], Vec::as_slice);
    let is_proto = has("content")
        || body.get("request").is_some()
        || message["role"].as_str().is_some_and(|role| role.starts_with("ROLE_"))
        || [body, message, &body["configuration"]].into_iter().any(has_snake_case);
    if is_proto {
        Some(RestShape::Proto)
    } else if says_kind(message) || parts.iter().any(says_kind) {
        Some(RestShape::Kind)
    } else {
        has("parts").then_some(RestShape::Draft)
    }
}

fn has_snake_case(object: &Value) -> bool {
    object.as_object().is_some_and(|members| members.keys().any(|name| name.contains('_')))
}

#[cfg(test)]
mod tests {
    use ProtocolVersion::{V0_1, V0_3, V1_0, V1Draft};

    use super::*;

    fn decide(
        path: &str,
        version: Option<&str>,
        body: &str,
        origin: Option<ProtocolVersion>,
        served: &str,
    ) -> &'static str {
        let body = if body.is_empty() { Value::Null } else { serde_json::from_str(body).unwrap() };
        let request = RestRequest { path, version, body: &body, origin };
        match rest(&request, &served.parse().unwrap()) {
            RestDecision::Current => "current",
            RestDecision::Older(RestShape::Proto) => "proto",
            RestDecision::Older(RestShape::Kind) => "kind",
            RestDecision::Older(RestShape::Draft) => "draft",
        }
    }

    const SEND: &str = "/v1/message:send";
    const PROTO: &str = r#"{"message":{"role":"ROLE_USER","content":[{"text":"x"}]}}"#;
    const KIND: &str = r#"{"message":{"kind":"message","role":"user","parts":[{"text":"x"}]}}"#;
    const DRAFT: &str = r#"{"message":{"role":"user","parts":[{"text":"x"}]}}"#;

    // covers: R-466, R-472
    #[test]
    fn every_row_of_the_table_for_rest_decides_as_it_says() {
        for (path, version, body, origin, expected) in [
            // Rows 1 and 2: what is not below `/v1`, with a version or without.
            ("/message:send", Some("1.0"), DRAFT, None, "current"),
            ("/tasks/t", Some("1.0"), "", Some(V0_3), "current"),
            ("/message:send", None, PROTO, None, "current"),
            ("/v1", None, "", None, "current"),
            ("/v10/tasks", None, "", None, "current"),
            // Rows 3 and 4: paths that one revision has.
            ("/v1/card", None, "", None, "proto"),
            ("/v1/card", Some("1.0"), "", None, "proto"),
            ("/v1/extendedAgentCard", None, "", None, "draft"),
            ("/v1/tasks/list", Some("0.3"), "{}", None, "draft"),
            // Row 5: each mark of the proto.
            (SEND, None, PROTO, None, "proto"),
            ("/v1/message:stream", Some("1.0"), PROTO, None, "proto"),
            (SEND, None, r#"{"request":{"parts":[{"kind":"text"}]}}"#, None, "proto"),
            (SEND, None, r#"{"message":{"role":"ROLE_USER","parts":[]}}"#, None, "proto"),
            (SEND, None, r#"{"message":{"message_id":"m","parts":[]}}"#, None, "proto"),
            (
                SEND,
                None,
                r#"{"message":{"parts":[]},"configuration":{"history_length":1}}"#,
                None,
                "proto",
            ),
            // Row 6: a kind, of the message or of a part.
            (SEND, None, KIND, None, "kind"),
            (SEND, Some("1.0"), KIND, None, "kind"),
            (
                "/v1/message:stream",
                None,
                r#"{"message":{"parts":[{"kind":"text"}]}}"#,
                None,
                "kind",
            ),
            // Row 7: parts without one.
            (SEND, None, DRAFT, None, "draft"),
            (SEND, Some("0.3"), DRAFT, None, "draft"),
            (SEND, None, r#"{"message":{"parts":[],"metadata":{"a_b":1}}}"#, None, "draft"),
            // Row 8: the others, with the version.
            ("/v1/tasks/t", Some("1.0"), "", None, "draft"),
            ("/v1/tasks/t:cancel", Some("1.0.1"), "{}", Some(V0_3), "draft"),
            (SEND, Some("1.0"), "{}", None, "draft"),
            // Row 9: the others, without.
            ("/v1/tasks/t", None, "", Some(V1Draft), "draft"),
            ("/v1/tasks/t", Some("0.3"), "", Some(V1Draft), "draft"),
            ("/v1/tasks/t", None, "", Some(V0_3), "proto"),
            ("/v1/tasks/t", Some(" "), "", None, "proto"),
            ("/v1/tasks/t:subscribe", Some("0.3"), "", Some(V1_0), "proto"),
            ("/v1/tasks/t/pushNotificationConfigs", None, "", Some(V0_1), "proto"),
            (SEND, None, "{}", None, "proto"),
            (SEND, None, "[]", None, "proto"),
            // Versions that have no such binding, and none at all.
            ("/v1/tasks/t", Some("0.1"), "", None, "current"),
            ("/v1/tasks/t", Some("9.9"), "", None, "current"),
            (SEND, Some("9.9"), KIND, None, "current"),
        ] {
            let decided = decide(path, version, body, origin, "all");
            assert_eq!(decided, expected, "{path} {version:?} {body} {origin:?}");
        }
    }

    // covers: R-469
    #[test]
    fn a_revision_that_is_switched_off_is_left_to_the_current_binding() {
        for (path, version, body, origin, served, expected) in [
            (SEND, None, KIND, None, "1.0,draft", "current"),
            (SEND, None, PROTO, None, "1.0,draft", "current"),
            ("/v1/card", None, "", None, "1.0,draft", "current"),
            ("/v1/tasks/t", None, "", None, "1.0,draft", "current"),
            (SEND, None, DRAFT, None, "1.0,0.3", "current"),
            ("/v1/tasks/t", Some("1.0"), "", None, "1.0,0.3", "current"),
            ("/v1/tasks/t", None, "", Some(V1Draft), "1.0,0.3", "current"),
            ("/v1/tasks/list", None, "{}", None, "1.0,0.3", "current"),
            (SEND, None, KIND, None, "0.2,0.3", "kind"),
            (SEND, None, KIND, None, "0.2", "current"),
        ] {
            let decided = decide(path, version, body, origin, served);
            assert_eq!(decided, expected, "{path} {version:?} {origin:?} {served}");
        }
    }
}
