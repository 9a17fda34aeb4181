//! Faults are visible on the wire, and absent from the faultless agent.
#![allow(clippy::unwrap_used, reason = "a failed setup fails the test")]

use a2a_core::v1::GetTaskRequest;
use a2a_test_mutants::{Running, TOKENS, find, start};
use prost::Message as _;
use reqwest::{Client, ClientBuilder, Response, header::AUTHORIZATION};
use serde_json::{Value, json};

/// The faultless agent and a mutant.
async fn pair(name: &str) -> [Running; 2] {
    let mutant = find(name).unwrap();
    [start(None).await.unwrap(), start(Some(mutant)).await.unwrap()]
}

/// A client of the first caller, although its TLS has no provider in a build of the whole
/// workspace.
fn builder() -> ClientBuilder {
    let _already_installed = rustls::crypto::ring::default_provider().install_default();
    let token = format!("Bearer {}", TOKENS[0]).parse().unwrap();
    Client::builder().default_headers([(AUTHORIZATION, token)].into_iter().collect())
}

fn client() -> Client {
    builder().build().unwrap()
}

async fn call(agent: &Running, version: &str, method: &str, params: Value) -> Response {
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
    let request = client().post(agent.url()).header("content-type", "application/json");
    request.header("a2a-version", version).body(body.to_string()).send().await.unwrap()
}

async fn document(response: Response) -> Value {
    serde_json::from_slice(&response.bytes().await.unwrap()).unwrap()
}

async fn jsonrpc(agent: &Running, method: &str, params: Value) -> Value {
    document(call(agent, "1.0", method, params).await).await
}

/// The response to GET, or to POST with a body.
async fn rest(agent: &Running, path: &str, body: Option<Value>) -> Response {
    let url = format!("{}{path}", agent.url());
    let request = match body {
        Some(body) => {
            client().post(url).header("content-type", "application/a2a+json").body(body.to_string())
        }
        None => client().get(url),
    };
    request.header("a2a-version", "1.0").send().await.unwrap()
}

fn message(text: &str) -> Value {
    json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": text}]}})
}

fn old_message(text: &str) -> Value {
    let parts = [json!({"kind": "text", "text": text})];
    json!({"message": {"kind": "message", "messageId": "m", "role": "user", "parts": parts}})
}

#[tokio::test]
async fn card_lacks_its_version() {
    let [faultless, mutant] = pair("card-without-version").await;
    let path = "/.well-known/agent-card.json";
    assert!(document(rest(&faultless, path, None).await).await["version"].is_string());
    assert!(document(rest(&mutant, path, None).await).await["version"].is_null());
}

#[tokio::test]
async fn agent_fault_shows_on_two_bindings() {
    let agents = pair("artifacts-in-lists").await;
    for (agent, has_artifacts) in agents.iter().zip([false, true]) {
        jsonrpc(agent, "SendMessage", message("echo hello")).await;
        let listed = jsonrpc(agent, "ListTasks", json!({})).await;
        assert_eq!(listed["result"]["tasks"][0]["artifacts"].is_array(), has_artifacts, "{listed}");
        let listed = document(rest(agent, "/tasks", None).await).await;
        assert_eq!(listed["tasks"][0]["artifacts"].is_array(), has_artifacts, "{listed}");
    }
}

#[tokio::test]
async fn json_fault_shows_in_documents_and_events_of_its_binding_only() {
    let agents = pair("kind-in-1.0").await;
    for (agent, kind) in agents.iter().zip([Value::Null, "task".into()]) {
        let sent = jsonrpc(agent, "SendMessage", message("echo hello")).await;
        assert_eq!(sent["result"]["task"]["kind"], kind, "{sent}");
        let events = call(agent, "1.0", "SendStreamingMessage", message("echo hello")).await;
        let events = events.text().await.unwrap();
        assert_eq!(events.contains("\"kind\":\"task\""), kind.is_string(), "{events}");
        let sent = rest(agent, "/message:send", Some(message("echo hello"))).await;
        assert_eq!(document(sent).await["task"]["kind"], Value::Null);
    }
}

#[tokio::test]
async fn events_lack_blank_lines() {
    let [faultless, mutant] = pair("events-without-blank-lines").await;
    let events = |agent| async move {
        let response = call(agent, "1.0", "SendStreamingMessage", message("echo hello")).await;
        response.text().await.unwrap()
    };
    assert!(events(&faultless).await.contains("\n\n"));
    let events = events(&mutant).await;
    assert!(!events.contains("\n\n") && events.contains("TASK_STATE_COMPLETED"), "{events}");
}

#[tokio::test]
async fn rest_errors_have_status_200() {
    let [faultless, mutant] = pair("rest-errors-with-status-200").await;
    for (agent, status) in [(faultless, 404), (mutant, 200)] {
        let response = rest(&agent, "/tasks/unknown", None).await;
        assert_eq!(response.status(), status);
        assert_eq!(document(response).await["error"]["code"], 404);
    }
}

#[tokio::test]
async fn request_fault_makes_an_unknown_version_acceptable() {
    let agents = pair("unknown-version-is-accepted").await;
    for (agent, is_accepted) in agents.iter().zip([false, true]) {
        let response = call(agent, "9.9", "SendMessage", message("echo hello")).await;
        assert_eq!(document(response).await["result"].is_object(), is_accepted);
    }
}

#[tokio::test]
async fn unknown_member_is_refused_and_known_members_are_not() {
    let agents = pair("unknown-members-are-refused").await;
    for (agent, is_refused) in agents.iter().zip([false, true]) {
        let sent = jsonrpc(agent, "SendMessage", message("echo hello")).await;
        assert!(sent["result"].is_object(), "{sent}");
        let mut unknown = message("echo hello");
        unknown["message"]["flavour"] = "sweet".into();
        let sent = jsonrpc(agent, "SendMessage", unknown).await;
        assert_eq!(sent["error"].is_object(), is_refused, "{sent}");
    }
}

#[tokio::test]
async fn grpc_errors_lack_details() {
    let [faultless, mutant] = pair("grpc-errors-without-details").await;
    for (agent, has_details) in [(faultless, true), (mutant, false)] {
        let request = GetTaskRequest { id: "unknown".to_owned(), ..GetTaskRequest::default() };
        let message = request.encode_to_vec();
        let length = u32::try_from(message.len()).unwrap().to_be_bytes();
        let frame = [&[0], &length[..], &message].concat();
        let client = builder().http2_prior_knowledge().build().unwrap();
        let url = format!("{}/lf.a2a.v1.A2AService/GetTask", agent.url());
        let request = client.post(url).header("content-type", "application/grpc");
        let response =
            request.header("te", "trailers").header("a2a-version", "1.0").body(frame).send().await;
        let response = response.unwrap();
        assert_eq!(response.headers()["grpc-status"], "5");
        assert_eq!(response.headers().contains_key("grpc-status-details-bin"), has_details);
    }
}

#[tokio::test]
async fn old_fault_leaves_1_0_alone() {
    let agents = pair("0.3-parts-without-kind").await;
    for (agent, kind) in agents.iter().zip(["text".into(), Value::Null]) {
        let sent = call(agent, "0.3", "message/send", old_message("echo hello")).await;
        let sent = document(sent).await;
        assert_eq!(sent["result"]["kind"], "task", "{sent}");
        assert_eq!(sent["result"]["artifacts"][0]["parts"][0]["kind"], kind, "{sent}");
        let sent = jsonrpc(agent, "SendMessage", message("echo hello")).await;
        assert_eq!(sent["result"]["task"]["artifacts"][0]["parts"][0]["text"], "hello");
    }
}
