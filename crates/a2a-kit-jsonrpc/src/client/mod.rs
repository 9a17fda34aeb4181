//! The client: a remote agent at a URL.

mod operation;
mod response;

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use a2a_core::{Error, Operation, Result};
use a2a_kit_http::{
    client::{ClientSettings, HttpClient, place_call, read_answer, read_events, with_url},
    content_type, error_body, service_parameters,
};
use a2a_kit_operations::{Call, EventStream, Reply};
use bytes::Bytes;
use http::{Method, Request, Uri, header::CONTENT_TYPE};
use serde::{
    Serialize,
    de::{DeserializeOwned, IgnoredAny},
};

/// An agent that is called over JSON-RPC (spec §9). Implements [`Agent`](a2a_kit_operations::Agent).
/// Cheap to clone.
#[derive(Clone, Debug)]
pub struct Client {
    http: HttpClient,
    url: Uri,
    last_id: Arc<AtomicU64>,
}

impl Client {
    /// Creates a client of the agent at `url`, with the default [`ClientSettings`].
    ///
    /// Requests are sent to exactly this URL.
    ///
    /// # Errors
    ///
    /// [`InvalidParams`](a2a_core::ErrorKind::InvalidParams) if `url` is invalid;
    /// [`Internal`](a2a_core::ErrorKind::Internal) if TLS can't be set up.
    pub fn new(url: &str) -> Result<Self> {
        Self::with_http(url, HttpClient::new(ClientSettings::default())?)
    }

    /// Creates a client that uses `http`.
    ///
    /// # Errors
    ///
    /// [`InvalidParams`](a2a_core::ErrorKind::InvalidParams) if `url` is invalid.
    pub fn with_http(url: &str, http: HttpClient) -> Result<Self> {
        let invalid = |why: &dyn std::fmt::Display| Error::invalid_params("url", why.to_string());
        let url: Uri = url.parse().map_err(|error| invalid(&error))?;
        if url.authority().is_none() || url.scheme().is_none() {
            return Err(invalid(&"must be absolute"));
        }
        Ok(Self { http, url, last_id: Arc::default() })
    }

    async fn unary<R: DeserializeOwned>(
        &self,
        operation: Operation,
        call: Call<impl Serialize>,
    ) -> Result<Reply<R>> {
        self.call(operation, call, response::read).await
    }

    /// Calls an operation with an empty response, which peers encode in three ways.
    async fn unary_without_result(
        &self,
        operation: Operation,
        call: Call<impl Serialize>,
    ) -> Result<Reply<()>> {
        let read = |id, body: &_| response::read_optional::<IgnoredAny>(id, body).map(|_| ());
        self.call(operation, call, read).await
    }

    async fn call<R>(
        &self,
        operation: Operation,
        call: Call<impl Serialize>,
        read: impl FnOnce(u64, &[u8]) -> Result<R>,
    ) -> Result<Reply<R>> {
        let id = self.next_id();
        let response = self.http.send(self.request(operation, id, call)?).await?;
        let (head, body) = response.into_parts();
        if !head.status.is_success() {
            let error = error_body::read(head.status, &head.headers, &body);
            return Err(with_url(error, &head));
        }
        let response = read_answer(&head, &body, |body| read(id, body))?;
        Ok(Reply { response, activated: service_parameters::read_activated(&head.headers) })
    }

    async fn stream(
        &self,
        operation: Operation,
        call: Call<impl Serialize>,
    ) -> Result<Reply<EventStream>> {
        let id = self.next_id();
        let await_first = call.context.last_event_id.is_none();
        let response = self.http.open(self.request(operation, id, call)?).await?;
        let activated = service_parameters::read_activated(response.headers());
        let read = move |data: &[u8]| response::read_event(id, data);
        let events = read_events(response, self.http.settings(), await_first, read).await?;
        Ok(Reply { response: events, activated })
    }

    fn request(
        &self,
        operation: Operation,
        id: u64,
        call: Call<impl Serialize>,
    ) -> Result<Request<Bytes>> {
        let mut body = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{}\",\"params\":",
            operation.name()
        )
        .into_bytes();
        serde_json::to_writer(&mut body, &call.request).map_err(Error::internal)?;
        body.push(b'}');

        let mut request = Request::new(Bytes::from(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.url.clone();
        place_call(&mut request, operation, call.context)?;
        request.headers_mut().insert(CONTENT_TYPE, content_type::JSON);
        Ok(request)
    }

    fn next_id(&self) -> u64 {
        self.last_id.fetch_add(1, Ordering::Relaxed) + 1
    }
}
