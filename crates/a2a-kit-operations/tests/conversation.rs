//! Conversations that outlive their executor: `ask` and `once` in a run that repeats an earlier one.
//!
//! An engine without room for waiting executors drops each one at its question, so that every
//! answer starts another run.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test says what it expects, and panics where it does not get it"
)]

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use a2a_core::{
    Artifact, Message, Task, TaskState,
    v1::{
        AgentCard, GetTaskRequest, SendMessageConfiguration, SendMessageRequest,
        send_message_response::Payload,
    },
};
use a2a_kit_operations::{
    Agent, AgentExecutor, BoxError, Call, Engine, EngineConfig, MemoryStore, Recovery,
    RequestContext, Scope, Store, TaskLimits, TaskUpdater, UpdateError,
    store::{JournalUpdate, TaskStore as _, Transition},
};
use a2a_kit_store_testing::MemoryNode;
use bytes::Bytes;
use tokio::{
    runtime::{Builder, Runtime},
    sync::{Notify, mpsc, watch},
    time::Instant,
};

const LEASE: Duration = Duration::from_millis(400);

/// An executor made of a function that gets the number of the run, from 1.
struct Script<F> {
    run: F,
    runs: AtomicUsize,
    recovery: Recovery,
}

fn script<F>(run: F) -> Script<F> {
    Script { run, runs: AtomicUsize::new(0), recovery: Recovery::Rerun }
}

impl<F, Fut> AgentExecutor for Script<F>
where
    F: Fn(usize, RequestContext, TaskUpdater) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<(), BoxError>> + Send,
{
    async fn execute(&self, context: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        let number = self.runs.fetch_add(1, Ordering::SeqCst) + 1;
        (self.run)(number, context, updates).await
    }

    fn recovery(&self) -> Recovery {
        self.recovery
    }
}

/// Asks for a city, books a flight, and asks for a date.
struct Trip {
    bookings: Arc<AtomicUsize>,
}

impl AgentExecutor for Trip {
    async fn execute(&self, context: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        assert!(context.is_new());
        updates.start().await?;
        updates.artifact(Artifact::new("draft", context.text()).with_id("draft")).await?;
        let city = updates.ask("Where to?").await?.text();
        let book = async {
            let number = self.bookings.fetch_add(1, Ordering::SeqCst) + 1;
            Ok::<_, BoxError>(format!("flight {number} to {city}"))
        };
        let flight = updates.once("flight", book).await?;
        updates.status(TaskState::Working, "Booked").await?;
        updates.artifact(Artifact::new("flight", flight.clone()).with_id("flight")).await?;
        let date = updates.ask("When?").await?.text();
        assert!(!context.is_replay());
        updates.complete(format!("{flight} on {date}")).await?;
        Ok(())
    }
}

fn builder(store: impl Store, executor: impl AgentExecutor, config: EngineConfig) -> Engine {
    let card = AgentCard::new("Test", "An agent under test");
    Engine::builder(card, executor).store(store).config(config).build()
}

/// An engine that drops each executor at its question.
fn forgetful(executor: impl AgentExecutor) -> Engine {
    let config = EngineConfig::default().with_max_input_waiters(0);
    builder(MemoryStore::new(), executor, config)
}

fn send(text: &str) -> Call<SendMessageRequest> {
    to_task("", text)
}

/// A message with the same id as every other one: clients reuse ids.
fn to_task(task_id: &str, text: &str) -> Call<SendMessageRequest> {
    let message = Message { message_id: "1".into(), ..Message::user(text).with_task_id(task_id) };
    Call::new(SendMessageRequest { message: Some(message), ..SendMessageRequest::default() })
}

async fn task_of(engine: &Engine, call: Call<SendMessageRequest>) -> Task {
    let sent = tokio::time::timeout(Duration::from_secs(20), engine.send_message(call));
    match sent.await.expect("no hang").expect("an answer").response.payload {
        Some(Payload::Task(task)) => task,
        other => panic!("not a task: {other:?}"),
    }
}

async fn get(engine: &Engine, id: &str) -> Task {
    let request = GetTaskRequest { id: id.into(), ..GetTaskRequest::default() };
    Task::clone(&engine.get_task(Call::new(request)).await.expect("a task").response)
}

fn texts(task: &Task) -> Vec<String> {
    let status = task.status_message().into_iter();
    task.history.iter().chain(status).map(Message::text).collect()
}

