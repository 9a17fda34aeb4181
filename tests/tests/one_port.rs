//! Every revision on one port: raw requests against a complete server.
#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::time::Duration;

use a2a_core::{
    ErrorKind,
    v1::{AgentCard, GetTaskRequest},
};
use a2a_kit_http::{
    Limits,
    client::{ClientSettings, HttpClient},
};
use a2a_kit_operations::{Agent as _, Call, Engine, agent_fn};
use a2a_tests::{
    Control, Options,
    agent::{EXTENSION, engine},
    webhook::Receiver,
};
use bytes::Bytes;
use http::{Request, Response};
use serde_json::{Value, json};
use tokio::{io::AsyncWriteExt as _, net::TcpSocket, task::JoinHandle};

struct Server {
    url: String,
    http: HttpClient,
    task: JoinHandle<()>,
}

impl Server {
    async fn start(options: Options) -> Self {
        Self::serve(a2a_kit::Server::from(engine(&options, &Control::default()))).await
    }

    async fn serve(server: a2a_kit::Server) -> Self {
        let listener = a2a_kit_http::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let task = tokio::spawn(async move {
            server.serve(listener, std::future::pending()).await.unwrap();
        });
        Self { url, http: HttpClient::new(ClientSettings::default()).unwrap(), task }
    }

    async fn post(&self, method: &str, params: Value, extension: Option<&str>) -> Response<Bytes> {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let mut request = Request::post(&self.url).header("content-type", "application/json");
        if let Some(extension) = extension {
            request = request.header("x-a2a-extensions", extension);
        }
        self.http.send(request.body(body.to_string().into()).unwrap()).await.unwrap()
    }

    async fn rpc(&self, method: &str, params: Value) -> Value {
        let answer = self.post(method, params, None).await;
        assert_eq!(answer.headers()["content-type"], "application/json", "{method}");
        serde_json::from_slice(answer.body()).unwrap()
    }

    async fn stream(&self, method: &str, params: Value) -> Vec<Value> {
        let answer = self.post(method, params, None).await;
        assert_eq!(answer.headers()["content-type"], "text/event-stream", "{method}");
        let text = std::str::from_utf8(answer.body()).unwrap();
        let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
        data.map(|json| serde_json::from_str(json).unwrap()).collect()
    }

