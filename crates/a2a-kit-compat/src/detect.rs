//! Detects the revision of a request. `docs/revisions.md` has the rules as tables.

mod rest;

pub(crate) use rest::{RestRequest, RestShape, rest};

use std::cell::OnceCell;

use a2a_core::{Error, ErrorKind, Operation, ProtocolVersion};
use serde_json::Value;

use crate::{
    Dialect as _, Revisions,
    v0_1::V0_1,
    v0_3::V0_3,
    v1_draft::{V1Draft, has_draft_marker, has_v1_marker},
};

/// The properties of a request that determine its revision.
#[derive(Debug)]
pub(crate) struct JsonRpcRequest<'a> {
    /// The method of the envelope.
    pub(crate) method: &'a str,
    /// `A2A-Version`, from the header or the query; `None` if missing or empty.
    pub(crate) version: Option<&'a str>,
    /// The parameters.
    pub(crate) params: &'a Params<'a>,
    /// The revision in which the task of the request was created, if known.
    pub(crate) origin: Option<ProtocolVersion>,
}

/// The parameters of a request, parsed on demand.
#[derive(Debug)]
pub(crate) struct Params<'a> {
    text: &'a str,
    value: OnceCell<Value>,
}

impl<'a> Params<'a> {
    /// Takes the JSON text of the parameters; empty if there are none.
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, value: OnceCell::new() }
    }

    /// The parameters as a value; an empty object if there are none.
    pub(crate) fn value(&self) -> &Value {
        let read = || match serde_json::from_str(self.text) {
            Ok(Value::Null) | Err(_) => Value::Object(serde_json::Map::new()),
            Ok(value) => value,
        };
        self.value.get_or_init(read)
    }

    /// Returns the parameters as a value; an empty object if there are none.
    pub(crate) fn into_value(self) -> Value {
        self.value();
        self.value.into_inner().unwrap_or_default()
    }

    /// Returns whether the text may have a member or value of the draft that 1.0 does not have.
    /// Nearly all requests of 1.0 have none, and are parsed only once.
    fn may_be_draft(&self) -> bool {
        // States in kebab case only occur as `status` of a list request.
        self.text.as_bytes().split(|byte| *byte == b'"').any(|piece| {
            matches!(
                piece,
                b"user"
                    | b"agent"
                    | b"file"
                    | b"data"
                    | b"blocking"
                    | b"name"
                    | b"parent"
                    | b"pushNotificationConfig"
                    | b"lastUpdatedAfter"
                    | b"status"
            )
        })
    }

    fn has_draft_marker(&self) -> bool {
        self.may_be_draft() && has_draft_marker(self.value())
    }

    fn has_v1_marker(&self) -> bool {
        has_v1_marker(self.value())
    }
}

/// The revision of a request.
#[derive(Debug)]
pub(crate) enum Decision {
    /// The current one: its binding handles the request, including version errors.
    Current,
    /// An older one.
    Older(ProtocolVersion),
    /// None: the request is rejected.
    Rejected {
        /// The error.
        error: Error,
        /// The revision in whose format the error is written.
        revision: ProtocolVersion,
    },
}

/// Detects the revision of a JSON-RPC request.
pub(crate) fn jsonrpc(request: &JsonRpcRequest<'_>, served: &Revisions, lenient: bool) -> Decision {
    match detect(request, served, lenient) {
        Decision::Current if !served.contains(ProtocolVersion::V1_0) => {
            without_current(request, served)
        }
        decision => decision,
    }
}

/// Returns whether a request with version 1.0 and one of its methods is certainly of 1.0. If not,
/// [`jsonrpc`] decides.
pub(crate) fn is_current(params: &Params<'_>, served: &Revisions) -> bool {
    let draft = served.contains(ProtocolVersion::V1Draft);
    served.contains(ProtocolVersion::V1_0) && !(draft && params.may_be_draft())
}

