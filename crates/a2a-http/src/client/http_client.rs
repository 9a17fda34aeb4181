//! Makes calls over HTTP.

use std::{error::Error as _, future::Future, sync::Arc, time::Duration};

use a2a_core::{Error, Result};
use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header::LOCATION};
use url::Url;

use super::{ByteStream, ClientSettings, Exchange, TransportError, WirePart};
use crate::webhook::resolver::{CheckedResolver, system};

/// Makes calls over HTTP: one connection pool, cheap to clone.
///
/// An answer of any status is an answer; errors are those of the transport only, and have a
/// [`TransportError`] as their source. Redirects are followed within the same origin and where
/// they keep the method; others come back as answers.
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
    /// [`Internal`](a2a_core::ErrorKind::Internal) where the settings can't be used.
    pub fn new(settings: ClientSettings) -> Result<Self> {
        let mut builder = reqwest::Client::builder()
            .tls_backend_preconfigured(settings.tls.http_config().map_err(Error::internal)?)
            .connect_timeout(settings.connect_timeout)
            // Servers close idle connections, ours after 60 s: a request must not race that.
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

    /// The settings that the client was made with.
    pub fn settings(&self) -> &ClientSettings {
        &self.settings
    }

    /// Makes a call and reads the whole answer.
    ///
    /// # Errors
    ///
    /// [`Unavailable`](a2a_core::ErrorKind::Unavailable) where there is no connection or it is lost;
    /// [`DeadlineExceeded`](a2a_core::ErrorKind::DeadlineExceeded) after
    /// [`ClientSettings::request_timeout`];
    /// [`InvalidAgentResponse`](a2a_core::ErrorKind::InvalidAgentResponse) for an answer that is too
    /// large; [`InvalidParams`](a2a_core::ErrorKind::InvalidParams) for an address that is not HTTP,
    /// or that [`ClientSettings::policy`] keeps from being called.
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

    /// Makes a call and gives the answer as soon as its head is there, its body as it comes.
    ///
    /// No total timeout applies, only [`ClientSettings::idle_timeout`].
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send), until the head is there.
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
        // A name of the request replaces the name of the settings, with all its lines.
        for name in head.headers.keys() {
            headers.remove(name);
        }
        headers.extend(head.headers.iter().map(|(name, value)| (name.clone(), value.clone())));
        let mut redirects = 0;
        loop {
            if let Some(policy) = &self.settings.policy {
                policy.check_url(&url)?;
            }
            let exchange = self.settings.observer.as_ref().map(Exchange::begin);
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
                        exchange.show(WirePart::Failed(&described(&error)));
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

/// Returns where an answer sends us, if we may go there: to the same origin, with the same
/// method, so that credentials and bodies reach nobody else.
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

/// What went wrong, and why.
fn described(error: &TransportError) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

fn into_http(
    response: reqwest::Response,
    target: Arc<str>,
    idle: Option<Duration>,
    exchange: Option<Exchange>,
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
    let refused = |why: String| Error::invalid_params("url", why);
    let url = Url::parse(&uri.to_string())
        .map_err(|error| refused(format!("is not an address: {error}")))?;
    match url.scheme() {
        "http" | "https" => Ok(url),
        other => Err(refused(format!("has the scheme {other:?} and must have http or https"))),
    }
}

/// The origin of an address: what may be shown of it.
fn origin(uri: &http::Uri) -> Result<Arc<str>> {
    Ok(parse(uri)?.origin().ascii_serialization().into())
}
