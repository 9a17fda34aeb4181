//! Interface selection, failover and requests on every binding.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests fail by panicking"
)]

mod support;

use a2a_core::{AgentCard, ErrorKind, TaskState, card};
use a2a_kit_client::{Client, MessageRequest, Transport};
use support::{Counter, serve_engine, unused_address, url};

//
#[tokio::test]
async fn unreachable_first_interface_fails_over_to_the_next() {
    let counter = Counter::new(1);
    counter.permit(1);
    let reachable = serve_engine(&counter.engine()).await;
    for (first, second) in [
        (Transport::JsonRpc, Transport::Grpc),
        (Transport::Grpc, Transport::Rest),
        (Transport::Rest, Transport::JsonRpc),
    ] {
        counter.permit(1);
        let card = AgentCard::new("a", "b")
            .with_interface(first.as_str(), url(first, unused_address().await))
            .with_interface(second.as_str(), url(second, reachable));
        let client = Client::builder().build(card.clone()).unwrap();
        assert_eq!(client.interface().unwrap().protocol_binding, first.as_str());
        assert_eq!(client.send_text("count").await.unwrap(), "1 ", "{first} then {second}");
        assert_eq!(client.interface().unwrap().protocol_binding, second.as_str());

        let policy = a2a_kit_client::RetryPolicy::NEVER;
        let pinned = Client::builder().only([first]).retry(policy).build(card).unwrap();
        let error = pinned.send("count").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "a pinned binding does not fail over");
    }
}

#[tokio::test]
async fn interface_tenant_is_sent_with_every_request() {
    let counter = Counter::new(1);
    let address = serve_engine(&counter.engine()).await;
    for transport in Transport::ALL {
        counter.permit(1);
        let mut card = support::card(transport, address);
        let other = Client::builder().build(card.clone()).unwrap();
        card.supported_interfaces[0].tenant = "acme".into();
        let client = Client::builder().build(card).unwrap();

        let outcome = client.send("count").await.unwrap();
        let id = outcome.task_id().unwrap();
        assert_eq!(client.get(id).await.unwrap().id, id, "{transport}");
        let error = other.get(id).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TaskNotFound, "{transport}");

        let listed = client.list(Default::default()).try_collect().await.unwrap();
        assert!(listed.iter().any(|task| task.id == id), "{transport}");
        let listed = other.list(Default::default()).try_collect().await.unwrap();
        assert!(listed.is_empty(), "{transport}");
    }
}

#[tokio::test]
async fn all_pages_are_fetched_on_every_binding() {
    let counter = Counter::new(1);
    counter.permit(7);
    let address = serve_engine(&counter.engine()).await;
    let sender = Client::builder().build(support::card(Transport::JsonRpc, address)).unwrap();
    for _ in 0..7 {
        sender.send("count").await.unwrap();
    }
    for transport in Transport::ALL {
        let client = Client::builder().build(support::card(transport, address)).unwrap();
        let filter = a2a_core::v1::ListTasksRequest { page_size: Some(3), ..Default::default() };
        let tasks = client.list(filter).try_collect().await.unwrap();
        assert_eq!(tasks.len(), 7, "{transport}");
    }
}

#[tokio::test]
async fn task_can_be_started_subscribed_to_and_canceled_on_every_binding() {
    let counter = Counter::new(1);
    let address = serve_engine(&counter.engine()).await;
    for transport in Transport::ALL {
        let client = Client::builder().build(support::card(transport, address)).unwrap();
        let request = MessageRequest::from("count").returning_immediately();
        let outcome = client.send(request).await.unwrap();
        assert!(outcome.state().is_some_and(|state| !state.is_terminal()), "{transport}");
        let id = outcome.task_id().unwrap();
        let events = client.subscribe(id).await.unwrap();
        let canceled = client.cancel(id).await.unwrap();
        assert_eq!(canceled.state(), TaskState::Canceled, "{transport}");
        let outcome = events.outcome().await.unwrap();
        assert_eq!(outcome.state(), Some(TaskState::Canceled), "{transport}");
        let error = client.cancel(id).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TaskNotCancelable, "{transport}");
        let error = client.subscribe(id).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnsupportedOperation, "{transport}");
    }
}

#[tokio::test]
async fn interface_with_unknown_binding_is_skipped() {
    let counter = Counter::new(1);
    counter.permit(1);
    let address = serve_engine(&counter.engine()).await;
    let card = AgentCard::new("a", "b")
        .with_interface("urn:example:pigeon", "pigeon://roof")
        .with_interface(card::JSONRPC, url(Transport::JsonRpc, address));
    let client = Client::builder().build(card).unwrap();
    assert_eq!(client.send_text("count").await.unwrap(), "1 ");
}
