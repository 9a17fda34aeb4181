//! The HTTP client against real sockets.

#![allow(clippy::unwrap_used, reason = "a failed setup fails the test")]

use std::time::Duration;

use a2a_core::{ErrorKind, Result};
use a2a_kit_http::{
    HttpServer, WebhookPolicy,
    client::{ClientSettings, Connector, HeldBytes, HttpClient, TransportError},
    sse,
};
use axum::{
    Router,
    body::Body,
    response::Redirect,
    routing::{any, get},
};
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use http::{HeaderMap, HeaderValue, Request, StatusCode, uri::Scheme};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};
use tower::ServiceExt as _;

async fn serve(router: Router) -> String {
    let listener = a2a_kit_http::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(HttpServer::new(router).serve(listener, std::future::pending()));
    base
}

/// Responds to every connection with these bytes and closes it.
async fn respond_with(bytes: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 1024];
            let _ = stream.read(&mut request).await;
            stream.write_all(bytes).await.unwrap();
        }
    });
    base
}

fn post(url: &str) -> Request<Bytes> {
    Request::post(url).body(Bytes::from_static(b"{}")).unwrap()
}

fn client() -> HttpClient {
    HttpClient::new(ClientSettings::default()).unwrap()
}

#[tokio::test]
async fn response_of_any_status_is_returned() {
    let echo = async |headers: HeaderMap, body: Bytes| {
        (StatusCode::IM_A_TEAPOT, [("x-seen", headers["x-key"].clone())], body)
    };
    let base = serve(Router::new().route("/", any(echo))).await;
    let headers = HeaderMap::from_iter([(
        http::HeaderName::from_static("x-key"),
        HeaderValue::from_static("settings"),
    )]);
    let client = HttpClient::new(ClientSettings::default().with_headers(headers)).unwrap();
    let response = client.send(post(&base)).await.unwrap();
    assert_eq!(
        (response.status(), response.body().as_ref()),
        (StatusCode::IM_A_TEAPOT, &b"{}"[..])
    );
    assert_eq!(response.headers()["x-seen"], "settings");

    let mut request = post(&base);
    request.headers_mut().insert("x-key", HeaderValue::from_static("request"));
    assert_eq!(client.send(request).await.unwrap().headers()["x-seen"], "request");
}

#[tokio::test]
async fn transport_error_tells_whether_the_request_may_have_been_sent() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let unreachable = format!("http://{}/secret?key=1", listener.local_addr().unwrap());
    drop(listener);
    let error = client().send(post(&unreachable)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    let transport = TransportError::of(&error).unwrap();
    assert!(transport.is_connect() && !transport.maybe_sent(), "{error:?}");
    assert!(!error.message().contains("secret"), "{error}");
    let cause = std::error::Error::source(transport).unwrap().to_string();
    assert!(cause.contains("refused"), "{cause}");

    let closing = respond_with(b"").await;
    let error = client().send(post(&closing)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(TransportError::of(&error).unwrap().maybe_sent(), "{error:?}");
}

#[tokio::test]
async fn unary_call_is_limited_in_time_and_size() {
    let router = Router::new()
        .route("/never", get(async || std::future::pending::<String>().await))
        .route("/large", get(async || "x".repeat(2000)));
    let base = serve(router).await;
    let settings = ClientSettings::default()
        .with_request_timeout(Duration::from_millis(100))
        .with_max_response_bytes(1000);
    let client = HttpClient::new(settings).unwrap();
    let get = |path: &str| Request::get(format!("{base}{path}")).body(Bytes::new()).unwrap();
    let error = client.send(get("/never")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DeadlineExceeded);
    assert!(TransportError::of(&error).unwrap().is_timeout());
    let error = client.send(get("/large")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidAgentResponse);
}

#[tokio::test]
async fn stream_ignores_the_request_timeout_and_ends_at_the_idle_timeout() {
    let body = async || {
        let first = stream::iter([Ok::<_, std::convert::Infallible>("data: 1\n\n")]);
        Body::from_stream(first.chain(stream::pending()))
    };
    let base = serve(Router::new().route("/", get(body))).await;
    let settings = ClientSettings::default()
        .with_request_timeout(Duration::from_millis(10))
        .with_idle_timeout(Duration::from_millis(200));
    let client = HttpClient::new(settings).unwrap();
    let request = Request::get(&base).body(Bytes::new()).unwrap();
    let response = client.open(request).await.unwrap();
    let mut events = sse::decode(response.into_body(), 1000, HeldBytes::new(None));
    assert_eq!(events.next().await.unwrap().unwrap().data, "1");
    let error = events.next().await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error:?}");
    assert!(events.next().await.is_none());
}

