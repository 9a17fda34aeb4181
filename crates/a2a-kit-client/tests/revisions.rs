//! Agents of every protocol version, called on every binding of that version.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests fail by panicking"
)]

mod support;

use std::net::SocketAddr;

use a2a_core::{AgentCard, ErrorKind, ProtocolVersion, TaskState};
use a2a_kit_client::{Client, DiscoveryError, MessageRequest, Transport};
use a2a_kit_compat::{Revisions, ServerOptions, grpc, server};
use axum::Router;
use support::{Counter, serve, url};

/// The protocol versions and their bindings.
const BINDINGS: [(ProtocolVersion, &[Transport]); 5] = [
    (ProtocolVersion::V0_1, &[Transport::JsonRpc]),
    (ProtocolVersion::V0_2, &[Transport::JsonRpc, Transport::Grpc]),
    (ProtocolVersion::V0_3, &Transport::ALL),
    (ProtocolVersion::V1Draft, &Transport::ALL),
    (ProtocolVersion::V1_0, &Transport::ALL),
];

/// Serves an agent in a single protocol version.
async fn serve_in(counter: &Counter, version: ProtocolVersion) -> SocketAddr {
    if version == ProtocolVersion::V1_0 {
        return support::serve_engine(&counter.engine()).await;
    }
    let revisions: Revisions = match version {
        ProtocolVersion::V1Draft => "draft".parse().unwrap(),
        other => other.as_str().parse().unwrap(),
    };
    let options = ServerOptions::default().with_revisions(revisions);
    let engine = counter.engine();
    let card = AgentCard::new("Counter", "Counts");
    let router = Router::new()
        .merge(server::jsonrpc(engine.clone(), options.clone()))
        .merge(server::rest(engine.clone(), options.clone()))
        .merge(grpc::router(engine, card, options));
    serve(router).await
}

/// Returns a card with one interface.
fn card(transport: Transport, version: ProtocolVersion, address: SocketAddr) -> AgentCard {
    let url = match transport {
        Transport::Grpc => format!("http://{address}"),
        other => url(other, address),
    };
    let mut card = AgentCard::new("Counter", "Counts").with_interface(transport.as_str(), url);
    version.as_str().clone_into(&mut card.supported_interfaces[0].protocol_version);
    card
}

fn client(transport: Transport, version: ProtocolVersion, address: SocketAddr) -> Client {
    // The draft has the version number of 1.0, so it must be requested explicitly.
    let builder = Client::builder().version(version);
    builder.build(card(transport, version, address)).unwrap()
}

//
#[tokio::test]
async fn send_succeeds_in_every_version_on_every_binding() {
    for (version, transports) in BINDINGS {
        let counter = Counter::new(2);
        let address = serve_in(&counter, version).await;
        for transport in transports {
            let client = client(*transport, version, address);
            counter.permit(2);
            let sent = client.send("count").await;
            let outcome = sent.unwrap_or_else(|error| panic!("{version:?} {transport}: {error}"));
            assert_eq!(outcome.state(), Some(TaskState::Completed), "{version:?} {transport}");
            assert_eq!(outcome.text(), "1 2 ", "{version:?} {transport}");
            let id = outcome.task_id().unwrap();
            assert_eq!(client.get(id).await.unwrap().id, id, "{version:?} {transport}");
            let error = client.cancel(id).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::TaskNotCancelable, "{version:?} {transport}");
        }
    }
}

#[tokio::test]
async fn stream_completes_in_every_version_on_every_binding() {
    for (version, transports) in BINDINGS {
        let counter = Counter::new(3);
        let address = serve_in(&counter, version).await;
        for transport in transports {
            let client = client(*transport, version, address);
            counter.permit(3);
            let events = client.stream("count").await;
            let events = events.unwrap_or_else(|error| panic!("{version:?} {transport}: {error}"));
            let outcome = events.outcome().await.unwrap();
            assert_eq!(outcome.text(), "1 2 3 ", "{version:?} {transport}");
            let id = outcome.task_id().unwrap();
            let again = match client.subscribe(id).await {
                Ok(events) => events.outcome().await.unwrap().state(),
                Err(error) => {
                    let rejected = ErrorKind::UnsupportedOperation;
                    assert_eq!(error.kind(), rejected, "{version:?} {transport}");
                    None
                }
            };
            // Versions before the draft return an ended task once more.
            let is_returned = version < ProtocolVersion::V1Draft;
            let expected = is_returned.then_some(TaskState::Completed);
            assert_eq!(again, expected, "{version:?} {transport}");
        }
    }
}

#[tokio::test]
async fn subscribed_task_can_be_canceled_in_every_version() {
    for (version, transports) in BINDINGS {
        let counter = Counter::new(1);
        let address = serve_in(&counter, version).await;
        for transport in transports {
            let client = client(*transport, version, address);
            let mut events = client.stream(MessageRequest::from("count")).await.unwrap();
            let first = events.next().await.unwrap().unwrap();
            let id = first.task().expect("a stream starts with its task").id.clone();
            let canceled = client.cancel(&id).await.unwrap();
            assert_eq!(canceled.state(), TaskState::Canceled, "{version:?} {transport}");
            let outcome = events.outcome().await.unwrap();
            assert_eq!(outcome.state(), Some(TaskState::Canceled), "{version:?} {transport}");
        }
    }
}

#[tokio::test]
async fn operation_missing_in_a_version_is_rejected_without_a_call() {
    let address = support::unused_address().await;
    for (version, transports) in &BINDINGS[..3] {
        for transport in *transports {
            let client = client(*transport, *version, address);
            let listed = client.list(Default::default()).try_collect().await;
            let kind = listed.unwrap_err().kind();
            assert_eq!(kind, ErrorKind::UnsupportedOperation, "{version} {transport}");
        }
    }
}

#[test]
fn newest_version_is_used_unless_another_is_requested() {
    let address = "127.0.0.1:1".parse().unwrap();
    let mut both = card(Transport::JsonRpc, ProtocolVersion::V0_3, address);
    both.supported_interfaces
        .extend(card(Transport::Rest, ProtocolVersion::V1_0, address).supported_interfaces);
    let version = |client: Client| client.interface().unwrap().protocol_version.clone();
    assert_eq!(version(Client::builder().build(both.clone()).unwrap()), "1.0");
    let older = Client::builder().version(ProtocolVersion::V0_3);
    assert_eq!(version(older.build(both.clone()).unwrap()), "0.3");
    // A required binding does not lead to an older version.
    let only = Client::builder().only([Transport::JsonRpc]).build(both);
    assert!(matches!(only, Err(DiscoveryError::NoCommonVersion(_))));

    let old = card(Transport::JsonRpc, ProtocolVersion::V0_2, address);
    assert_eq!(version(Client::builder().build(old.clone()).unwrap()), "0.2");
    let newer = Client::builder().at_least(ProtocolVersion::V1_0).build(old);
    assert!(matches!(newer, Err(DiscoveryError::NoCommonVersion(_))));
}
