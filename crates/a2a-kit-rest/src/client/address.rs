//! Encodes requests as method, path, query and body, according to the routes of the descriptor.

use a2a_core::{Error, Operation, ROUTES, Request, Result};
use a2a_kit_http::client::agent_url;
use bytes::Bytes;
use http::{Method, Uri};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::name::{camel_case, fill_path};

/// The URL of an interface.
#[derive(Clone, Debug)]
pub(super) struct Base {
    /// URL up to the path, without a trailing slash.
    prefix: String,
    query: Option<String>,
}

impl Base {
    pub(super) fn parse(url: &str) -> Result<Self> {
        let url = agent_url(url)?;
        let text = url.to_string();
        let path = text.split('?').next().unwrap_or_default();
        let prefix = path.strip_suffix('/').unwrap_or(path).to_owned();
        Ok(Self { prefix, query: url.query().map(str::to_owned) })
    }

    pub(super) fn join(&self, address: &Address) -> Result<Uri> {
        let mut text = format!("{}{}", self.prefix, address.path);
        let queries = [self.query.as_deref(), address.query.as_deref()];
        for (index, query) in queries.into_iter().flatten().enumerate() {
            text.push(if index == 0 { '?' } else { '&' });
            text.push_str(query);
        }
        // Fails only if ids or tokens are too long.
        text.parse().map_err(|error| {
            Error::invalid_params("", "the request is too long for a URL").with_source(error)
        })
    }
}

/// The method, path, query and body of a request, relative to the URL of an interface.
#[derive(Debug)]
pub(super) struct Address {
    pub(super) method: Method,
    pub(super) body: Bytes,
    path: String,
    query: Option<String>,
}

impl Address {
    /// Encodes a request: the members of the path, and the others in the body or the query.
    ///
    /// # Errors
    ///
    /// [`InvalidParams`](a2a_core::ErrorKind::InvalidParams) for a member that is not allowed in a
    /// path.
    pub(super) fn of(operation: Operation, mut request: impl Request + Serialize) -> Result<Self> {
        let has_tenant = !request.tenant().is_empty();
        let route = ROUTES
            .iter()
            .find(|route| {
                route.operation == operation && route.path.starts_with("/{tenant}") == has_tenant
            })
            .ok_or_else(|| Error::unsupported("the operation has no route"))?;
        let method = Method::from_bytes(route.method.as_bytes()).map_err(Error::internal)?;
        let mut variables = Vec::new();
        let path = fill_path(route.path, |name| {
            variables.push(name);
            request.variable(name).cloned()
        })?;
        request.set_tenant(String::new());
        if operation == Operation::SubscribeToTask {
            return Ok(Self { method, path, query: None, body: Bytes::new() });
        }
        if !route.has_body {
            let query = write_query(&members(&request, &variables)?);
            return Ok(Self { method, path, query, body: Bytes::new() });
        }
        // Servers read the task id of a new webhook from the body.
        let keep = operation == Operation::CreateTaskPushNotificationConfig;
        let body = if keep || variables.iter().all(|name| *name == "tenant") {
            serde_json::to_vec(&request)
        } else {
            serde_json::to_vec(&members(&request, &variables)?)
        };
        let body = body.map_err(Error::internal)?.into();
        Ok(Self { method, path, query: None, body })
    }
}

/// The members that are set and not part of the path.
fn members(request: &impl Serialize, variables: &[&str]) -> Result<Map<String, Value>> {
    let Value::Object(mut members) = serde_json::to_value(request).map_err(Error::internal)? else {
        return Ok(Map::new());
    };
    for name in variables {
        members.remove(&*camel_case((*name).into()));
    }
    Ok(members)
}

fn write_query(members: &Map<String, Value>) -> Option<String> {
    let mut query = form_urlencoded::Serializer::new(String::new());
    for (name, value) in members {
        let values = match value {
            Value::Array(values) => values.as_slice(),
            value => std::slice::from_ref(value),
        };
        for value in values {
            match value {
                Value::String(text) => query.append_pair(name, text),
                value => query.append_pair(name, &value.to_string()),
            };
        }
    }
    // `+` means a space only in forms; in RFC 3986, which the protocol refers to, it is `%20`.
    // Literal plus signs are already encoded as `%2B`.
    Some(query.finish().replace('+', "%20")).filter(|query| !query.is_empty())
}

#[cfg(test)]
mod tests {
    use a2a_core::{
        Message, TaskState, v1,
        well_known::{Struct, Timestamp},
    };

