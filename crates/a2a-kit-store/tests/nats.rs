//! Signals through NATS.
#![cfg(feature = "nats")]
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test panics where it does not get what it expects"
)]

#[path = "nats/engine.rs"]
mod engine;
#[path = "nats/tls.rs"]
mod tls;

use std::{sync::Arc, time::Duration};

use a2a_core::TaskState;
use a2a_kit_operations::{
    MemoryStore, Store,
    store::{Signal, Signals},
};
use a2a_kit_store::nats::{Clustered, NatsConfig, NatsError};
use a2a_kit_store_testing::{
    MemoryNode,
    cluster::fixtures::ann,
    store::fixtures::{chunk, commit, insert, positions, task},
};
use a2a_test_servers::{Nats, Private};
use futures_util::StreamExt as _;
use tokio::{
    runtime::{Builder, Runtime},
    time::{Instant, timeout},
};

const TIMEOUT: Duration = Duration::from_secs(20);

/// A separate cluster on the shared server.
fn cluster(nats: &Nats) -> NatsConfig {
    NatsConfig::new(nats.url()).with_cluster(nats.unique())
}

/// Two nodes of a cluster, on the same empty data.
async fn nodes(config: NatsConfig) -> (Arc<dyn Store>, Arc<dyn Store>) {
    let one = MemoryNode::with_lease(Duration::from_millis(300));
    let two = one.join("two");
    let one = Clustered::connect(Arc::new(one), config.clone()).await.unwrap();
    let two = Clustered::connect(Arc::new(two), config).await.unwrap();
    (Arc::new(one), Arc::new(two))
}

async fn next(signals: &mut Signals) -> Signal {
    timeout(TIMEOUT, signals.next()).await.unwrap().unwrap()
}

/// Waits until a task is at a position, and returns the number of lag signals.
async fn wait_until(signals: &mut Signals, id: &str, last: u64) -> usize {
    let mut missed = 0;
    loop {
        match next(signals).await {
            Signal::Lagged => missed += 1,
            Signal::Written { task_id, last_event, .. }
                if *task_id == *id && last_event.get() >= last =>
            {
                return missed;
            }
            _ => {}
        }
    }
}

async fn wait_lagged(signals: &mut Signals) {
    while !matches!(next(signals).await, Signal::Lagged) {}
}

async fn write(store: &dyn Store, id: &str, version: u64) {
    let events = vec![chunk(version + 1, id, "x")];
    commit(store, &ann(), id, version, events, None).await.unwrap();
}

async fn begin(store: &dyn Store, id: &str) {
    insert(store, &ann(), &task(id, "c", TaskState::Working, 5)).await;
}

mod laws {
    use super::*;

    /// The laws need two nodes; without a server, those of the memory store are used.
    async fn two_nodes() -> (Arc<dyn Store>, Arc<dyn Store>) {
        match a2a_test_servers::nats().await {
            Ok(nats) => nodes(cluster(nats)).await,
            Err(_skipped) => {
                let one = MemoryNode::with_lease(Duration::from_millis(300));
                let two = one.join("two");
                (Arc::new(one), Arc::new(two))
            }
        }
    }

    a2a_kit_store_testing::cluster_suite!(two_nodes);
}

#[tokio::test]
async fn events_are_published_in_order() {
    let Ok(nats) = a2a_test_servers::nats().await else { return };
    let (one, two) = nodes(cluster(nats)).await;
    let mut signals = two.signals().unwrap();
    begin(&*one, "t").await;
    let mut seen = Vec::new();
    for version in 1..=200 {
        write(&*one, "t", version).await;
    }
    while seen.last() != Some(&201) {
        let Signal::Written { events, .. } = next(&mut signals).await else { panic!("{seen:?}") };
        seen.extend(positions(&events));
    }
    assert_eq!(seen, (1..=201).collect::<Vec<_>>());
}

