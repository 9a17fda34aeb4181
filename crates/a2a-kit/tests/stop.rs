//! A server that is stopped while its agent works.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]
#![cfg(feature = "sqlite")]

use std::{net::SocketAddr, path::Path, sync::Arc, time::Duration};

use a2a_kit::{
    AgentCard, AgentExecutor, BoxError, Client, Engine, Error, ErrorKind, MessageRequest,
    RequestContext, Server, Shutdown, TaskState, TaskUpdater,
    client::{RetryPolicy, WaitOptions},
    http::{Drain, Limits, bind},
    operations::Recovery,
    store::sqlite::SqliteStore,
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    sync::Notify,
    task::JoinHandle,
};

/// Works until it may finish. A rerun finishes at once.
struct Worker {
    recovery: Recovery,
    finish: Arc<Notify>,
}

impl AgentExecutor for Worker {
    async fn execute(&self, context: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        updates.start().await?;
        let is_first = context.task().history.len() == 1 && !context.is_rerun();
        if is_first {
            self.finish.notified().await;
        }
        updates.complete(if is_first { "finished" } else { "resumed" }).await?;
        Ok(())
    }

    fn recovery(&self) -> Recovery {
        self.recovery
    }
}

/// A server with tasks in a file.
struct Running {
    client: Client,
    engine: Engine,
    address: SocketAddr,
    drain: Drain,
    stop: Arc<Notify>,
    server: JoinHandle<()>,
    finish: Arc<Notify>,
}

impl Running {
    async fn start(file: &Path, recovery: Recovery, drain_timeout: Duration) -> Self {
        Self::start_with(file, recovery, drain_timeout, |server| server).await
    }

    async fn start_with(
        file: &Path,
        recovery: Recovery,
        drain_timeout: Duration,
        settings: impl FnOnce(Server) -> Server,
    ) -> Self {
        let finish = Arc::new(Notify::new());
        let worker = Worker { recovery, finish: finish.clone() };
        let engine = Engine::builder(AgentCard::new("Worker", "Works"), worker)
            .store(SqliteStore::open(file).await.unwrap())
            .build();
        let listener = bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (drain, stop) = (Drain::new(), Arc::new(Notify::new()));
        let limits = Limits::default().with_drain_timeout(drain_timeout);
        let server =
            settings(Server::from(engine.clone()).with_limits(limits)).with_drain(drain.clone());
        let stopped = stop.clone();
        let server = tokio::spawn(async move {
            server.serve(listener, async move { stopped.notified().await }).await.unwrap();
        });
        let client = Client::builder()
            .retry(RetryPolicy::REQUESTS.with_attempts(0))
            .resume(RetryPolicy::STREAMS.with_attempts(0))
            .connect(&address.to_string())
            .await;
        Self { client: client.unwrap(), engine, address, drain, stop, server, finish }
    }

    /// Starts a task that works, and returns its id.
    async fn work(&self) -> String {
        let request = MessageRequest::from("work").returning_immediately();
        self.client.send(request).await.unwrap().task_id().unwrap().to_owned()
    }

    async fn end(self) {
        self.stop.notify_one();
        self.server.await.unwrap();
    }
}

/// The end of a task after a restart.
async fn after_restart(file: &Path, task_id: &str, recovery: Recovery) -> (TaskState, String) {
    let next = Running::start(file, recovery, Duration::ZERO).await;
    let outcome = next.client.watch(task_id, WaitOptions::default()).outcome().await.unwrap();
    let end = (outcome.state().unwrap(), outcome.text());
    next.end().await;
    end
}

const HOUR: Duration = Duration::from_secs(3600);

/// `GET /readyz` over a new connection.
async fn readiness(address: SocketAddr) -> String {
    let mut connection = TcpStream::connect(address).await.unwrap();
    connection.write_all(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
    let mut response = String::new();
    let mut bytes = [0; 512];
    while !response.contains("ready\n") && !response.contains("draining\n") {
        let read = connection.read(&mut bytes).await.unwrap();
        response.push_str(std::str::from_utf8(&bytes[..read]).unwrap());
    }
    response.to_ascii_lowercase()
}

#[tokio::test]
async fn server_accepts_requests_but_is_not_ready_during_the_shutdown_delay() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tasks.db");
    let limits = Limits::default().with_shutdown_delay(HOUR).with_drain_timeout(Duration::ZERO);
    let with_delay = |server: Server| server.with_limits(limits);
    let running = Running::start_with(&file, Recovery::Fail, HOUR, with_delay).await;
    let ready = readiness(running.address).await;
    assert!(ready.starts_with("http/1.1 200") && !ready.contains("connection: close"), "{ready}");
    running.stop.notify_one();
    let mut announced = readiness(running.address).await;
    while announced.starts_with("http/1.1 200") {
        announced = readiness(running.address).await;
    }
    assert!(announced.starts_with("http/1.1 503"), "{announced}");
    assert!(announced.contains("connection: close"), "{announced}");
    assert!(!running.drain.has_started());
    running.work().await;
    // As the second signal does.
    running.drain.end();
    running.server.await.unwrap();
    assert!(TcpStream::connect(running.address).await.is_err(), "the listener is closed");
}

