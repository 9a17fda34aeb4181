//! Encodes requests as method, path, query and body.

use a2a_core::{Error, Result};
use bytes::Bytes;
use http::Method;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use url::form_urlencoded;

use crate::{AnyRequest, proto::json as proto_json, v1_draft};

/// All but the unreserved characters of RFC 3986 §2.3: a `:` would start a verb.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

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
pub(super) fn of_v0_3(request: AnyRequest) -> Result<EncodedRequest> {
    let encoded =
        |method, target, body: Vec<u8>| EncodedRequest { method, target, body: body.into() };
    let get = |target| encoded(Method::GET, target, Vec::new());
    let post = |target, body| encoded(Method::POST, target, body);
    Ok(match request {
        AnyRequest::SendMessage(request) => {
            post("/v1/message:send".into(), proto_json::write_send_request(request)?)
        }
        AnyRequest::SendStreamingMessage(request) => {
            post("/v1/message:stream".into(), proto_json::write_send_request(request)?)
        }
        AnyRequest::GetTask(request) => {
            let path = task(&request.id)?;
            get(match request.history_length {
                Some(length) => format!("{path}?historyLength={length}"),
                None => path,
            })
        }
        AnyRequest::CancelTask(request) => {
            post(format!("{}:cancel", task(&request.id)?), b"{}".to_vec())
        }
        AnyRequest::SubscribeToTask(request) => get(format!("{}:subscribe", task(&request.id)?)),
        AnyRequest::CreateTaskPushNotificationConfig(config) => {
            post(configs(&config.task_id)?, proto_json::write_create_config(config)?)
        }
        AnyRequest::GetTaskPushNotificationConfig(request) => {
            get(config(&request.task_id, &request.id)?)
        }
        AnyRequest::ListTaskPushNotificationConfigs(request) => get(configs(&request.task_id)?),
        AnyRequest::DeleteTaskPushNotificationConfig(request) => {
            encoded(Method::DELETE, config(&request.task_id, &request.id)?, Vec::new())
        }
        AnyRequest::GetExtendedAgentCard(_) => get("/v1/card".into()),
        AnyRequest::ListTasks(_) => return Err(Error::unsupported("version 0.3 has no ListTasks")),
    })
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
    let target = configs(&config.task_id)?;
    let body = proto_json::write_config(config.clone())?.into();
    Ok(Some(EncodedRequest { method: Method::POST, target, body }))
}

/// Encodes a request in the format of the draft of 1.0.
///
/// # Errors
///
/// [`InvalidParams`](a2a_core::ErrorKind::InvalidParams) for an id that is not allowed in a path.
pub(super) fn of_draft(request: &AnyRequest) -> Result<EncodedRequest> {
    for (name, id) in ids(request) {
        segment(name, id)?;
    }
    let request = v1_draft::write_rest(request);
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
    let method = Method::from_bytes(request.method.as_bytes()).map_err(Error::internal)?;
    Ok(EncodedRequest { method, target, body: body.into() })
}

/// The ids in the path of a request.
fn ids(request: &AnyRequest) -> Vec<(&'static str, &str)> {
    match request {
        AnyRequest::GetTask(request) => vec![("id", &request.id)],
        AnyRequest::CancelTask(request) => vec![("id", &request.id)],
        AnyRequest::SubscribeToTask(request) => vec![("id", &request.id)],
        AnyRequest::CreateTaskPushNotificationConfig(config) => vec![("taskId", &config.task_id)],
        AnyRequest::ListTaskPushNotificationConfigs(request) => vec![("taskId", &request.task_id)],
        AnyRequest::GetTaskPushNotificationConfig(request) => {
            vec![("taskId", &request.task_id), ("id", &request.id)]
        }
        AnyRequest::DeleteTaskPushNotificationConfig(request) => {
            vec![("taskId", &request.task_id), ("id", &request.id)]
        }
        AnyRequest::SendMessage(_)
        | AnyRequest::SendStreamingMessage(_)
        | AnyRequest::ListTasks(_)
        | AnyRequest::GetExtendedAgentCard(_) => Vec::new(),
    }
}

fn task(id: &str) -> Result<String> {
    Ok(format!("/v1/tasks/{}", segment("id", id)?))
}

fn configs(task_id: &str) -> Result<String> {
    Ok(format!("/v1/tasks/{}/pushNotificationConfigs", segment("taskId", task_id)?))
}

fn config(task_id: &str, id: &str) -> Result<String> {
    Ok(format!("{}/{}", configs(task_id)?, segment("id", id)?))
}

fn segment(name: &'static str, id: &str) -> Result<String> {
    // URL parsers resolve dot segments, percent-encoded or not.
    if matches!(id, "" | "." | "..") {
        let why = format!("can't be {id:?} in the path of a URL");
        return Err(Error::invalid_params(name, why));
    }
    Ok(utf8_percent_encode(id, SEGMENT).to_string())
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
        for id in ["", ".", ".."] {
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