#[tokio::test]
async fn interrupted_stream_ends_with_an_error() {
    let base = respond_with(
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\n20\r\ndata:",
    )
    .await;
    let response = client().open(post(&base)).await.unwrap();
    let events: Vec<Result<_>> =
        sse::decode(response.into_body(), 1000, HeldBytes::new(None)).collect().await;
    assert_eq!(events.len(), 2);
    assert!(events[0].is_ok());
    assert_eq!(events[1].as_ref().unwrap_err().kind(), ErrorKind::Unavailable);
}

#[tokio::test]
async fn only_same_origin_redirects_that_keep_the_method_are_followed() {
    let other = serve(Router::new().route("/", any(async || "stranger"))).await;
    let elsewhere = other.clone();
    let router = Router::new()
        .route("/target", any(async |body: Bytes| body))
        .route("/kept", any(async || Redirect::temporary("/target")))
        .route("/turned", any(async || (StatusCode::FOUND, [("location", "/target")])))
        .route("/away", any(async move || Redirect::temporary(&elsewhere)))
        .route("/round", any(async || Redirect::temporary("/round")));
    let base = serve(router).await;
    for (path, status, body) in
        [("/kept", 200, "{}"), ("/turned", 302, ""), ("/away", 307, ""), ("/round", 307, "")]
    {
        let response = client().send(post(&format!("{base}{path}"))).await.unwrap();
        assert_eq!(
            (response.status().as_u16(), response.body().as_ref()),
            (status, body.as_bytes())
        );
    }
    let request = Request::get(format!("{base}/turned")).body(Bytes::new()).unwrap();
    assert_eq!(client().send(request).await.unwrap().status(), 200);
    let no_redirects = HttpClient::new(ClientSettings::default().with_max_redirects(0)).unwrap();
    let response = no_redirects.send(post(&format!("{base}/kept"))).await.unwrap();
    assert_eq!(response.status(), 307);
}

#[tokio::test]
async fn other_url_schemes_are_rejected() {
    for url in ["ftp://example.com/", "/path", "mailto:a@b"] {
        let Ok(request) = Request::get(url).body(Bytes::new()) else { continue };
        let error = client().send(request).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidParams, "{url}");
    }
}

#[tokio::test]
async fn policy_applies_to_addresses_and_host_names() {
    let base = serve(Router::new().route("/", any(async || "called"))).await;
    let named = base.replace("127.0.0.1", "localhost");
    let restricted = ClientSettings::default().with_policy(WebhookPolicy::default());
    let loopback = WebhookPolicy::default().with_allowed("127.0.0.1".parse().unwrap());
    let host = WebhookPolicy::default().with_allowed("localhost".parse().unwrap());
    for (settings, url, is_called) in [
        (restricted.clone(), &base, false),
        (restricted.clone(), &named, false),
        (restricted.clone().with_policy(loopback.clone()), &base, true),
        (restricted.clone().with_policy(loopback), &named, true),
        (restricted.clone().with_policy(host.clone()), &base, false),
        (restricted.clone().with_policy(host), &named, true),
        (restricted.with_policy(None), &base, true),
    ] {
        let response = HttpClient::new(settings.clone()).unwrap().send(post(url)).await;
        match response {
            Ok(_) => assert!(is_called, "{url} {settings:?}"),
            Err(error) => {
                assert!(!is_called, "{url} {settings:?}: {error:?}");
                assert_eq!(error.kind(), ErrorKind::InvalidParams);
            }
        }
        // The connector applies the same policy.
        let connector = Connector::new(&settings, Scheme::HTTP).unwrap();
        let connected = connector.oneshot(url.parse().unwrap()).await;
        assert_eq!(connected.is_ok(), is_called, "{url} {settings:?}: {connected:?}");
    }
}
