//! Input requests, as seen by clients of 0.1.

#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use a2a_core::AgentCard;
use a2a_kit_compat::{ServerOptions, server};
use a2a_kit_operations::{AgentExecutor, BoxError, Engine, RequestContext, TaskUpdater};
use axum::body::Body;
use http::{Request, header::CONTENT_TYPE};
use serde_json::{Value, json};
use tower::ServiceExt as _;

struct Curious;

impl AgentExecutor for Curious {
    async fn execute(&self, _: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        updates.start().await?;
        updates.require_input("Which city?").await?;
        Ok(())
    }
}

async fn ask(method: &str) -> String {
    let engine = Engine::builder(AgentCard::new("Curious", "Asks"), Curious).build();
    let message = json!({"role": "user", "parts": [{"type": "text", "text": "the weather?"}]});
    let params = json!({"id": "mine", "message": message});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let request = Request::post("/").header(CONTENT_TYPE, "application/json");
    let request = request.body(Body::from(body.to_string())).unwrap();
    let response =
        server::jsonrpc(engine, ServerOptions::default()).oneshot(request).await.unwrap();
    let body = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
    String::from_utf8(body.into()).unwrap()
}

//
#[tokio::test]
async fn input_required_task_of_0_1_has_the_question() {
    let check = |status: &Value| {
        assert_eq!(status["state"], "input-required");
        assert_eq!(status["message"]["role"], "agent");
        assert_eq!(status["message"]["parts"], json!([{"type": "text", "text": "Which city?"}]));
    };
    let response: Value = serde_json::from_str(&ask("tasks/send").await).unwrap();
    check(&response["result"]["status"]);

    let stream = ask("tasks/sendSubscribe").await;
    let last = stream.lines().filter_map(|line| line.strip_prefix("data: ")).next_back();
    let last: Value = serde_json::from_str(last.unwrap()).unwrap();
    check(&last["result"]["status"]);
    assert_eq!(last["result"]["final"], true);
}
