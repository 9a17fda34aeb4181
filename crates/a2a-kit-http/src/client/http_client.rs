//! The HTTP client.

use std::{future::Future, sync::Arc, time::Duration};

use a2a_core::{Error, Result, error_chain};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri, header::LOCATION};
use hyper_util::client::proxy::matcher::Matcher;

use super::{
    ByteStream, ClientSettings, HttpExchange, TransportError, WirePart,
    pool::{Pool, PoolSettings},
};
use crate::{
    response_error::ResponseUrl,
    uri,
    webhook::resolver::{Resolver, system},
};

/// An HTTP client with one connection pool, cheap to clone.
///
/// A response of any status is `Ok`. Errors are transport errors, with a [`TransportError`] as
/// their source. Redirects are followed only within the same origin and with the same method;
/// others are returned as responses.
#[derive(Clone, Debug)]
pub struct HttpClient {
    pool: Pool,
    settings: Arc<ClientSettings>,
}

impl HttpClient {
    /// Creates a client.
    ///
    /// # Errors
    ///
    /// [`Internal`](a2a_core::ErrorKind::Internal) if the settings are invalid.
    pub fn new(settings: ClientSettings) -> Result<Self> {
        let proxies = settings.proxy_from_environment.then(Matcher::from_env);
        Self::with_proxies(settings, proxies)
    }

    fn with_proxies(settings: ClientSettings, proxies: Option<Matcher>) -> Result<Self> {
        let policy = settings.policy.clone().map(Arc::new);
        let pool = Pool::new(PoolSettings {
            tls: settings.tls.http_config().map_err(Error::internal)?,
            resolver: Resolver::new(policy, system()),
            // They would resolve names themselves and bypass the check.
            proxies: proxies.filter(|_| settings.policy.is_none()),
            connect_timeout: settings.connect_timeout,
            // Below the idle timeout of servers (60 s in this workspace), so that a request does
            // not race the close.
            idle_timeout: Duration::from_secs(45),
            http2_prior_knowledge: settings.http2_prior_knowledge,
            user_agent: HeaderValue::try_from(&settings.user_agent).map_err(Error::internal)?,
        });
        Ok(Self { pool, settings: Arc::new(settings) })
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
    /// too large; [`InvalidParams`](a2a_core::ErrorKind::InvalidParams) for a URL that is malformed
    /// (see [`uri::parse`](crate::uri::parse)), is not HTTP or contains credentials, or that
    /// [`ClientSettings::policy`] forbids.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes an HTTP/1.1 connection, or resets the HTTP/2 stream.
    pub async fn send(&self, mut request: Request<Bytes>) -> Result<Response<Bytes>> {
        let target = normalize(request.uri_mut())?;
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
    pub async fn open(&self, mut request: Request<Bytes>) -> Result<Response<ByteStream>> {
        let target = normalize(request.uri_mut())?;
        let idle = self.settings.idle_timeout;
        let call = self.execute(request, Arc::clone(&target), idle);
        within(idle, &target, call).await
    }

    /// Boxed, so that it is compiled here, with hyper, and not again by each crate that awaits it.
    fn execute(
        &self,
        request: Request<Bytes>,
        target: Arc<str>,
        idle: Option<Duration>,
    ) -> BoxFuture<'_, Result<Response<ByteStream>>> {
        Box::pin(self.follow_redirects(request, target, idle))
    }

    async fn follow_redirects(
        &self,
        request: Request<Bytes>,
        target: Arc<str>,
        idle: Option<Duration>,
    ) -> Result<Response<ByteStream>> {
        let (head, body) = request.into_parts();
        let mut url = head.uri;
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
                let (method, url) = (head.method.as_str(), url.to_string());
                exchange.show(WirePart::Request { method, url: &url, headers: &headers });
                exchange.show(WirePart::RequestBody(&body));
            }
            let mut request = Request::new(body.clone());
            *request.method_mut() = head.method.clone();
            *request.uri_mut() = url.clone();
            *request.headers_mut() = headers.clone();
            let mut response = self.pool.request(request).await.map_err(|error| {
                let error = TransportError::no_response(error);
                if let Some(exchange) = &exchange {
                    exchange.show(WirePart::Failed(&error_chain(&error)));
                }
                error.into_error(&target)
            })?;
            if let Some(exchange) = &exchange {
                let (status, headers) = (response.status(), response.headers());
                exchange.show(WirePart::Response { status, headers });
            }
            match redirect(&head.method, &url, &response) {
                Some(next) if redirects < self.settings.max_redirects => url = next,
                _ => {
                    response.extensions_mut().insert(ResponseUrl(url));
                    let budget = self.settings.read_budget.clone();
                    return Ok(
                        response.map(|body| ByteStream::new(body, target, idle, exchange, budget))
                    );
                }
            }
            redirects += 1;
        }
    }
}