    use super::*;

    fn laid_out(operation: Operation, request: impl Request + Serialize) -> String {
        let address = Address::of(operation, request).unwrap();
        let uri = Base::parse("http://h/a/").unwrap().join(&address).unwrap();
        let body = String::from_utf8(address.body.to_vec()).unwrap();
        format!("{} {uri} {body}", address.method).trim().to_owned()
    }

    // covers: R-294, R-295, R-296, R-299
    #[test]
    fn members_are_encoded_in_path_query_or_body() {
        let get = v1::GetTaskRequest { id: "a/b:cancel é".into(), ..Default::default() };
        let list = v1::ListTasksRequest {
            tenant: "x y".into(),
            context_id: "c&d".into(),
            status: TaskState::Working.into(),
            page_size: Some(7),
            status_timestamp_after: Some(Timestamp::from_millis(0)),
            include_artifacts: Some(true),
            ..Default::default()
        };
        let metadata = Struct::from_iter([("k", "v")]);
        let cancel = v1::CancelTaskRequest {
            id: "t".into(),
            metadata: Some(metadata),
            ..Default::default()
        };
        let create = v1::TaskPushNotificationConfig {
            tenant: "x".into(),
            task_id: "t".into(),
            url: "u".into(),
            ..Default::default()
        };
        let message = Message { message_id: "m".into(), ..Message::user("hi") };
        let send = v1::SendMessageRequest { message: Some(message), ..Default::default() };
        for (laid_out, expected) in [
            (laid_out(Operation::GetTask, get), "GET http://h/a/tasks/a%2Fb%3Acancel%20%C3%A9"),
            (
                laid_out(Operation::ListTasks, list),
                "GET http://h/a/x%20y/tasks?contextId=c%26d&includeArtifacts=true&pageSize=7&\
                 status=TASK_STATE_WORKING&statusTimestampAfter=1970-01-01T00%3A00%3A00.000Z",
            ),
            (
                laid_out(Operation::CancelTask, cancel),
                r#"POST http://h/a/tasks/t:cancel {"metadata":{"k":"v"}}"#,
            ),
            (
                laid_out(Operation::CreateTaskPushNotificationConfig, create),
                r#"POST http://h/a/x/tasks/t/pushNotificationConfigs {"taskId":"t","url":"u"}"#,
            ),
            (
                laid_out(Operation::SendMessage, send),
                "POST http://h/a/message:send \
                 {\"message\":{\"messageId\":\"m\",\"role\":\"ROLE_USER\",\"parts\":[{\"text\":\"hi\"}]}}",
            ),
        ] {
            assert_eq!(laid_out, expected);
        }
    }

    #[test]
    fn interface_url_is_preserved() {
        let address = || {
            Address::of(Operation::GetExtendedAgentCard, v1::GetExtendedAgentCardRequest::default())
        };
        for (url, expected) in [
            ("http://h", "http://h/extendedAgentCard"),
            ("http://h/", "http://h/extendedAgentCard"),
            ("https://u@h:8/a//", "https://u@h:8/a//extendedAgentCard"),
            ("http://h/a?key=1", "http://h/a/extendedAgentCard?key=1"),
        ] {
            let uri = Base::parse(url).unwrap().join(&address().unwrap()).unwrap();
            assert_eq!(uri.to_string(), expected, "{url}");
        }
        for url in ["", "h", "/a", "http://", "h:80"] {
            assert!(Base::parse(url).is_err(), "{url:?}");
        }
    }

    #[test]
    fn invalid_path_segments_are_rejected() {
        for id in ["", ".", "..", "../t", "t/../../x", r"t\..", "x/."] {
            let task = v1::GetTaskRequest { id: id.into(), ..Default::default() };
            let webhook = v1::DeleteTaskPushNotificationConfigRequest {
                task_id: "t".into(),
                id: id.into(),
                ..Default::default()
            };
            let tenant = v1::GetExtendedAgentCardRequest { tenant: id.into() };
            let errors = [
                ("id", Address::of(Operation::GetTask, task)),
                ("id", Address::of(Operation::DeleteTaskPushNotificationConfig, webhook)),
                ("tenant", Address::of(Operation::GetExtendedAgentCard, tenant)),
            ];
            // Without a tenant, another route has none.
            for (field, address) in errors.into_iter().take(if id.is_empty() { 2 } else { 3 }) {
                assert_eq!(address.unwrap_err().violations()[0].field, field, "{id:?}");
            }
        }
    }
}
