//! Agents over gRPC, in 1.0 and 0.3.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use a2a_core::{
    AgentCard, Error, ErrorKind, Message, Operation, ProtocolVersion, Task,
    v1::{
        SendMessageResponse, StreamResponse, TaskStatus, TaskStatusUpdateEvent,
        send_message_response, stream_response::Payload,
    },
};
use a2a_kit::testing::TestAgent;
use a2a_kit_client::{Client, WaitOptions};
use a2a_kit_compat::{ServerOptions, grpc::GrpcClient};
use a2a_kit_http::client::ClientSettings;
use a2a_kit_operations::{Agent, Event, EventStream};
use futures_util::stream;

use crate::{
    seat::{Seat, failed, gateway, seats_of, send},
    stream::matches,
};

const REVISIONS: [ProtocolVersion; 2] = [ProtocolVersion::V1_0, ProtocolVersion::V0_3];

/// A number that no revision knows.
const UNKNOWN: i32 = 42;

fn status(state: i32) -> Option<TaskStatus> {
    Some(TaskStatus { state, ..TaskStatus::default() })
}

fn task(state: i32) -> Task {
    Task { id: "t".into(), context_id: "c".into(), status: status(state), ..Task::default() }
}

fn update(state: i32) -> Payload {
    Payload::StatusUpdate(TaskStatusUpdateEvent {
        task_id: "t".into(),
        context_id: "c".into(),
        status: status(state),
        ..TaskStatusUpdateEvent::default()
    })
}

fn event(payload: Option<Payload>) -> Event {
    Event::new(None, StreamResponse { payload })
}

/// Serves an agent in a revision, and returns clients of it.
async fn served(agent: TestAgent, revision: ProtocolVersion) -> Vec<Seat> {
    let router = match revision {
        ProtocolVersion::V1_0 => a2a_kit_grpc::router(agent),
        _ => {
            let card = AgentCard::new("Odd", "is odd");
            a2a_kit_compat::grpc::router(agent, card, ServerOptions::default())
        }
    };
    let url = gateway(router).await;
    seats_of(&format!("gRPC {revision}"), || client(&url, revision)).await
}

fn client(url: &str, revision: ProtocolVersion) -> Arc<dyn Agent> {
    match revision {
        ProtocolVersion::V1_0 => Arc::new(a2a_kit_grpc::Client::connect(url).expect("a client")),
        _ => {
            let settings = ClientSettings::default();
            Arc::new(GrpcClient::connect(url, revision, settings).expect("a client"))
        }
    }
}

const WORKING: i32 = a2a_core::TaskState::Working as i32;
const COMPLETED: i32 = a2a_core::TaskState::Completed as i32;

