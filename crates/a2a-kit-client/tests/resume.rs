//! Resuming streams over dropped connections.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests fail by panicking"
)]

mod support;

use a2a_core::{
    AgentCard, ErrorKind, TaskState,
    v1::{AgentExtension, ListTasksRequest},
};
use a2a_kit_client::{
    Client, Events, IDEMPOTENCY_KEY, MessageRequest, RetryPolicy, Snapshot, Transport,
};
use a2a_kit_operations::{Engine, EngineConfig, Event, EventId, LogLimits};
use support::{Counter, Proxy, card, serve_engine, unused_address};

fn chunk(event: &Event) -> Option<String> {
    event.artifact_update().map(|update| update.text())
}

/// Reads up to the chunk `text`.
async fn read_to(events: &mut Events, text: &str, seen: &mut Vec<Event>) {
    loop {
        let event = events.next().await.expect("more events").unwrap();
        let found = chunk(&event).is_some_and(|chunk| chunk == text);
        seen.push(event);
        if found {
            return;
        }
    }
}

async fn read_rest(events: &mut Events, seen: &mut Vec<Event>) {
    while let Some(event) = events.next().await {
        seen.push(event.unwrap());
    }
}

/// Checks that each chunk occurs once, in order, and that ids are unique.
fn check(seen: &[Event], chunks: usize, transport: Transport) {
    let text: String = seen.iter().filter_map(chunk).collect();
    let expected: String = (1..=chunks).map(|number| format!("{number} ")).collect();
    assert_eq!(text, expected, "{transport}");
    assert_eq!(seen.last().unwrap().state(), Some(TaskState::Completed), "{transport}");
    let ids: Vec<_> = seen.iter().filter_map(Event::id).map(EventId::get).collect();
    assert_eq!(ids.len(), seen.len(), "{transport}: every event has a position");
    assert!(ids.is_sorted_by(|one, next| one < next), "{transport}: {ids:?}");
}

#[tokio::test]
async fn stream_dropped_twice_delivers_every_event_once() {
    for transport in Transport::ALL {
        let counter = Counter::new(9);
        let engine = counter.engine();
        let proxy = Proxy::start(serve_engine(&engine).await).await;
        let client = Client::builder().build(card(transport, proxy.address)).unwrap();

        let mut events = client.stream("count").await.unwrap();
        let mut seen = Vec::new();
        counter.permit(3);
        read_to(&mut events, "3 ", &mut seen).await;
        assert!(proxy.disconnect() > 0, "{transport}");
        counter.permit(3);
        read_to(&mut events, "6 ", &mut seen).await;
        assert!(proxy.disconnect() > 0, "{transport}");
        counter.permit(3);
        read_rest(&mut events, &mut seen).await;
        check(&seen, 9, transport);
    }
}

#[tokio::test]
async fn events_of_a_task_that_ended_while_disconnected_are_delivered() {
    for transport in Transport::ALL {
        let counter = Counter::new(4);
        let engine = counter.engine();
        let server = serve_engine(&engine).await;
        let proxy = Proxy::start(server).await;
        let client = Client::builder().build(card(transport, proxy.address)).unwrap();
        let observer = Client::builder().build(card(transport, server)).unwrap();

        let mut events = client.stream("count").await.unwrap();
        let mut seen = Vec::new();
        counter.permit(1);
        read_to(&mut events, "1 ", &mut seen).await;
        let task_id = seen.iter().find_map(Event::task).unwrap().id.clone();
        let watched = observer.subscribe(&task_id).await.unwrap();
        proxy.disconnect();
        counter.permit(3);
        // The task ends before the dropped stream is read again.
        watched.outcome().await.unwrap();
        read_rest(&mut events, &mut seen).await;
        check(&seen, 4, transport);
    }
}

#[tokio::test]
async fn dropped_subscription_resumes() {
    for transport in Transport::ALL {
        let counter = Counter::new(4);
        let engine = counter.engine();
        let server = serve_engine(&engine).await;
        let proxy = Proxy::start(server).await;
        let client = Client::builder().build(card(transport, proxy.address)).unwrap();
        let sender = Client::builder().build(card(transport, server)).unwrap();

        let mut sent = sender.stream("count").await.unwrap();
        let first = sent.next().await.unwrap().unwrap();
        let mut events = client.subscribe(&first.task().unwrap().id).await.unwrap();
        let mut seen = vec![events.next().await.unwrap().unwrap()];
        counter.permit(2);
        read_to(&mut events, "2 ", &mut seen).await;
        proxy.disconnect();
        counter.permit(2);
        read_rest(&mut events, &mut seen).await;
        check(&seen, 4, transport);
    }
}

