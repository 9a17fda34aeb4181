//! Agents that end each stream before their task has ended, on the wire.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod support;

use std::{
    convert::Infallible,
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use a2a_core::{
    AgentCard, Error, Operation, ProtocolVersion, Request, Result, Task, TaskState,
    v1::{StreamResponse, TaskStatus, stream_response::Payload},
};
use a2a_kit_client::{Client, ClientEvent, PollPolicy, RetryPolicy, Transport, WaitOptions};
use a2a_kit_compat::{Revisions, ServerOptions, grpc, server};
use a2a_kit_operations::{Agent, AgentMethod, Call, Event, EventStream, Reply, intercept_agent};
use axum::{
    Router,
    body::{Body, Bytes},
    response::IntoResponse as _,
};
use futures_util::stream;
use http::header::CONTENT_TYPE;
use serde_json::{Value, json};
use support::{card, serve};

/// An agent whose streams are interrupted after the task, which ends when it has been polled twice.
#[derive(Clone, Default)]
struct Interrupted {
    calls: Arc<Mutex<Vec<Operation>>>,
}

impl Interrupted {
    fn polls(&self) -> usize {
        self.calls.lock().unwrap().iter().filter(|call| **call == Operation::GetTask).count()
    }

    async fn intercept<R: Request, T: 'static>(
        &self,
        operation: Operation,
        _: Call<R>,
        _: AgentMethod<R, T>,
    ) -> Result<Reply<T>> {
        self.calls.lock().unwrap().push(operation);
        let response: Box<dyn std::any::Any> = match operation {
            Operation::GetTask if self.polls() > 4 => {
                Box::new(Arc::new(task(TaskState::Completed)))
            }
            Operation::GetTask => Box::new(Arc::new(task(TaskState::Working))),
            Operation::SendStreamingMessage | Operation::SubscribeToTask => {
                let payload = Some(Payload::Task(task(TaskState::Working)));
                let event = Ok(Event::new(None, StreamResponse { payload }));
                Box::new(EventStream::new(stream::iter([event])))
            }
            _ => return Err(Error::unsupported("not needed")),
        };
        Ok(Reply::new(*response.downcast::<T>().unwrap()))
    }
}

impl Agent for Interrupted {
    intercept_agent!(intercept);
}

fn task(state: TaskState) -> Task {
    let status = Some(TaskStatus { state: state.into(), ..TaskStatus::default() });
    Task { id: "t".into(), context_id: "c".into(), status, ..Task::default() }
}

/// The protocol versions and their bindings.
const BINDINGS: [(ProtocolVersion, &[Transport]); 5] = [
    (ProtocolVersion::V0_1, &[Transport::JsonRpc]),
    (ProtocolVersion::V0_2, &[Transport::JsonRpc, Transport::Grpc]),
    (ProtocolVersion::V0_3, &Transport::ALL),
    (ProtocolVersion::V1Draft, &Transport::ALL),
    (ProtocolVersion::V1_0, &Transport::ALL),
];

/// Serves an agent in a single protocol version.
async fn serve_in(agent: &Interrupted, version: ProtocolVersion) -> SocketAddr {
    let router = Router::new();
    if version == ProtocolVersion::V1_0 {
        let router = router
            .merge(a2a_kit_jsonrpc::router(agent.clone()))
            .merge(a2a_kit_rest::router(agent.clone()))
            .merge(a2a_kit_grpc::router(agent.clone()));
        return serve(router).await;
    }
    let revisions: Revisions = match version {
        ProtocolVersion::V1Draft => "draft".parse().unwrap(),
        other => other.as_str().parse().unwrap(),
    };
    let options = ServerOptions::default().with_revisions(revisions);
    let router = router
        .merge(server::jsonrpc(agent.clone(), options.clone()))
        .merge(server::rest(agent.clone(), options.clone()))
        .merge(grpc::router(agent.clone(), AgentCard::new("a", "b"), options));
    serve(router).await
}