/// A behaviour of agents: the events of a stream, and a word for each event that is read.
type Row = (&'static str, fn() -> Vec<Option<Payload>>, &'static [&'static str]);

const ROWS: &[Row] = &[
    (
        "unknown member of the union",
        || vec![Some(Payload::Task(task(WORKING))), None, Some(update(COMPLETED))],
        &["task WORKING", "status COMPLETED"],
    ),
    (
        "unknown state",
        || vec![Some(Payload::Task(task(WORKING))), Some(update(UNKNOWN)), Some(update(COMPLETED))],
        &["task WORKING", "InvalidAgentResponse: *state*42"],
    ),
    (
        "unknown state first",
        || vec![Some(Payload::Task(task(UNKNOWN))), Some(update(COMPLETED))],
        &["InvalidAgentResponse: *state*42"],
    ),
    (
        "real TASK_STATE_UNSPECIFIED",
        || vec![Some(Payload::Task(task(WORKING))), Some(update(0)), Some(update(COMPLETED))],
        &["task WORKING", "status UNSPECIFIED", "status COMPLETED"],
    ),
    (
        "two messages",
        || {
            let message = |text: &str| Some(Payload::Message(Message::agent(text)));
            vec![message("one"), message("two")]
        },
        &["message AGENT one", "message AGENT two"],
    ),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_of_the_field_are_read_over_grpc_and_gateways() {
    let mut faults = Vec::new();
    for (name, events, expected) in ROWS {
        for revision in REVISIONS {
            let events = || {
                let items: Vec<_> =
                    events().into_iter().map(|payload| Ok(event(payload))).collect();
                EventStream::new(stream::iter(items))
            };
            let agent = TestAgent::new().then(events()).then(events()).then(events());
            for seat in served(agent, revision).await {
                let words = seat.stream().await;
                let is_expected = words.len() == expected.len()
                    && words.iter().zip(*expected).all(|(word, want)| matches(word, want));
                if !is_expected {
                    faults.push(format!("{name} ({}): {words:?}", seat.name));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answer_with_an_unknown_state_or_without_content_is_an_error_over_grpc() {
    for revision in REVISIONS {
        let unknown = || Arc::new(task(UNKNOWN));
        let agent = TestAgent::new().then(unknown()).then(unknown()).then(unknown());
        for seat in served(agent, revision).await {
            let error = seat.get().await.expect_err(&seat.name);
            assert!(
                matches(&failed(&error), "InvalidAgentResponse: *state*42"),
                "{}: {}",
                seat.name,
                failed(&error)
            );
        }
        let unknown = || {
            let payload = Some(send_message_response::Payload::Task(task(UNKNOWN)));
            SendMessageResponse { payload }
        };
        let empty = SendMessageResponse::default;
        for answer in [&unknown as &dyn Fn() -> _, &empty] {
            let agent = TestAgent::new().then(answer()).then(answer()).then(answer());
            for seat in served(agent, revision).await {
                let sent = seat.agent.send_message(send()).await;
                let error = sent.map(|_| ()).expect_err(&seat.name);
                assert_eq!(error.kind(), ErrorKind::InvalidAgentResponse, "{}", seat.name);
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn missing_methods_of_a_grpc_agent_are_replaced() {
    for revision in REVISIONS {
        let unimplemented = || Error::new(ErrorKind::MethodNotFound, "not implemented");
        for index in 0..3 {
            let agent = TestAgent::new().then_fail(unimplemented()).then_task(task(COMPLETED));
            let seat = served(agent.clone(), revision).await.remove(index);
            let card = AgentCard::new("Odd", "declares a stream").with_streaming(true);
            let client = Client::from_agent(seat.agent, card);
            let watch = client.send_and_watch("hi", WaitOptions::default()).await;
            let watch = watch.unwrap_or_else(|error| panic!("{}: {}", seat.name, failed(&error)));
            assert!(watch.outcome().await.expect("an outcome").task().is_some(), "{}", seat.name);
            let expected = [Operation::SendStreamingMessage, Operation::SendMessage];
            assert_eq!(agent.operations(), expected, "{}", seat.name);
        }
    }
}

/// An agent whose messages are in a coding that no client requests.
async fn compressing(requests: Arc<AtomicUsize>) -> String {
    let answer = move || {
        requests.fetch_add(1, Ordering::Relaxed);
        let head = [("content-type", "application/grpc"), ("grpc-encoding", "gzip")];
        async move { (head, &b"\x01\0\0\0\x04\x1f\x8b\x08\0"[..]) }
    };
    gateway(axum::Router::new().fallback(answer)).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn coding_that_was_not_requested_is_named_over_grpc_and_the_message_sent_once() {
    for revision in REVISIONS {
        let requests = Arc::new(AtomicUsize::new(0));
        let url = compressing(Arc::clone(&requests)).await;
        for seat in seats_of(&format!("gRPC {revision}"), || client(&url, revision)).await {
            let name = seat.name.clone();
            let error = seat.get().await.expect_err(&name);
            let expected = "InvalidAgentResponse: *\"gzip\"";
            assert!(matches(&failed(&error), expected), "{name}: {}", failed(&error));
            requests.store(0, Ordering::Relaxed);
            let card = AgentCard::new("Odd", "declares a stream").with_streaming(true);
            let client = Client::from_agent(seat.agent, card);
            let error = client.send_and_watch("hi", WaitOptions::default()).await;
            let error = error.map(|_| ()).expect_err(&name);
            assert!(matches(&failed(&error), expected), "{name}: {}", failed(&error));
            assert_eq!(requests.load(Ordering::Relaxed), 1, "{name}");
        }
    }
}
