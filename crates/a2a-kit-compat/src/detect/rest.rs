//! Revision detection for HTTP+JSON.

use a2a_core::ProtocolVersion;
use serde_json::Value;

use crate::Revisions;

/// The properties of a request that determine its revision.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RestRequest<'a> {
    /// The path of the request.
    pub(crate) path: &'a str,
    /// `A2A-Version`, from the header or the query; `None` if missing or empty.
    pub(crate) version: Option<&'a str>,
    /// The body; `null` if there is none.
    pub(crate) body: &'a Value,
    /// The revision in which the task of the request was created, if known.
    pub(crate) origin: Option<ProtocolVersion>,
}

/// The formats of HTTP+JSON below `/v1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RestShape {
    /// 0.3 in ProtoJSON, which the official SDKs use.
    V03Proto,
    /// 0.3 in the JSON format of JSON-RPC, with `kind` discriminators.
    V03Json,
    /// The draft of 1.0.
    Draft,
}

impl RestShape {
    /// The revision of the format.
    pub(crate) fn revision(self) -> ProtocolVersion {
        match self {
            Self::V03Proto | Self::V03Json => ProtocolVersion::V0_3,
            Self::Draft => ProtocolVersion::V1Draft,
        }
    }
}

/// Detects the format of an HTTP+JSON request; `None` if the revision is the current or a disabled
/// one: the current binding handles the request, including version errors.
pub(crate) fn rest(request: &RestRequest<'_>, served: &Revisions) -> Option<RestShape> {
    let is_served = |shape: &RestShape| match shape {
        // 0.2 had no HTTP+JSON.
        RestShape::V03Proto | RestShape::V03Json => served.contains(ProtocolVersion::V0_3),
        RestShape::Draft => served.contains(ProtocolVersion::V1Draft),
    };
    shape(request).filter(is_served)
}

fn shape(request: &RestRequest<'_>) -> Option<RestShape> {
    // Paths outside of `/v1` are of 1.0.
    let below = request.path.strip_prefix("/v1/")?;
    let version = request.version.map(str::trim).filter(|version| !version.is_empty());
    // The current binding rejects unknown versions.
    let version = version.map(str::parse::<ProtocolVersion>).transpose().ok()?;
    match below {
        "card" => return Some(RestShape::V03Proto),
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
        _ => Some(RestShape::V03Proto),
    }
}

/// The format of the body of a send.
fn shape_of_send(body: &Value) -> Option<RestShape> {
    let message = &body["message"];
    let has = |name: &str| message.get(name).is_some();
    let has_kind = |object: &Value| object["kind"].is_string();
    let parts = message["parts"].as_array().map_or(&[][..], Vec::as_slice);
    let is_proto = has("content")
        || body.get("request").is_some()
        || message["role"].as_str().is_some_and(|role| role.starts_with("ROLE_"))
        || [body, message, &body["configuration"]].into_iter().any(has_snake_case);
    if is_proto {
        Some(RestShape::V03Proto)
    } else if has_kind(message) || parts.iter().any(has_kind) {
        Some(RestShape::V03Json)
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
            None => "current",
            Some(RestShape::V03Proto) => "proto",
            Some(RestShape::V03Json) => "kind",
            Some(RestShape::Draft) => "draft",
        }
    }

    const SEND: &str = "/v1/message:send";
    const PROTO: &str = r#"{"message":{"role":"ROLE_USER","content":[{"text":"x"}]}}"#;
    const KIND: &str = r#"{"message":{"kind":"message","role":"user","parts":[{"text":"x"}]}}"#;
    const DRAFT: &str = r#"{"message":{"role":"user","parts":[{"text":"x"}]}}"#;

    // covers: R-466, R-472
    #[test]
    fn rest_requests_are_detected_as_documented() {
        for (path, version, body, origin, expected) in [
            // Rows 1 and 2: not below `/v1`, with or without a version.
            ("/message:send", Some("1.0"), DRAFT, None, "current"),
            ("/tasks/t", Some("1.0"), "", Some(V0_3), "current"),
            ("/message:send", None, PROTO, None, "current"),
            ("/v1", None, "", None, "current"),
            ("/v10/tasks", None, "", None, "current"),
            // Rows 3 and 4: paths of a single revision.
            ("/v1/card", None, "", None, "proto"),
            ("/v1/card", Some("1.0"), "", None, "proto"),
            ("/v1/extendedAgentCard", None, "", None, "draft"),
            ("/v1/tasks/list", Some("0.3"), "{}", None, "draft"),
            // Row 5: each marker of ProtoJSON.
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
            // Row 6: `kind` of the message or a part.
            (SEND, None, KIND, None, "kind"),
            (SEND, Some("1.0"), KIND, None, "kind"),
            (
                "/v1/message:stream",
                None,
                r#"{"message":{"parts":[{"kind":"text"}]}}"#,
                None,
                "kind",
            ),
            // Row 7: parts without `kind`.
            (SEND, None, DRAFT, None, "draft"),
            (SEND, Some("0.3"), DRAFT, None, "draft"),
            (SEND, None, r#"{"message":{"parts":[],"metadata":{"a_b":1}}}"#, None, "draft"),
            // Row 8: others with version 1.0.
            ("/v1/tasks/t", Some("1.0"), "", None, "draft"),
            ("/v1/tasks/t:cancel", Some("1.0.1"), "{}", Some(V0_3), "draft"),
            (SEND, Some("1.0"), "{}", None, "draft"),
            // Row 9: others without.
            ("/v1/tasks/t", None, "", Some(V1Draft), "draft"),
            ("/v1/tasks/t", Some("0.3"), "", Some(V1Draft), "draft"),
            ("/v1/tasks/t", None, "", Some(V0_3), "proto"),
            ("/v1/tasks/t", Some(" "), "", None, "proto"),
            ("/v1/tasks/t:subscribe", Some("0.3"), "", Some(V1_0), "proto"),
            ("/v1/tasks/t/pushNotificationConfigs", None, "", Some(V0_1), "proto"),
            (SEND, None, "{}", None, "proto"),
            (SEND, None, "[]", None, "proto"),
            // Versions without this binding, and unknown versions.
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
    fn disabled_revisions_are_left_to_the_current_binding() {
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
