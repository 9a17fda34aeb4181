//! The HTTP client.

use std::{error::Error as _, future::Future, sync::Arc, time::Duration};

use a2a_core::{Error, Result};
use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode, header::LOCATION};
use url::Url;

use super::{ByteStream, ClientSettings, HttpExchange, TransportError, WirePart};
use crate::webhook::resolver::{CheckedResolver, system};

/// An HTTP client with one connection pool, cheap to clone.
///
/// A response of any status is `Ok`. Errors are transport errors, with a [`TransportError`] as
/// their source. Redirects are followed only within the same origin and with the same method;
/// others are returned as responses.
#[derive(Clone, Debug)]
pub struct HttpClient {
    client: reqwest::Client,
    settings: Arc<ClientSettings>,
}

impl HttpClient {
    /// Creates a client.
    ///
    /// # Errors
    ///
    /// [`Internal`](a2a_core::ErrorKind::Internal) if the settings are invalid.
    pub fn new(settings: ClientSettings) -> Result<Self> {
        let mut builder = reqwest::Client::builder()
            .tls_backend_preconfigured(settings.tls.http_config().map_err(Error::internal)?)
            .connect_timeout(settings.connect_timeout)
            // Below the idle timeout of servers (60 s in this workspace), so that a request does
            // not race the close.
            .pool_idle_timeout(Duration::from_secs(45))
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(&settings.user_agent)
            .tcp_nodelay(true);
        if !settings.proxy_from_environment || settings.policy.is_some() {
            builder = builder.no_proxy();
        }
        if let Some(policy) = &settings.policy {
            builder = builder.dns_resolver(CheckedResolver::new(policy.clone().into(), system()));
        }
        if settings.http2_prior_knowledge {
            builder = builder.http2_prior_knowledge();
        }
        let client = builder.build().map_err(Error::internal)?;
        Ok(Self { client, settings: Arc::new(settings) })
    }

    /// Returns the settings of the client.
    pub fn settings(&self) -> &ClientSettings {
        &self.settings
    }

    /// Returns a client with the same connection pool and other headers of every request.
    #[must_use]
    pub fn with_headers(mut self, headers: HeaderMap) -> Self {
        Arc::make_mut(&mut self.settings).headers = headers;
        self
    }

