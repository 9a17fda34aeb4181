//! Servers that are killed, stopped and woken in the middle of their work, and what clients see
//! of that: nothing but a pause.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test says what it expects, and panics where it does not get it"
)]

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use a2a_core::Message;
use a2a_kit_client::Client;
use a2a_test_servers::{Private, Replication, nats, postgres};
use a2a_tests::chaos::{Behavior, Link, Load, Node, Relay, Scenario};
use tempfile::TempDir;
use tokio::time::timeout;

const WEBHOOKS: [&str; 2] = ["--allow-webhook", "127.0.0.1"];

fn binary() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_a2a-test-agent"))
}

/// Nodes that share a store, and a folder for what they log.
fn nodes(count: usize, folder: &TempDir, arguments: &[&str]) -> Vec<Node> {
    let start = |number: usize| {
        let arguments = [&WEBHOOKS[..], arguments].concat();
        let log = folder.path().join(format!("{number}.log"));
        Node::start(binary(), &arguments, &log).unwrap()
    };
    (0..count).map(start).collect()
}

/// A load for these nodes; the run of `scenarios` ends with all of them checked.
async fn load(nodes: &[Node]) -> Arc<Load> {
    let urls = nodes.iter().map(Node::url).collect();
    Load::new(urls, 7, Behavior::Reject(5)).await
}

