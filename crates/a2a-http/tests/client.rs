//! The HTTP client against real sockets.

#![allow(clippy::unwrap_used, reason = "scenery that can't be set up fails the test")]

use std::time::Duration;

use a2a_core::{ErrorKind, Result};
use a2a_http::{
    Server, WebhookPolicy,
    client::{ClientSettings, Connector, HttpClient, TransportError},
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
use http::{HeaderMap, HeaderValue, Request, StatusCode};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};
use tower::ServiceExt as _;

async fn serve(router: Router) -> String {
    let listener = a2a_http::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(Server::new(router).serve(listener, std::future::pending()));
    base
}

/// Answers every connection with these bytes and closes it.
async fn answer_with(bytes: &'static [u8]) -> String {
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
async fn an_answer_of_any_status_is_an_answer() {
    let echo = async |headers: HeaderMap, body: Bytes| {
        (StatusCode::IM_A_TEAPOT, [("x-seen", headers["x-key"].clone())], body)
    };
    let base = serve(Router::new().route("/", any(echo))).await;
    let headers = HeaderMap::from_iter([(
        http::HeaderName::from_static("x-key"),
        HeaderValue::from_static("settings"),
    )]);
    let client = HttpClient::new(ClientSettings::default().with_headers(headers)).unwrap();
    let answer = client.send(post(&base)).await.unwrap();
    assert_eq!((answer.status(), answer.body().as_ref()), (StatusCode::IM_A_TEAPOT, &b"{}"[..]));
    assert_eq!(answer.headers()["x-seen"], "settings");

    let mut request = post(&base);
    request.headers_mut().insert("x-key", HeaderValue::from_static("request"));
    assert_eq!(client.send(request).await.unwrap().headers()["x-seen"], "request");
}

#[tokio::test]
async fn an_error_says_whether_the_request_may_have_been_seen() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let nobody = format!("http://{}/secret?key=1", listener.local_addr().unwrap());
    drop(listener);
    let error = client().send(post(&nobody)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    let transport = TransportError::of(&error).unwrap();
    assert!(transport.is_connect() && !transport.maybe_sent(), "{error:?}");
    assert!(!error.message().contains("secret"), "{error}");
    let cause = std::error::Error::source(transport).unwrap().to_string();
    assert!(cause.contains("refused"), "{cause}");

    let closing = answer_with(b"").await;
    let error = client().send(post(&closing)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(TransportError::of(&error).unwrap().maybe_sent(), "{error:?}");
}

#[tokio::test]
async fn a_unary_call_is_bounded_in_time_and_size() {
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
async fn a_stream_outlives_the_timeout_of_unary_calls_and_is_cut_by_silence() {
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
    let answer = client.open(request).await.unwrap();
    let mut events = sse::decode(answer.into_body(), 1000);
    assert_eq!(events.next().await.unwrap().unwrap().data, "1");
    let error = events.next().await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error:?}");
    assert!(events.next().await.is_none());
}

#[tokio::test]
async fn a_stream_that_is_cut_does_not_look_finished() {
    let base = answer_with(
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\n20\r\ndata:",
    )
    .await;
    let answer = client().open(post(&base)).await.unwrap();
    let events: Vec<Result<_>> = sse::decode(answer.into_body(), 1000).collect().await;
    assert_eq!(events.len(), 2);
    assert!(events[0].is_ok());
    assert_eq!(events[1].as_ref().unwrap_err().kind(), ErrorKind::Unavailable);
}

#[tokio::test]
async fn redirects_stay_in_the_origin_and_keep_the_method() {
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
        let answer = client().send(post(&format!("{base}{path}"))).await.unwrap();
        assert_eq!((answer.status().as_u16(), answer.body().as_ref()), (status, body.as_bytes()));
    }
    let request = Request::get(format!("{base}/turned")).body(Bytes::new()).unwrap();
    assert_eq!(client().send(request).await.unwrap().status(), 200);
    let staying = HttpClient::new(ClientSettings::default().with_max_redirects(0)).unwrap();
    let answer = staying.send(post(&format!("{base}/kept"))).await.unwrap();
    assert_eq!(answer.status(), 307);
}

#[tokio::test]
async fn only_http_addresses_are_called() {
    for url in ["ftp://example.com/", "/path", "mailto:a@b"] {
        let Ok(request) = Request::get(url).body(Bytes::new()) else { continue };
        let error = client().send(request).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidParams, "{url}");
    }
}

#[tokio::test]
async fn what_the_policy_keeps_back_is_not_called_by_any_name() {
    let base = serve(Router::new().route("/", any(async || "called"))).await;
    let named = base.replace("127.0.0.1", "localhost");
    let kept = ClientSettings::default().with_policy(WebhookPolicy::default());
    let loopback = WebhookPolicy::default().with_allowed("127.0.0.1".parse().unwrap());
    let host = WebhookPolicy::default().with_allowed("localhost".parse().unwrap());
    for (settings, url, is_called) in [
        (kept.clone(), &base, false),
        (kept.clone(), &named, false),
        (kept.clone().with_policy(loopback.clone()), &base, true),
        (kept.clone().with_policy(loopback), &named, true),
        (kept.clone().with_policy(host.clone()), &base, false),
        (kept.clone().with_policy(host), &named, true),
        (kept.with_policy(None), &base, true),
    ] {
        let answer = HttpClient::new(settings.clone()).unwrap().send(post(url)).await;
        match answer {
            Ok(_) => assert!(is_called, "{url} {settings:?}"),
            Err(error) => {
                assert!(!is_called, "{url} {settings:?}: {error:?}");
                assert_eq!(error.kind(), ErrorKind::InvalidParams);
            }
        }
        // What other clients call through goes by the same policy.
        let connector = Connector::new(&settings, false).unwrap();
        let connected = connector.oneshot(url.parse().unwrap()).await;
        assert_eq!(connected.is_ok(), is_called, "{url} {settings:?}: {connected:?}");
    }
}
