//! Quotas per caller.
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it expects, and panics where it does not get it"
)]

use std::{num::NonZeroUsize, sync::Arc, time::Duration};

use a2a_core::{
    AgentCard, ErrorKind, Message,
    v1::{GetTaskRequest, SendMessageConfiguration, SendMessageRequest},
};
use a2a_kit_operations::{Agent, Call, Caller, Engine, EventId, Quota, QuotaConfig, agent_fn_with};
use futures_util::StreamExt as _;
use tokio::{
    sync::Semaphore,
    time::{sleep, timeout},
};

/// Longer than any of these tests takes.
const LONG: Duration = Duration::from_secs(20);

/// An agent whose tasks work until the gate opens.
fn gated(config: QuotaConfig) -> (Quota, Arc<Semaphore>) {
    gated_with(config, true)
}

fn gated_with(config: QuotaConfig, streams: bool) -> (Quota, Arc<Semaphore>) {
    let gate = Arc::new(Semaphore::new(0));
    let agent = agent_fn_with(Arc::clone(&gate), async |gate: Arc<Semaphore>, text: String| {
        gate.acquire().await.expect("never closed").forget();
        text
    });
    let card = AgentCard::new("Gated", "Waits until it is let through").with_streaming(streams);
    (Quota::new(Engine::new(card, agent), config), gate)
}

fn most(number: usize) -> Option<NonZeroUsize> {
    NonZeroUsize::new(number)
}

fn send(who: &str) -> Call<SendMessageRequest> {
    let mut call = Call::new(SendMessageRequest {
        message: Some(Message::user("work")),
        ..SendMessageRequest::default()
    });
    if !who.is_empty() {
        call.context.caller = Caller::authenticated(who);
    }
    call
}

fn at_once(who: &str) -> Call<SendMessageRequest> {
    let mut call = send(who);
    call.request.configuration = Some(SendMessageConfiguration {
        return_immediately: true,
        ..SendMessageConfiguration::default()
    });
    call
}

/// Sends until a permit is available.
async fn send_when_free(quota: &Quota, who: &str) {
    let sent = async {
        while let Err(error) = quota.send_message(at_once(who)).await {
            assert_eq!(error.kind(), ErrorKind::ResourceExhausted, "{error}");
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(LONG, sent).await.expect("there is room at last");
}

async fn assert_all_released(quota: &Quota) {
    let empty = async {
        while quota.callers() > 0 {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(LONG, empty).await.expect("all is given back");
}

#[tokio::test]
async fn working_tasks_count_until_they_stop() {
    let (quota, gate) = gated(QuotaConfig::default().with_running_tasks(most(2)));
    for _ in 0..2 {
        quota.send_message(at_once("ann")).await.expect("within the bound");
    }
    for _ in 0..100 {
        let error = quota.send_message(at_once("ann")).await.expect_err("beyond the bound");
        assert_eq!(error.kind(), ErrorKind::ResourceExhausted);
        assert_eq!(error.message(), "a caller may have 2 running tasks at a time");
        let error = quota.send_streaming_message(send("ann")).await.expect_err("beyond it too");
        assert_eq!(error.kind(), ErrorKind::ResourceExhausted);
    }
    quota.send_message(at_once("bob")).await.expect("another caller has its own");
    gate.add_permits(1_000);
    send_when_free(&quota, "ann").await;
    assert_all_released(&quota).await;
}

#[tokio::test]
async fn tasks_count_with_any_send_options_and_without_streaming() {
    for streams in [true, false] {
        let config = QuotaConfig::default().with_running_tasks(most(3));
        let (quota, gate) = gated_with(config, streams);
        for number in 0..20 {
            let mut call = at_once("ann");
            call.context.last_event_id = EventId::new(999_999);
            assert_eq!(quota.send_message(call).await.is_ok(), number < 3, "{number}");
            // The task would be considered lost in the meantime.
            sleep(Duration::from_millis(5)).await;
        }
        gate.add_permits(1_000);
        send_when_free(&quota, "ann").await;
        assert_all_released(&quota).await;
    }
}

#[tokio::test]
async fn task_counts_after_its_caller_disconnects() {
    let (quota, gate) = gated(QuotaConfig::default().with_running_tasks(most(2)));
    let waiting = timeout(Duration::from_millis(50), quota.send_message(send("ann"))).await;
    assert!(waiting.is_err(), "the task works");
    let mut stream = quota.send_streaming_message(send("ann")).await.expect("a stream").response;
    stream.next().await.expect("the task").expect("no error");
    drop(stream);
    let error = quota.send_message(at_once("ann")).await.expect_err("two tasks work");
    assert_eq!(error.kind(), ErrorKind::ResourceExhausted);
    gate.add_permits(1_000);
    send_when_free(&quota, "ann").await;
    assert_all_released(&quota).await;
}

#[tokio::test]
async fn open_streams_count_until_they_end_or_are_dropped() {
    let (quota, gate) = gated(QuotaConfig::default().with_open_streams(most(1)));
    let mut first = quota.send_streaming_message(send("ann")).await.expect("a stream").response;
    let error = quota.send_streaming_message(send("ann")).await.expect_err("one is open");
    assert_eq!(error.message(), "a caller may have 1 open streams at a time");
    assert_eq!(error.metadata()["limit"], "open streams");
    first.next().await.expect("the task").expect("no error");
    drop(first);
    let second = quota.send_streaming_message(send("ann")).await.expect("room again").response;
    gate.add_permits(1_000);
    assert!(second.count().await > 0);
    let third = quota.send_streaming_message(send("ann")).await.expect("room again").response;
    drop(third);
    assert_all_released(&quota).await;
}

#[tokio::test]
async fn failed_calls_release_their_quota() {
    let config = QuotaConfig::default().with_running_tasks(most(1)).with_open_streams(most(1));
    let (quota, _gate) = gated(config);
    for _ in 0..10 {
        let mut call = send("ann");
        let message = call.request.message.as_mut().expect("a message");
        message.task_id = "unknown".into();
        let error = quota.send_message(call.clone()).await.expect_err("no such task");
        assert_eq!(error.kind(), ErrorKind::TaskNotFound);
        let error = quota.send_streaming_message(call).await.expect_err("no such task");
        assert_eq!(error.kind(), ErrorKind::TaskNotFound);
    }
    assert_all_released(&quota).await;
}

//
#[tokio::test]
async fn calls_beyond_the_rate_are_rejected_with_a_retry_delay() {
    let get = |who: &str| {
        let mut call = Call::new(GetTaskRequest { id: "x".into(), ..GetTaskRequest::default() });
        call.context = send(who).context;
        call
    };
    let rate = "1/h+3".parse().expect("a rate");
    for exempt in [false, true] {
        let config = QuotaConfig::default().with_rate(Some(rate)).with_anonymous_exempt(exempt);
        let (quota, _gate) = gated(config);
        for who in ["ann", "bob", ""] {
            for _ in 0..3 {
                let error = quota.get_task(get(who)).await.expect_err("no such task");
                assert_eq!(error.kind(), ErrorKind::TaskNotFound, "{who:?}");
            }
            let error = quota.get_task(get(who)).await.expect_err("no such task");
            if exempt && who.is_empty() {
                assert_eq!(error.kind(), ErrorKind::TaskNotFound);
                continue;
            }
            assert_eq!(error.kind(), ErrorKind::ResourceExhausted, "{who:?}");
            assert_eq!(error.message(), "too many requests: a caller may make 1/h+3");
            let wait = error.retry_after().expect("when to come back");
            assert!(wait <= Duration::from_secs(3_600) && wait > Duration::from_secs(3_000));
        }
    }
}
