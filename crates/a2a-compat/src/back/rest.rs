//! An agent that speaks 0.3 or the draft of 1.0 over HTTP+JSON.

mod answer;
mod request;

use a2a_core::{Error, ErrorKind, Operation, ProtocolVersion, Result};
use a2a_http::{
    client::{HttpClient, open_stream, place_call},
    content_type, service_parameters, sse,
};
use a2a_operations::{CallContext, Event, EventStream, Reply};
use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use http::{HeaderValue, Method, Request, Uri, header::CONTENT_TYPE};

use super::{
    Back,
    jsonrpc::{X_EXTENSIONS, activated},
    operation::impl_agent,
};
use crate::{AnyRequest, AnyResponse, detect::RestShape, proto::Files as _};
use request::Outgoing;

/// An agent that speaks an older revision over HTTP+JSON. Cheap to clone.
///
/// In 0.3 it speaks the ProtoJSON of the official SDKs.
#[derive(Clone, Debug)]
pub struct RestClient {
    http: HttpClient,
    /// Up to the path, without a slash at its end.
    prefix: String,
    query: Option<String>,
    revision: ProtocolVersion,
    shape: RestShape,
}

impl RestClient {
    /// Creates a client of the agent at `url`, which speaks `revision`: 0.2, 0.3, or the draft
    /// of 1.0.
    ///
    /// The routes are below `{url}/v1`, whatever the URL ends in, as the official SDKs have it.
    ///
    /// # Errors
    ///
    /// [`InvalidParams`](ErrorKind::InvalidParams) where `url` is not an absolute URL;
    /// [`VersionNotSupported`](ErrorKind::VersionNotSupported) for a revision that had no such
    /// binding, and for the current one, whose client is `a2a_rest::Client`.
    pub fn new(url: &str, revision: ProtocolVersion, http: HttpClient) -> Result<Self> {
        let shape = match revision {
            // The proto of 0.2 has the routes of 0.3.
            ProtocolVersion::V0_2 | ProtocolVersion::V0_3 => RestShape::Proto,
            ProtocolVersion::V1Draft => RestShape::Draft,
            ProtocolVersion::V0_1 | ProtocolVersion::V1_0 => {
                let message = format!("there is no older HTTP+JSON of version {revision}");
                return Err(Error::new(ErrorKind::VersionNotSupported, message));
            }
        };
        let uri: Uri = url.parse().map_err(|error: http::uri::InvalidUri| {
            Error::invalid_params("url", error.to_string()).with_source(error)
        })?;
        let (Some(scheme), Some(authority)) = (uri.scheme(), uri.authority()) else {
            return Err(Error::invalid_params("url", "must be absolute"));
        };
        let path = uri.path().trim_end_matches('/');
        let prefix = format!("{scheme}://{authority}{path}");
        Ok(Self { http, prefix, query: uri.query().map(str::to_owned), revision, shape })
    }

    async fn exchange(
        &self,
        operation: Operation,
        context: CallContext,
        outgoing: &Outgoing,
    ) -> Result<Reply<AnyResponse>> {
        let request = self.request(operation, context, outgoing, outgoing.method.clone())?;
        let (head, body) = self.http.send(request).await?.into_parts();
        if !head.status.is_success() {
            let error = answer::read_error(operation, head.status, &head.headers, &body);
            return Err(missing(error));
        }
        let response = answer::read(self.shape, operation, &body)?;
        Ok(Reply { response, activated: activated(&head.headers) })
    }

