//! Webhooks against real sockets.

#![allow(clippy::unwrap_used, reason = "a failed setup fails the test")]

use std::{convert::Infallible, sync::Arc, time::Duration};

use a2a_core::{
    ErrorKind, ProtocolVersion,
    v1::{
        AuthenticationInfo, Message, StreamResponse, TaskPushNotificationConfig,
        stream_response::Payload,
    },
};
use a2a_kit_http::{HttpServer, WebhookPolicy, Webhooks};
use a2a_kit_operations::{Delivery, Event, PushError, PushSender as _, PushSigner, Webhook};
use axum::{Router, body::Body, extract::Path, response::Redirect, routing::post};
use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
    sync::mpsc,
};

type Received = mpsc::Receiver<(HeaderMap, Bytes)>;

async fn receiver() -> (u16, Received) {
    let (sender, received) = mpsc::channel(8);
    let take = async move |headers: HeaderMap, body: Bytes| {
        sender.send((headers, body)).await.unwrap();
        StatusCode::ACCEPTED
    };
    let busy = async || (StatusCode::SERVICE_UNAVAILABLE, [("retry-after", "7")]);
    let date = async || {
        let soon = std::time::SystemTime::now() + Duration::from_secs(120);
        (StatusCode::TOO_MANY_REQUESTS, [("retry-after", httpdate::fmt_http_date(soon))])
    };
    let endless = futures_util::stream::repeat_with(|| Ok::<_, Infallible>([b'x'; 4096].to_vec()));
    let status = async |Path(status): Path<u16>| StatusCode::from_u16(status).unwrap();
    let router = Router::new()
        .route("/date", post(date))
        .route("/endless", post(async move || Body::from_stream(endless)))
        .route("/status/{status}", post(status))
        .route("/hook", post(take))
        .route("/gone", post(async || StatusCode::GONE))
        .route("/busy", post(busy))
        .route("/away", post(async || Redirect::temporary("/hook")))
        .route("/slow", post(async || std::future::pending::<()>().await));
    let listener = a2a_kit_http::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(HttpServer::new(router).serve(listener, std::future::pending()));
    (port, received)
}

fn config(url: String) -> Webhook {
    let config = TaskPushNotificationConfig {
        url,
        token: "token-1".into(),
        authentication: Some(AuthenticationInfo {
            scheme: "Bearer".into(),
            credentials: "secret".into(),
        }),
        ..Default::default()
    };
    config.into()
}

fn event() -> Delivery {
    let payload = Some(Payload::Message(Message::user("hello")));
    let event = Event::new(None, StreamResponse { payload });
    Delivery { event, task: Arc::default() }
}

fn allowing(network: &str) -> Webhooks {
    let policy = WebhookPolicy::default()
        .with_allowed(network.parse().unwrap())
        .with_timeout(Duration::from_millis(500));
    Webhooks::new(policy).unwrap()
}

#[tokio::test]
async fn delivery_has_content_type_version_token_and_credentials() {
    let (port, mut received) = receiver().await;
    let config = config(format!("http://127.0.0.1:{port}/hook"));
    let webhooks = allowing("127.0.0.0/8");
    webhooks.check(&config.config).await.unwrap();
    webhooks.deliver(&config, &event()).await.unwrap();
    let (headers, body) = received.recv().await.unwrap();
    for (name, value) in [
        ("content-type", "application/a2a+json"),
        ("authorization", "Bearer secret"),
        ("x-a2a-notification-token", "token-1"),
        ("a2a-version", "1.0"),
    ] {
        assert_eq!(headers[name], value, "{name}");
    }
    let sent: StreamResponse = a2a_core::json::from_slice(&body).unwrap();
    assert!(matches!(sent.payload, Some(Payload::Message(_))));
}

#[tokio::test]
async fn private_addresses_are_refused_before_and_after_dns() {
    let (port, mut received) = receiver().await;
    let webhooks = Webhooks::new(WebhookPolicy::default()).unwrap();
    for host in ["127.0.0.1", "localhost", "[::1]", "0.0.0.0"] {
        let config = config(format!("http://{host}:{port}/hook"));
        let error = webhooks.check(&config.config).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidParams);
        assert_eq!(error.violations()[0].field, "url", "{host}");
        let result = webhooks.deliver(&config, &event()).await;
        assert!(matches!(result, Err(PushError::Refused { .. })), "{host}: {result:?}");
    }
    // The first check accepts the name; the check of the resolved address does not.
    let other_network = allowing("::1");
    let config = config(format!("http://localhost.:{port}/hook"));
    other_network.check(&config.config).await.unwrap();
    let result = other_network.deliver(&config, &event()).await;
    assert!(result.is_err(), "only ::1 is allowed, and has no listener");
    assert!(received.try_recv().is_err());
}

