//! An agent that speaks an older revision over JSON-RPC.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use a2a_core::{
    Error, ErrorKind, ProtocolVersion, Result,
    v1::{
        AgentCard, CancelTaskRequest, DeleteTaskPushNotificationConfigRequest,
        GetExtendedAgentCardRequest, GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
        ListTasksRequest, ListTasksResponse, SendMessageRequest, SendMessageResponse,
        StreamResponse, SubscribeToTaskRequest, Task, TaskPushNotificationConfig,
    },
};
use a2a_http::{
    client::{HttpClient, call_headers, read_events},
    fault, media, parameters,
};
use a2a_operations::{Agent, Call, CallContext, EventStream, Reply};
use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, Request, StatusCode, Uri, header::CONTENT_TYPE};
use serde::Deserialize;
use serde_json::{Value, json};

use super::opening::opened;
use crate::{AnyRequest, AnyResponse, Dialect, common::fault::details};

/// The name of `A2A-Extensions` before 1.0.
pub(super) const X_EXTENSIONS: HeaderName = HeaderName::from_static("x-a2a-extensions");

/// An agent that speaks an older revision over JSON-RPC. Cheap to clone.
#[derive(Clone)]
pub struct JsonRpcClient {
    http: HttpClient,
    url: Uri,
    dialect: Arc<dyn Dialect>,
    last_id: Arc<AtomicU64>,
}

impl JsonRpcClient {
    /// Creates a client of the agent at `url`, which speaks `revision`.
    ///
    /// # Errors
    ///
    /// [`InvalidParams`](a2a_core::ErrorKind::InvalidParams) where `url` is not an absolute URL;
    /// [`VersionNotSupported`](a2a_core::ErrorKind::VersionNotSupported) for the current
    /// revision, whose client is `a2a_jsonrpc::Client`.
    pub fn new(url: &str, revision: ProtocolVersion, http: HttpClient) -> Result<Self> {
        let refused = |why: &dyn fmt::Display| Error::invalid_params("url", why.to_string());
        let url: Uri = url.parse().map_err(|error| refused(&error))?;
        if url.authority().is_none() || url.scheme().is_none() {
            return Err(refused(&"must be absolute"));
        }
        let dialect = crate::front::dialect(revision).ok_or_else(|| {
            Error::new(ErrorKind::VersionNotSupported, "1.0 is not an older revision")
        })?;
        Ok(Self { http, url, dialect, last_id: Arc::default() })
    }

    async fn one(&self, context: CallContext, request: AnyRequest) -> Result<Reply<AnyResponse>> {
        let operation = request.operation();
        let (id, request) = self.request(context, request)?;
        let answer = self.http.send(request).await?;
        let (head, body) = answer.into_parts();
        if !head.status.is_success() {
            return Err(fault::read(head.status, &head.headers, &body));
        }
        let result = result(Some(id), &body)?;
        let response = self.dialect.read_response(operation, result)?;
        Ok(Reply { response, activated: activated(&head.headers) })
    }

    async fn events(
        &self,
        context: CallContext,
        request: AnyRequest,
    ) -> Result<Reply<EventStream>> {
        let await_first = context.last_event_id.is_none();
        let resumes = !await_first;
        let (id, request) = self.request(context, request)?;
        let response = self.http.open(request).await?;
        let activated = activated(response.headers());
        let dialect = Arc::clone(&self.dialect);
        let read = move |data: &[u8]| read_event(&*dialect, id, data);
        let events = read_events(response, self.http.settings(), await_first, read).await?;
        let response = if resumes { events } else { opened(events) };
        Ok(Reply { response, activated })
    }