#[tokio::test]
async fn clusters_on_one_server_are_isolated() {
    let Ok(nats) = a2a_test_servers::nats().await else { return };
    let (one, _two) = nodes(cluster(nats)).await;
    let (three, four) = nodes(cluster(nats)).await;
    let mut signals = four.signals().unwrap();
    begin(&*one, "of another cluster").await;
    begin(&*three, "t").await;
    let Signal::Written { task_id, .. } = next(&mut signals).await else { panic!() };
    assert_eq!(&*task_id, "t");
}

#[tokio::test]
async fn server_restart_loses_no_listener() {
    let Ok(mut nats) = Private::nats(&[]).await else { return };
    let (one, two) = nodes(NatsConfig::new(nats.url())).await;
    let mut signals = two.signals().unwrap();
    begin(&*one, "before").await;
    wait_until(&mut signals, "before", 1).await;
    nats.kill();
    write(&*one, "before", 1).await;
    begin(&*one, "meanwhile").await;
    nats.start().await;
    // Signals in flight may be lost with the server, which causes a reload.
    wait_lagged(&mut signals).await;
    begin(&*one, "after").await;
    wait_until(&mut signals, "after", 1).await;
    for version in 2..100 {
        write(&*one, "before", version).await;
    }
    assert_eq!(wait_until(&mut signals, "before", 100).await, 0);
}

#[tokio::test]
async fn listener_resumes_after_server_silence() {
    let Ok(nats) = Private::nats(&[]).await else { return };
    let (one, two) = nodes(NatsConfig::new(nats.url())).await;
    let mut signals = two.signals().unwrap();
    begin(&*one, "t").await;
    wait_until(&mut signals, "t", 1).await;
    nats.pause();
    for version in 1..=50 {
        write(&*one, "t", version).await;
    }
    // It is missed after the heartbeat interval of the server.
    for _ in 0..2 {
        let heard = timeout(Duration::from_secs(8), signals.next()).await.unwrap().unwrap();
        assert!(matches!(heard, Signal::Lagged), "of a server that is stopped: {heard:?}");
    }
    nats.resume();
    wait_until(&mut signals, "t", 51).await;
}

#[tokio::test]
async fn nodes_reload_every_second_while_the_server_is_away() {
    let Ok(mut nats) = Private::nats(&[]).await else { return };
    let (one, two) = nodes(NatsConfig::new(nats.url())).await;
    let (mut at_one, mut at_two) = (one.signals().unwrap(), two.signals().unwrap());
    begin(&*one, "t").await;
    wait_until(&mut at_two, "t", 1).await;
    nats.kill();
    let killed = Instant::now();
    for signals in [&mut at_one, &mut at_two] {
        for _ in 0..3 {
            wait_lagged(signals).await;
        }
    }
    assert!(killed.elapsed() < Duration::from_secs(8), "{:?}", killed.elapsed());
    nats.start().await;
    // What is written before the other node is connected again reaches it as a lag signal.
    let hears_again = async {
        for number in 0.. {
            let id = format!("after{number}");
            begin(&*one, &id).await;
            let heard = wait_until(&mut at_two, &id, 1);
            if timeout(Duration::from_secs(1), heard).await.is_ok() {
                return;
            }
        }
    };
    timeout(TIMEOUT, hears_again).await.unwrap();
}

#[tokio::test]
async fn slow_node_eventually_receives_everything() {
    let Ok(nats) = a2a_test_servers::nats().await else { return };
    let (one, two) = nodes(cluster(nats)).await;
    let mut signals = two.signals().unwrap();
    // Far more signals than the buffer of a node holds.
    for number in 0..3_000 {
        begin(&*one, &format!("t{number}")).await;
        if number % 100 == 0 {
            tokio::task::yield_now().await;
        }
    }
    let mut heard = std::collections::HashSet::new();
    while heard.len() < 3_000 {
        let Signal::Written { task_id, .. } = next(&mut signals).await else { panic!() };
        heard.insert(task_id);
    }
}

