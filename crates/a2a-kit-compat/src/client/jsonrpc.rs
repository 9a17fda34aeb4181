//! A client of agents that speak an older revision over JSON-RPC.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use a2a_core::{
    Error, ErrorKind, ProtocolVersion, Result,
    json::{quote, response_text},
    v1::StreamResponse,
};
use a2a_kit_http::{
    client::{HttpClient, agent_url, place_call, read_answer, read_events},
    content_type, error_body, service_parameters,
};
use a2a_kit_operations::{Agent, CallContext, EventStream, Reply, intercept_agent};
use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderValue, Method, Request, StatusCode, Uri, header::CONTENT_TYPE};
use serde::{Deserialize, Deserializer, de::IgnoredAny};
use serde_json::{Value, json};

use super::{Transport, call::CallAny as _, extended_card};
use crate::{
    AnyRequest, AnyResponse, Dialect,
    common::{error_data::details, event::is_unknown_event, extensions},
    revision::dialect,
};

/// A client of an agent that speaks an older revision over JSON-RPC. Cheap to clone.
#[derive(Clone)]
pub struct JsonRpcClient {
    http: HttpClient,
    url: Uri,
    revision: ProtocolVersion,
    dialect: &'static dyn Dialect,
    last_id: Arc<AtomicU64>,
}

impl JsonRpcClient {
    /// Creates a client of the agent at `url`, which speaks `revision`.
    ///
    /// # Errors
    ///
    /// [`InvalidParams`](a2a_core::ErrorKind::InvalidParams) if `url` is not an absolute URL;
    /// [`VersionNotSupported`](a2a_core::ErrorKind::VersionNotSupported) for the current
    /// revision, whose client is `a2a_kit_jsonrpc::Client`.
    pub fn new(url: &str, revision: ProtocolVersion, http: HttpClient) -> Result<Self> {
        let url = agent_url(url)?;
        let dialect = dialect(revision).ok_or_else(|| {
            Error::new(ErrorKind::VersionNotSupported, "1.0 is not an older revision")
        })?;
        Ok(Self { http, url, revision, dialect, last_id: Arc::default() })
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
        place_call(&mut request, operation, context)?;
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, content_type::JSON);
        let revision = self.dialect.revision();
        match revision {
            // The examples of the draft send version 0.3.
            ProtocolVersion::V0_3 | ProtocolVersion::V1Draft => {
                headers.insert(service_parameters::VERSION, HeaderValue::from_static("0.3"));
            }
            _ => drop(headers.remove(service_parameters::VERSION)),
        }
        extensions::rename_header(revision, headers);
        Ok((id, request))
    }
}

#[async_trait]
impl Transport for JsonRpcClient {
    fn revision(&self) -> ProtocolVersion {
        self.dialect.revision()
    }

    async fn unary(&self, context: CallContext, request: AnyRequest) -> Result<Reply<AnyResponse>> {
        if matches!(request, AnyRequest::GetExtendedAgentCard(_))
            && self.revision == ProtocolVersion::V0_2
            && let Some(reply) = extended_card::read(&self.http, &self.url, &context).await?
        {
            return Ok(reply);
        }
        let operation = request.operation();
        let (id, request) = self.request(context, request)?;
        let (headers, response) = read_answer(self.http.send(request).await?, |body| {
            let result = Response::read(body)?.result(id)?;
            self.dialect.read_response(operation, result)
        })?;
        Ok(Reply { response, activated: extensions::read_activated(&headers) })
    }

    async fn stream(
        &self,
        context: CallContext,
        request: AnyRequest,
    ) -> Result<Reply<EventStream>> {
        let after = context.last_event_id;
        let (id, request) = self.request(context, request)?;
        let response = self.http.open(request).await?;
        let activated = extensions::read_activated(response.headers());
        let dialect = self.dialect;
        let read = move |data: &[u8]| read_event(dialect, id, data);
        let response = read_events(response, self.http.settings(), after, read).await?;
        Ok(Reply { response, activated })
    }
}

impl Agent for JsonRpcClient {
    intercept_agent!(call);
}

#[derive(Deserialize)]
struct Response {
    #[serde(default)]
    id: Value,
    #[serde(default, deserialize_with = "present")]
    result: Option<Value>,
    #[serde(default)]
    error: Option<Value>,
    /// Of a notification.
    #[serde(default)]
    method: Option<IgnoredAny>,
}

/// Reads a member that may be `null`.
fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}

impl Response {
    /// Reads a response, or its error.
    fn read(body: &[u8]) -> Result<Self> {
        let text = response_text(body);
        let response: Self = serde_json::from_str(&text).map_err(|error| {
            let message = match text.trim() {
                "" => "the response is empty".to_owned(),
                text => format!("the response is not a JSON-RPC response: {}", quote(text)),
            };
            Error::invalid_response(message).with_source(error)
        })?;
        let Some(mut error) = response.error else { return Ok(response) };
        if let Some(data) = error.get_mut("data") {
            *data = details(data.take());
        }
        Err(error_body::read_object(StatusCode::OK, error))
    }

    /// The result, which is that of request `id`.
    fn result(self, id: u64) -> Result<Value> {
        // Some older agents omit the id in events; the Java SDK responds with it as a string.
        if !self.id.is_null() && self.id != json!(id) && self.id != json!(id.to_string()) {
            let shown = quote(&self.id.to_string());
            let message = format!("the response has the id of another request: {shown}");
            return Err(Error::invalid_response(message));
        }
        Ok(self.result.unwrap_or_default())
    }
}

/// Reads an event; `None` for one that says nothing: a result that is `null`, a notification, or an
/// event of an unknown type.
fn read_event(dialect: &dyn Dialect, id: u64, data: &[u8]) -> Result<Option<StreamResponse>> {
    let response = Response::read(data)?;
    match &response.result {
        Some(Value::Null) => return Ok(None),
        None if response.method.is_some() => return Ok(None),
        _ => {}
    }
    let event = response.result(id)?;
    if is_unknown_event(&event) { Ok(None) } else { dialect.read_event(event).map(Some) }
}

a2a_core::debug_fields!(JsonRpcClient { url, revision, .. });