    async fn get(&self, path: &str) -> Value {
        let request = Request::get(format!("{}{path}", self.url)).body(Bytes::new()).unwrap();
        let answer = self.http.send(request).await.unwrap();
        assert_eq!(answer.status(), 200, "{path}");
        serde_json::from_slice(answer.body()).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A message of 0.1.
fn first(text: &str) -> Value {
    json!({"role": "user", "parts": [{"type": "text", "text": text}]})
}

/// A message of 0.2 and 0.3.
fn kind(text: &str) -> Value {
    json!({"kind": "message", "messageId": "m", "role": "user",
        "parts": [{"kind": "text", "text": text}]})
}

//
#[tokio::test]
async fn one_card_serves_all_revisions_at_both_paths() {
    let server = Server::start(Options::default()).await;
    let card = server.get("/.well-known/agent-card.json").await;
    assert_eq!(card, server.get("/.well-known/agent.json").await);
    let current: AgentCard = serde_json::from_value(card.clone()).unwrap();
    let versions: Vec<_> =
        current.supported_interfaces.iter().map(|one| &*one.protocol_version).collect();
    assert_eq!(versions, ["1.0", "1.0", "1.0", "0.3", "0.3", "0.3"]);
    assert_eq!(card["protocolVersion"], "0.3.0");
    assert_eq!(card["url"], json!(server.url));
    assert_eq!(card["preferredTransport"], "JSONRPC");
    let transports: Vec<_> = card["additionalInterfaces"]
        .as_array()
        .unwrap()
        .iter()
        .map(|interface| interface["transport"].as_str().unwrap())
        .collect();
    assert_eq!(transports, ["JSONRPC", "HTTP+JSON", "GRPC"]);
    assert_eq!(card["supportsAuthenticatedExtendedCard"], true);
    let read = a2a_kit_compat::v0_3::read_card(strip(&card)).unwrap();
    assert!(read.has_extended_card(), "the flag at the root is read");
}

/// The card as parsed by a client of 0.3.
fn strip(card: &Value) -> Value {
    let mut card = card.clone();
    card.as_object_mut().unwrap().remove("supportedInterfaces");
    card
}

//
#[tokio::test]
async fn each_revision_is_answered_in_its_format() {
    let server = Server::start(Options::default()).await;
    let answer = server.rpc("tasks/send", json!({"id": "t", "message": first("hello")})).await;
    let task = &answer["result"];
    assert_eq!((&task["id"], &task["status"]["state"]), (&json!("t"), &json!("completed")));
    assert_eq!(task["artifacts"][0]["parts"][0], json!({"type": "text", "text": "hello"}));

    let answer = server.rpc("message/send", json!({"message": kind("hello")})).await;
    let task = &answer["result"];
    assert_eq!((&task["kind"], &task["status"]["state"]), (&json!("task"), &json!("completed")));
    assert_eq!(task["artifacts"][0]["parts"][0], json!({"kind": "text", "text": "hello"}));

    let draft = json!({"messageId": "m", "role": "user", "parts": [{"text": "gate"}]});
    let answer = server.rpc("SendMessage", json!({"message": draft})).await;
    let state = answer["result"]["task"]["status"]["state"].as_str().unwrap();
    assert!(["submitted", "working"].contains(&state), "it returns immediately: {state}");
}

//
#[tokio::test]
async fn v0_1_client_chooses_task_ids() {
    let server = Server::start(Options::default()).await;
    let asked = server.rpc("tasks/send", json!({"id": "mine", "message": first("ask")})).await;
    assert_eq!(asked["result"]["status"]["state"], "input-required");
    let done = server.rpc("tasks/send", json!({"id": "mine", "message": first("this")})).await;
    assert_eq!(done["result"]["status"]["state"], "completed");
    assert_eq!(done["result"]["id"], "mine");
    assert_eq!(done["result"]["sessionId"], asked["result"]["sessionId"]);
    let found = server.rpc("tasks/get", json!({"id": "mine", "historyLength": 9})).await;
    assert_eq!(found["result"]["id"], "mine");
    assert_eq!(found["result"]["history"].as_array().unwrap().len(), 3);
    let unknown = server.rpc("tasks/get", json!({"id": "nobody's"})).await;
    assert_eq!(unknown["error"]["code"], -32001);
}

#[tokio::test]
async fn overlong_task_id_is_rejected() {
    let server = Server::start(Options::default()).await;
    for (length, code) in [(1_024, None), (1_025, Some(-32602)), (1 << 20, Some(-32602))] {
        let params = json!({"id": "x".repeat(length), "message": first("hello")});
        let answer = server.rpc("tasks/send", params).await;
        assert_eq!(answer["error"]["code"].as_i64(), code, "{length} bytes");
    }
}

//
#[tokio::test]
async fn legacy_streams_mark_the_final_event() {
    let server = Server::start(Options::default()).await;
    let events = server
        .stream("tasks/sendSubscribe", json!({"id": "s", "message": first("stream 2")}))
        .await;
    let finals: Vec<_> = events.iter().map(|event| event["result"]["final"] == true).collect();
    assert_eq!(finals.iter().filter(|is_final| **is_final).count(), 1);
    assert_eq!(finals.last(), Some(&true));
    assert!(events.iter().all(|event| event["result"]["id"] == "s"));

    for word in ["stream 2", "ask", "auth"] {
        let events = server.stream("message/stream", json!({"message": kind(word)})).await;
        let last = &events.last().unwrap()["result"];
        assert_eq!((&last["kind"], &last["final"]), (&json!("status-update"), &json!(true)));
    }
}

//
#[tokio::test]
async fn missing_streaming_support_is_an_event_for_legacy_clients() {
    let server = Server::start(Options { streaming: false, ..Options::default() }).await;
    let events = server.stream("message/stream", json!({"message": kind("x")})).await;
    assert_eq!(events.len(), 1);
    assert_eq!(events[0]["error"]["code"], -32004);
}

//
#[tokio::test]
async fn private_webhook_address_is_rejected_in_0_1() {
    let server = Server::start(Options::default()).await;
    server.rpc("tasks/send", json!({"id": "t", "message": first("ask")})).await;
    let config = json!({"url": "http://10.0.0.1/"});
    let params = json!({"id": "t", "pushNotificationConfig": config});
    let rejected = server.rpc("tasks/pushNotification/set", params).await;
    assert_eq!(rejected["error"]["code"], -32602);
}

//
#[tokio::test]
async fn webhook_is_called_in_the_revision_that_registered_it() {
    let options = Options { webhooks_of_all_revisions: true, ..Options::default() };
    let server = Server::start(options).await;
    let mut receiver = Receiver::start(0).await;
    server.rpc("tasks/send", json!({"id": "t", "message": first("ask")})).await;
    let config = json!({"url": receiver.url, "token": "the-token"});
    let params = json!({"id": "t", "pushNotificationConfig": config});
    let set = server.rpc("tasks/pushNotification/set", params).await;
    assert!(set.get("error").is_none(), "{set}");
    server.rpc("tasks/send", json!({"id": "t", "message": first("this")})).await;
    let delivery = receiver.next().await;
    assert_eq!(delivery.headers["x-a2a-token"], "the-token");
    assert_eq!(delivery.headers["content-type"], "application/json");
    assert_eq!(delivery.body["finalStatus"]["state"], "completed");
    assert_eq!(delivery.body["taskId"], "t");
}

#[tokio::test]
async fn legacy_extension_header_is_accepted() {
    let server = Server::start(Options::default()).await;
    let params = json!({"message": kind("x")});
    let answer = server.post("message/send", params, Some(EXTENSION)).await;
    assert_eq!(answer.headers()["x-a2a-extensions"], EXTENSION);
    assert!(!answer.headers().contains_key("a2a-extensions"));
}

/// The id of a new task with a text of this length.
async fn large_task(server: &Server, size: usize) -> String {
    let message =
        json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x".repeat(size)}]});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage",
        "params": {"message": message}});
    let request = Request::post(&server.url)
        .header("content-type", "application/json")
        .header("a2a-version", "1.0");
    let answer = server.http.send(request.body(body.to_string().into()).unwrap()).await.unwrap();
    let answer: Value = serde_json::from_slice(answer.body()).unwrap();
    answer["result"]["task"]["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn response_over_budget_is_rejected_in_its_revision() {
    let limits = Limits::default().with_max_pending_response_bytes(1 << 20);
    let card = AgentCard::new("Echo", "Says what it hears").with_streaming(true);
    let engine = Engine::new(card, agent_fn(async |text: String| text));
    let server = Server::serve(a2a_kit::Server::from(engine).with_limits(limits)).await;
    let unread = large_task(&server, 7 << 20).await;
    let id = large_task(&server, 100 << 10).await;

    // An unread response, larger than the socket buffers.
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4 << 10).unwrap();
    let address = server.url.strip_prefix("http://").unwrap().parse().unwrap();
    let mut held = socket.connect(address).await.unwrap();
    let head =
        format!("GET /tasks/{unread} HTTP/1.1\r\nhost: localhost\r\na2a-version: 1.0\r\n\r\n");
    held.write_all(head.as_bytes()).await.unwrap();
    held.readable().await.unwrap();

