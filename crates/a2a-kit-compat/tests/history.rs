//! History is truncated to the requested length: agents of 0.2 and 0.3 treat the length 0 as unset.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test that can't be set up fails")]

#[path = "../../a2a-kit-http/tests/fake/mod.rs"]
mod fake;

use std::sync::Arc;

use a2a_core::{
    AgentCard, Message, ProtocolVersion,
    v1::{
        GetTaskRequest, ListTasksRequest, SendMessageConfiguration, SendMessageRequest,
        send_message_response::Payload,
    },
};
use a2a_kit_compat::{
    ServerOptions,
    client::{JsonRpcClient, RestClient},
    grpc::{self, GrpcClient},
    server,
};
use a2a_kit_http::client::{ClientSettings, HttpClient};
use a2a_kit_operations::{Agent, Call};
use axum::Router;
use serde_json::json;

use fake::{Canned, Fake, message, serve};

/// The requested and the expected length, for a history of three messages.
const REQUESTED: [(Option<i32>, usize); 5] =
    [(None, 3), (Some(0), 0), (Some(2), 2), (Some(3), 3), (Some(9), 3)];

fn http() -> HttpClient {
    HttpClient::new(ClientSettings::default()).unwrap()
}

fn texts(history: &[Message]) -> Vec<String> {
    history.iter().map(Message::text).collect()
}

/// The texts of the newest `count` messages.
fn newest(count: usize) -> Vec<&'static str> {
    ["1", "2", "3"].into_iter().skip(3 - count).collect()
}

#[tokio::test]
async fn get_task_truncates_history() {
    let fake = Fake::new().remembering(["1", "2", "3"].map(message).into());
    let card = AgentCard::new("Fake", "Remembers");
    let options = ServerOptions::default();
    let router = Router::new()
        .merge(server::jsonrpc(fake.clone(), options.clone()))
        .merge(server::rest(fake.clone(), options.clone()))
        .merge(grpc::router(fake, card, options));
    let url = format!("http://{}", serve(router).await);
    let older = [ProtocolVersion::V0_2, ProtocolVersion::V0_3, ProtocolVersion::V1Draft];
    for revision in older {
        let grpc = GrpcClient::connect(&url, revision, ClientSettings::default()).unwrap();
        let agents: [(&str, Arc<dyn Agent>); 3] = [
            ("JSON-RPC", Arc::new(JsonRpcClient::new(&url, revision, http()).unwrap())),
            ("HTTP+JSON", Arc::new(RestClient::new(&url, revision, http()).unwrap())),
            ("gRPC", Arc::new(grpc)),
        ];
        for (binding, agent) in agents {
            for (requested, right) in REQUESTED {
                let id = "t-1".into();
                let request =
                    GetTaskRequest { id, history_length: requested, ..Default::default() };
                let task = agent.get_task(Call::new(request)).await.unwrap().response;
                let case = format!("{requested:?} of {revision} over {binding}");
                assert_eq!(texts(&task.history), newest(right), "{case}");
            }
        }
    }
}

/// A minimal task in the JSON format of 0.2, 0.3 and the draft.
fn written() -> serde_json::Value {
    let messages = ["1", "2", "3"].map(|text| {
        let part = json!({"kind": "text", "text": text});
        json!({"kind": "message", "role": "agent", "messageId": text, "parts": [part]})
    });
    json!({
        "kind": "task", "id": "t-1", "contextId": "c-1",
        "status": {"state": "completed"}, "history": messages,
    })
}

async fn canned(revision: ProtocolVersion, result: serde_json::Value) -> (JsonRpcClient, Canned) {
    let body = json!({"jsonrpc": "2.0", "id": 1, "result": result}).to_string();
    let server = Canned::serve([fake::json(200, &body)]).await;
    (JsonRpcClient::new(&server.url, revision, http()).unwrap(), server)
}

#[tokio::test]
async fn send_truncates_history() {
    for (requested, right) in REQUESTED {
        let (agent, _server) = canned(ProtocolVersion::V0_3, written()).await;
        let configuration =
            SendMessageConfiguration { history_length: requested, ..Default::default() };
        let request = SendMessageRequest {
            message: Some(Message::user("go")),
            configuration: Some(configuration),
            ..Default::default()
        };
        let sent = agent.send_message(Call::new(request)).await.unwrap().response;
        let Some(Payload::Task(task)) = sent.payload else { panic!("{sent:?}") };
        assert_eq!(texts(&task.history), newest(right), "{requested:?}");
    }
}

#[tokio::test]
async fn list_tasks_truncates_history() {
    for (requested, right) in REQUESTED {
        let page = json!({"tasks": [written()]});
        let (agent, _server) = canned(ProtocolVersion::V1Draft, page).await;
        let request = ListTasksRequest { history_length: requested, ..Default::default() };
        let page = agent.list_tasks(Call::new(request)).await.unwrap().response;
        assert_eq!(texts(&page.tasks[0].history), newest(right), "{requested:?}");
    }
}