#[tokio::test]
async fn closing_node_publishes_pending_signals() {
    let Ok(nats) = a2a_test_servers::nats().await else { return };
    let (one, two) = nodes(cluster(nats)).await;
    let mut signals = two.signals().unwrap();
    begin(&*one, "t").await;
    drop(one);
    wait_until(&mut signals, "t", 1).await;
}

/// A node in its own runtime, which ends without a last message when that is shut down.
async fn mortal(store: MemoryNode, config: NatsConfig) -> (Runtime, Arc<dyn Store>) {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let connected = runtime.spawn(Clustered::connect(Arc::new(store), config)).await;
    (runtime, Arc::new(connected.unwrap().unwrap()))
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_node_causes_a_lag_signal() {
    let Ok(nats) = a2a_test_servers::nats().await else { return };
    let config = cluster(nats);
    let memory = MemoryNode::new();
    let (two, one) = (memory.join("two"), memory.join("one"));
    let two: Arc<dyn Store> =
        Arc::new(Clustered::connect(Arc::new(two), config.clone()).await.unwrap());
    let mut signals = two.signals().unwrap();
    let (runtime, store) = mortal(one, config.clone()).await;
    begin(&*store, "t").await;
    wait_until(&mut signals, "t", 1).await;
    runtime.shutdown_background();
    // Written but not published, as by a process that was killed in between.
    write(&memory, "t", 1).await;
    wait_lagged(&mut signals).await;

    // A restart under the same name is noticed sooner.
    let (runtime, store) = mortal(memory.join("one"), config.clone()).await;
    begin(&*store, "u").await;
    wait_until(&mut signals, "u", 1).await;
    runtime.shutdown_background();
    let (runtime, store) = mortal(memory.join("one"), config).await;
    begin(&*store, "v").await;
    wait_lagged(&mut signals).await;
    runtime.shutdown_background();
}

#[tokio::test]
async fn clean_shutdown_causes_no_lag_signal() {
    let Ok(nats) = a2a_test_servers::nats().await else { return };
    let (one, two) = nodes(cluster(nats)).await;
    let mut signals = two.signals().unwrap();
    begin(&*one, "t").await;
    assert_eq!(wait_until(&mut signals, "t", 1).await, 0);
    drop(one);
    let heard = timeout(Duration::from_secs(11), signals.next()).await;
    assert!(heard.is_err(), "{heard:?}");
}

#[tokio::test]
async fn signals_end_with_their_store() {
    let Ok(nats) = a2a_test_servers::nats().await else { return };
    let (_one, two) = nodes(cluster(nats)).await;
    let mut signals = two.signals().unwrap();
    assert!(two.signals().is_none());
    drop(two);
    assert!(timeout(TIMEOUT, signals.next()).await.unwrap().is_none());
}

#[tokio::test]
async fn password_authentication_works() {
    let Ok(nats) = Private::nats(&["--user", "me", "--pass", "s@cret"]).await else { return };
    let connect =
        |url: String| Clustered::connect(Arc::new(MemoryStore::new()), NatsConfig::new(url));
    let error = connect(nats.url().to_owned()).await.unwrap_err();
    assert!(matches!(error, NatsError::Connect { .. }), "{error:?}");
    connect(nats.url().replace("//", "//me:s%40cret@")).await.unwrap();
}

#[tokio::test]
async fn connection_errors_name_the_problem() {
    let connect = |config| Clustered::connect(Arc::new(MemoryStore::new()), config);
    let config = NatsConfig::new("nats://127.0.0.1:1").with_cluster("two words");
    let error = connect(config).await.unwrap_err();
    assert!(matches!(error, NatsError::ClusterName(_)), "{error:?}");
    let error = connect(NatsConfig::new("nats://me:secret@127.0.0.1:1")).await.unwrap_err();
    assert_eq!(error.to_string(), "failed to connect to NATS at 127.0.0.1:1");
    let config = NatsConfig::new("nats://127.0.0.1:1").with_credentials("/not/there");
    let error = connect(config).await.unwrap_err();
    assert!(matches!(error, NatsError::Credentials(_)), "{error:?}");
}
