//! File bytes, which the SDKs of 0.3 encode in two ways.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test that can't be set up fails")]

#[path = "../../a2a-kit-http/tests/fake/mod.rs"]
mod fake;

use std::sync::Arc;

use a2a_core::{
    AgentCard, Artifact, Message, Part, ProtocolVersion, Role,
    v1::{SendMessageRequest, part::Content, send_message_response::Payload},
};
use a2a_kit_compat::{
    ServerOptions,
    client::{JsonRpcClient, RestClient},
    grpc::{self, GrpcClient},
    server,
};
use a2a_kit_http::client::{ClientSettings, HttpClient};
use a2a_kit_operations::{
    Agent, AgentExecutor, BoxError, Call, Engine, RequestContext, TaskUpdater,
};
use axum::Router;
use serde_json::{Value, json};

use fake::{Canned, Connection, json as json_answer, serve};

/// Echoes its parts.
struct Echo;

impl AgentExecutor for Echo {
    async fn execute(&self, context: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        let parts = context.message().parts.clone();
        updates.artifact(Artifact { parts, ..Artifact::default() }.with_id("a")).await?;
        updates.complete("done").await?;
        Ok(())
    }
}

async fn echo() -> String {
    let card = AgentCard::new("Echo", "Gives back what it gets");
    let engine = Engine::builder(card.clone(), Echo).build();
    let options = ServerOptions::default();
    let router = Router::new()
        .merge(server::jsonrpc(engine.clone(), options.clone()))
        .merge(server::rest(engine.clone(), options.clone()))
        .merge(grpc::router(engine, card, options));
    serve(router).await
}

fn http() -> HttpClient {
    HttpClient::new(ClientSettings::default()).unwrap()
}

/// Binary data, text, and text that is valid base64.
const FILES: [&[u8]; 4] = [b"\x00\x01\x02\x03\xff", b"hello", b"abcd", b""];

fn send(parts: impl IntoIterator<Item = Part>) -> Call<SendMessageRequest> {
    let message = Some(Message::new(Role::User, parts.into_iter().collect()));
    Call::new(SendMessageRequest { message, ..SendMessageRequest::default() })
}

#[tokio::test]
async fn file_bytes_round_trip_in_every_revision_and_binding() {
    let url = format!("http://{}", echo().await);
    for revision in [ProtocolVersion::V0_2, ProtocolVersion::V0_3, ProtocolVersion::V1Draft] {
        let grpc = GrpcClient::connect(&url, revision, ClientSettings::default()).unwrap();
        let agents: [(&str, Arc<dyn Agent>); 3] = [
            ("JSON-RPC", Arc::new(JsonRpcClient::new(&url, revision, http()).unwrap())),
            ("HTTP+JSON", Arc::new(RestClient::new(&url, revision, http()).unwrap())),
            ("gRPC", Arc::new(grpc)),
        ];
        for (binding, agent) in agents {
            let parts = FILES.map(Part::raw);
            let sent = agent.send_message(send(parts.clone())).await.unwrap().response;
            let Some(Payload::Task(task)) = sent.payload else { panic!("{sent:?}") };
            assert_eq!(task.artifacts[0].parts, parts, "{revision} over {binding}");
        }
    }
}

/// ProtoJSON of the SDKs of Python, Go and Java (base64 of base64), and of Node.js (base64).
const HELLO_AS_TEXT: &str = "YUdWc2JHOD0=";
const HELLO: &str = "aGVsbG8=";

#[tokio::test]
async fn files_are_encoded_as_the_sdk_of_the_client_does() {
    let mut connection = Connection::open(&echo().await).await;
    for (client, sent, got) in [
        ("python-httpx/0.28.1", HELLO_AS_TEXT, HELLO_AS_TEXT),
        ("python-httpx/0.28.1", HELLO, HELLO_AS_TEXT),
        ("node", HELLO, HELLO),
        // Unambiguous, even if the content is valid base64.
        ("node", "YWJjZA==", "YWJjZA=="),
    ] {
        let part = json!({"file": {"fileWithBytes": sent}});
        let message = json!({"messageId": "m", "role": "ROLE_USER", "content": [part]});
        let body = json!({"message": message}).to_string();
        let agent = format!("user-agent: {client}");
        let headers = ["content-type: application/json", &agent];
        let answer = connection.ask("POST /v1/message:send", &headers, &body).await;
        let answer: Value = serde_json::from_str(&answer.body).unwrap();
        let file = &answer["task"]["artifacts"][0]["parts"][0]["file"];
        assert_eq!(file["fileWithBytes"], got, "{client} {sent}");
    }
}

#[tokio::test]
async fn client_reads_both_encodings_and_writes_base64() {
    for answered in [HELLO_AS_TEXT, HELLO] {
        let part = json!({"file": {"fileWithBytes": answered}});
        let message = json!({"messageId": "m", "role": "ROLE_AGENT", "content": [part]});
        let answer = json_answer(200, &json!({"message": message}).to_string());
        let mut server = Canned::serve([answer]).await;
        let agent = RestClient::new(&server.url, ProtocolVersion::V0_3, http()).unwrap();
        let answer = agent.send_message(send([Part::raw(&b"hello"[..])])).await.unwrap().response;
        let Some(Payload::Message(message)) = answer.payload else { panic!("{answer:?}") };
        assert_eq!(message.parts[0].content, Some(Content::Raw((&b"hello"[..]).into())));
        let (_, body) = server.request().await;
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(body["message"]["content"][0]["file"]["fileWithBytes"], HELLO_AS_TEXT);
    }
}