#[tokio::test]
async fn short_streams_are_followed_by_polling_on_every_binding_and_revision() {
    let agent = Interrupted::default();
    let bindings = BINDINGS.iter().flat_map(|(version, transports)| {
        transports.iter().map(|transport| (*version, *transport))
    });
    for (version, transport) in bindings {
        let name = format!("{transport} {version:?}");
        let address = serve_in(&agent, version).await;
        let mut card = card(transport, address);
        let interface = &mut card.supported_interfaces[0];
        version.as_str().clone_into(&mut interface.protocol_version);
        let polling = Arc::new(Mutex::new(None));
        let observed = polling.clone();
        let client = Client::builder()
            .version(version)
            .resume(RetryPolicy::STREAMS.with_first_delay(Duration::from_millis(50)))
            .on_event(move |event| {
                if let ClientEvent::FellBackToPolling { error, .. } = event {
                    *observed.lock().unwrap() = Some(error.message().to_owned());
                }
            })
            .build(card)
            .unwrap();
        agent.calls.lock().unwrap().clear();
        let poll = PollPolicy::every(Duration::from_millis(20));
        let options = WaitOptions::default().with_poll(poll);
        let watch = client.send_and_watch("go", options).await.unwrap();
        let outcome = watch.outcome().await.unwrap();
        assert_eq!(outcome.state(), Some(TaskState::Completed), "{name}");
        let calls = agent.calls.lock().unwrap().clone();
        let streams = |operation| calls.iter().filter(|call| **call == operation).count();
        let reason = polling.lock().unwrap().clone().unwrap_or_default();
        assert_eq!(streams(Operation::SendStreamingMessage), 1, "{name}: {calls:?} {reason}");
        // An error that a stream ends with is not transient in every format.
        assert!(streams(Operation::SubscribeToTask) <= 2, "{name}: {calls:?} {reason}");
        assert!(calls.len() <= 20, "{name}: {calls:?}");

        assert!(reason.contains("interrupted"), "{name}: {reason}");
    }
}

/// An agent on JSON-RPC that ends each stream without an error, and asks clients to wait before they
/// reconnect. The third stream has the end of the task.
async fn reconnecting(retry: &'static str) -> (AgentCard, Arc<Mutex<Vec<Instant>>>) {
    let opened = Arc::<Mutex<Vec<Instant>>>::default();
    let log = opened.clone();
    let respond = async move |body: Bytes| {
        let request: Value = serde_json::from_slice(&body).unwrap();
        let number = {
            let mut log = log.lock().unwrap();
            log.push(Instant::now());
            log.len()
        };
        let state = if number < 3 { "TASK_STATE_WORKING" } else { "TASK_STATE_COMPLETED" };
        let event = json!({"jsonrpc": "2.0", "id": request["id"], "result": {"statusUpdate": {
            "taskId": "t", "contextId": "c", "status": {"state": state}
        }}});
        // Only the first stream has a `retry:`, which applies from then on.
        let retry = if number == 1 { retry } else { "" };
        let events = [Ok::<_, Infallible>(format!("data: {event}\n\n")), Ok(retry.to_owned())];
        ([(CONTENT_TYPE, "text/event-stream")], Body::from_stream(stream::iter(events)))
            .into_response()
    };
    let address = serve(Router::new().fallback(respond)).await;
    (card(Transport::JsonRpc, address), opened)
}

#[tokio::test]
async fn reconnection_time_of_a_stream_is_the_minimum_pause() {
    let (card, opened) = reconnecting("retry: 700\n\n").await;
    let policy = RetryPolicy::STREAMS.with_first_delay(Duration::from_millis(1));
    let client = Client::builder().resume(policy).build(card).unwrap();
    let outcome = client.stream("go").await.unwrap().outcome().await.unwrap();
    assert_eq!(outcome.state(), Some(TaskState::Completed));
    let opened = opened.lock().unwrap();
    let pauses: Vec<_> = opened.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(pauses.len(), 2);
    assert!(pauses.iter().all(|pause| *pause >= Duration::from_millis(700)), "{pauses:?}");
}

#[tokio::test]
async fn reconnection_time_beyond_the_policy_ends_the_stream() {
    let (card, opened) = reconnecting("retry: 3600000\n\n").await;
    let client = Client::builder().build(card).unwrap();
    let error = client.stream("go").await.unwrap().outcome().await.unwrap_err();
    assert_eq!(error.retry_after(), Some(Duration::from_secs(3600)));
    assert_eq!(opened.lock().unwrap().len(), 1);
}