/// Returns the target of a redirect if it may be followed: with the same origin and method, so that
/// credentials and bodies do not leave the origin.
fn redirect<B>(method: &Method, url: &Uri, response: &Response<B>) -> Option<Uri> {
    let keeps_method = match response.status() {
        StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT => true,
        StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND => method == Method::GET,
        _ => false,
    };
    let location = response.headers().get(LOCATION)?.to_str().ok()?;
    let next = uri::resolve(url, location).ok()?;
    let keeps_origin = uri::origin(&next) == uri::origin(url) && !uri::has_credentials(&next);
    (keeps_method && keeps_origin).then_some(next)
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

/// Normalizes the URL of a request, and returns its origin: the part without secrets.
fn normalize(url: &mut Uri) -> Result<Arc<str>> {
    let invalid = |why: String| Error::invalid_params("url", why);
    *url = uri::parse(&url.to_string())
        .map_err(|error| invalid(format!("is not a valid URL: {error}")))?;
    let scheme = url.scheme_str().unwrap_or_default();
    if !matches!(scheme, "http" | "https") {
        return Err(invalid(format!("has the scheme {scheme:?} and must have http or https")));
    }
    if uri::has_credentials(url) {
        return Err(invalid("must not contain credentials".to_owned()));
    }
    Ok(uri::origin(url).into())
}

#[cfg(test)]
mod tests {
    use a2a_core::ErrorKind;
    use tokio::{
        io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
        net::{TcpListener, TcpStream},
        task::JoinHandle,
    };

    use super::*;
    use crate::{WebhookPolicy, tls::ClientTls};

    /// Accepts one connection, and reads the head of a request.
    async fn accept(listener: &TcpListener) -> (BufReader<TcpStream>, String) {
        let mut stream = BufReader::new(listener.accept().await.unwrap().0);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(stream.read_line(&mut head).await.unwrap(), 0, "{head}");
        }
        (stream, head)
    }

    /// A proxy for one connection: it opens a tunnel for `CONNECT`, and responds with 202 to other
    /// requests. Returns its URL and the head of its request.
    async fn proxy() -> (String, JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://ann:p%40ss@{}", listener.local_addr().unwrap());
        let head = tokio::spawn(async move {
            let (mut client, head) = accept(&listener).await;
            match head.strip_prefix("CONNECT ").and_then(|rest| rest.split_once(' ')) {
                Some((target, _)) => {
                    let mut server = TcpStream::connect(target).await.unwrap();
                    client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
                    let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
                }
                None => {
                    let response = b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n";
                    client.write_all(response).await.unwrap();
                }
            }
            head
        });
        (url, head)
    }

    fn get(url: &str) -> Request<Bytes> {
        Request::get(url).body(Bytes::new()).unwrap()
    }

    fn lines(head: &str) -> Vec<&str> {
        head.lines().collect()
    }

    #[tokio::test]
    async fn plaintext_request_is_sent_to_the_proxy_with_its_credentials() {
        let (url, head) = proxy().await;
        let proxies = Matcher::builder().http(url).build();
        let client = HttpClient::with_proxies(ClientSettings::default(), Some(proxies)).unwrap();
        let response = client.send(get("http://agent.example:81/card?x=1")).await.unwrap();
        assert_eq!(response.status(), StatusCode::ACCEPTED);
        drop(client);
        let head = head.await.unwrap();
        assert_eq!(lines(&head)[0], "GET http://agent.example:81/card?x=1 HTTP/1.1");
        for line in ["host: agent.example:81", "proxy-authorization: Basic YW5uOnBAc3M="] {
            assert!(lines(&head).contains(&line), "{head}");
        }
    }

    #[cfg(feature = "server")]
    #[tokio::test]
    async fn https_request_is_sent_through_a_tunnel() {
        use crate::tls::{Pem, TlsSettings};

        let own = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
        let certificate = Pem::text(own.cert.pem());
        let tls = TlsSettings::new(certificate.clone(), Pem::text(own.signing_key.serialize_pem()));
        let listener = crate::bind("127.0.0.1:0").await.unwrap();
        let target = listener.local_addr().unwrap();
        let describe = async |request: axum::extract::Request| {
            let has_credentials = request.headers().contains_key("proxy-authorization");
            format!("{:?} {has_credentials}", request.version())
        };
        let router = axum::Router::new().route("/", axum::routing::get(describe));
        let server = crate::HttpServer::new(router).with_tls(tls.load().unwrap());
        tokio::spawn(server.serve(listener, std::future::pending()));

        let (url, head) = proxy().await;
        let proxies = Matcher::builder().https(url).build();
        let tls = ClientTls::new().with_roots(&certificate).unwrap();
        let settings = ClientSettings::default().with_tls(tls);
        let client = HttpClient::with_proxies(settings, Some(proxies)).unwrap();
        let response = client.send(get(&format!("https://{target}/"))).await.unwrap();
        assert_eq!(response.body(), "HTTP/2.0 false");
        drop(client);
        let head = head.await.unwrap();
        assert_eq!(lines(&head)[0], format!("CONNECT {target} HTTP/1.1"));
        assert!(lines(&head).contains(&"Proxy-Authorization: Basic YW5uOnBAc3M="), "{head}");
    }

    #[tokio::test]
    async fn proxy_is_not_used_for_excluded_hosts_or_with_a_policy() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = accept(&listener).await;
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
            }
        });
        let policy = WebhookPolicy::default().with_allowed("127.0.0.1".parse().unwrap());
        let settings = ClientSettings::default();
        // Nothing listens on the port of the proxy.
        for (proxies, settings, is_direct) in [
            (Matcher::builder().all("http://127.0.0.1:1"), settings.clone(), false),
            (Matcher::builder().all("socks5://127.0.0.1:1"), settings.clone(), false),
            (Matcher::builder().all("127.0.0.1:1").no("127.0.0.0/8"), settings.clone(), true),
            (Matcher::builder().all("127.0.0.1:1"), settings.with_policy(policy), true),
        ] {
            let client = HttpClient::with_proxies(settings, Some(proxies.build())).unwrap();
            match client.send(get(&url)).await {
                Ok(_) => assert!(is_direct),
                Err(error) => {
                    assert!(!is_direct, "{error:?}");
                    assert!(TransportError::of(&error).unwrap().is_connect(), "{error:?}");
                }
            }
        }
    }

    #[tokio::test]
    async fn request_that_the_server_refuses_to_process_is_sent_again() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        tokio::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            let mut connection = h2::server::handshake(stream).await.unwrap();
            let mut requests = 0;
            while let Some(Ok((_, mut respond))) = connection.accept().await {
                requests += 1;
                match requests {
                    1 => respond.send_reset(h2::Reason::REFUSED_STREAM),
                    2 => drop(respond.send_response(Response::new(()), true).unwrap()),
                    _ => respond.send_reset(h2::Reason::INTERNAL_ERROR),
                }
            }
        });
        let settings = ClientSettings::default().with_http2_prior_knowledge(true);
        let client = HttpClient::new(settings).unwrap();
        assert_eq!(client.send(get(&url)).await.unwrap().status(), StatusCode::OK);
        // The server may have processed it.
        assert!(client.send(get(&url)).await.is_err());
    }

    #[tokio::test]
    async fn request_has_a_user_agent_and_accepts_any_type_unless_set() {
        for (accept, expected) in [(None, "*/*"), (Some("text/plain"), "text/plain")] {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let url = format!("http://{}/", listener.local_addr().unwrap());
            let head = tokio::spawn(async move { self::accept(&listener).await.1 });
            let settings = ClientSettings::default().with_user_agent("tester/1");
            let client = HttpClient::new(settings).unwrap();
            let mut request = get(&url);
            if let Some(accept) = accept {
                request.headers_mut().insert("accept", HeaderValue::from_static(accept));
            }
            assert_eq!(client.send(request).await.unwrap_err().kind(), ErrorKind::Unavailable);
            let head = head.await.unwrap();
            for line in ["user-agent: tester/1", &format!("accept: {expected}")] {
                assert!(lines(&head).contains(&line), "{head}");
            }
        }
    }
}
