//! Agents whose large answers are read for many callers at a time.

use std::{future::Future, sync::Arc, time::Duration};

use a2a_core::{
    Artifact, ErrorKind, Part, ProtocolVersion, Task, TaskState,
    v1::{StreamResponse, TaskStatus, stream_response::Payload},
};
use a2a_kit::testing::TestAgent;
use a2a_kit_compat::{
    ServerOptions,
    client::{JsonRpcClient, RestClient},
    grpc::GrpcClient,
};
use a2a_kit_http::client::{ClientSettings, HttpClient, ReadBudget};
use a2a_kit_operations::{Agent, Event, EventStream};
use a2a_tests::odd_agent::Wire;
use bytes::Bytes;
use futures_util::stream;
use http::Request;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

use crate::seat::{Seat, failed, gateway, unowned};

/// The budget of all clients of a gateway.
const BUDGET: usize = 1 << 20;

/// The size of an artifact.
const LARGE: usize = 600 << 10;

fn task() -> Task {
    let artifact = Artifact::new("large", Part::text("x".repeat(LARGE)));
    let status = TaskStatus { state: TaskState::Completed.into(), ..TaskStatus::default() };
    Task {
        id: "t".into(),
        context_id: "c".into(),
        status: Some(status),
        artifacts: vec![artifact],
        ..Task::default()
    }
}

/// A stream of so many large tasks, of which the last has ended.
fn events(count: usize) -> EventStream {
    let events: Vec<_> = (1..=count)
        .map(|index| {
            let mut task = task();
            if index < count {
                let state = TaskState::Working.into();
                task.status = Some(TaskStatus { state, ..TaskStatus::default() });
            }
            Ok(Event::new(None, StreamResponse { payload: Some(Payload::Task(task)) }))
        })
        .collect();
    EventStream::new(stream::iter(events))
}

/// Begins to read an answer of which only a part arrives. The part counts until the returned task
/// is aborted.
async fn hold(settings: ClientSettings) -> tokio::task::JoinHandle<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/", listener.local_addr().expect("an address"));
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        let mut request = [0; 1024];
        assert_ne!(stream.read(&mut request).await.expect("a request"), 0);
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {BUDGET}\r\n\r\n");
        stream.write_all(head.as_bytes()).await.expect("sent");
        stream.write_all(&vec![b' '; LARGE]).await.expect("sent");
        std::future::pending::<()>().await;
    });
    let budget = settings.read_budget.clone().expect("a budget");
    let http = HttpClient::new(settings).expect("a client");
    let reading = tokio::spawn(async move {
        let request = Request::get(&url).body(Bytes::new()).expect("a request");
        let _ = http.send(request).await;
    });
    until(|| budget.reserved() >= LARGE).await;
    reading
}

async fn until(is_reached: impl Fn() -> bool) {
    let reached = async {
        while !is_reached() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), reached).await.expect("in time");
}

fn client(wire: Option<Wire>, url: &str, settings: ClientSettings) -> Arc<dyn Agent> {
    let http = || HttpClient::new(settings.clone()).expect("a client");
    let v0_3 = ProtocolVersion::V0_3;
    match wire {
        Some(Wire::JsonRpc(ProtocolVersion::V1_0)) => {
            Arc::new(a2a_kit_jsonrpc::Client::with_http(url, http()).expect("a client"))
        }
        Some(Wire::Rest(ProtocolVersion::V1_0)) => {
            Arc::new(a2a_kit_rest::Client::with_http(url, http()).expect("a client"))
        }
        Some(Wire::JsonRpc(_)) => {
            Arc::new(JsonRpcClient::new(url, v0_3, http()).expect("a client"))
        }
        Some(Wire::Rest(_)) => Arc::new(RestClient::new(url, v0_3, http()).expect("a client")),
        None => Arc::new(a2a_kit_grpc::Client::connect_with(url, settings).expect("a client")),
    }
}