#[tokio::test]
async fn work_that_ends_within_the_grace_period_completes_without_readers() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tasks.db");
    let running = Running::start(&file, Recovery::Fail, HOUR).await;
    let task_id = running.work().await;
    running.stop.notify_one();
    running.drain.started().await;
    running.finish.notify_one();
    running.server.await.unwrap();
    let end = after_restart(&file, &task_id, Recovery::Fail).await;
    assert_eq!(end, (TaskState::Completed, "finished".to_owned()));
}

#[tokio::test]
async fn work_beyond_the_grace_period_is_rerun_after_the_restart() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tasks.db");
    let running = Running::start(&file, Recovery::Rerun, Duration::ZERO).await;
    let task_id = running.work().await;
    running.end().await;
    let end = after_restart(&file, &task_id, Recovery::Rerun).await;
    assert_eq!(end, (TaskState::Completed, "resumed".to_owned()));
}

#[tokio::test]
async fn work_that_may_not_be_rerun_waits_for_its_caller_after_the_restart() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tasks.db");
    let running = Running::start(&file, Recovery::Fail, Duration::ZERO).await;
    let task_id = running.work().await;
    running.end().await;
    let next = Running::start(&file, Recovery::Fail, Duration::ZERO).await;
    let task = next.client.get(&task_id).await.unwrap();
    assert_eq!(task.state(), TaskState::InputRequired);
    let said = task.status_message().unwrap().text();
    assert!(said.contains("send a message to continue"), "{said}");
    let outcome = next.client.send(MessageRequest::from("go on").to_task(&task_id)).await.unwrap();
    assert_eq!(outcome.state(), Some(TaskState::Completed));
    next.end().await;
}

#[tokio::test]
async fn streams_of_running_tasks_end_with_a_resumable_error() {
    let folder = tempfile::tempdir().unwrap();
    let running = Running::start(&folder.path().join("tasks.db"), Recovery::Fail, HOUR).await;
    let mut events = running.client.stream("work").await.unwrap();
    events.next().await.unwrap().unwrap();
    running.stop.notify_one();
    let end = loop {
        match events.next().await {
            Some(Ok(_)) => {}
            Some(Err(error)) => break error,
            None => panic!("the stream ended without an error"),
        }
    };
    assert_eq!(end.kind(), ErrorKind::Unavailable, "{end}");
    running.finish.notify_one();
    running.server.await.unwrap();
}

#[tokio::test]
async fn end_of_the_drain_ends_the_grace_period() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tasks.db");
    let running = Running::start(&file, Recovery::Rerun, HOUR).await;
    let task_id = running.work().await;
    // A request that waits for the task, too.
    let waiting = running.client.clone();
    let waiting = tokio::spawn(async move { waiting.send("work").await.map(drop) });
    running.stop.notify_one();
    running.drain.started().await;
    running.drain.end();
    running.server.await.unwrap();
    let _failed: Result<(), Error> = waiting.await.unwrap();
    let end = after_restart(&file, &task_id, Recovery::Rerun).await;
    assert_eq!(end, (TaskState::Completed, "resumed".to_owned()));
}

#[tokio::test]
async fn shared_engine_keeps_running() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tasks.db");
    let shared = |server: Server| server.with_shutdown(Shutdown::Leave);
    let running = Running::start_with(&file, Recovery::Fail, HOUR, shared).await;
    let engine = running.engine.clone();
    running.end().await;
    let client = Client::from_agent(engine.clone(), engine.card().clone());
    let request = MessageRequest::from("work").returning_immediately();
    assert!(client.send(request).await.unwrap().task_id().is_some());
    engine.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn store_is_closed_with_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tasks.db");
    let running = Running::start(&file, Recovery::Fail, HOUR).await;
    let engine = running.engine.clone();
    running.end().await;
    assert!(engine.probe(HOUR).await.is_err());
    SqliteStore::open(&file).await.unwrap().close().await;
}