/// Decides about a request of 1.0 if 1.0 is disabled.
fn without_current(request: &JsonRpcRequest<'_>, served: &Revisions) -> Decision {
    let version = request.version.map(str::trim).filter(|version| !version.is_empty());
    match version {
        Some(version) => {
            let error = ProtocolVersion::not_supported(version, &served.to_vec());
            Decision::Rejected { error, revision: ProtocolVersion::V1_0 }
        }
        None if served.contains(ProtocolVersion::V1Draft) => {
            Decision::Older(ProtocolVersion::V1Draft)
        }
        None if served.contains_v0_2_or_v0_3() => {
            method_not_found(request.method, ProtocolVersion::V0_3)
        }
        None => method_not_found(request.method, ProtocolVersion::V0_1),
    }
}

/// Detects the revision, assuming that 1.0 is enabled.
fn detect(request: &JsonRpcRequest<'_>, served: &Revisions, lenient: bool) -> Decision {
    let JsonRpcRequest { method, version, params, origin } = *request;
    let version = version.map(str::trim).filter(|version| !version.is_empty());
    let parsed = version.map(str::parse::<ProtocolVersion>);
    let is_current = matches!(parsed, Some(Ok(ProtocolVersion::V1_0)));
    let draft = served.contains(ProtocolVersion::V1Draft);

    let of_v0_3 = V0_3.operation(method).is_some();
    let only_v0_1 = !served.contains_v0_2_or_v0_3() && served.contains(ProtocolVersion::V0_1);
    // 0.1 shares some of its methods with its successors.
    let is_v0_1 = !of_v0_3 || origin == Some(ProtocolVersion::V0_1) || only_v0_1;
    let family = if V0_1.operation(method).is_some() && is_v0_1 {
        Some(ProtocolVersion::V0_1)
    } else if of_v0_3 {
        Some(match parsed {
            Some(Ok(ProtocolVersion::V0_2)) => ProtocolVersion::V0_2,
            _ => ProtocolVersion::V0_3,
        })
    } else {
        None
    };
    if let Some(revision) = family {
        return slash_method(revision, method, version, is_current, served);
    }
    if !Operation::ALL.iter().any(|operation| operation.name() == method) {
        return match parsed {
            _ if draft && V1Draft.operation(method).is_some() => {
                Decision::Older(ProtocolVersion::V1Draft)
            }
            None
            | Some(Ok(ProtocolVersion::V0_1 | ProtocolVersion::V0_2 | ProtocolVersion::V0_3))
                if served.contains_v0_2_or_v0_3() =>
            {
                method_not_found(method, ProtocolVersion::V0_3)
            }
            _ => method_not_found(method, ProtocolVersion::V1_0),
        };
    }
    let looks_like_draft = || draft && params.has_draft_marker() && !params.has_v1_marker();
    match parsed {
        Some(Ok(ProtocolVersion::V1_0)) if looks_like_draft() => {
            Decision::Older(ProtocolVersion::V1Draft)
        }
        // The examples of the draft send version 0.3.
        Some(Ok(ProtocolVersion::V0_3)) if draft => Decision::Older(ProtocolVersion::V1Draft),
        Some(_) => Decision::Current,
        None if draft && params.has_draft_marker() => Decision::Older(ProtocolVersion::V1Draft),
        None if params.has_v1_marker() || lenient => Decision::Current,
        None if draft && (origin == Some(ProtocolVersion::V1Draft) || !names_a_task(params)) => {
            Decision::Older(ProtocolVersion::V1Draft)
        }
        None => Decision::Current,
    }
}

/// Decides about a method of 0.1, 0.2 or 0.3.
fn slash_method(
    revision: ProtocolVersion,
    method: &str,
    version: Option<&str>,
    is_current: bool,
    served: &Revisions,
) -> Decision {
    let is_served = match revision {
        ProtocolVersion::V0_2 | ProtocolVersion::V0_3 => served.contains_v0_2_or_v0_3(),
        other => served.contains(other),
    };
    if !is_served {
        return method_not_found(method, ProtocolVersion::V1_0);
    }
    if is_current {
        // With the versions that are served.
        let error = ProtocolVersion::not_supported("1.0", &served.to_vec()).with_message(format!(
            "{method} is not a method of version 1.0; send version {revision} or omit it"
        ));
        return Decision::Rejected { error, revision: ProtocolVersion::V1_0 };
    }
    if let Some(version) = version
        && version.parse::<ProtocolVersion>().is_err()
    {
        let error = ProtocolVersion::not_supported(version, &served.to_vec());
        return Decision::Rejected { error, revision };
    }
    Decision::Older(revision)
}