/// Serves an agent over each binding, and returns the clients of a gateway in front of it.
async fn gateways<A: Agent>(agent: impl Fn() -> A, settings: &ClientSettings) -> Vec<Seat> {
    let mut seats = Vec::new();
    let mut add = |name: &str, upstream: Arc<dyn Agent>| {
        seats.push(Seat { name: name.to_owned(), agent: Arc::new(unowned(upstream)) });
    };
    for (name, router) in [
        ("JSON-RPC", a2a_kit_jsonrpc::router(agent())),
        ("HTTP+JSON", a2a_kit_rest::router(agent())),
        ("gRPC", a2a_kit_grpc::router(agent())),
        ("JSON-RPC 0.3", a2a_kit_compat::server::jsonrpc(agent(), ServerOptions::default())),
        ("HTTP+JSON 0.3", a2a_kit_compat::server::rest(agent(), ServerOptions::default())),
    ] {
        let wire = match name {
            "JSON-RPC" => Some(Wire::JsonRpc(ProtocolVersion::V1_0)),
            "HTTP+JSON" => Some(Wire::Rest(ProtocolVersion::V1_0)),
            "JSON-RPC 0.3" => Some(Wire::JsonRpc(ProtocolVersion::V0_3)),
            "HTTP+JSON 0.3" => Some(Wire::Rest(ProtocolVersion::V0_3)),
            _ => None,
        };
        add(name, client(wire, &gateway(router).await, settings.clone()));
    }
    let card = a2a_core::AgentCard::new("Large", "has large answers");
    let router = a2a_kit_compat::grpc::router(agent(), card, ServerOptions::default());
    let url = gateway(router).await;
    let v0_3 = GrpcClient::connect(&url, ProtocolVersion::V0_3, settings.clone());
    add("gRPC 0.3", Arc::new(v0_3.expect("a client")));
    seats
}

/// Calls while most of the budget is held, and again when it is released.
async fn refused_then_answered<F: Future<Output = Option<String>>>(
    seats: Vec<Seat>,
    settings: ClientSettings,
    call: impl Fn(Seat) -> F,
) {
    let budget = settings.read_budget.clone().expect("a budget");
    for seat in seats {
        let reading = hold(settings.clone()).await;
        let name = seat.name.clone();
        let again = Seat { name: name.clone(), agent: Arc::clone(&seat.agent) };
        let error = call(seat).await.unwrap_or_else(|| panic!("{name}: not refused"));
        assert!(error.starts_with("Unavailable"), "{name}: {error}");
        assert!(error.contains("max_pending_response_bytes"), "{name}: {error}");
        reading.abort();
        until(|| budget.reserved() == 0).await;
        assert_eq!(call(again).await, None, "{name}");
        until(|| budget.reserved() == 0).await;
    }
}

fn settings() -> ClientSettings {
    ClientSettings::default().with_read_budget(ReadBudget::new(BUDGET))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_of_the_upstream_agent_count_while_they_are_read() {
    let settings = settings();
    let tasks = || TestAgent::new().then(Arc::new(task())).then(Arc::new(task()));
    let seats = gateways(tasks, &settings).await;
    refused_then_answered(seats, settings, |seat| async move {
        seat.get().await.err().map(|error| failed(&error))
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_of_the_upstream_agent_count_while_they_are_read() {
    let settings = settings();
    let streams = || TestAgent::new().then(events(1)).then(events(1));
    let seats = gateways(streams, &settings).await;
    refused_then_answered(seats, settings, |seat| async move {
        let words = seat.stream().await;
        words.into_iter().find(|word| word.starts_with(&format!("{:?}", ErrorKind::Unavailable)))
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_events_in_a_row_do_not_add_up() {
    let settings = settings();
    for seat in gateways(|| TestAgent::new().then(events(6)), &settings).await {
        let words = seat.stream().await;
        assert!(words.len() >= 6, "{}: {words:?}", seat.name);
        let has_failed = words.iter().any(|word| word.contains("Unavailable"));
        assert!(!has_failed, "{}: {words:?}", seat.name);
    }
}