    for (method, version) in [("GetTask", "1.0"), ("tasks/get", "0.3")] {
        let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": {"id": id}});
        let request = Request::post(&server.url)
            .header("content-type", "application/json")
            .header("a2a-version", version);
        let rejected =
            server.http.send(request.body(body.to_string().into()).unwrap()).await.unwrap();
        assert_eq!(rejected.status(), 503, "{method}");
        assert_eq!(rejected.headers()["retry-after"], "1", "{method}");
        let rejected: Value = serde_json::from_slice(rejected.body()).unwrap();
        assert_eq!((&rejected["id"], &rejected["error"]["code"]), (&json!(7), &json!(-32603)));
    }
    for (path, version, kind) in [
        (format!("/tasks/{id}"), "1.0", "/error/status"),
        (format!("/v1/tasks/{id}"), "0.3", "/code"),
    ] {
        let request = Request::get(format!("{}{path}", server.url)).header("a2a-version", version);
        let rejected = server.http.send(request.body(Bytes::new()).unwrap()).await.unwrap();
        assert_eq!(rejected.status(), 503, "{path}");
        assert_eq!(rejected.headers()["retry-after"], "1", "{path}");
        let rejected: Value = serde_json::from_slice(rejected.body()).unwrap();
        assert!(rejected.pointer(kind).is_some(), "{path}: {rejected}");
    }
    let client = a2a_kit_grpc::Client::connect(&server.url).unwrap();
    let get = || {
        let request = GetTaskRequest { id: id.clone(), ..GetTaskRequest::default() };
        client.get_task(Call::new(request))
    };
    let rejected = get().await.unwrap_err();
    assert_eq!(rejected.kind(), ErrorKind::Unavailable, "{rejected}");

    // After its connection is closed, all are served.
    drop(held);
    let served = async {
        while get().await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), served).await.expect("there is room again");
}