#[tokio::test]
async fn stream_of_unreachable_agent_ends_with_an_error() {
    for transport in Transport::ALL {
        let counter = Counter::new(2);
        let engine = counter.engine();
        let proxy = Proxy::start(serve_engine(&engine).await).await;
        let policy = RetryPolicy::STREAMS
            .with_attempts(2)
            .with_first_delay(std::time::Duration::from_millis(1));
        let card = card(transport, proxy.address);
        let client = Client::builder().resume(policy).build(card).unwrap();
        let mut events = client.stream("count").await.unwrap();
        let mut seen = Vec::new();
        counter.permit(1);
        read_to(&mut events, "1 ", &mut seen).await;
        proxy.stop().await;
        let error = events.next().await.unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{transport}");
        assert!(events.next().await.is_none(), "{transport}");
    }
}

#[tokio::test]
async fn unreachable_agent_is_reported_as_unavailable() {
    for transport in Transport::ALL {
        let card = card(transport, unused_address().await);
        let client = Client::builder().retry(RetryPolicy::NEVER).build(card).unwrap();
        let error = client.send("hi").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{transport}");
    }
}

#[tokio::test]
async fn dropped_send_is_retried_only_with_idempotency_extension() {
    for transport in Transport::ALL {
        let counter = Counter::new(1);
        let engine = counter.engine();
        let proxy = Proxy::start(serve_engine(&engine).await).await;
        let plain = card(transport, proxy.address);
        let extension = AgentExtension::new(IDEMPOTENCY_KEY, "deduplicates retried sends");
        let idempotent = plain.clone().with_extension(extension);
        for (card, is_idempotent) in [(plain, false), (idempotent, true)] {
            let client = Client::builder().build(card).unwrap();
            let message =
                MessageRequest::from("count").in_context(format!("idempotent {is_idempotent}"));
            let sender = client.clone();
            let sending = tokio::spawn(async move { sender.send(message).await });
            counter.arrived.acquire().await.unwrap().forget();
            proxy.disconnect();
            if !is_idempotent {
                let error = sending.await.unwrap().unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Unavailable, "{transport}");
                counter.permit(1);
                continue;
            }
            counter.permit(1);
            assert_eq!(sending.await.unwrap().unwrap().text(), "1 ", "{transport}");
            let filter =
                ListTasksRequest { context_id: "idempotent true".into(), ..Default::default() };
            let tasks = client.list_page(filter).await.unwrap().tasks;
            assert_eq!(tasks.len(), 1, "{transport}");
        }
    }
}

#[tokio::test]
async fn reader_behind_the_event_log_resumes_from_a_snapshot() {
    for transport in Transport::ALL {
        let counter = Counter::new(1000);
        let config =
            EngineConfig::default().with_log_limits(LogLimits::default().with_max_events(16));
        let engine_card = AgentCard::new("Counter", "Counts");
        let engine = Engine::builder(engine_card, counter.clone()).config(config).build();
        let server = serve_engine(&engine).await;
        let proxy = Proxy::start(server).await;
        let client = Client::builder().build(card(transport, proxy.address)).unwrap();
        let observer = Client::builder().build(card(transport, server)).unwrap();

        let mut events = client.stream("count").await.unwrap();
        let mut seen = Vec::new();
        counter.permit(1);
        read_to(&mut events, "1 ", &mut seen).await;
        let task_id = seen.iter().find_map(Event::task).unwrap().id.clone();
        proxy.disconnect();
        counter.permit(999);
        let expected = observer.subscribe(&task_id).await.unwrap().outcome().await.unwrap();
        read_rest(&mut events, &mut seen).await;
        let mut snapshot = Snapshot::new();
        seen.iter().for_each(|event| snapshot.apply(event).unwrap());
        let task = snapshot.into_task().unwrap();
        assert_eq!(task.state(), TaskState::Completed, "{transport}");
        assert_eq!(task.text(), expected.text(), "{transport}");
    }
}
