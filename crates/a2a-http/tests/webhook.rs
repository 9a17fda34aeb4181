//! Webhooks against real sockets.

#![allow(clippy::unwrap_used, reason = "scenery that can't be set up fails the test")]

use std::{sync::Arc, time::Duration};

use a2a_core::{
    ErrorKind, ProtocolVersion,
    v1::{
        AuthenticationInfo, Message, StreamResponse, TaskPushNotificationConfig,
        stream_response::Payload,
    },
};
use a2a_http::{Server, WebhookPolicy, Webhooks};
use a2a_operations::{Delivery, Event, PushError, PushSender as _, Webhook};
use axum::{Router, response::Redirect, routing::post};
use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use tokio::sync::mpsc;

type Received = mpsc::Receiver<(HeaderMap, Bytes)>;

async fn receiver() -> (u16, Received) {
    let (sender, received) = mpsc::channel(8);
    let take = async move |headers: HeaderMap, body: Bytes| {
        sender.send((headers, body)).await.unwrap();
        StatusCode::ACCEPTED
    };
    let busy = async || (StatusCode::SERVICE_UNAVAILABLE, [("retry-after", "7")]);
    let router = Router::new()
        .route("/hook", post(take))
        .route("/gone", post(async || StatusCode::GONE))
        .route("/busy", post(busy))
        .route("/away", post(async || Redirect::temporary("/hook")))
        .route("/slow", post(async || std::future::pending::<()>().await));
    let listener = a2a_http::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(Server::new(router).serve(listener, std::future::pending()));
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
async fn an_event_is_delivered_with_everything_a_receiver_needs() {
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
async fn private_networks_are_refused_before_and_after_dns() {
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
    // The name is let through by the first check here, and stopped by what DNS says.
    let other_network = allowing("::1");
    let config = config(format!("http://localhost.:{port}/hook"));
    other_network.check(&config.config).await.unwrap();
    let result = other_network.deliver(&config, &event()).await;
    assert!(result.is_err(), "only ::1 may be called, and nobody listens there");
    assert!(received.try_recv().is_err());
}

#[tokio::test]
async fn a_host_may_be_allowed_by_name() {
    let (port, mut received) = receiver().await;
    let config = config(format!("http://localhost:{port}/hook"));
    allowing("localhost").deliver(&config, &event()).await.unwrap();
    received.recv().await.unwrap();
}

#[tokio::test]
async fn a_delivery_that_failed_says_whether_to_try_again() {
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
async fn secrets_that_do_not_fit_a_header_are_refused_when_they_are_set() {
    let webhooks = Webhooks::new(WebhookPolicy::default()).unwrap();
    let mut config = config("https://example.com/".into());
    config.config.token = "line\nbreak".into();
    let error = webhooks.check(&config.config).await.unwrap_err();
    assert_eq!(error.violations()[0].field, "token");
}

#[tokio::test]
async fn a_receiver_of_an_older_revision_gets_what_that_revision_says() {
    let (port, mut received) = receiver().await;
    let webhooks = allowing("127.0.0.0/8").with_payload(|webhook, delivery| {
        (webhook.revision == ProtocolVersion::V0_1).then(|| a2a_http::Payload {
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
    assert!(received.try_recv().is_err(), "the other revision had nothing to say");
}
