//! Encodes requests as method, path, query and body.

use a2a_core::{Error, Result};
use bytes::Bytes;
use http::Method;

use crate::{
    AnyRequest,
    proto::json as proto_json,
    v1_draft::{self, route},
};

/// An encoded request.
#[derive(Debug)]
pub(super) struct EncodedRequest {
    pub(super) method: Method,
    /// Path and query below the URL of the agent.
    pub(super) target: String,
    /// Empty if there is none.
    pub(super) body: Bytes,
}

/// Encodes a request in the ProtoJSON format of 0.3.
///
/// # Errors
///
/// [`UnsupportedOperation`](a2a_core::ErrorKind::UnsupportedOperation) for `ListTasks`, which no
/// implementation of 0.3 has; [`InvalidParams`](a2a_core::ErrorKind::InvalidParams) for an id that
/// is not allowed in a path.
pub(super) fn of_v0_3(mut request: AnyRequest) -> Result<EncodedRequest> {
    let (mut method, mut target) = route(&mut request)?;
    let body = match request {
        AnyRequest::SendMessage(request) | AnyRequest::SendStreamingMessage(request) => {
            proto_json::write_send_request(request)?
        }
        AnyRequest::GetTask(request) => {
            if let Some(length) = request.history_length {
                target.push_str(&format!("?historyLength={length}"));
            }
            Vec::new()
        }
        AnyRequest::CancelTask(_) => b"{}".to_vec(),
        AnyRequest::SubscribeToTask(_) => {
            method = "GET";
            Vec::new()
        }
        AnyRequest::CreateTaskPushNotificationConfig(config) => {
            proto_json::write_create_config(config)?
        }
        AnyRequest::GetExtendedAgentCard(_) => {
            "/v1/card".clone_into(&mut target);
            Vec::new()
        }
        AnyRequest::GetTaskPushNotificationConfig(_)
        | AnyRequest::ListTaskPushNotificationConfigs(_)
        | AnyRequest::DeleteTaskPushNotificationConfig(_) => Vec::new(),
        AnyRequest::ListTasks(_) => return Err(Error::unsupported("version 0.3 has no ListTasks")),
    };
    encoded(method, target, body)
}

/// Encodes the registration of a webhook as the proto specifies: as the whole body. The official
/// SDKs of 0.3 wrap it in a member. `None` for other requests.
///
/// # Errors
///
/// Those of [`of_v0_3`].
pub(super) fn bare_config(request: &AnyRequest) -> Result<Option<EncodedRequest>> {
    let AnyRequest::CreateTaskPushNotificationConfig(config) = request else {
        return Ok(None);
    };
    let (method, target) = route(&mut request.clone())?;
    encoded(method, target, proto_json::write_config(config.clone())?).map(Some)
}

/// Encodes a request in the format of the draft of 1.0.
///
/// # Errors
///
/// [`InvalidParams`](a2a_core::ErrorKind::InvalidParams) for an id that is not allowed in a path.
pub(super) fn of_draft(request: &AnyRequest) -> Result<EncodedRequest> {
    let request = v1_draft::write_rest(request)?;
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(&request.query);
    // `+` means a space only in forms.
    let query = query.finish().replace('+', "%20");
    let target = match &*query {
        "" => request.path,
        query => format!("{}?{query}", request.path),
    };
    let body = request.body.map(|body| serde_json::to_vec(&body)).transpose();
    let body = body.map_err(Error::internal)?.unwrap_or_default();
    encoded(request.method, target, body)
}

fn encoded(method: &str, target: String, body: Vec<u8>) -> Result<EncodedRequest> {
    let method = Method::from_bytes(method.as_bytes()).map_err(Error::internal)?;
    Ok(EncodedRequest { method, target, body: body.into() })
}

#[cfg(test)]
mod tests {
    use a2a_core::{ErrorKind, v1};

    use super::*;

    fn get(id: &str) -> AnyRequest {
        let id = id.to_owned();
        AnyRequest::GetTask(v1::GetTaskRequest {
            id,
            history_length: Some(2),
            ..Default::default()
        })
    }

    #[test]
    fn ids_are_encoded_as_path_segments() {
        let expected = "/v1/tasks/a%2Fb%3Acancel%20%C3%A9?historyLength=2";
        assert_eq!(of_v0_3(get("a/b:cancel é")).unwrap().target, expected);
        assert_eq!(of_draft(&get("a/b:cancel é")).unwrap().target, expected);
        for id in ["", ".", "..", "../t", r"x\..\t", "t/../../x"] {
            for encoded in [of_v0_3(get(id)), of_draft(&get(id))] {
                assert_eq!(encoded.unwrap_err().kind(), ErrorKind::InvalidParams, "{id:?}");
            }
        }
    }

    #[test]
    fn list_tasks_is_only_supported_in_the_draft() {
        let list = v1::ListTasksRequest {
            context_id: "a b&c".into(),
            page_size: Some(3),
            ..Default::default()
        };
        let list = AnyRequest::ListTasks(list);
        let target = of_draft(&list).unwrap().target;
        assert!(target.starts_with("/v1/tasks?contextId=a%20b%26c&pageSize=3"), "{target}");
        assert_eq!(of_v0_3(list).unwrap_err().kind(), ErrorKind::UnsupportedOperation);
    }
}