    fn request(&self, context: CallContext, request: AnyRequest) -> Result<(u64, Request<Bytes>)> {
        let operation = request.operation();
        let (method, params) = self.dialect.write_request(request)?;
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let body = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let body = serde_json::to_vec(&body).map_err(Error::internal)?;

        let mut request = Request::new(Bytes::from(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.url.clone();
        let headers = request.headers_mut();
        *headers = call_headers(operation, context);
        headers.insert(CONTENT_TYPE, media::JSON);
        let revision = self.dialect.revision();
        match revision {
            // The examples of the draft send the version before it.
            ProtocolVersion::V0_3 | ProtocolVersion::V1Draft => {
                headers.insert(parameters::VERSION, HeaderValue::from_static("0.3"));
            }
            _ => drop(headers.remove(parameters::VERSION)),
        }
        if revision < ProtocolVersion::V1Draft
            && let Some(extensions) = headers.remove(parameters::EXTENSIONS)
        {
            headers.insert(X_EXTENSIONS, extensions);
        }
        Ok((id, request))
    }
}

pub(super) fn activated(headers: &http::HeaderMap) -> a2a_core::ExtensionSet {
    let mut activated = parameters::read_activated(headers);
    for line in headers.get_all(X_EXTENSIONS).iter().filter_map(|line| line.to_str().ok()) {
        activated.extend_from_header(line);
    }
    activated
}

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    id: Value,
    #[serde(default)]
    result: Value,
    #[serde(default)]
    error: Option<Value>,
}

/// Reads the result of request `id`, or the error in its place.
fn result(id: Option<u64>, body: &[u8]) -> Result<Value> {
    let answer: Answer = serde_json::from_slice(body)
        .map_err(|error| invalid("the answer is not one of JSON-RPC").with_source(error))?;
    if let Some(mut error) = answer.error {
        if let Some(data) = error.get_mut("data") {
            *data = details(data.take());
        }
        return Err(fault::read_object(StatusCode::OK, error));
    }
    // Some older agents leave the id out of their events.
    if let Some(id) = id
        && !answer.id.is_null()
        && answer.id != json!(id)
    {
        return Err(invalid("the answer has the id of another request"));
    }
    Ok(answer.result)
}

fn read_event(dialect: &dyn Dialect, id: u64, data: &[u8]) -> Result<StreamResponse> {
    dialect.read_event(result(Some(id), data)?)
}

fn invalid(message: &'static str) -> Error {
    Error::new(ErrorKind::InvalidAgentResponse, message)
}

fn other() -> Error {
    invalid("the answer is one to another operation")
}

macro_rules! one {
    ($self:ident, $call:ident, $request:ident, $answer:ident) => {{
        let reply = $self.one($call.context, AnyRequest::$request($call.request)).await?;
        match reply.response {
            AnyResponse::$answer(response) => Ok(Reply { response, activated: reply.activated }),
            _ => Err(other()),
        }
    }};
}

#[async_trait]
impl Agent for JsonRpcClient {
    async fn send_message(
        &self,
        call: Call<SendMessageRequest>,
    ) -> Result<Reply<SendMessageResponse>> {
        one!(self, call, SendMessage, Sent)
    }

    async fn send_streaming_message(
        &self,
        call: Call<SendMessageRequest>,
    ) -> Result<Reply<EventStream>> {
        self.events(call.context, AnyRequest::SendStreamingMessage(call.request)).await
    }

    async fn get_task(&self, call: Call<GetTaskRequest>) -> Result<Reply<Arc<Task>>> {
        one!(self, call, GetTask, Task)
    }

    async fn list_tasks(&self, call: Call<ListTasksRequest>) -> Result<Reply<ListTasksResponse>> {
        one!(self, call, ListTasks, Tasks)
    }

    async fn cancel_task(&self, call: Call<CancelTaskRequest>) -> Result<Reply<Arc<Task>>> {
        one!(self, call, CancelTask, Task)
    }

    async fn subscribe_to_task(
        &self,
        call: Call<SubscribeToTaskRequest>,
    ) -> Result<Reply<EventStream>> {
        self.events(call.context, AnyRequest::SubscribeToTask(call.request)).await
    }

    async fn create_task_push_notification_config(
        &self,
        call: Call<TaskPushNotificationConfig>,
    ) -> Result<Reply<TaskPushNotificationConfig>> {
        one!(self, call, CreateTaskPushNotificationConfig, Config)
    }

    async fn get_task_push_notification_config(
        &self,
        call: Call<GetTaskPushNotificationConfigRequest>,
    ) -> Result<Reply<TaskPushNotificationConfig>> {
        one!(self, call, GetTaskPushNotificationConfig, Config)
    }

    async fn list_task_push_notification_configs(
        &self,
        call: Call<ListTaskPushNotificationConfigsRequest>,
    ) -> Result<Reply<ListTaskPushNotificationConfigsResponse>> {
        one!(self, call, ListTaskPushNotificationConfigs, Configs)
    }

    async fn delete_task_push_notification_config(
        &self,
        call: Call<DeleteTaskPushNotificationConfigRequest>,
    ) -> Result<Reply<()>> {
        let request = AnyRequest::DeleteTaskPushNotificationConfig(call.request);
        Ok(self.one(call.context, request).await?.map(|_deleted| ()))
    }

    async fn get_extended_agent_card(
        &self,
        call: Call<GetExtendedAgentCardRequest>,
    ) -> Result<Reply<AgentCard>> {
        one!(self, call, GetExtendedAgentCard, Card)
    }
}

impl fmt::Debug for JsonRpcClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JsonRpcClient")
            .field("url", &self.url)
            .field("revision", &self.dialect.revision())
            .finish_non_exhaustive()
    }
}