async fn all(load: &Arc<Load>, scenarios: Vec<Scenario>) {
    let mut tasks = tokio::task::JoinSet::new();
    for scenario in scenarios {
        let load = Arc::clone(load);
        tasks.spawn(async move {
            if let Some(webhook) = load.task(scenario).await {
                webhook.check(load).await;
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    let tally = load.tally();
    assert!(tally.is_clean(), "{tally}\n{}", tally.take_details().join("\n"));
}

/// Waits until so many events were seen.
async fn seen(load: &Load, events: u64) {
    let limit = Instant::now() + Duration::from_secs(60);
    while load.tally().events.load(std::sync::atomic::Ordering::Relaxed) < events {
        assert!(Instant::now() < limit, "{}", load.tally().progress());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn streams(count: usize, chunks: usize) -> Vec<Scenario> {
    vec![Scenario::Stream { chunks, pause: Duration::from_millis(100) }; count]
}

fn some_of_each() -> Vec<Scenario> {
    let mut scenarios = streams(6, 80);
    scenarios.extend([
        Scenario::Slow { seconds: 8 },
        Scenario::Ask,
        Scenario::Ask,
        Scenario::Talk { turns: 4 },
        Scenario::Talk { turns: 3 },
        Scenario::Crowd { messages: 3, same_id: false },
        Scenario::Canceled { after: Duration::from_secs(4) },
        Scenario::Canceled { after: Duration::from_secs(1) },
    ]);
    scenarios
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_goes_on_with_the_next_event_after_its_server_was_killed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tasks.db");
    let mut node =
        Node::start(binary(), &["--store", path.to_str().unwrap()], &folder.path().join("log"))
            .unwrap();
    let client = Client::connect(&node.url()).await.unwrap();
    let mut events = client.stream(Message::user("stream 60")).await.unwrap();
    let mut ids = Vec::new();
    let mut chunks = Vec::new();
    let mut last = None;
    let mut killed = None;
    while let Some(event) = events.next().await {
        let event = event.unwrap();
        ids.push(event.id().unwrap().get());
        chunks.extend(event.artifact_update().map(|update| update.text()));
        last = event.state();
        if ids.len() == 20 {
            node.kill();
            killed = Some(Instant::now());
            node.restart().unwrap();
        }
        if let (21, Some(killed)) = (ids.len(), killed) {
            assert!(killed.elapsed() < Duration::from_secs(20), "{:?}", killed.elapsed());
        }
    }
    assert_eq!(ids, (1..=63).collect::<Vec<u64>>());
    assert_eq!(chunks, (1..=60).map(|n| format!("chunk {n} of 60")).collect::<Vec<_>>());
    assert_eq!(last, Some(a2a_core::TaskState::Completed));
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_with_a_file_whose_server_is_killed_twice() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tasks.db");
    let mut nodes = nodes(1, &folder, &["--store", path.to_str().unwrap()]);
    let load = load(&nodes).await;
    let work = tokio::spawn({
        let load = Arc::clone(&load);
        async move { all(&load, some_of_each()).await }
    });
    for events in [60, 250] {
        seen(&load, events).await;
        load.disturb();
        nodes[0].kill();
        nodes[0].restart().unwrap();
    }
    work.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_with_nodes_of_which_one_is_killed_and_one_is_stopped_and_woken() {
    let Ok(postgres) = postgres().await else { return };
    let folder = tempfile::tempdir().unwrap();
    let url = postgres.database().await;
    kill_and_stop(nodes(3, &folder, &["--store", &url])).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_with_nodes_that_hear_of_each_other_through_nats() {
    let (Ok(postgres), Ok(nats)) = (postgres().await, nats().await) else { return };
    let folder = tempfile::tempdir().unwrap();
    let url = postgres.database().await;
    let cluster = format!("{}/{}", nats.url(), nats.unique());
    kill_and_stop(nodes(3, &folder, &["--store", &url, "--cluster", &cluster])).await;
}

/// One node is killed for good, one is stopped until its leases have run out.
async fn kill_and_stop(mut nodes: Vec<Node>) {
    let load = load(&nodes).await;
    let work = tokio::spawn({
        let load = Arc::clone(&load);
        async move { all(&load, some_of_each()).await }
    });
    seen(&load, 100).await;
    load.disturb();
    nodes[0].kill();
    nodes[1].pause();
    // Its leases last for 10 s: only time tells.
    tokio::time::sleep(Duration::from_secs(14)).await;
    nodes[1].resume();
    nodes[0].restart().unwrap();
    timeout(Duration::from_secs(120), work).await.expect("an end").unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_when_the_database_is_started_again() {
    let Ok(mut postgres) = Private::postgres(&[]).await else { return };
    let folder = tempfile::tempdir().unwrap();
    let nodes = nodes(2, &folder, &["--store", postgres.url()]);
    let load = load(&nodes).await;
    let work = tokio::spawn({
        let load = Arc::clone(&load);
        async move { all(&load, some_of_each()).await }
    });
    for events in [100, 400] {
        seen(&load, events).await;
        load.disturb();
        postgres.restart().await;
    }
    timeout(Duration::from_secs(120), work).await.expect("an end").unwrap();
}

/// Two nodes, each with a relay to the primary.
async fn relayed(servers: &Replication, folder: &TempDir) -> (Vec<Node>, Vec<Relay>) {
    let mut relays = Vec::new();
    let mut all = Vec::new();
    for _ in 0..2 {
        let relay = Relay::start(servers.address()).await.unwrap();
        all.extend(nodes(1, folder, &["--store", &servers.url_at(relay.address())]));
        relays.push(relay);
    }
    (all, relays)
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_when_a_link_to_the_database_is_slow_and_then_stalled() {
    let Ok(servers) = Replication::start().await else { return };
    let folder = tempfile::tempdir().unwrap();
    let (nodes, relays) = relayed(&servers, &folder).await;
    let load = load(&nodes).await;
    let work = tokio::spawn({
        let load = Arc::clone(&load);
        async move { all(&load, some_of_each()).await }
    });
    seen(&load, 50).await;
    load.disturb();
    relays[0].set(Link::SLOW);
    seen(&load, 200).await;
    relays[0].set(Link::Stalled);
    // Leases last for 10 s: only time tells.
    tokio::time::sleep(Duration::from_secs(14)).await;
    relays[0].set(Link::Open);
    timeout(Duration::from_secs(120), work).await.expect("an end").unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_when_the_database_fails_over() {
    let Ok(mut servers) = Replication::start().await else { return };
    let folder = tempfile::tempdir().unwrap();
    let (nodes, relays) = relayed(&servers, &folder).await;
    let load = load(&nodes).await;
    let work = tokio::spawn({
        let load = Arc::clone(&load);
        async move { all(&load, some_of_each()).await }
    });
    seen(&load, 100).await;
    load.disturb();
    servers.fail_over().await.unwrap();
    for relay in &relays {
        relay.set_target(servers.address());
    }
    servers.kill_former();
    timeout(Duration::from_secs(120), work).await.expect("an end").unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_when_nats_is_started_again() {
    let Ok(postgres) = postgres().await else { return };
    let Ok(mut nats) = Private::nats(&[]).await else { return };
    let folder = tempfile::tempdir().unwrap();
    let url = postgres.database().await;
    let nodes = nodes(2, &folder, &["--store", &url, "--cluster", nats.url()]);
    let load = load(&nodes).await;
    let work = tokio::spawn({
        let load = Arc::clone(&load);
        async move { all(&load, some_of_each()).await }
    });
    for events in [100, 400] {
        seen(&load, events).await;
        load.disturb();
        nats.restart().await;
    }
    timeout(Duration::from_secs(120), work).await.expect("an end").unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn every_event_reaches_a_webhook_that_fails_hangs_and_lies() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tasks.db");
    let nodes = nodes(1, &folder, &["--store", path.to_str().unwrap()]);
    let load = Load::new(vec![nodes[0].url()], 7, Behavior::Misbehave).await;
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let load = Arc::clone(&load);
        tasks.spawn(async move {
            let webhook = load.task_with(Scenario::Ask, true).await;
            webhook.expect("a task that ended").check(load).await;
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    let tally = load.tally();
    assert!(tally.is_clean(), "{tally}\n{}", tally.take_details().join("\n"));
}