#[tokio::test]
async fn host_allowed_by_name_is_called() {
    let (port, mut received) = receiver().await;
    let config = config(format!("http://localhost:{port}/hook"));
    allowing("localhost").deliver(&config, &event()).await.unwrap();
    received.recv().await.unwrap();
}

#[tokio::test]
async fn failed_delivery_is_retried_or_refused() {
    let (port, mut received) = receiver().await;
    let webhooks = allowing("127.0.0.1");
    for (path, expected) in
        [("gone", None), ("away", None), ("busy", Some(Some(7))), ("slow", Some(None))]
    {
        let config = config(format!("http://127.0.0.1:{port}/{path}"));
        match webhooks.deliver(&config, &event()).await.unwrap_err() {
            PushError::Retry { after, .. } => {
                assert_eq!(Some(after), expected.map(|after| after.map(Duration::from_secs)));
            }
            PushError::Refused { .. } => assert_eq!(expected, None, "{path}"),
            other => panic!("{path}: {other}"),
        }
    }
    assert!(received.try_recv().is_err(), "a redirect was followed");
}

#[tokio::test]
async fn status_decides_between_delivered_retried_and_refused() {
    let (port, _received) = receiver().await;
    let webhooks = allowing("127.0.0.1");
    for (status, expected) in [
        (200, "delivered"),
        (201, "delivered"),
        (202, "delivered"),
        (204, "delivered"),
        (301, "refused"),
        (304, "refused"),
        (400, "refused"),
        (401, "refused"),
        (403, "refused"),
        (404, "refused"),
        (410, "refused"),
        (413, "refused"),
        (422, "refused"),
        (408, "retried"),
        (425, "retried"),
        (429, "retried"),
        (500, "retried"),
        (502, "retried"),
        (503, "retried"),
        (504, "retried"),
    ] {
        let config = config(format!("http://127.0.0.1:{port}/status/{status}"));
        let found = match webhooks.deliver(&config, &event()).await {
            Ok(()) => "delivered",
            Err(PushError::Retry { after: None, .. }) => "retried",
            Err(PushError::Refused { .. }) => "refused",
            Err(error) => panic!("{status}: {error:?}"),
        };
        assert_eq!(found, expected, "{status}");
    }
}

#[tokio::test]
async fn retry_after_date_sets_the_delay() {
    let (port, _received) = receiver().await;
    let config = config(format!("http://127.0.0.1:{port}/date"));
    let result = allowing("127.0.0.1").deliver(&config, &event()).await;
    let Err(PushError::Retry { after: Some(after), .. }) = result else { panic!("{result:?}") };
    assert!((110..=120).contains(&after.as_secs()), "{after:?}");
}

#[tokio::test]
async fn endless_response_body_is_not_awaited() {
    let (port, _received) = receiver().await;
    let config = config(format!("http://127.0.0.1:{port}/endless"));
    allowing("127.0.0.1").deliver(&config, &event()).await.unwrap();
    // The same for a declared body that is never sent.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let receiver = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        socket.read_exact(&mut [0; 4]).await.unwrap();
        socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n").await.unwrap();
        let mut rest = Vec::new();
        socket.read_to_end(&mut rest).await
    });
    let config = self::config(format!("http://127.0.0.1:{port}/"));
    allowing("127.0.0.1").deliver(&config, &event()).await.unwrap();
    let _ = receiver.await.unwrap();
}

#[tokio::test]
async fn malformed_or_missing_response_is_retried() {
    for response in [&b""[..], b"HTTP/1.1", b"nonsense\r\n\r\n", b"HTTP/1.1 999999 ?\r\n\r\n"] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                let _ = socket.read(&mut [0; 4096]).await;
                let _ = socket.write_all(response).await;
            }
        });
        let config = config(format!("http://127.0.0.1:{port}/"));
        let result = allowing("127.0.0.1").deliver(&config, &event()).await;
        assert!(matches!(result, Err(PushError::Retry { after: None, .. })), "{result:?}");
    }
}

#[tokio::test]
async fn addresses_that_embed_a_private_one_are_refused() {
    let (port, mut received) = receiver().await;
    let webhooks = Webhooks::new(WebhookPolicy::default()).unwrap();
    for host in [
        "[::ffff:127.0.0.1]",
        "[::127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::1]",
        "2130706433",
        "0x7f000001",
        "017700000001",
        "127.1",
        "169.254.169.254",
        "[fd00:ec2::254]",
        "[fe80::1]",
        "10.0.0.1",
        "100.100.100.200",
    ] {
        let config = config(format!("http://{host}:{port}/hook"));
        let result = webhooks.deliver(&config, &event()).await;
        assert!(matches!(result, Err(PushError::Refused { .. })), "{host}: {result:?}");
    }
    assert!(received.try_recv().is_err());
}

