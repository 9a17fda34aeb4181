//! A client of agents that speak 0.3 or the draft of 1.0 over HTTP+JSON.

mod request;
mod response;

use a2a_core::{Error, ErrorKind, Operation, ProtocolVersion, Result};
use a2a_kit_http::{
    client::{HttpClient, agent_url, place_call, read_answer_with, read_events_with},
    content_type, service_parameters,
};
use a2a_kit_operations::{Agent, CallContext, EventStream, Reply, intercept_agent};
use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderValue, Method, Request, header::CONTENT_TYPE};

use super::{Transport, call::CallAny as _};
use crate::{AnyRequest, AnyResponse, common::extensions, detect::RestShape, proto::Files as _};
use request::EncodedRequest;

/// A client of an agent that speaks an older revision over HTTP+JSON. Cheap to clone.
///
/// In 0.3, it uses the ProtoJSON format of the official SDKs.
#[derive(Clone, Debug)]
pub struct RestClient {
    http: HttpClient,
    /// URL up to the path, without a trailing slash.
    prefix: String,
    query: Option<String>,
    revision: ProtocolVersion,
    shape: RestShape,
}

impl RestClient {
    /// Creates a client of the agent at `url`, which speaks `revision`: 0.2, 0.3, or the draft
    /// of 1.0.
    ///
    /// The routes are always below `{url}/v1`, as in the official SDKs.
    ///
    /// # Errors
    ///
    /// [`InvalidParams`](ErrorKind::InvalidParams) if `url` is not an absolute URL;
    /// [`VersionNotSupported`](ErrorKind::VersionNotSupported) for a revision without this binding,
    /// and for the current one, whose client is `a2a_kit_rest::Client`.
    pub fn new(url: &str, revision: ProtocolVersion, http: HttpClient) -> Result<Self> {
        let shape = match revision {
            // 0.2 has the routes of 0.3.
            ProtocolVersion::V0_2 | ProtocolVersion::V0_3 => RestShape::V03Proto,
            ProtocolVersion::V1Draft => RestShape::Draft,
            ProtocolVersion::V0_1 | ProtocolVersion::V1_0 => {
                let message = format!("version {revision} has no older HTTP+JSON binding");
                return Err(Error::new(ErrorKind::VersionNotSupported, message));
            }
        };
        let url = agent_url(url)?;
        let text = url.to_string();
        let path = text.split('?').next().unwrap_or_default();
        let prefix = path.trim_end_matches('/').to_owned();
        Ok(Self { http, prefix, query: url.query().map(str::to_owned), revision, shape })
    }

    async fn exchange(
        &self,
        operation: Operation,
        context: CallContext,
        encoded: &EncodedRequest,
    ) -> Result<Reply<AnyResponse>> {
        let request = self.request(operation, context, encoded, encoded.method.clone())?;
        let read = |body: &[u8]| response::read(self.shape, operation, body);
        let read_error =
            |status, headers: &_, body: &_| response::read_error(operation, status, headers, body);
        let (headers, response) =
            read_answer_with(self.http.send(request).await?, read, read_error).map_err(missing)?;
        Ok(Reply { response, activated: extensions::read_activated(&headers) })
    }

    async fn open(
        &self,
        operation: Operation,
        context: CallContext,
        encoded: &EncodedRequest,
        method: Method,
    ) -> Result<Reply<EventStream>> {
        let after = context.last_event_id;
        let request = self.request(operation, context, encoded, method)?;
        let response = self.http.open(request).await?;
        let shape = self.shape;
        let activated = extensions::read_activated(response.headers());
        let read = move |data: &[u8]| response::read_event(shape, data);
        let read_error = move |status, headers: &_, body: &_| {
            response::read_error(operation, status, headers, body)
        };
        let settings = self.http.settings();
        let response = read_events_with(response, settings, after, read, read_error).await?;
        Ok(Reply { response, activated })
    }

    fn encode(&self, mut request: AnyRequest) -> Result<EncodedRequest> {
        match self.shape {
            RestShape::Draft => request::of_draft(&request),
            RestShape::V03Proto | RestShape::V03Json => {
                request.write_text();
                request::of_v0_3(request)
            }
        }
    }

    fn request(
        &self,
        operation: Operation,
        context: CallContext,
        encoded: &EncodedRequest,
        method: Method,
    ) -> Result<Request<Bytes>> {
        let mut url = format!("{}{}", self.prefix, encoded.target);
        if let Some(query) = &self.query {
            url.push(if url.contains('?') { '&' } else { '?' });
            url.push_str(query);
        }
        let mut request = Request::new(encoded.body.clone());
        // Fails only if ids or tokens are too long.
        *request.uri_mut() = url.parse().map_err(|error: http::uri::InvalidUri| {
            Error::invalid_params("", "the request is too long for a URL").with_source(error)
        })?;
        *request.method_mut() = method;
        place_call(&mut request, operation, context)?;
        let headers = request.headers_mut();
        if !encoded.body.is_empty() {
            headers.insert(CONTENT_TYPE, content_type::JSON);
        }
        if self.shape != RestShape::Draft {
            headers.insert(service_parameters::VERSION, HeaderValue::from_static("0.3"));
        }
        extensions::rename_header(self.shape.revision(), headers);
        Ok(request)
    }
}

#[async_trait]
impl Transport for RestClient {
    fn revision(&self) -> ProtocolVersion {
        self.revision
    }

    async fn unary(&self, context: CallContext, request: AnyRequest) -> Result<Reply<AnyResponse>> {
        let operation = request.operation();
        let second = match self.shape {
            RestShape::V03Proto => request::bare_config(&request)?,
            RestShape::V03Json | RestShape::Draft => None,
        };
        let first = self.exchange(operation, context.clone(), &self.encode(request)?).await;
        match (first, second) {
            // Servers of 0.3 accept one of two formats for registering a webhook.
            (Err(error), Some(second)) if error.kind() == ErrorKind::InvalidParams => {
                self.exchange(operation, context, &second).await.or(Err(error))
            }
            (first, _) => first,
        }
    }

    async fn stream(
        &self,
        context: CallContext,
        request: AnyRequest,
    ) -> Result<Reply<EventStream>> {
        let operation = request.operation();
        let encoded = self.encode(request)?;
        let first = encoded.method.clone();
        if operation != Operation::SubscribeToTask {
            return self.open(operation, context, &encoded, first).await;
        }
        // The proto specifies GET, the text POST: some servers support only one of them. The Java SDK
        // takes the path of a GET for that of a task.
        let second = if first == Method::GET { Method::POST } else { Method::GET };
        match self.open(operation, context.clone(), &encoded, first).await {
            Err(error) => match error.kind() {
                ErrorKind::MethodNotAllowed | ErrorKind::MethodNotFound => {
                    self.open(operation, context, &encoded, second).await.map_err(missing)
                }
                ErrorKind::TaskNotFound => {
                    self.open(operation, context, &encoded, second).await.or(Err(error))
                }
                _ => Err(error),
            },
            reply => reply,
        }
    }
}

impl Agent for RestClient {
    intercept_agent!(call);
}

/// Converts `MethodNotAllowed` to `UnsupportedOperation`: most operations are optional in 0.3, and
/// share their path with others.
fn missing(error: Error) -> Error {
    match error.kind() {
        ErrorKind::MethodNotAllowed => {
            Error::unsupported(error.message().to_owned()).with_source(error)
        }
        _ => error,
    }
}