fn method_not_found(method: &str, revision: ProtocolVersion) -> Decision {
    let method: String = method.chars().take(64).collect();
    let error = Error::new(ErrorKind::MethodNotFound, format!("method not found: {method}"));
    Decision::Rejected { error, revision }
}

fn names_a_task(params: &Params<'_>) -> bool {
    let members = ["id", "name", "taskId", "task_id", "parent"];
    members.iter().any(|name| params.value().get(name).is_some())
}

#[cfg(test)]
mod tests {
    use ProtocolVersion::{V0_1, V0_3, V1_0, V1Draft};

    use super::*;

    /// The decision as written in the tables below.
    fn describe(decision: &Decision) -> String {
        match decision {
            Decision::Current => "current".into(),
            Decision::Older(revision) => format!("{revision:?}"),
            Decision::Rejected { error, revision } => {
                format!("{} as {revision:?}", error.kind().codes().jsonrpc)
            }
        }
    }

    fn decide(
        method: &str,
        version: Option<&str>,
        params: &str,
        origin: Option<ProtocolVersion>,
        served: &str,
        lenient: bool,
    ) -> String {
        let params = Params::new(params);
        let request = JsonRpcRequest { method, version, params: &params, origin };
        describe(&jsonrpc(&request, &served.parse().unwrap(), lenient))
    }

    fn all() -> Revisions {
        "all".parse().unwrap()
    }