    /// Returns a client with the same connection pool and another timeout of unary requests.
    #[must_use]
    pub fn with_request_timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        Arc::make_mut(&mut self.settings).request_timeout = timeout.into();
        self
    }

    /// Returns a client with the same connection pool and another maximum size of responses.
    #[must_use]
    pub fn with_max_response_bytes(mut self, bytes: usize) -> Self {
        Arc::make_mut(&mut self.settings).max_response_bytes = bytes;
        self
    }

    /// Sends a request and reads the whole response.
    ///
    /// # Errors
    ///
    /// [`Unavailable`](a2a_core::ErrorKind::Unavailable) if the connection fails or is lost;
    /// [`DeadlineExceeded`](a2a_core::ErrorKind::DeadlineExceeded) after
    /// [`ClientSettings::request_timeout`];
    /// [`InvalidAgentResponse`](a2a_core::ErrorKind::InvalidAgentResponse) for a response that is
    /// too large; [`InvalidParams`](a2a_core::ErrorKind::InvalidParams) for a URL that is not HTTP,
    /// or that [`ClientSettings::policy`] forbids.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes an HTTP/1.1 connection, or resets the HTTP/2 stream.
    pub async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>> {
        let target = origin(request.uri())?;
        let limit = self.settings.max_response_bytes;
        let call = async {
            let (head, body) = self.execute(request, Arc::clone(&target), None).await?.into_parts();
            Ok(Response::from_parts(head, body.read_all(limit).await?))
        };
        within(self.settings.request_timeout, &target, call).await
    }

    /// Sends a request and returns the response when its head has arrived, with a streaming body.
    ///
    /// No total timeout applies, only [`ClientSettings::idle_timeout`].
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send), until the head has arrived.
    pub async fn open(&self, request: Request<Bytes>) -> Result<Response<ByteStream>> {
        let target = origin(request.uri())?;
        let idle = self.settings.idle_timeout;
        let call = self.execute(request, Arc::clone(&target), idle);
        within(idle, &target, call).await
    }

    async fn execute(
        &self,
        request: Request<Bytes>,
        target: Arc<str>,
        idle: Option<Duration>,
    ) -> Result<Response<ByteStream>> {
        let (head, body) = request.into_parts();
        let mut url = parse(&head.uri)?;
        let mut headers = self.settings.headers.clone();
        // A header of the request replaces all values of that header in the settings.
        for name in head.headers.keys() {
            headers.remove(name);
        }
        headers.extend(head.headers.iter().map(|(name, value)| (name.clone(), value.clone())));
        let mut redirects = 0;
        loop {
            if let Some(policy) = &self.settings.policy {
                policy.check_url(&url)?;
            }
            let exchange = self.settings.observer.as_ref().map(HttpExchange::begin);
            if let Some(exchange) = &exchange {
                let (method, url) = (head.method.as_str(), url.as_str());
                exchange.show(WirePart::Request { method, url, headers: &headers });
                exchange.show(WirePart::RequestBody(&body));
            }
            let response = self
                .client
                .request(head.method.clone(), url.clone())
                .headers(headers.clone())
                .body(body.clone())
                .send()
                .await
                .map_err(|error| {
                    let error = TransportError::from_reqwest(error);
                    if let Some(exchange) = &exchange {
                        exchange.show(WirePart::Failed(&describe(&error)));
                    }
                    error.into_error(&target)
                })?;
            if let Some(exchange) = &exchange {
                let (status, headers) = (response.status(), response.headers());
                exchange.show(WirePart::Response { status, headers });
            }
            match redirect(&head.method, &url, &response) {
                Some(next) if redirects < self.settings.max_redirects => url = next,
                _ => return Ok(into_http(response, target, idle, exchange)),
            }
            redirects += 1;
        }
    }
}

/// Returns the target of a redirect if it may be followed: with the same origin and method, so that
/// credentials and bodies do not leave the origin.
fn redirect(method: &Method, url: &Url, response: &reqwest::Response) -> Option<Url> {
    let keeps_method = match response.status() {
        StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT => true,
        StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND => method == Method::GET,
        _ => false,
    };
    let location = response.headers().get(LOCATION)?.to_str().ok()?;
    let next = url.join(location).ok()?;
    (keeps_method && next.origin() == url.origin()).then_some(next)
}

/// Formats an error with its cause.
fn describe(error: &TransportError) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

fn into_http(
    response: reqwest::Response,
    target: Arc<str>,
    idle: Option<Duration>,
    exchange: Option<HttpExchange>,
) -> Response<ByteStream> {
    let mut head = Response::new(());
    *head.status_mut() = response.status();
    *head.version_mut() = response.version();
    *head.headers_mut() = response.headers().clone();
    head.map(|()| ByteStream::new(response, target, idle, exchange))
}

async fn within<T>(
    timeout: Option<Duration>,
    target: &str,
    call: impl Future<Output = Result<T>>,
) -> Result<T> {
    match timeout {
        None => call.await,
        Some(timeout) => tokio::time::timeout(timeout, call)
            .await
            .unwrap_or_else(|elapsed| Err(TransportError::timeout(elapsed).into_error(target))),
    }
}

fn parse(uri: &http::Uri) -> Result<Url> {
    let invalid = |why: String| Error::invalid_params("url", why);
    let url = Url::parse(&uri.to_string())
        .map_err(|error| invalid(format!("is not a valid URL: {error}")))?;
    match url.scheme() {
        "http" | "https" => Ok(url),
        other => Err(invalid(format!("has the scheme {other:?} and must have http or https"))),
    }
}

/// Returns the origin of a URL, the part without secrets.
fn origin(uri: &http::Uri) -> Result<Arc<str>> {
    Ok(parse(uri)?.origin().ascii_serialization().into())
}