/// Checks that the trip looks as if its executor had run once.
fn assert_planned(task: &Task) {
    assert_eq!(task.state(), TaskState::Completed);
    let said =
        ["plan", "Where to?", "Lisbon", "Booked", "When?", "May", "flight 1 to Lisbon on May"];
    assert_eq!(texts(task), said);
    let artifacts: Vec<_> = task.artifacts.iter().map(Artifact::text).collect();
    assert_eq!(artifacts, ["plan", "flight 1 to Lisbon"]);
}

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime")
}

fn crash(node: Runtime) {
    let ended = std::thread::spawn(move || node.shutdown_timeout(Duration::from_secs(5)));
    ended.join().expect("the runtime ends");
}

#[tokio::test]
async fn each_answer_continues_a_dropped_executor_where_it_asked() {
    let bookings = Arc::new(AtomicUsize::new(0));
    let engine = forgetful(Trip { bookings: Arc::clone(&bookings) });
    let task = task_of(&engine, send("plan")).await;
    assert_eq!(task.status_message().unwrap().text(), "Where to?");
    let task = task_of(&engine, to_task(&task.id, "Lisbon")).await;
    assert_eq!(task.status_message().unwrap().text(), "When?");
    let task = task_of(&engine, to_task(&task.id, "May")).await;
    assert_planned(&task);
    assert_eq!(bookings.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn answer_after_the_ask_timeout_continues_the_conversation() {
    let config = EngineConfig::default().with_ask_timeout(Duration::from_secs(60));
    let trip = Trip { bookings: Arc::default() };
    let engine = builder(MemoryStore::new(), trip, config);
    let task = task_of(&engine, send("plan")).await;
    tokio::time::sleep(Duration::from_secs(120)).await;
    let task = task_of(&engine, to_task(&task.id, "Lisbon")).await;
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert_planned(&task_of(&engine, to_task(&task.id, "May")).await);
}

/// Sends the number of recorded answers of a run when its executor is dropped.
struct Dropped(mpsc::UnboundedSender<usize>, usize);

impl Drop for Dropped {
    fn drop(&mut self) {
        let _test_ended = self.0.send(self.1);
    }
}

#[tokio::test(start_paused = true)]
async fn answer_to_a_question_that_expired_continues_the_conversation() {
    let (runs, mut dropped) = mpsc::unbounded_channel();
    let agent = script(move |_, context: RequestContext, updates: TaskUpdater| {
        let runs = runs.clone();
        async move {
            let _dropped = Dropped(runs, context.recorded_answers());
            let expiry = || tokio::time::sleep(Duration::from_secs(30));
            let city = updates.ask_until("Where to?", expiry()).await?;
            let month = updates.ask_until("When?", expiry()).await?;
            let left = context.recorded_answers();
            Ok(updates.complete(format!("{} in {}, {left}", city.text(), month.text())).await?)
        }
    });
    let engine = builder(MemoryStore::new(), agent, EngineConfig::default());
    let id = task_of(&engine, send("plan")).await.id;
    assert_eq!(dropped.recv().await, Some(0));
    assert_eq!(get(&engine, &id).await.state(), TaskState::InputRequired);
    let task = task_of(&engine, to_task(&id, "Lisbon")).await;
    assert_eq!(task.status_message().unwrap().text(), "When?");
    assert_eq!(dropped.recv().await, Some(1));
    let task = task_of(&engine, to_task(&id, "May")).await;
    assert_eq!(task.state(), TaskState::Completed);
    assert_eq!(task.status_message().unwrap().text(), "Lisbon in May, 0");
    assert_eq!(dropped.recv().await, Some(2));
}

#[test]
fn conversation_continues_on_another_node_after_a_crash() {
    let one = MemoryNode::with_lease(LEASE);
    let two = one.join("two");
    let bookings = Arc::new(AtomicUsize::new(0));
    let config = || EngineConfig::default().with_lease_renewal(LEASE / 4);
    let node = runtime();
    let id = node.block_on(async {
        let engine = builder(one, Trip { bookings: Arc::clone(&bookings) }, config());
        let task = task_of(&engine, send("plan")).await;
        task_of(&engine, to_task(&task.id, "Lisbon")).await.id
    });
    crash(node);
    runtime().block_on(async {
        let engine = builder(two, Trip { bookings: Arc::clone(&bookings) }, config());
        assert_planned(&task_of(&engine, to_task(&id, "May")).await);
    });
    assert_eq!(bookings.load(Ordering::SeqCst), 1);
}

#[test]
fn result_of_once_survives_a_crash_in_the_middle_of_the_work() {
    let one = MemoryNode::with_lease(LEASE);
    let two = one.join("two");
    let works = Arc::new(AtomicUsize::new(0));
    let (booked, mut is_booked) = watch::channel(false);
    let agent = |hangs: bool| {
        let (works, booked) = (Arc::clone(&works), booked.clone());
        script(move |_, _: RequestContext, updates: TaskUpdater| {
            let (works, booked) = (Arc::clone(&works), booked.clone());
            async move {
                let work = async { Ok::<_, BoxError>(works.fetch_add(1, Ordering::SeqCst)) };
                let number = updates.once("work", work).await?;
                booked.send_replace(true);
                if hangs {
                    std::future::pending::<()>().await;
                }
                Ok(updates.complete(format!("work {number}")).await?)
            }
        })
    };
    let config = || EngineConfig::default().with_lease_renewal(LEASE / 4);
    let node = runtime();
    let id = node.block_on(async {
        let engine = builder(one, agent(true), config());
        let mut call = send("go");
        call.request.configuration.get_or_insert_default().return_immediately = true;
        let task = task_of(&engine, call).await;
        is_booked.wait_for(|booked| *booked).await.unwrap();
        task.id
    });
    crash(node);
    runtime().block_on(async {
        let engine = builder(two, agent(false), config());
        let done = async {
            loop {
                let task = get(&engine, &id).await;
                if task.state().is_terminal() {
                    return task;
                }
                tokio::time::sleep(LEASE / 8).await;
            }
        };
        let task = tokio::time::timeout(Duration::from_secs(20), done).await.expect("a rerun");
        assert_eq!((task.state(), &*texts(&task)[1]), (TaskState::Completed, "work 0"));
    });
    assert_eq!(works.load(Ordering::SeqCst), 1);
}

/// Waits for an authorization, by a message or out of band.
fn authorized(approved: &watch::Sender<bool>) -> impl AgentExecutor {
    let approved = approved.clone();
    script(move |_, _: RequestContext, updates: TaskUpdater| {
        let mut approved = approved.subscribe();
        async move {
            tokio::select! {
                biased;
                message = updates.ask_auth("Approve it") => {
                    return Ok(updates.complete(message?.text()).await?);
                }
                () = async { drop(approved.wait_for(|approved| *approved).await) } => {}
            }
            updates.start().await?;
            let name = updates.ask("Your name?").await?.text();
            Ok(updates.complete(format!("{name} approved it")).await?)
        }
    })
}

#[test]
fn authorization_out_of_band_is_noticed_after_a_crash_without_asking_again() {
    let one = MemoryNode::with_lease(LEASE);
    let two = one.join("two");
    let (approved, _receiver) = watch::channel(false);
    let config = || EngineConfig::default().with_lease_renewal(LEASE / 4);
    let node = runtime();
    let id = node.block_on(async {
        let engine = builder(one, authorized(&approved), config());
        let task = task_of(&engine, send("go")).await;
        assert_eq!(task.state(), TaskState::AuthRequired);
        task.id
    });
    crash(node);
    runtime().block_on(async {
        let engine = builder(two, authorized(&approved), config());
        approved.send_replace(true);
        let asked = async {
            while get(&engine, &id).await.state() != TaskState::InputRequired {
                tokio::time::sleep(LEASE / 8).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), asked).await.expect("the next question");
        let task = task_of(&engine, to_task(&id, "Ann")).await;
        assert_eq!(texts(&task), ["go", "Approve it", "Your name?", "Ann", "Ann approved it"]);
    });
}

#[test]
fn answer_to_the_second_authorization_continues_after_a_crash() {
    let twice = |approved: &watch::Sender<bool>| {
        let approved = approved.subscribe();
        script(move |_, _, updates: TaskUpdater| {
            let mut approved = approved.clone();
            async move {
                updates.start().await?;
                tokio::select! {
                    biased;
                    message = updates.ask_auth("Approve A") => { message?; }
                    done = approved.wait_for(|is_approved| *is_approved) => { done?; }
                }
                updates.ask_auth("Approve B").await?;
                updates.complete("done").await?;
                Ok(())
            }
        })
    };
    let one = MemoryNode::with_lease(LEASE);
    let two = one.join("two");
    let (approved, _receiver) = watch::channel(false);
    let config = || EngineConfig::default().with_lease_renewal(LEASE / 4);
    let node = runtime();
    let id = node.block_on(async {
        let engine = builder(one, twice(&approved), config());
        let task = task_of(&engine, send("go")).await;
        approved.send_replace(true);
        while get(&engine, &task.id).await.status_message().unwrap().text() != "Approve B" {
            tokio::time::sleep(LEASE / 8).await;
        }
        task.id
    });
    crash(node);
    runtime().block_on(async {
        let engine = builder(two, twice(&approved), config());
        let answered = task_of(&engine, to_task(&id, "yes"));
        let task = tokio::time::timeout(Duration::from_secs(20), answered).await.expect("the end");
        assert_eq!(task.state(), TaskState::Completed);
        assert_eq!(texts(&task), ["go", "Approve A", "Approve B", "yes", "done"]);
    });
}

#[tokio::test(start_paused = true)]
async fn question_that_was_given_up_is_given_up_again() {
    let (approved, _receiver) = watch::channel(true);
    let config = EngineConfig::default().with_ask_timeout(Duration::from_secs(60));
    let engine = builder(MemoryStore::new(), authorized(&approved), config);
    let mut call = send("go");
    call.request.configuration.get_or_insert_default().return_immediately = true;
    let task = task_of(&engine, call).await;
    tokio::time::sleep(Duration::from_secs(120)).await;
    let task = get(&engine, &task.id).await;
    assert_eq!(task.status_message().unwrap().text(), "Your name?");
    let task = task_of(&engine, to_task(&task.id, "Ann")).await;
    assert_eq!(task.status_message().unwrap().text(), "Ann approved it");
}

#[tokio::test]
async fn message_to_an_authorization_question_continues_a_dropped_executor() {
    let (approved, _receiver) = watch::channel(false);
    let engine = forgetful(authorized(&approved));
    let task = task_of(&engine, send("go")).await;
    assert_eq!(task.state(), TaskState::AuthRequired);
    let task = task_of(&engine, to_task(&task.id, "the secret")).await;
    assert_eq!(texts(&task), ["go", "Approve it", "the secret", "the secret"]);
}

#[tokio::test]
async fn run_that_does_not_repeat_the_earlier_one_has_a_defined_end() {
    let resume = "the agent could not resume the conversation";
    let cases = [
        ("return", TaskState::Failed, resume),
        ("complete", TaskState::Failed, resume),
        ("fail", TaskState::Failed, "changed my mind"),
        ("reject", TaskState::Rejected, "changed my mind"),
        ("error", TaskState::Failed, "changed my mind"),
        ("ask more", TaskState::InputRequired, "three?"),
    ];
    for (case, state, text) in cases {
        let engine =
            forgetful(script(move |run, _: RequestContext, updates: TaskUpdater| async move {
                if run == 3 {
                    match case {
                        "return" => return Ok(()),
                        "complete" => {
                            let refused = updates.complete("early").await;
                            assert_eq!(refused, Err(UpdateError::Diverged));
                            return Ok(refused?);
                        }
                        "fail" => return Ok(updates.fail("changed my mind").await?),
                        "reject" => return Ok(updates.reject("changed my mind").await?),
                        "error" => {
                            return Err(
                                a2a_kit_operations::AgentError::new("changed my mind").into()
                            );
                        }
                        _ => {}
                    }
                }
                updates.ask("one?").await?;
                updates.ask("two?").await?;
                updates.ask("three?").await?;
                Ok(updates.complete("done").await?)
            }));
        let task = task_of(&engine, send("go")).await;
        task_of(&engine, to_task(&task.id, "1")).await;
        let task = task_of(&engine, to_task(&task.id, "2")).await;
        assert_eq!(
            (task.state(), &*task.status_message().unwrap().text()),
            (state, text),
            "{case}"
        );
    }
}

#[tokio::test]
async fn damaged_journal_fails_the_task() {
    for journal in ["damaged", r#"{"first":7,"entries":["asked"]}"#] {
        let store = Arc::new(MemoryStore::new());
        let config = EngineConfig::default().with_max_input_waiters(0);
        let engine = Engine::builder(AgentCard::new("a", "b"), Trip { bookings: Arc::default() })
            .shared_store(Arc::clone(&store) as _)
            .config(config)
            .build();
        let task = task_of(&engine, send("plan")).await;
        let stored = store.get(&Scope::default(), &task.id).await.unwrap().unwrap();
        assert!(!stored.journal.is_empty());
        engine.shutdown(Duration::from_secs(5)).await;
        let write = Transition::new(&*task.id, stored.version, stored.epoch, Vec::new())
            .with_journal(JournalUpdate::Replace(Bytes::from(journal)));
        store.commit(&Scope::default(), write).await.unwrap();
        let engine = Engine::builder(AgentCard::new("a", "b"), Trip { bookings: Arc::default() })
            .shared_store(Arc::clone(&store) as _)
            .build();
        let task = task_of(&engine, to_task(&task.id, "Lisbon")).await;
        let text = task.status_message().unwrap().text();
        assert_eq!(task.state(), TaskState::Failed, "{journal}");
        assert!(text.starts_with("the conversation could not be resumed (error "), "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn shutdown_does_not_wait_for_an_answer() {
    let store = Arc::new(MemoryStore::new());
    let is_stopping = Arc::new(Notify::new());
    let stopping = Arc::clone(&is_stopping);
    let agent = script(move |_, _: RequestContext, updates: TaskUpdater| {
        let stopping = Arc::clone(&stopping);
        async move {
            updates.start().await?;
            stopping.notified().await;
            updates.ask("Where to?").await?;
            Ok(())
        }
    });
    let engine = Engine::builder(AgentCard::new("a", "b"), agent)
        .shared_store(Arc::clone(&store) as _)
        .build();
    let mut call = send("plan");
    call.request.configuration = Some(SendMessageConfiguration {
        return_immediately: true,
        ..SendMessageConfiguration::default()
    });
    let task = task_of(&engine, call).await;
    let grace = Duration::from_secs(60);
    let begun = Instant::now();
    let shutdown = engine.shutdown(grace);
    // The run asks only after the shutdown has begun.
    let ((), ()) = tokio::join!(biased; shutdown, async { is_stopping.notify_one() });
    assert!(begun.elapsed() < grace);
    let stored = store.get(&Scope::default(), &task.id).await.unwrap().unwrap();
    assert_eq!(stored.task.state(), TaskState::InputRequired);
}

#[tokio::test]
async fn journal_beyond_its_limit_fails_the_task() {
    let limits = TaskLimits::default().with_max_journal_bytes(200);
    let config = EngineConfig::default().with_task_limits(limits);
    let agent = script(|_, _: RequestContext, updates: TaskUpdater| async move {
        for number in 0..100 {
            updates.once("step", async { Ok::<_, BoxError>(number) }).await?;
        }
        Ok(updates.complete("done").await?)
    });
    let engine = builder(MemoryStore::new(), agent, config);
    let task = task_of(&engine, send("go")).await;
    let reason = "the task reached its limit max_journal_bytes (200)";
    assert_eq!((task.state(), &*texts(&task)[1]), (TaskState::Failed, reason));
}

#[tokio::test]
async fn journal_is_deleted_with_the_end_of_the_run() {
    for ends in [true, false] {
        let store = Arc::new(MemoryStore::new());
        let agent = script(move |_, context: RequestContext, updates: TaskUpdater| async move {
            if context.text() == "next" {
                return Ok(updates.complete("a new run").await?);
            }
            updates.ask("one?").await?;
            if ends {
                updates.complete("done").await?;
            } else {
                updates.require_input("two?").await?;
                tokio::task::yield_now().await;
            }
            Ok(())
        });
        let engine = Engine::builder(AgentCard::new("a", "b"), agent)
            .shared_store(Arc::clone(&store) as _)
            .build();
        let task = task_of(&engine, send("go")).await;
        let stored = store.get(&Scope::default(), &task.id).await.unwrap().unwrap();
        assert!(!stored.journal.is_empty());
        let task = task_of(&engine, to_task(&task.id, "1")).await;
        if !ends {
            let task = task_of(&engine, to_task(&task.id, "next")).await;
            assert_eq!(task.status_message().unwrap().text(), "a new run");
        }
        let stored = store.get(&Scope::default(), &task.id).await.unwrap().unwrap();
        assert!(stored.journal.is_empty(), "ends: {ends}");
    }
}

#[tokio::test]
async fn failed_work_of_once_is_done_again() {
    let engine = forgetful(script(|run, _: RequestContext, updates: TaskUpdater| async move {
        let work = async { if run == 1 { Err("not yet") } else { Ok(run) } };
        let first = updates.once("work", work).await;
        updates.ask("go on?").await?;
        assert_eq!(first.is_err(), run == 1);
        Ok(updates.complete(format!("{}", first?)).await?)
    }));
    let task = task_of(&engine, send("go")).await;
    let task = task_of(&engine, to_task(&task.id, "yes")).await;
    assert_eq!(task.status_message().unwrap().text(), "2");
}