    const V1_BODY: &str =
        r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]}}"#;
    const DRAFT_BODY: &str =
        r#"{"message":{"messageId":"m","role":"user","parts":[{"text":"x"}]}}"#;

    // covers: R-466, R-143, R-472
    #[test]
    fn json_rpc_requests_are_detected_as_documented() {
        for (method, version, params, origin, expected) in [
            // Rows 1 to 4: by method.
            ("tasks/send", None, "{}", None, "V0_1"),
            ("tasks/pushNotification/get", Some("0.1"), "{}", None, "V0_1"),
            ("tasks/get", None, r#"{"id":"t"}"#, Some(V0_1), "V0_1"),
            ("tasks/get", None, r#"{"id":"t"}"#, Some(V0_3), "V0_3"),
            ("tasks/get", None, r#"{"id":"t"}"#, None, "V0_3"),
            ("message/send", None, "{}", None, "V0_3"),
            ("message/send", Some("0.3"), "{}", None, "V0_3"),
            ("message/stream", Some("0.2.5"), "{}", None, "V0_2"),
            ("agent/authenticatedExtendedCard", None, "", None, "V0_3"),
            ("SetTaskPushNotificationConfig", None, "{}", None, "V1Draft"),
            ("ListTaskPushNotificationConfig", Some("1.0"), "{}", None, "V1Draft"),
            // Row 5: 1.0, unless the body has draft markers.
            ("SendMessage", Some("1.0"), V1_BODY, None, "current"),
            ("SendMessage", Some("1.0.7"), V1_BODY, None, "current"),
            ("SendMessage", Some("1.0"), DRAFT_BODY, None, "V1Draft"),
            ("GetTask", Some("1.0"), r#"{"id":"t"}"#, Some(V1Draft), "current"),
            // Row 6: other versions. The current binding rejects unknown ones.
            ("SendMessage", Some("0.3"), V1_BODY, None, "V1Draft"),
            ("SendMessage", Some("9.9"), V1_BODY, None, "current"),
            ("SendMessage", Some("0.2"), V1_BODY, None, "current"),
            // Rows 7 to 9: no version.
            ("SendMessage", None, DRAFT_BODY, None, "V1Draft"),
            ("SendMessage", Some(" "), DRAFT_BODY, None, "V1Draft"),
            ("SendMessage", None, V1_BODY, None, "current"),
            ("GetTask", None, r#"{"id":"t"}"#, Some(V1Draft), "V1Draft"),
            ("GetTask", None, r#"{"id":"t"}"#, None, "current"),
            ("GetTask", None, r#"{"name":"tasks/t"}"#, None, "V1Draft"),
            ("GetExtendedAgentCard", None, "", None, "V1Draft"),
            // Row 10: unknown method.
            ("tasks/explode", None, "{}", None, "-32601 as V0_3"),
            ("Explode", Some("1.0"), "{}", None, "-32601 as V1_0"),
            // Version and method of different revisions.
            ("message/send", Some("1.0"), "{}", None, "-32009 as V1_0"),
            ("tasks/send", Some("1.0"), "{}", None, "-32009 as V1_0"),
            ("message/send", Some("7"), "{}", None, "-32009 as V0_3"),
        ] {
            let decided = decide(method, version, params, origin, "all", false);
            let is_named = Operation::ALL.iter().any(|operation| operation.name() == method);
            if version == Some("1.0") && is_named && is_current(&Params::new(params), &all()) {
                assert_eq!(decided, "current", "{method} {params}");
            }
            assert_eq!(decided, expected, "{method} {version:?} {params} {origin:?}");
        }
    }

    // covers: R-469
    #[test]
    fn disabled_revisions_are_not_detected() {
        for (method, version, params, served, expected) in [
            ("tasks/send", None, "{}", "1.0,0.3", "-32601 as V1_0"),
            ("message/send", None, "{}", "1.0,0.1,draft", "-32601 as V1_0"),
            ("message/send", None, "{}", "0.2", "V0_3"),
            ("SetTaskPushNotificationConfig", None, "{}", "1.0,0.3", "-32601 as V0_3"),
            ("SendMessage", None, DRAFT_BODY, "1.0,0.3", "current"),
            ("SendMessage", Some("0.3"), V1_BODY, "1.0,0.3", "current"),
            ("GetExtendedAgentCard", None, "", "1.0", "current"),
            // 1.0 disabled.
            ("SendMessage", Some("1.0"), V1_BODY, "draft,0.3", "-32009 as V1_0"),
            ("SendMessage", Some("9.9"), V1_BODY, "0.3", "-32009 as V1_0"),
            ("SendMessage", None, V1_BODY, "draft", "V1Draft"),
            ("GetTask", None, r#"{"id":"t"}"#, "draft", "V1Draft"),
            ("GetTask", None, r#"{"id":"t"}"#, "0.3", "-32601 as V0_3"),
            ("GetTask", None, r#"{"id":"t"}"#, "0.1", "-32601 as V0_1"),
            // With only 0.1 enabled, the task origin is not needed.
            ("tasks/get", None, r#"{"id":"t"}"#, "0.1", "V0_1"),
        ] {
            let decided = decide(method, version, params, None, served, false);
            assert_eq!(decided, expected, "{method} {version:?} {served}");
        }
    }

    #[test]
    fn lenient_server_treats_request_without_version_as_current() {
        for params in [V1_BODY, r#"{"id":"t"}"#] {
            assert_eq!(decide("GetTask", None, params, None, "all", true), "current");
        }
        assert_eq!(decide("SendMessage", None, DRAFT_BODY, None, "all", true), "V1Draft");
    }

    #[test]
    fn current_requests_are_not_parsed_for_detection() {
        let params = Params::new(V1_BODY);
        let version = Some(V1_0.as_str());
        let request =
            JsonRpcRequest { method: "SendMessage", version, params: &params, origin: None };
        assert_eq!(describe(&jsonrpc(&request, &Revisions::all(), false)), "current");
        assert!(params.value.get().is_none(), "nothing was parsed");
    }
}
