//! Transitions per second of the stores, relative to a bare loop that writes the same rows to the
//! same tables in the same run.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use a2a_core::{
    Message, TaskState,
    v1::{StreamResponse, Task, stream_response::Payload},
};
use a2a_kit_operations::{MemoryStore, Store};
use a2a_kit_store_testing::store::fixtures::{changed, new_task, scope, status, task, transition};
use bytes::Bytes;
use futures_util::future::join_all;
use prost::Message as _;
use uuid::Uuid;

use crate::{
    report::{Results, Sample},
    server::{A2A, FLOOR},
};

use super::{databases::Databases, floor};

/// Tasks in flight.
const GROUPS: [usize; 4] = [1, 16, 64, 256];
pub(crate) const SPAN: Duration = Duration::from_millis(1_000);
const ROUNDS: usize = 3;

/// The rows of a transition.
#[derive(Clone, Debug)]
pub(crate) struct Rows {
    /// About 1 KiB.
    pub(crate) snapshot: Vec<u8>,
    /// About 300 bytes.
    pub(crate) event: Vec<u8>,
}

pub(crate) async fn run(databases: &Databases) {
    println!("\ntransitions per second: status, snapshot of 1 KiB and event; median of {ROUNDS}");
    println!("  floor: the same rows, in SQLite as many in a transaction as are in flight (64 at");
    println!("  most), in PostgreSQL one statement each on as many connections (16 at most);");
    println!("  quiet: without NOTIFY, as with signals through NATS");
    let (model, event) = model(&Uuid::now_v7().to_string(), 1);
    let rows = Rows { snapshot: model.encode_to_vec(), event };
    println!("  a snapshot has {} bytes, an event {}", rows.snapshot.len(), rows.event.len());
    let memory: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let sqlite = Arc::new(databases.sqlite().await);
    let postgres: Arc<dyn Store> = Arc::new(databases.postgres().await);
    let quiet: Arc<dyn Store> = Arc::new(databases.postgres_that_notifies(false).await);
    let schema = databases.schema().await;
    for in_flight in GROUPS {
        let (mut free, mut file) = (Vec::new(), Vec::new());
        let (mut base, mut still) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            free.push((rate(&memory, in_flight).await, 0.0));
            let store: Arc<dyn Store> = Arc::clone(&sqlite) as Arc<dyn Store>;
            let bare = floor::sqlite(&databases.file(), in_flight.min(64), &rows).await;
            file.push((rate(&store, in_flight).await, bare));
            let bare = floor::postgres(databases, &schema, in_flight.min(16), &rows).await;
            base.push((rate(&postgres, in_flight).await, bare));
            still.push((rate(&quiet, in_flight).await, bare));
        }
        println!("  {in_flight:>3} in flight: memory            {:>7.0}/s", median(free).0);
        for (name, rates) in [("SQLite", file), ("PostgreSQL", base), ("PostgreSQL, quiet", still)]
        {
            let (rate, bare) = median(rates);
            let ratio = rate / bare;
            println!("                 {name:<17} {rate:>7.0}/s  floor {bare:>6.0}/s  x{ratio:.2}");
        }
    }
}

/// Adds the rows of the report.
pub(crate) async fn report(databases: &Databases, round: usize, results: &mut Results) {
    let (model, event) = model(&Uuid::now_v7().to_string(), 1);
    let rows = Rows { snapshot: model.encode_to_vec(), event };
    let mut add = |row, name: &str, figure| {
        results.add(row, name, round, Sample { figure, cpu: None, utilization: None });
    };
    let sqlite: Arc<dyn Store> = Arc::new(databases.sqlite().await);
    // The floor has 64 transitions per transaction wherever several are in flight.
    for (row, in_flight, group) in
        [("durable.sqlite.1", 1, 1), ("durable.sqlite.16", 16, 64), ("durable.sqlite.64", 64, 64)]
    {
        add(row, FLOOR, floor::sqlite(&databases.file(), group, &rows).await);
        add(row, A2A, rate(&sqlite, in_flight).await);
    }
    let postgres: Arc<dyn Store> = Arc::new(databases.postgres().await);
    let schema = databases.schema().await;
    for (row, in_flight) in [("durable.postgres.16", 16), ("durable.postgres.64", 64)] {
        add(row, FLOOR, floor::postgres(databases, &schema, 16, &rows).await);
        add(row, A2A, rate(&postgres, in_flight).await);
    }
}

/// The pair with the median ratio.
fn median(mut rates: Vec<(f64, f64)>) -> (f64, f64) {
    rates.sort_by(|a, b| (a.0 / a.1.max(1.0)).total_cmp(&(b.0 / b.1.max(1.0))));
    rates[rates.len() / 2]
}

/// A task after a number of transitions, and the event of the last one.
fn model(id: &str, number: i64) -> (Task, Vec<u8>) {
    let mut task = task(id, "0191c9a7-5b6e-7cc3-9f62-3f1f0a3b5c77", TaskState::Working, 0);
    task.history = vec![Message::user("x".repeat(700))];
    let mut status = status(TaskState::Working, 1_760_000_000_000 + number);
    status.message = Some(Message::agent("y".repeat(80)));
    task.status = Some(status);
    let event = changed(1, &task);
    let payload: Option<Payload> = event.payload().cloned();
    (task, StreamResponse { payload }.encode_to_vec())
}

/// Transitions per second of a store, sequential within each task.
async fn rate(store: &Arc<dyn Store>, in_flight: usize) -> f64 {
    let scope = scope("ann");
    let mut ids = Vec::new();
    for _ in 0..in_flight {
        let id = Uuid::now_v7().to_string();
        let (first, _) = model(&id, 0);
        let checkpoint = Some(Bytes::from_static(b"work"));
        let new = new_task(&first).with_checkpoint(checkpoint);
        store.insert(&scope, new).await.expect("the task is new");
        ids.push(id);
    }
    let start = Instant::now();
    let writers = ids.into_iter().map(|id| {
        let (store, scope) = (Arc::clone(store), scope.clone());
        tokio::spawn(async move {
            let mut version = 1;
            while start.elapsed() < SPAN {
                let (task, _) = model(&id, i64::try_from(version).expect("not that many"));
                let events = vec![changed(version + 1, &task)];
                let snapshot = Some(Arc::new(task));
                let written = transition(&id, version, 1, events).with_snapshot(snapshot);
                store.commit(&scope, written).await.expect("there is no other writer");
                version += 1;
            }
            version - 1
        })
    });
    let made = join_all(writers).await.into_iter().map(|made| made.expect("it ends"));
    let made: u64 = made.sum();
    made as f64 / start.elapsed().as_secs_f64()
}
