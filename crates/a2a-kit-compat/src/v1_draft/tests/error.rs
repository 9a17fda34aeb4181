//! Errors.

use a2a_core::{Error, ErrorKind, Violation};
use serde_json::json;

use crate::{
    Dialect as _,
    v1_draft::{V1Draft, grpc_status, http_status, problem, read_problem},
};

//
#[test]
fn errors_round_trip_as_problem_details_with_draft_status() {
    for kind in ErrorKind::ALL {
        let error = Error::new(kind, "why").with_metadata("taskId", "t").with_metadata("type", "x");
        let written = problem(&error);
        assert_eq!(written.status, http_status(kind));
        assert_eq!(written.body["status"], http_status(kind));
        assert_eq!(written.body["detail"], "why");
        assert_eq!(written.body["taskId"], "t");
        let read = read_problem(written.status, &written.body).unwrap();
        assert_eq!((read.message(), &*read.metadata()["taskId"]), ("why", "t"));
        if let Some(name) = written.body.get("type") {
            // The draft does not distinguish parse errors from invalid requests.
            assert_eq!(read.kind().codes().reason, kind.codes().reason, "{name}");
        }
    }
    // Name, HTTP and gRPC status according to section 5.4 of the draft.
    for (kind, name, http, grpc) in [
        (ErrorKind::TaskNotFound, "task-not-found", 404, 5),
        (ErrorKind::TaskNotCancelable, "task-not-cancelable", 409, 9),
        (ErrorKind::PushNotificationNotSupported, "push-notification-not-supported", 400, 12),
        (ErrorKind::UnsupportedOperation, "unsupported-operation", 400, 12),
        (ErrorKind::ContentTypeNotSupported, "content-type-not-supported", 415, 3),
        (ErrorKind::InvalidAgentResponse, "invalid-agent-response", 502, 13),
        (ErrorKind::ExtendedAgentCardNotConfigured, "extended-agent-card-not-configured", 400, 9),
        (ErrorKind::ExtensionSupportRequired, "extension-support-required", 400, 9),
        (ErrorKind::VersionNotSupported, "version-not-supported", 400, 12),
    ] {
        let written = problem(&Error::new(kind, "why"));
        assert_eq!(written.body["type"], format!("https://a2a-protocol.org/errors/{name}"));
        assert_eq!((http_status(kind), grpc_status(kind)), (http, grpc), "{kind:?}");
    }
    assert_eq!(read_problem(500, &json!({"error": {"code": 500}})).map(|e| e.kind()), None);
}

#[test]
fn error_data_is_a_plain_object() {
    let violation = Violation::new("message.parts", "is required");
    let error =
        Error::from_violations(vec![violation]).with_metadata("supportedVersions", "1.0,0.3");
    let written = V1Draft.write_error(&error);
    assert_eq!(written.code, -32602);
    assert_eq!(
        written.data,
        json!({"reason": "INVALID_PARAMS", "supportedVersions": ["1.0", "0.3"],
            "errors": [{"field": "message.parts", "message": "is required"}]})
    );
    for kind in ErrorKind::ALL {
        let written = V1Draft.write_error(&Error::new(kind, "why"));
        assert_eq!(written.code, kind.codes().jsonrpc, "{kind:?}");
        assert_eq!(written.data["reason"], kind.codes().reason, "{kind:?}");
    }
}
