//! Headers of every request, for every operation and binding.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests fail by panicking"
)]

mod support;

use std::sync::{Arc, Mutex};

use a2a_core::v1::TaskPushNotificationConfig;
use a2a_kit_client::{Client, ClientBuilder, MessageRequest, Transport};
use axum::{extract::Request, middleware};
use http::{HeaderMap, HeaderName, HeaderValue};
use support::{Counter, card, routes, serve};

/// Calls every operation and returns the received headers by path.
async fn headers_of_every_operation(
    transport: Transport,
    builder: ClientBuilder,
) -> Vec<(String, HeaderMap)> {
    let counter = Counter::new(1);
    counter.permit(2);
    let received = Arc::new(Mutex::new(Vec::new()));
    let recorder = Arc::clone(&received);
    let record = middleware::from_fn(move |request: Request, next: middleware::Next| {
        let path = request.uri().path().to_owned();
        recorder.lock().unwrap().push((path, request.headers().clone()));
        next.run(request)
    });
    let address = serve(routes(&counter.engine()).layer(record)).await;
    let card = card(transport, address).with_push_notifications(true).with_extended_card(true);
    let client = builder.build(card).unwrap();
    call_every_operation(&client).await;
    std::mem::take(&mut received.lock().unwrap())
}

/// Calls every operation, ignoring errors of some.
async fn call_every_operation(client: &Client) {
    let outcome = client.send("count").await.unwrap();
    let id = outcome.task_id().unwrap();
    client.stream("count").await.unwrap().outcome().await.unwrap();
    client.get(id).await.unwrap();
    client.list(Default::default()).next().await.unwrap().unwrap();
    let _ = client.cancel(id).await;
    let _ = client.subscribe(id).await;
    let webhook = TaskPushNotificationConfig {
        task_id: id.into(),
        url: "https://hook.example".into(),
        ..TaskPushNotificationConfig::default()
    };
    let _ = client.create_push_config(webhook).await;
    let _ = client.push_config(id, "1").await;
    let _ = client.push_configs(id).next().await;
    let _ = client.delete_push_config(id, "1").await;
    let _ = client.extended_card().await;
}

//
#[tokio::test]
async fn every_request_has_version_and_requested_extensions() {
    for transport in Transport::ALL {
        let plain = headers_of_every_operation(transport, Client::builder()).await;
        assert!(plain.len() >= 11, "{transport}: {}", plain.len());
        for (path, headers) in plain {
            assert_eq!(headers["a2a-version"], "1.0", "{transport} {path}");
            assert!(!headers.contains_key("a2a-extensions"), "{transport} {path}");
        }
        let builder = Client::builder().extensions(["urn:b", "urn:a"]);
        for (path, headers) in headers_of_every_operation(transport, builder).await {
            let lines: Vec<_> = headers.get_all("a2a-extensions").iter().collect();
            assert_eq!(lines, ["urn:a,urn:b"], "{transport} {path}");
        }
    }
}

#[tokio::test]
async fn every_request_has_credentials_and_headers_of_the_client() {
    for transport in Transport::ALL {
        let key = HeaderName::from_static("x-api-key");
        let builder = Client::builder().bearer("secret").header(key, HeaderValue::from_static("k"));
        for (path, headers) in headers_of_every_operation(transport, builder).await {
            assert_eq!(headers["authorization"], "Bearer secret", "{transport} {path}");
            assert_eq!(headers["x-api-key"], "k", "{transport} {path}");
        }
    }
}

//
#[tokio::test]
async fn message_has_a_fresh_id_and_no_invented_context_or_task() {
    let one = MessageRequest::from("a").into_request().message.unwrap();
    let other = MessageRequest::from("a").into_request().message.unwrap();
    assert!(!one.message_id.is_empty() && one.message_id != other.message_id);
    assert_eq!((one.context_id.as_str(), one.task_id.as_str()), ("", ""));
}
