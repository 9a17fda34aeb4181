//! Deliveries to webhooks (spec §4.3.3, §13.2).

use std::time::Duration;

use a2a_kit_http::WebhookPolicy;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::{
    fixture::Served,
    pattern::{Bindings, check},
    recorder::recorder,
    socket::Connection,
};

async fn result_of(connection: &mut Connection, method: &str, params: Value) -> Value {
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let head = "POST / HTTP/1.1\nA2A-Version: 1.0\nContent-Type: application/json";
    connection.send(head, request.to_string().as_bytes()).await;
    let (_, body) = connection.receive(false).await;
    let mut answer: Value = serde_json::from_slice(&body).expect("JSON");
    answer["result"].take()
}

//
#[tokio::test]
async fn webhook_gets_each_status_with_its_credentials() {
    let (url, mut requests) = recorder("200 OK").await;
    let served = Served::start(&[""; 0]).await;
    let mut connection = Connection::open(served.address).await;
    let message = |text: &str, task_id: &str| {
        json!({"message": {
            "messageId": "m", "taskId": task_id, "role": "ROLE_USER", "parts": [{"text": text}]
        }})
    };
    let task = result_of(&mut connection, "SendMessage", message("input", "")).await["task"].take();
    let task_id = task["id"].as_str().expect("an id");
    let config = json!({
        "taskId": task_id,
        "url": format!("{url}/hook?a=1"),
        "token": "t-1",
        "authentication": {"scheme": "Bearer", "credentials": "s3cret"}
    });
    result_of(&mut connection, "CreateTaskPushNotificationConfig", config).await;
    result_of(&mut connection, "SendMessage", message("more", task_id)).await;

    let mut bindings = Bindings::new();
    bindings.insert("task".into(), task_id.to_owned());
    bindings.insert("context".into(), task["contextId"].as_str().expect("an id").to_owned());
    for expected in include_str!("../../wire/webhook.txt").split("=== request\n").skip(1) {
        let request = timeout(Duration::from_secs(10), requests.recv()).await.expect("in time");
        let request = request.expect("a request");
        check(expected.trim_end(), &request, &mut bindings)
            .unwrap_or_else(|fault| panic!("{fault}"));
    }
}

//
#[test]
fn hanging_webhook_times_out_within_10_to_30_seconds() {
    let timeout = WebhookPolicy::default().timeout;
    assert!((Duration::from_secs(10)..=Duration::from_secs(30)).contains(&timeout), "{timeout:?}");
}
