//! The durable floor: an axum handler that parses a message, writes the rows of its task to SQLite,
//! and responds when they are on disk. One thread writes; a transaction has whatever waits. The rows
//! are those of the demo agent, whose task ends with its first write: the task, its context and its
//! snapshot.

use std::path::Path;

use a2a_core::{Message, Task, TaskState, fresh_id};
use a2a_kit_store::sqlite::SqliteStore;
use axum::{Router, response::Response, routing::post, serve::ListenerExt as _};
use bytes::Bytes;
use prost::Message as _;
use rusqlite::{Connection, params};
use tokio::{
    net::TcpListener,
    sync::{mpsc, oneshot},
};

use super::echo::{Echo, Rpc, Send, Success, Wrapped, json};

/// The argument that runs this program as the durable floor, before the path of the database.
pub(crate) const COMMAND: &str = "durable-floor";

/// Maximum number of tasks in a transaction, as in the store.
const GROUP: usize = 256;

/// Serves until the process is killed.
pub(crate) fn serve(path: &Path) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let writer = Writer::start(path).await;
        let http = TcpListener::bind("127.0.0.1:0").await.unwrap();
        println!("{}", serde_json::json!({ "http": http.local_addr().unwrap(), "jsonrpc": "/" }));
        let http = http.tap_io(|stream| stream.set_nodelay(true).unwrap());
        let respond = move |body: Bytes| {
            let writer = writer.clone();
            async move { respond(&writer, &body).await }
        };
        axum::serve(http, Router::new().route("/", post(respond))).await.unwrap();
    });
}

async fn respond(writer: &Writer, body: &[u8]) -> Response {
    let Rpc { id, params, .. } = serde_json::from_slice(body).unwrap();
    let send: Send = serde_json::from_str(params.get()).unwrap();
    let text = send.message.parts[0].text.clone();
    let task = Echo::of(send.message, fresh_id());
    let message = Message { message_id: task.history[0].message_id.clone(), ..Message::user(text) };
    let stored =
        Task { context_id: task.context_id.clone(), ..super::echo(Some(message), task.id.clone()) };
    writer.write(stored).await;
    json(&Success { jsonrpc: "2.0", id, result: Wrapped { task } })
}

/// The queue of the thread that writes.
#[derive(Clone)]
struct Writer {
    queue: mpsc::Sender<Write>,
}

/// A task to write, and the channel of its caller.
struct Write {
    id: String,
    context_id: String,
    millis: i64,
    snapshot: Vec<u8>,
    done: oneshot::Sender<()>,
}

impl Writer {
    /// Starts the thread on a new database with the tables of the store.
    async fn start(path: &Path) -> Self {
        SqliteStore::open(path).await.unwrap().close().await;
        let db = Connection::open(path).unwrap();
        db.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;").unwrap();
        db.execute("INSERT INTO scopes (tenant, owner) VALUES ('', '')", []).unwrap();
        let (queue, received) = mpsc::channel(GROUP);
        std::thread::spawn(move || work(&db, received));
        Self { queue }
    }

    /// Returns when the task is on disk.
    async fn write(&self, task: Task) {
        let (done, is_done) = oneshot::channel();
        let millis = task.status.as_ref().and_then(|status| status.timestamp);
        let millis = millis.map_or(0, |timestamp| timestamp.as_millis());
        let snapshot = task.encode_to_vec();
        let (id, context_id) = (task.id, task.context_id);
        let write = Write { id, context_id, millis, snapshot, done };
        assert!(self.queue.send(write).await.is_ok(), "the thread runs");
        is_done.await.unwrap();
    }
}

fn work(db: &Connection, mut received: mpsc::Receiver<Write>) {
    let scope = db.last_insert_rowid();
    let mut context = db.prepare("INSERT INTO contexts (scope, id) VALUES (?1, ?2)").unwrap();
    let mut task = db
        .prepare(
            "INSERT INTO tasks
             (id, scope, context, state, millis, ended, version, epoch, last_event, bytes)
             VALUES (?1, ?2, ?3, ?4, ?5, ?5, 1, 1, 1, ?6)",
        )
        .unwrap();
    let mut snapshot = db.prepare("INSERT INTO snapshots VALUES (?1, 1, ?2)").unwrap();
    let mut total = db.prepare("UPDATE scopes SET bytes = bytes + ?2 WHERE no = ?1").unwrap();
    let (mut begin, mut commit) =
        (db.prepare("BEGIN IMMEDIATE").unwrap(), db.prepare("COMMIT").unwrap());
    let state = i32::from(TaskState::Completed);
    let mut group = Vec::with_capacity(GROUP);
    while received.blocking_recv_many(&mut group, GROUP) > 0 {
        begin.execute([]).unwrap();
        let mut bytes = 0;
        for write in &group {
            let length = i64::try_from(write.snapshot.len()).unwrap();
            let no = context.insert(params![scope, write.context_id]).unwrap();
            let row = params![write.id, scope, no, state, write.millis, length];
            let no = task.insert(row).unwrap();
            snapshot.execute(params![no, write.snapshot]).unwrap();
            bytes += length;
        }
        total.execute(params![scope, bytes]).unwrap();
        commit.execute([]).unwrap();
        for write in group.drain(..) {
            // The caller may be gone.
            let _ = write.done.send(());
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::future::join_all;

    use super::*;

    #[tokio::test]
    async fn response_means_that_the_rows_are_in_the_database() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("floor.db");
        let writer = Writer::start(&path).await;
        let body = r#"{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":
            {"messageId":"m","role":"ROLE_USER","parts":[{"text":"hello"}]}}}"#;
        join_all((0..3).map(|_| respond(&writer, body.as_bytes()))).await;
        let db = Connection::open(&path).unwrap();
        let count = |query: &str| db.query_row(query, [], |row| row.get::<_, i64>(0)).unwrap();
        assert_eq!(count("SELECT count(*) FROM tasks WHERE state = 3 AND ended = millis"), 3);
        assert_eq!(count("SELECT count(*) FROM contexts"), 3);
        let bodies = count("SELECT sum(length(body)) FROM snapshots");
        assert_eq!(count("SELECT bytes FROM scopes"), bodies);
    }
}
