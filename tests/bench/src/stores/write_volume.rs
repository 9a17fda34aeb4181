//! Bytes written by the databases for a stream of small chunks, and for the results of many steps.

use std::{fs, path::Path, sync::Arc};

use a2a_core::{
    Artifact, Message, Part, Task, TaskState,
    v1::{AgentCard, SendMessageRequest, send_message_response::Payload},
};
use a2a_kit_operations::{
    Agent, AgentExecutor, BoxError, Call, Engine, EngineConfig, RequestContext, Store, TaskLimits,
    TaskUpdater,
};
use a2a_kit_store::sqlite::SqliteStore;
use a2a_kit_store_testing::store::fixtures::{chunk, insert_held, scope, transition};
use tokio_postgres::Client;

use super::{databases::Databases, verdict::Verdict};

const CHUNKS: u64 = 1_000;
const TEXT: &str = "forty bytes of text, more or less, it is";
const LIMIT: u64 = 1_000_000;
const ROUNDS: usize = 5;

const STEPS: usize = 32;
const RESULT_BYTES: usize = 32 << 10;
const STEPS_LIMIT: u64 = 16 << 20;

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

/// Records a large result in each of its steps, as an agent does with its tools.
struct Stepper;

impl AgentExecutor for Stepper {
    async fn execute(&self, _: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        updates.start().await?;
        for step in 0..STEPS {
            for (name, bytes) in [("model", 200), ("tool", RESULT_BYTES)] {
                let result = async { Ok::<_, BoxError>("x".repeat(bytes)) };
                updates.once(&format!("{name}/{step}"), result).await?;
            }
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
        file.push(sqlite(databases, talk).await);
        log.push(postgres(databases, talk).await);
    }
    report("SQLite, without a pause", file, Some((verdict, LIMIT)));
    report("PostgreSQL, without a pause", log, Some((verdict, LIMIT)));
    report("SQLite, each chunk alone", vec![sqlite(databases, one_by_one).await], None);
    report("PostgreSQL, each chunk alone", vec![postgres(databases, one_by_one).await], None);
    println!(
        "\nwritten: {STEPS} steps, a result of {RESULT_BYTES} bytes each; limit {STEPS_LIMIT}"
    );
    let (file, log) = (sqlite(databases, steps).await, postgres(databases, steps).await);
    report("SQLite", vec![file], Some((verdict, STEPS_LIMIT)));
    report("PostgreSQL", vec![log], Some((verdict, STEPS_LIMIT)));
}

fn report(name: &str, mut bytes: Vec<u64>, limit: Option<(&mut Verdict, u64)>) {
    bytes.sort_unstable();
    let median = bytes.get(bytes.len() / 2).copied().unwrap_or_default();
    let most = bytes.last().copied().unwrap_or_default();
    let word = limit.map_or("no limit", |(verdict, limit)| verdict.limit(name, most, limit));
    println!("  {name:<30} median {median:>9}  most {most:>9}  {word}");
}

/// Bytes written by the process until the file is closed: the log, and checkpointed pages.
async fn sqlite(databases: &Databases, work: impl AsyncFnOnce(Arc<dyn Store>)) -> u64 {
    let path = databases.file();
    // Exclude the creation of the tables.
    SqliteStore::open(&path).await.unwrap().close().await;
    let store = Arc::new(SqliteStore::open(&path).await.unwrap());
    let before = written_by_process();
    work(Arc::clone(&store) as Arc<dyn Store>).await;
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
async fn postgres(databases: &Databases, work: impl AsyncFnOnce(Arc<dyn Store>)) -> u64 {
    let store = Arc::new(databases.postgres().await);
    let client = databases.client().await;
    client.batch_execute("CHECKPOINT").await.unwrap();
    let before = log_position(&client).await;
    work(store).await;
    log_position(&client).await - before
}

async fn log_position(client: &Client) -> u64 {
    let now = "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::int8";
    let position: i64 = client.query_one(now, &[]).await.unwrap().get(0);
    position.unsigned_abs()
}

async fn talk(store: Arc<dyn Store>) {
    let task = run_once(Talker, store).await;
    assert_eq!(task.text().len(), TEXT.len() * usize::try_from(CHUNKS).unwrap());
}

async fn steps(store: Arc<dyn Store>) {
    assert_eq!(run_once(Stepper, store).await.state(), TaskState::Completed);
}

/// Runs an executor once.
async fn run_once(executor: impl AgentExecutor, store: Arc<dyn Store>) -> Task {
    let limits = TaskLimits::default().with_max_journal_bytes(8 << 20);
    let config = EngineConfig::default().with_task_limits(limits);
    let engine = Engine::builder(AgentCard::new("Worker", "Works"), executor);
    let engine = engine.shared_store(store).config(config).build();
    let message = Some(Message::user("go"));
    let request = SendMessageRequest { message, ..SendMessageRequest::default() };
    let reply = engine.send_message(Call::new(request)).await.unwrap();
    let Some(Payload::Task(task)) = reply.response.payload else { panic!("it is a task") };
    task
}

/// Stores each chunk before the next one exists, as with a slow model.
async fn one_by_one(store: Arc<dyn Store>) {
    let (scope, id) = (scope("ann"), "0191c9a7-5b6e-7cc3-9f62-3f1f0a3b5c77");
    insert_held(&*store, &scope, id, b"work").await;
    for version in 1..=CHUNKS {
        let event = chunk(version + 1, id, TEXT);
        store.commit(&scope, transition(id, version, 1, vec![event])).await.unwrap();
    }
}