    async fn open(
        &self,
        operation: Operation,
        context: CallContext,
        outgoing: &Outgoing,
        method: Method,
    ) -> Result<Reply<EventStream>> {
        let resumes = context.last_event_id.is_some();
        let request = self.request(operation, context, outgoing, method)?;
        let (head, body) = self.http.open(request).await?.into_parts();
        let settings = self.http.settings();
        let shape = self.shape;
        let activated = activated(&head.headers);
        if !head.status.is_success() {
            let body = body.read_all(settings.max_response_bytes).await?;
            return Err(answer::read_error(operation, head.status, &head.headers, &body));
        }
        if !content_type::is_event_stream(&head.headers) {
            let body = body.read_all(settings.max_response_bytes).await?;
            let event = Event::new(None, answer::read_event(shape, &body)?);
            let response = EventStream::new(stream::iter([Ok(event)]));
            return Ok(Reply { response, activated });
        }
        let events = sse::decode(body, settings.max_event_bytes).map(move |event| {
            let event = event?;
            // Said to be an error: whatever it is, it is no event of the task.
            if event.event.as_deref() == Some("error") {
                let (status, headers) = (head.status, &head.headers);
                return Err(answer::read_error(operation, status, headers, &event.data));
            }
            let id = event.id.as_deref().and_then(|id| id.parse().ok());
            Ok(Event::new(id, answer::read_event(shape, &event.data)?))
        });
        let response = if resumes { EventStream::new(events) } else { open_stream(events).await? };
        Ok(Reply { response, activated })
    }

    fn lay_out(&self, mut request: AnyRequest) -> Result<Outgoing> {
        match self.shape {
            RestShape::Draft => request::of_draft(&request),
            RestShape::Proto | RestShape::Kind => {
                request.write_text();
                request::of_v0_3(request)
            }
        }
    }

    fn request(
        &self,
        operation: Operation,
        context: CallContext,
        outgoing: &Outgoing,
        method: Method,
    ) -> Result<Request<Bytes>> {
        let mut url = format!("{}{}", self.prefix, outgoing.target);
        if let Some(query) = &self.query {
            url.push(if url.contains('?') { '&' } else { '?' });
            url.push_str(query);
        }
        let mut request = Request::new(outgoing.body.clone());
        // Long ids and tokens are the only way to make it unfit.
        *request.uri_mut() = url.parse().map_err(|error: http::uri::InvalidUri| {
            Error::invalid_params("", "the request does not fit into a URL").with_source(error)
        })?;
        *request.method_mut() = method;
        place_call(&mut request, operation, context)?;
        let headers = request.headers_mut();
        if !outgoing.body.is_empty() {
            headers.insert(CONTENT_TYPE, content_type::JSON);
        }
        if self.shape != RestShape::Draft {
            headers.insert(service_parameters::VERSION, HeaderValue::from_static("0.3"));
            if let Some(extensions) = headers.remove(service_parameters::EXTENSIONS) {
                headers.insert(X_EXTENSIONS, extensions);
            }
        }
        Ok(request)
    }
}

#[async_trait]
impl Back for RestClient {
    fn revision(&self) -> ProtocolVersion {
        self.revision
    }

    async fn one(&self, context: CallContext, request: AnyRequest) -> Result<Reply<AnyResponse>> {
        let operation = request.operation();
        let second = match self.shape {
            RestShape::Proto => request::bare_config(&request)?,
            RestShape::Kind | RestShape::Draft => None,
        };
        let first = self.exchange(operation, context.clone(), &self.lay_out(request)?).await;
        match (first, second) {
            // The servers of 0.3 are divided on what registers a webhook, and none takes both.
            (Err(error), Some(second)) if error.kind() == ErrorKind::InvalidParams => {
                self.exchange(operation, context, &second).await.or(Err(error))
            }
            (first, _) => first,
        }
    }

    async fn events(
        &self,
        context: CallContext,
        request: AnyRequest,
    ) -> Result<Reply<EventStream>> {
        let operation = request.operation();
        let outgoing = self.lay_out(request)?;
        let first = outgoing.method.clone();
        if operation != Operation::SubscribeToTask {
            return self.open(operation, context, &outgoing, first).await;
        }
        // The proto says GET, the text says POST: there are servers with one of them alone.
        let second = if first == Method::GET { Method::POST } else { Method::GET };
        match self.open(operation, context.clone(), &outgoing, first).await {
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::MethodNotAllowed | ErrorKind::MethodNotFound
                ) =>
            {
                self.open(operation, context, &outgoing, second).await.map_err(missing)
            }
            answer => answer,
        }
    }
}

impl_agent!(RestClient);

/// Says that an agent has not got an operation where it has the path alone: what one of 0.3 may
/// leave out is more than what it has to have.
fn missing(error: Error) -> Error {
    match error.kind() {
        ErrorKind::MethodNotAllowed => {
            Error::unsupported(error.message().to_owned()).with_source(error)
        }
        _ => error,
    }
}
