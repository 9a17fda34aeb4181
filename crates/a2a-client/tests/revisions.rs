//! Agents of every revision, called at every binding that the revision has.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests fail by panicking"
)]

mod support;

use std::net::SocketAddr;

use a2a_client::{Client, DiscoveryError, Outgoing, Transport};
use a2a_compat::{FrontOptions, Revisions, front, grpc};
use a2a_core::{AgentCard, ErrorKind, ProtocolVersion, TaskState};
use axum::Router;
use futures_util::TryStreamExt as _;
use support::{Counter, serve, url};

/// The revisions and the bindings that they have.
const SPOKEN: [(ProtocolVersion, &[Transport]); 5] = [
    (ProtocolVersion::V0_1, &[Transport::JsonRpc]),
    (ProtocolVersion::V0_2, &[Transport::JsonRpc, Transport::Grpc]),
    (ProtocolVersion::V0_3, &Transport::ALL),
    (ProtocolVersion::V1Draft, &Transport::ALL),
    (ProtocolVersion::V1_0, &Transport::ALL),
];

/// Serves an agent in one revision alone.
async fn serve_in(counter: &Counter, version: ProtocolVersion) -> SocketAddr {
    if version == ProtocolVersion::V1_0 {
        return support::serve_engine(&counter.engine()).await;
    }
    let revisions: Revisions = match version {
        ProtocolVersion::V1Draft => "draft".parse().unwrap(),
        other => other.as_str().parse().unwrap(),
    };
    let options = FrontOptions::default().with_revisions(revisions);
    let engine = counter.engine();
    let card = AgentCard::new("Counter", "Counts");
    let router = Router::new()
        .merge(front::jsonrpc(engine.clone(), options.clone()))
        .merge(front::rest(engine.clone(), options.clone()))
        .merge(grpc::router(engine, card, options));
    serve(router).await
}

/// A card with one interface, of one revision.
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
    // The draft has the number of 1.0, so that it has to be asked for.
    let builder = Client::builder().version(version);
    builder.build(card(transport, version, address)).unwrap()
}

//
#[tokio::test]
async fn a_message_is_answered_in_every_revision_at_every_binding() {
    for (version, transports) in SPOKEN {
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
async fn a_stream_is_read_to_its_end_in_every_revision_at_every_binding() {
    for (version, transports) in SPOKEN {
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
                    let refused = ErrorKind::UnsupportedOperation;
                    assert_eq!(error.kind(), refused, "{version:?} {transport}");
                    None
                }
            };
            // Before the draft, a task that has ended is shown once more.
            let shows = version < ProtocolVersion::V1Draft;
            let shown = shows.then_some(TaskState::Completed);
            assert_eq!(again, shown, "{version:?} {transport}");
        }
    }
}

#[tokio::test]
async fn a_task_is_canceled_while_it_is_watched_in_every_revision() {
    for (version, transports) in SPOKEN {
        let counter = Counter::new(1);
        let address = serve_in(&counter, version).await;
        for transport in transports {
            let client = client(*transport, version, address);
            let mut events = client.stream(Outgoing::from("count")).await.unwrap();
            let first = events.next().await.unwrap().unwrap();
            let id = first.task().expect("a stream begins with its task").id.clone();
            let canceled = client.cancel(&id).await.unwrap();
            assert_eq!(canceled.state(), TaskState::Canceled, "{version:?} {transport}");
            let outcome = events.outcome().await.unwrap();
            assert_eq!(outcome.state(), Some(TaskState::Canceled), "{version:?} {transport}");
        }
    }
}

#[tokio::test]
async fn what_a_revision_lacks_is_refused_without_asking() {
    let nobody = support::dead_address().await;
    for (version, transports) in &SPOKEN[..3] {
        for transport in *transports {
            let client = client(*transport, *version, nobody);
            let listed: Result<Vec<_>, _> = client.list(Default::default()).try_collect().await;
            let kind = listed.unwrap_err().kind();
            assert_eq!(kind, ErrorKind::UnsupportedOperation, "{version} {transport}");
        }
    }
}

#[test]
fn the_newest_revision_of_a_card_is_called_unless_another_is_asked_for() {
    let address = "127.0.0.1:1".parse().unwrap();
    let mut both = card(Transport::JsonRpc, ProtocolVersion::V0_3, address);
    both.supported_interfaces
        .extend(card(Transport::HttpJson, ProtocolVersion::V1_0, address).supported_interfaces);
    let version = |client: Client| client.interface().unwrap().protocol_version.clone();
    assert_eq!(version(Client::builder().build(both.clone()).unwrap()), "1.0");
    let older = Client::builder().version(ProtocolVersion::V0_3);
    assert_eq!(version(older.build(both.clone()).unwrap()), "0.3");
    // A binding that is asked for is no reason to speak an older revision.
    let only = Client::builder().only([Transport::JsonRpc]).build(both);
    assert!(matches!(only, Err(DiscoveryError::NoCommonVersion(_))));

    let old = card(Transport::JsonRpc, ProtocolVersion::V0_2, address);
    assert_eq!(version(Client::builder().build(old.clone()).unwrap()), "0.2");
    let newer = Client::builder().at_least(ProtocolVersion::V1_0).build(old);
    assert!(matches!(newer, Err(DiscoveryError::NoCommonVersion(_))));
}
