//! Bytes written by the databases for a stream of small chunks.

use std::{fs, path::Path, sync::Arc};

use a2a_core::{
    Artifact, Message, Part,
    v1::{AgentCard, SendMessageRequest, send_message_response::Payload},
};
use a2a_kit_operations::{
    Agent, AgentExecutor, BoxError, Call, Engine, RequestContext, Store, TaskUpdater,
};
use a2a_kit_store::sqlite::SqliteStore;
use a2a_kit_store_testing::store::fixtures::{chunk, insert_held, scope, transition};
use tokio_postgres::Client;

use super::{databases::Databases, verdict::Verdict};

const CHUNKS: u64 = 1_000;
const TEXT: &str = "forty bytes of text, more or less, it is";
const LIMIT: u64 = 1_000_000;
const ROUNDS: usize = 5;

/// Sends a thousand chunks of forty bytes, without a pause.
struct Talker;

impl AgentExecutor for Talker {
    async fn execute(&self, _: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        updates.start().await?;
        let chunk = || Artifact::new("text", Part::text(TEXT)).with_id("text");
        updates.begin(chunk()).await?;
        for _ in 1..CHUNKS {
            updates.append(chunk()).await?;
        }
        updates.complete("done").await?;
        Ok(())
    }
}

pub(crate) async fn run(databases: &Databases, verdict: &mut Verdict) {
    assert_eq!(TEXT.len(), 40);
    println!("\nwritten: {CHUNKS} artifact chunks of 40 bytes in one task; limit {LIMIT} bytes");
    let (mut file, mut log) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        file.push(sqlite(databases, true).await);
        log.push(postgres(databases, true).await);
    }
    report("SQLite, without a pause", file, Some(verdict));
    report("PostgreSQL, without a pause", log, Some(verdict));
    report("SQLite, each chunk alone", vec![sqlite(databases, false).await], None);
    report("PostgreSQL, each chunk alone", vec![postgres(databases, false).await], None);
}

fn report(name: &str, mut bytes: Vec<u64>, verdict: Option<&mut Verdict>) {
    bytes.sort_unstable();
    let median = bytes.get(bytes.len() / 2).copied().unwrap_or_default();
    let most = bytes.last().copied().unwrap_or_default();
    let word = verdict.map_or("no limit", |verdict| verdict.limit(name, most, LIMIT));
    println!("  {name:<30} median {median:>9}  most {most:>9}  {word}");
}

/// Bytes written by the process until the file is closed: the log, and checkpointed pages.
async fn sqlite(databases: &Databases, at_once: bool) -> u64 {
    let path = databases.file();
    // Exclude the creation of the tables.
    SqliteStore::open(&path).await.unwrap().close().await;
    let store = Arc::new(SqliteStore::open(&path).await.unwrap());
    let before = written_by_process();
    if at_once {
        talk(Arc::clone(&store) as Arc<dyn Store>).await;
    } else {
        one_by_one(&*store).await;
    }
    let log = fs::metadata(with_suffix(&path)).unwrap().len();
    let transactions = store.transactions();
    store.close().await;
    let all = written_by_process() - before;
    println!("  SQLite: {log} bytes of log in {transactions} transactions, {all} bytes in total");
    assert!(all >= log.min(4 << 20), "the log is part of it");
    all
}

fn with_suffix(path: &Path) -> String {
    format!("{}-wal", path.display())
}

/// The bytes written by this process.
fn written_by_process() -> u64 {
    let io = fs::read_to_string("/proc/self/io").expect("Linux counts what a process writes");
    let line = io.lines().find_map(|line| line.strip_prefix("wchar: "));
    line.and_then(|count| count.parse().ok()).expect("the kernel writes a number")
}

/// The bytes that the server adds to its WAL, including full page images after a checkpoint.
async fn postgres(databases: &Databases, at_once: bool) -> u64 {
    let store = Arc::new(databases.postgres().await);
    let client = databases.client().await;
    client.batch_execute("CHECKPOINT").await.unwrap();
    let before = log_position(&client).await;
    if at_once {
        talk(store).await;
    } else {
        one_by_one(&*store).await;
    }
    log_position(&client).await - before
}

async fn log_position(client: &Client) -> u64 {
    let now = "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::int8";
    let position: i64 = client.query_one(now, &[]).await.unwrap().get(0);
    position.unsigned_abs()
}

/// Runs the executor once.
async fn talk(store: Arc<dyn Store>) {
    let engine = Engine::builder(AgentCard::new("Talker", "Talks"), Talker);
    let engine = engine.shared_store(store).build();
    let message = Some(Message::user("talk"));
    let request = SendMessageRequest { message, ..SendMessageRequest::default() };
    let reply = engine.send_message(Call::new(request)).await.unwrap();
    let Some(Payload::Task(task)) = reply.response.payload else { panic!("it is a task") };
    assert_eq!(task.text().len(), TEXT.len() * usize::try_from(CHUNKS).unwrap());
}

/// Stores each chunk before the next one exists, as with a slow model.
async fn one_by_one(store: &dyn Store) {
    let (scope, id) = (scope("ann"), "0191c9a7-5b6e-7cc3-9f62-3f1f0a3b5c77");
    insert_held(store, &scope, id, b"work").await;
    for version in 1..=CHUNKS {
        let event = chunk(version + 1, id, TEXT);
        store.commit(&scope, transition(id, version, 1, vec![event])).await.unwrap();
    }
}