#[derive(Debug)]
struct Signer;

impl PushSigner for Signer {
    fn sign(&self, webhook: &Webhook, _: &Delivery, body: &[u8]) -> a2a_core::Result<String> {
        Ok(format!("signed.{}.{}", webhook.config.url.len(), body.len()))
    }
}

#[tokio::test]
async fn signature_uses_authorization_unless_it_has_credentials() {
    let (port, mut received) = receiver().await;
    let webhooks = allowing("127.0.0.1").with_signer(Signer);
    let mut webhook = config(format!("http://127.0.0.1:{port}/hook"));
    let url = webhook.config.url.len();
    webhooks.deliver(&webhook, &event()).await.unwrap();
    let (headers, body) = received.recv().await.unwrap();
    let signature = format!("signed.{url}.{}", body.len());
    assert_eq!(headers["authorization"], "Bearer secret");
    assert_eq!(headers["x-a2a-notification-signature"], signature);
    webhook.config.authentication = None;
    webhooks.deliver(&webhook, &event()).await.unwrap();
    let (headers, _) = received.recv().await.unwrap();
    assert_eq!(headers["authorization"], format!("Bearer {signature}"));
    assert!(!headers.contains_key("x-a2a-notification-signature"));
}

#[tokio::test]
async fn credentials_are_sent_with_their_scheme() {
    let (port, mut received) = receiver().await;
    let webhooks = allowing("127.0.0.1");
    let mut webhook = config(format!("http://127.0.0.1:{port}/hook"));
    webhook.config.token = String::new();
    for (scheme, credentials, expected) in [
        ("Bearer", "abc", Some("Bearer abc")),
        ("Basic", "dXNlcjpwYXNz", Some("Basic dXNlcjpwYXNz")),
        ("ApiKey", "k", Some("ApiKey k")),
        // A scheme without credentials requests a token of the agent.
        ("Bearer", "", None),
    ] {
        let authentication =
            AuthenticationInfo { scheme: scheme.into(), credentials: credentials.into() };
        webhook.config.authentication = Some(authentication);
        webhooks.deliver(&webhook, &event()).await.unwrap();
        let (headers, _) = received.recv().await.unwrap();
        let found = headers.get("authorization").map(|value| value.to_str().unwrap());
        assert_eq!(found, expected, "{scheme}");
        assert!(!headers.contains_key("x-a2a-notification-token"));
    }
    for scheme in ["", "two words", "a\r\nb"] {
        let authentication = AuthenticationInfo { scheme: scheme.into(), credentials: "c".into() };
        webhook.config.authentication = Some(authentication);
        let error = webhooks.check(&webhook.config).await.unwrap_err();
        assert_eq!(error.violations()[0].field, "authentication.scheme", "{scheme:?}");
    }
}

#[tokio::test]
async fn secrets_invalid_in_a_header_are_rejected_on_registration() {
    let webhooks = Webhooks::new(WebhookPolicy::default()).unwrap();
    let mut config = config("https://example.com/".into());
    config.config.token = "line\nbreak".into();
    let error = webhooks.check(&config.config).await.unwrap_err();
    assert_eq!(error.violations()[0].field, "token");
}

#[tokio::test]
async fn payload_follows_the_revision_of_the_webhook() {
    let (port, mut received) = receiver().await;
    let webhooks = allowing("127.0.0.0/8").with_payload(|webhook, delivery| {
        (webhook.revision == ProtocolVersion::V0_1).then(|| a2a_kit_http::Payload {
            content_type: http::HeaderValue::from_static("application/json"),
            version: None,
            token: http::HeaderName::from_static("x-a2a-token"),
            body: Bytes::from(format!("[{}]", delivery.task.history.len())),
        })
    });
    let mut webhook = config(format!("http://127.0.0.1:{port}/hook"));
    webhooks.deliver(&webhook, &event()).await.unwrap();
    webhook.revision = ProtocolVersion::V0_1;
    webhooks.deliver(&webhook, &event()).await.unwrap();
    let (headers, body) = received.recv().await.unwrap();
    assert_eq!((&headers["x-a2a-token"], &body[..]), (&"token-1".parse().unwrap(), &b"[0]"[..]));
    assert!(!headers.contains_key("a2a-version"));
    assert!(received.try_recv().is_err(), "the other revision has no payload");
}
