//! The floor of the databases: bare loops that write the rows of transitions.

use std::{path::Path, time::Instant};

use futures_util::future::join_all;
use rusqlite::{Connection, params};
use uuid::Uuid;

use super::{
    databases::Databases,
    rates::{Rows, SPAN},
};

/// The tables of the store.
const TABLES: [&str; 5] = [
    include_str!("../../../../crates/a2a-kit-store/src/sqlite/migrations/V1__tasks.sql"),
    include_str!("../../../../crates/a2a-kit-store/src/sqlite/migrations/V2__usage.sql"),
    include_str!("../../../../crates/a2a-kit-store/src/sqlite/migrations/V3__journals.sql"),
    include_str!("../../../../crates/a2a-kit-store/src/sqlite/migrations/V4__counts.sql"),
    include_str!("../../../../crates/a2a-kit-store/src/sqlite/migrations/V5__journal_parts.sql"),
];

/// Transitions per second in a file, with `group` per transaction.
pub(crate) async fn sqlite(path: &Path, group: usize, rows: &Rows) -> f64 {
    let (path, rows) = (path.to_owned(), rows.clone());
    let work =
        move || sqlite_loop(&path, group, &rows).expect("no other process has the file open");
    tokio::task::spawn_blocking(work).await.expect("it ends")
}

fn sqlite_loop(path: &Path, group: usize, rows: &Rows) -> rusqlite::Result<f64> {
    let db = Connection::open(path)?;
    db.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;")?;
    for tables in TABLES {
        db.execute_batch(tables)?;
    }
    let mut ids = Vec::new();
    for _ in 0..group {
        let id = Uuid::now_v7().to_string();
        db.execute(
            "INSERT INTO tasks (id, scope, context, state, millis, version, epoch, last_event)
             VALUES (?1, 1, 1, 2, 0, 1, 1, 1)",
            [&id],
        )?;
        let no = db.last_insert_rowid();
        db.execute("INSERT INTO snapshots VALUES (?1, 1, ?2)", params![no, rows.snapshot])?;
        ids.push((id, no));
    }
    let mut update = db.prepare(
        "UPDATE tasks SET version = version + 1, last_event = ?3, state = 2, millis = ?4
         WHERE id = ?1 AND version = ?2 AND epoch = 1",
    )?;
    let mut replace =
        db.prepare("UPDATE snapshots SET position = ?2, body = ?3 WHERE task = ?1")?;
    let mut append = db.prepare("INSERT INTO events VALUES (?1, ?2, 0, ?3)")?;
    let (start, mut made, mut version) = (Instant::now(), 0_u32, 1_i64);
    while start.elapsed() < SPAN {
        db.execute_batch("BEGIN IMMEDIATE")?;
        for (id, no) in &ids {
            let millis = 1_760_000_000_000 + version;
            update.execute(params![id, version, version + 1, millis])?;
            replace.execute(params![no, version + 1, rows.snapshot])?;
            append.execute(params![no, version + 1, rows.event])?;
            made += 1;
        }
        db.execute_batch("COMMIT")?;
        version += 1;
    }
    Ok(f64::from(made) / start.elapsed().as_secs_f64())
}

/// Transitions per second on a server, one at a time on each connection.
pub(crate) async fn postgres(
    databases: &Databases,
    schema: &str,
    connections: usize,
    rows: &Rows,
) -> f64 {
    let loops = (0..connections).map(|_| postgres_loop(databases, schema, rows));
    join_all(loops).await.into_iter().sum()
}

async fn postgres_loop(databases: &Databases, schema: &str, rows: &Rows) -> f64 {
    let client = databases.client_of(schema).await;
    let id = Uuid::now_v7().to_string();
    let insert = "WITH new AS (
            INSERT INTO tasks
                (id, tenant, owner, context_id, state, millis, version, epoch, last_event)
            VALUES ($1, '', 'ann', 'c', 2, 0, 1, 1, 1) RETURNING key)
        INSERT INTO bodies (task, position, snapshot) SELECT key, 1, $2 FROM new";
    client.execute(insert, &[&id, &rows.snapshot]).await.expect("the task is new");
    let update = "WITH written AS (
            UPDATE tasks SET version = version + 1, last_event = $3, state = 2, millis = $4
            WHERE id = $1 AND version = $2 AND epoch = 1 RETURNING key),
        kept AS (
            UPDATE bodies b SET position = $3, snapshot = $5 FROM written w WHERE b.task = w.key)
        INSERT INTO events (task, last, first, pushed, body)
        SELECT key, $3, $3, false, $6 FROM written";
    let update = client.prepare(update).await.expect("the tables exist");
    let (start, mut made, mut version) = (Instant::now(), 0_u32, 1_i64);
    while start.elapsed() < SPAN {
        let millis = 1_760_000_000_000 + version;
        let next = version + 1;
        let row = client
            .execute(&update, &[&id, &version, &next, &millis, &rows.snapshot, &rows.event])
            .await;
        assert_eq!(row.expect("there is no other writer"), 1);
        version = next;
        made += 1;
    }
    f64::from(made) / start.elapsed().as_secs_f64()
}
