//! Agent cards, and deliveries to webhooks.

use a2a_kit_auth::webhook::Receiver;
use a2a_kit_client::Client;
use a2a_tests::odd_agent::{Answer, OddAgent};
use http::HeaderMap;
use serde_json::json;

const MARK: &str = "\u{feff}";

#[tokio::test]
async fn card_after_a_byte_order_mark_is_read() {
    let cards = [
        json!({
            "name": "Odd", "description": "d", "version": "1", "capabilities": {}, "skills": [],
            "supportedInterfaces": [
                {"url": "http://127.0.0.1:1/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
            ],
        }),
        json!({
            "name": "Odd", "description": "d", "version": "1", "capabilities": {}, "skills": [],
            "url": "http://127.0.0.1:1/", "protocolVersion": "0.3.0",
        }),
    ];
    for card in cards {
        let body = format!("{MARK}{card}");
        let agent = OddAgent::start(move |_| Answer::new("application/json", body.clone())).await;
        let client = Client::connect(&agent.url).await.expect("a client");
        assert_eq!(client.card().name, "Odd", "{card}");
    }
}

#[tokio::test]
async fn deliveries_of_the_field_are_received() {
    let update = |state: &str| json!({"statusUpdate": {"taskId": "t", "contextId": "c", "status": {"state": state}}});
    let older = |state: &str| json!({"kind": "task", "id": "t", "contextId": "c", "status": {"state": state}});
    for body in [
        format!("{MARK}{}", update("TASK_STATE_CANCELED")),
        update("canceled").to_string(),
        update("TASK_STATE_CANCELLED").to_string(),
        format!("{MARK}{}", older("canceled")),
        older("TASK_STATE_CANCELLED").to_string(),
    ] {
        let receiver = a2a_kit::webhook::receiver("http://127.0.0.1/hook");
        let event = receiver.receive(&HeaderMap::new(), body.as_bytes()).await;
        let event = event.unwrap_or_else(|error| panic!("{body}: {error}"));
        assert_eq!(event.state(), Some(a2a_core::TaskState::Canceled), "{body}");
    }
    // Also where the body is only read as one of 1.0.
    let body = format!("{MARK}{}", update("completed"));
    let receiver = Receiver::new("http://127.0.0.1/hook");
    let event = receiver.receive(&HeaderMap::new(), body.as_bytes()).await.expect("an event");
    assert_eq!(event.state(), Some(a2a_core::TaskState::Completed));
}

#[tokio::test]
async fn delivery_with_an_unknown_state_is_refused_by_its_name() {
    let body = json!({"statusUpdate": {"taskId": "t", "status": {"state": "TASK_STATE_PAUSED"}}});
    let receiver = a2a_kit::webhook::receiver("http://127.0.0.1/hook");
    let error = receiver.receive(&HeaderMap::new(), body.to_string().as_bytes()).await;
    let error = error.expect_err("no event");
    let mut text = error.to_string();
    let mut source = std::error::Error::source(&error);
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    assert!(text.contains("TASK_STATE_PAUSED"), "{text}");
}

#[tokio::test]
async fn card_in_a_coding_that_was_not_requested_is_refused_by_its_name() {
    let agent = OddAgent::start(|_| {
        let body = &b"\x1f\x8b\x08\0"[..];
        Answer::new("application/json", body).with_header("content-encoding", "gzip")
    })
    .await;
    let error = Client::connect(&agent.url).await.expect_err("no card");
    assert!(error.to_string().contains("\"gzip\""), "{error}");
}

#[tokio::test]
async fn malformed_card_is_quoted() {
    let agent = OddAgent::start(|_| Answer::new("application/json", "{\"name\": Odd}")).await;
    let error = Client::connect(&agent.url).await.expect_err("no card");
    assert!(error.to_string().contains("{\\\"name\\\": Odd}"), "{error}");
}
