//! The client: a remote agent at a URL.

mod address;
mod operation;
mod response;

use a2a_core::{ErrorKind, Operation, Request, Result};
use a2a_kit_http::{
    client::{ClientSettings, HttpClient, place_call, read_answer, read_events, with_url},
    content_type, error_body, service_parameters,
};
use a2a_kit_operations::{Call, CallContext, EventStream, Reply};
use bytes::Bytes;
use http::{Method, header::CONTENT_TYPE};
use serde::Serialize;

use address::{Address, Base};

/// An agent that is called over HTTP+JSON (spec §11). Implements [`Agent`](a2a_kit_operations::Agent).
/// Cheap to clone.
#[derive(Clone, Debug)]
pub struct Client {
    http: HttpClient,
    base: Base,
}

impl Client {
    /// Creates a client of the agent at `url`, with the default [`ClientSettings`].
    ///
    /// # Errors
    ///
    /// [`InvalidParams`](ErrorKind::InvalidParams) if `url` is invalid;
    /// [`Internal`](ErrorKind::Internal) if TLS can't be set up.
    pub fn new(url: &str) -> Result<Self> {
        Self::with_http(url, HttpClient::new(ClientSettings::default())?)
    }

    /// Creates a client that uses `http`.
    ///
    /// # Errors
    ///
    /// [`InvalidParams`](ErrorKind::InvalidParams) if `url` is invalid.
    pub fn with_http(url: &str, http: HttpClient) -> Result<Self> {
        Ok(Self { http, base: Base::parse(url)? })
    }

    async fn unary<R>(
        &self,
        operation: Operation,
        call: Call<impl Request + Serialize>,
        read: impl FnOnce(&[u8]) -> Result<R>,
    ) -> Result<Reply<R>> {
        let Call { context, request } = call;
        let address = Address::of(operation, request)?;
        let response = self.http.send(self.request(operation, context, &address, None)?).await?;
        let (head, body) = response.into_parts();
        if !head.status.is_success() {
            let error = error_body::read(head.status, &head.headers, &body);
            return Err(with_url(error, &head));
        }
        let activated = service_parameters::read_activated(&head.headers);
        Ok(Reply { response: read_answer(&head, &body, read)?, activated })
    }

    async fn stream(
        &self,
        operation: Operation,
        call: Call<impl Request + Serialize>,
    ) -> Result<Reply<EventStream>> {
        let Call { context, request } = call;
        let address = Address::of(operation, request)?;
        if operation != Operation::SubscribeToTask {
            return self.open(operation, context, &address, None).await;
        }
        // The proto specifies GET, everything else POST (spec §11.3.2): POST is tried first, then
        // GET.
        match self.open(operation, context.clone(), &address, Some(Method::POST)).await {
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::MethodNotAllowed | ErrorKind::MethodNotFound
                ) =>
            {
                self.open(operation, context, &address, Some(Method::GET)).await
            }
            reply => reply,
        }
    }

    async fn open(
        &self,
        operation: Operation,
        context: CallContext,
        address: &Address,
        method: Option<Method>,
    ) -> Result<Reply<EventStream>> {
        let await_first = context.last_event_id.is_none();
        let request = self.request(operation, context, address, method)?;
        let response = self.http.open(request).await?;
        let activated = service_parameters::read_activated(response.headers());
        let events =
            read_events(response, self.http.settings(), await_first, response::read_event).await?;
        Ok(Reply { response: events, activated })
    }

    fn request(
        &self,
        operation: Operation,
        context: CallContext,
        address: &Address,
        method: Option<Method>,
    ) -> Result<http::Request<Bytes>> {
        let mut request = http::Request::new(address.body.clone());
        *request.method_mut() = method.unwrap_or_else(|| address.method.clone());
        *request.uri_mut() = self.base.join(address)?;
        place_call(&mut request, operation, context)?;
        if !address.body.is_empty() {
            request.headers_mut().insert(CONTENT_TYPE, content_type::A2A_JSON);
        }
        Ok(request)
    }
}
