//! Lost connections.

use std::{sync::Arc, time::Duration};

use a2a_core::TaskState;
use a2a_kit_operations::store::{LeaseStore as _, NewTask, Signal, StoreError, TaskStore as _};
use a2a_kit_store::postgres::PostgresConfig;
use a2a_kit_store_testing::store::fixtures::{
    chunk, get, insert, new_task, query, replayed, scope, task, transition,
};
use a2a_test_servers::Private;
use futures_util::StreamExt as _;
use tokio::{sync::mpsc, time::timeout};
use tokio_postgres::Client;

use super::fixtures::Schema;

const TIMEOUT: Duration = Duration::from_secs(20);

/// Terminates the connections of stores with this schema, as a server restart would.
async fn cut(client: &Client, schema: &Schema) {
    let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
        WHERE application_name = $1 AND pid <> pg_backend_pid()";
    client.query(cut, &[&schema.name]).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_recover_after_all_connections_break() {
    let Ok(schema) = Schema::new().await else { return };
    let (store, client, scope) = (schema.open().await, schema.client().await, scope("ann"));
    insert(&store, &scope, &task("t", "c", TaskState::Working, 5)).await;
    for version in 1..4 {
        cut(&client, &schema).await;
        let events = vec![chunk(version + 1, "t", "x")];
        let write = || store.commit(&scope, transition("t", version, 1, events.clone()));
        // A call in flight when the connection breaks fails, and is retried.
        let mut written = write().await;
        while let Err(StoreError::Failed(_)) = written {
            written = write().await;
        }
        match written {
            Ok(_) => {}
            Err(StoreError::Conflict { .. }) => {
                assert_eq!(get(&store, &scope, "t").await.version, version + 1);
            }
            Err(error) => panic!("{error:?}"),
        }
    }
    cut(&client, &schema).await;
    assert_eq!(get(&store, &scope, "t").await.version, 4, "a read does not even notice");
    cut(&client, &schema).await;
    assert_eq!(store.list(&scope, &query(1)).await.unwrap().total, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn broken_listener_signals_lag_and_reconnects() {
    let Ok(schema) = Schema::new().await else { return };
    let (one, two) = (schema.open().await, schema.open().await);
    let (client, scope) = (schema.client().await, scope("ann"));
    let mut signals = two.signals().unwrap();
    insert(&one, &scope, &task("a", "c", TaskState::Working, 5)).await;
    let heard = timeout(TIMEOUT, signals.next()).await.unwrap().unwrap();
    assert!(matches!(&heard, Signal::Written { task_id, .. } if &**task_id == "a"), "{heard:?}");
    cut(&client, &schema).await;
    let heard = timeout(TIMEOUT, signals.next()).await.unwrap().unwrap();
    assert!(matches!(heard, Signal::Lagged), "{heard:?}");
    while one.insert(&scope, new("b")).await.is_err() {}
    let heard = timeout(TIMEOUT, signals.next()).await.unwrap().unwrap();
    assert!(matches!(&heard, Signal::Written { task_id, .. } if &**task_id == "b"), "{heard:?}");
}

/// Queries work, but no connection can be opened to listen.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn node_reloads_every_second_while_its_listener_is_away() {
    let Ok(schema) = Schema::alone().await else { return };
    let (one, two) = (schema.open().await, schema.open().await);
    let (client, scope) = (schema.client().await, scope("ann"));
    let mut signals = two.signals().unwrap();
    insert(&one, &scope, &task("a", "c", TaskState::Working, 5)).await;
    // A connection for queries is open.
    assert_eq!(get(&two, &scope, "a").await.version, 1);
    let name: String = client.query_one("SELECT current_database()", &[]).await.unwrap().get(0);
    let server = a2a_test_servers::postgres().await.unwrap();
    let (outside, connection) =
        tokio_postgres::connect(server.url(), tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    let allow = async |allowed: bool| {
        let alter = format!("ALTER DATABASE {name} ALLOW_CONNECTIONS {allowed}");
        outside.batch_execute(&alter).await.unwrap();
    };
    allow(false).await;
    // The empty query is the periodic check of a listener.
    let terminate = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> \
        pg_backend_pid() AND datname = current_database() AND (query LIKE '%LISTEN%' OR query = '')";
    client.query(terminate, &[]).await.unwrap();
    let begun = tokio::time::Instant::now();
    for _ in 0..3 {
        loop {
            let heard = timeout(TIMEOUT, signals.next()).await.unwrap().unwrap();
            if matches!(heard, Signal::Lagged) {
                break;
            }
        }
    }
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    assert_eq!(get(&two, &scope, "a").await.version, 1, "queries work");
    allow(true).await;
    let told = async {
        let mut number = 0;
        loop {
            number += 1;
            let id = format!("told {number}");
            insert(&one, &scope, &task(&id, "c", TaskState::Working, 5)).await;
            while let Ok(Some(signal)) = timeout(Duration::from_millis(200), signals.next()).await {
                if matches!(&signal, Signal::Written { task_id, .. } if task_id.starts_with("told"))
                {
                    return;
                }
            }
        }
    };
    timeout(TIMEOUT, told).await.expect("it listens again");
}

fn new(id: &str) -> NewTask {
    new_task(&task(id, "c", TaskState::Working, 5))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn confirmed_writes_survive_a_server_crash() {
    let Ok(mut server) = Private::postgres(&[]).await else { return };
    let schema = Schema::of(&server);
    let (store, other, scope) = (Arc::new(schema.open().await), schema.open().await, scope("ann"));
    let mut signals = other.signals().unwrap();
    let (confirmed, mut confirmations) = mpsc::unbounded_channel();
    let writers = (0..16).map(|number| {
        let (store, scope, confirmed) = (Arc::clone(&store), scope.clone(), confirmed.clone());
        tokio::spawn(async move {
            let id = format!("t{number}");
            while let Err(error) = store.insert(&scope, new(&id)).await {
                if matches!(error, StoreError::Conflict { .. }) {
                    break;
                }
            }
            let mut version = 1;
            while version < 200 {
                let events = vec![chunk(version + 1, &id, "x")];
                match store.commit(&scope, transition(&id, version, 1, events)).await {
                    Ok(_) => version += 1,
                    // It was written after all, by the try before.
                    Err(StoreError::Conflict { .. }) => {
                        let stored = store.get(&scope, &id).await;
                        let stored = stored.ok().flatten().map(|stored| stored.version);
                        assert!(stored.is_none_or(|stored| stored == version + 1), "{stored:?}");
                        version = stored.unwrap_or(version);
                    }
                    Err(_) => tokio::task::yield_now().await,
                }
                let _ = confirmed.send(());
            }
        })
    });
    let writers: Vec<_> = writers.collect();
    for _ in 0..2 {
        for _ in 0..500 {
            confirmations.recv().await.unwrap();
        }
        server.restart().await;
    }
    for writer in writers {
        writer.await.unwrap();
    }
    for number in 0..16 {
        let id = format!("t{number}");
        assert_eq!(replayed(&*store, &scope, &id, 1).await.len(), 199, "{id}");
    }
    // Listeners get a lag signal each time, and receive the end.
    let mut missed = 0;
    let end = async {
        while let Some(signal) = signals.next().await {
            match signal {
                Signal::Lagged => missed += 1,
                Signal::Written { last_event, .. } if last_event.get() == 200 => break,
                _ => {}
            }
        }
    };
    timeout(TIMEOUT, end).await.unwrap();
    assert!(missed > 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn signal_overflow_becomes_a_lag_signal() {
    let Ok(schema) = Schema::new().await else { return };
    let (one, two) = (schema.open().await, schema.open().await);
    let client = schema.client().await;
    let mut signals = two.signals().unwrap();
    // As if a third node wrote more than the buffer holds.
    let many = "SELECT pg_notify($1, E'three\\nw ' || n || ' t') FROM generate_series(1, 6000) n";
    let channel = format!("a2a:{}", schema.name);
    client.execute(many, &[&channel]).await.unwrap();
    // All have arrived when a later one has.
    insert(&one, &scope("ann"), &task("end", "c", TaskState::Working, 5)).await;
    let mut count = 0;
    loop {
        match timeout(TIMEOUT, signals.next()).await.unwrap().unwrap() {
            Signal::Lagged => break,
            Signal::Written { .. } => count += 1,
            other => panic!("{other:?}"),
        }
    }
    assert!(count >= 4_000, "{count} came before");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rejected_write_does_not_fail_its_group() {
    let Ok(schema) = Schema::new().await else { return };
    let store = Arc::new(schema.open().await);
    let (client, scope) = (schema.client().await, scope("ann"));
    // Any text that the database rejects will do.
    client
        .batch_execute("ALTER TABLE tasks ADD CONSTRAINT taboo CHECK (context_id <> 'taboo')")
        .await
        .unwrap();
    let inserts = (0..200).map(|number| {
        let (store, scope) = (Arc::clone(&store), scope.clone());
        tokio::spawn(async move {
            let context = if number % 50 == 7 { "taboo" } else { "c" };
            let task = task(&format!("t{number}"), context, TaskState::Working, number);
            let new = new_task(&task);
            (number, store.insert(&scope, new).await)
        })
    });
    for insert in inserts.collect::<Vec<_>>() {
        let (number, stored) = insert.await.unwrap();
        let is_taboo = number % 50 == 7;
        assert_eq!(matches!(stored, Err(StoreError::Rejected(_))), is_taboo, "{number} {stored:?}");
        assert_eq!(stored.is_ok(), !is_taboo, "{number}");
    }
    assert_eq!(store.list(&scope, &query(1)).await.unwrap().total, 196);
}

/// A call without a free connection fails after the timeout instead of waiting indefinitely.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn call_without_a_free_connection_fails_within_the_acquire_timeout() {
    let Ok(schema) = Schema::new().await else { return };
    let config =
        PostgresConfig::default().with_readers(1).with_acquire_timeout(Duration::from_millis(200));
    let (store, scope) = (Arc::new(schema.open_with(config).await), scope("ann"));
    insert(&*store, &scope, &task("t", "c", TaskState::Working, 5)).await;
    let client = schema.client().await;
    client.batch_execute("BEGIN; LOCK TABLE tasks IN ACCESS EXCLUSIVE MODE").await.unwrap();
    let read = || {
        let (store, scope) = (Arc::clone(&store), scope.clone());
        tokio::spawn(async move { store.get(&scope, "t").await })
    };
    let reads: Vec<_> = (0..4).map(|_| read()).collect();
    let mut waiting = Vec::new();
    let mut refused = 0;
    for read in reads {
        match timeout(Duration::from_secs(2), read).await {
            Ok(done) => {
                let error = done.unwrap().unwrap_err();
                let error = a2a_core::Error::from(error);
                assert_eq!(error.kind(), a2a_core::ErrorKind::Unavailable);
                refused += 1;
            }
            Err(_elapsed) => waiting.push(()),
        }
    }
    assert_eq!((refused, waiting.len()), (3, 1), "one has the connection");
    client.batch_execute("ROLLBACK").await.unwrap();
    let read = read().await.unwrap().unwrap();
    assert!(read.is_some(), "the connection came back");
}
