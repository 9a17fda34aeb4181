//! Other agents as tools, over sockets.
#![cfg(feature = "agents")]
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it expects, and panics where it does not get it"
)]

mod support;

use std::{
    future::pending,
    sync::{Arc, Mutex},
    time::Duration,
};

use a2a_core::{
    AgentCard, Message, Part, Task, TaskState,
    v1::{CancelTaskRequest, SendMessageConfiguration, SendMessageRequest},
};
use a2a_kit_client::Client;
use a2a_kit_http::HttpServer;
use a2a_kit_models::{
    AgentLimits, ModelAgent, RemoteAgent,
    model::{ChatRequest, ModelEvent, StopReason, ToolCall, Turn, Usage},
    testing::{ScriptedModel, ScriptedTurn},
};
use a2a_kit_operations::{
    Agent as _, AgentError, Call, Engine, EngineConfig, RequestContext, TaskUpdater, UpdateError,
    agent_fn,
    extension::{DelegatedUsage, UsageExtension},
};
use a2a_kit_store_testing::MemoryNode;
use serde_json::json;
use support::{card, engine, get, message, send, text};
use tokio::{
    net::TcpListener,
    runtime::{Builder, Runtime},
    sync::{Notify, Semaphore},
    time::timeout,
};

const LEASE: Duration = Duration::from_millis(400);
/// Longer than any of these tests takes.
const LONG: Duration = Duration::from_secs(20);

/// A turn that sends `hi` to the agents with these names.
fn asks(names: &[&str]) -> ScriptedTurn {
    let turn = names.iter().enumerate().fold(ScriptedTurn::new(), |turn, (id, name)| {
        let (id, name) = (id.to_string(), (*name).to_owned());
        let arguments = json!({"message": "hi"});
        turn.event(ModelEvent::ToolCall(ToolCall { id, name, arguments }))
    });
    turn.finish(StopReason::ToolCalls)
}

/// What the model read of the first call of a turn, with whether it failed.
fn result(request: &ChatRequest) -> (String, bool) {
    match request.turns.last() {
        Some(Turn::ToolResults(results)) => (results[0].content.clone(), results[0].is_error),
        other => panic!("not results: {other:?}"),
    }
}

fn client(card: &AgentCard, listener: &TcpListener) -> Client {
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let card = card.clone().with_interface(a2a_core::card::JSONRPC, url);
    Client::builder().build(card).expect("a client")
}

async fn listen() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").await.expect("a port")
}

/// Serves an agent over JSON-RPC, and returns a client of it.
async fn serve(engine: &Engine) -> Client {
    let listener = listen().await;
    let client = client(engine.card(), &listener);
    let server = HttpServer::new(a2a_kit_jsonrpc::router(engine.clone()));
    tokio::spawn(server.serve(listener, pending()));
    client
}

/// An agent whose model sends `hi` to a remote agent in so many turns.
async fn asking(remote: &Engine, turns: usize) -> (ModelAgent, ScriptedModel) {
    let turns = (0..turns).map(|_| asks(&["agent"])).chain(["Done".into()]);
    let model = ScriptedModel::new(turns);
    let agent = ModelAgent::with_model(model.clone());
    (agent.with_agent("agent", serve(remote).await).expect("a tool"), model)
}

fn reply(task: &Task, part: &str) -> Call<SendMessageRequest> {
    let mut answer = Message::user(part);
    answer.task_id.clone_from(&task.id);
    message(answer)
}

fn at_once(mut call: Call<SendMessageRequest>) -> Call<SendMessageRequest> {
    call.request.configuration =
        Some(SendMessageConfiguration { return_immediately: true, ..Default::default() });
    call
}

async fn until(engine: &Engine, id: &str, is_so: impl Fn(&Task) -> bool) -> Task {
    let reached = async {
        loop {
            let task = get(engine, id).await;
            if is_so(&task) {
                return task;
            }
            tokio::task::yield_now().await;
        }
    };
    timeout(LONG, reached).await.expect("the task gets there in time")
}

#[tokio::test]
async fn model_reads_the_answer_of_a_task_and_its_files_go_to_the_caller() {
    let remote = agent_fn(async |text: String| {
        let file = Part::raw(b"a,b".to_vec()).with_filename("a.csv").with_media_type("text/csv");
        vec![Part::text(format!("You said {text}")), file]
    });
    let remote = Engine::new(AgentCard::new("Echo\u{202e}", "Repeats"), remote);
    let (agent, model) = asking(&remote, 1).await;
    let task = send(&engine(agent), text("go")).await;
    assert_eq!((task.state(), task.text()), (TaskState::Completed, "Done".to_owned()));
    let requests = model.requests();
    let description = &requests[0].tools[0].description;
    assert!(description.ends_with("itself:\nEcho\\u202e: Repeats"), "{description}");
    let read = "You said hi\n\n[file a.csv, text/csv, 3 bytes]".to_owned();
    assert_eq!(result(&requests[1]), (read, false));
    let file = task.artifacts.iter().find(|one| one.name == "a.csv").expect("a file");
    assert_eq!(file.parts[0].as_raw().map(|bytes| &bytes[..]), Some(&b"a,b"[..]));
}

#[tokio::test]
async fn model_reads_a_message_without_a_task() {
    let remote = Engine::new(card(), agent_fn(async |_: String| Message::agent("hello")));
    let (agent, model) = asking(&remote, 1).await;
    let task = send(&engine(agent), text("go")).await;
    assert_eq!(task.state(), TaskState::Completed);
    assert_eq!(result(&model.requests()[1]), ("hello".to_owned(), false));
}

#[tokio::test]
async fn model_reads_why_a_task_failed_or_the_agent_is_not_there() {
    let fails = agent_fn(async |_: String| Err::<String, _>(AgentError::new("sold out")));
    let (agent, model) = asking(&Engine::new(card(), fails), 1).await;
    let task = send(&engine(agent), text("go")).await;
    assert_eq!(task.state(), TaskState::Completed);
    let read = "the task of agent is FAILED: sold out".to_owned();
    assert_eq!(result(&model.requests()[1]), (read, true));

    let model = ScriptedModel::new([asks(&["agent"]), "Done".into()]);
    let absent = RemoteAgent::connecting("agent", || Box::pin(async { Err("secret".into()) }));
    let agent = ModelAgent::with_model(model.clone()).with_tool(absent).expect("a tool");
    assert_eq!(send(&engine(agent), text("go")).await.state(), TaskState::Completed);
    assert_eq!(result(&model.requests()[1]), ("agent is unavailable".to_owned(), true));
}

#[tokio::test]
async fn question_is_put_to_the_caller_and_the_answer_goes_to_the_agent() {
    let remote = agent_fn(async |_: RequestContext, updates: TaskUpdater| {
        let size = updates.ask("Which size?").await?;
        let color = updates.ask("Which color?").await?;
        Ok::<_, UpdateError>(format!("{} in {}", size.text(), color.text()))
    });
    let (agent, model) = asking(&Engine::new(card(), remote), 1).await;
    let engine = engine(agent);
    let mut task = send(&engine, text("go")).await;
    for (question, answer) in [("size", "L"), ("color", "red")] {
        assert_eq!(task.state(), TaskState::InputRequired);
        assert_eq!(task.status_text(), format!("agent asks: Which {question}?"));
        task = send(&engine, reply(&task, answer)).await;
    }
    assert_eq!(task.state(), TaskState::Completed);
    assert_eq!(result(&model.requests()[1]), ("L in red".to_owned(), false));
}

#[tokio::test]
async fn task_needs_authorization_while_the_remote_one_does() {
    let authorized = Arc::new(Semaphore::new(0));
    let gate = Arc::clone(&authorized);
    let remote = agent_fn(move |_: RequestContext, updates: TaskUpdater| {
        let gate = Arc::clone(&gate);
        async move {
            updates.require_auth("Log in").await?;
            drop(gate.acquire().await);
            updates.start().await?;
            Ok::<_, UpdateError>("welcome")
        }
    });
    let (agent, model) = asking(&Engine::new(card(), remote), 1).await;
    let engine = engine(agent);
    let id = send(&engine, at_once(text("go"))).await.id;
    let task = until(&engine, &id, |task| task.state() == TaskState::AuthRequired).await;
    assert_eq!(task.status_text(), "agent needs authorization: Log in");
    authorized.add_permits(1);
    let task = until(&engine, &id, |task| task.state().is_terminal()).await;
    assert_eq!(task.state(), TaskState::Completed);
    assert_eq!(result(&model.requests()[1]), ("welcome".to_owned(), false));
}

#[tokio::test]
async fn second_call_continues_the_conversation() {
    let remote = agent_fn(async |context: RequestContext| {
        format!("{} {}", context.context_id(), context.task_id())
    });
    let (agent, model) = asking(&Engine::new(card(), remote), 2).await;
    assert_eq!(send(&engine(agent), text("go")).await.state(), TaskState::Completed);
    let requests = model.requests();
    let [one, two] = [result(&requests[1]).0, result(&requests[2]).0];
    let [one, two] = [&one, &two].map(|ids| ids.split_once(' ').expect("two ids"));
    assert_eq!(one.0, two.0, "the contexts");
    assert_ne!(one.1, two.1, "the tasks");
    assert_ne!(one.0, "context", "the context of the caller is its own");
}

#[tokio::test]
async fn cancel_cancels_the_remote_task_that_works_or_asks() {
    for question in [None, Some("Which size?")] {
        let begun = Arc::new(Notify::new());
        let id: Arc<Mutex<String>> = Arc::default();
        let (begins, set) = (Arc::clone(&begun), Arc::clone(&id));
        let remote = agent_fn(move |context: RequestContext, updates: TaskUpdater| {
            context.task_id().clone_into(&mut set.lock().expect("a lock"));
            begins.notify_one();
            async move {
                match question {
                    Some(question) => updates.ask(question).await.map(|answer| answer.text()),
                    None => pending().await,
                }
            }
        });
        let remote = Engine::new(card(), remote);
        let (agent, _) = asking(&remote, 1).await;
        let engine = engine(agent);
        let task = send(&engine, at_once(text("go"))).await;
        timeout(LONG, begun.notified()).await.expect("the agent is asked");
        if question.is_some() {
            until(&engine, &task.id, |task| task.state() == TaskState::InputRequired).await;
        }
        let cancel = CancelTaskRequest { id: task.id.clone(), ..Default::default() };
        engine.cancel_task(Call::new(cancel)).await.expect("a cancel");
        let remote_id = id.lock().expect("a lock").clone();
        let canceled = until(&remote, &remote_id, |task| task.state().is_terminal()).await;
        assert_eq!(canceled.state(), TaskState::Canceled, "{question:?}");
        let task = until(&engine, &task.id, |task| task.state().is_terminal()).await;
        assert_eq!(task.state(), TaskState::Canceled, "{question:?}");
    }
}

#[tokio::test]
async fn agents_that_ask_one_another_end_at_the_depth_limit() {
    let script = |asking: usize, all: usize| {
        let turns = (0..all).map(|at| if at < asking { asks(&["agent"]) } else { "Done".into() });
        ScriptedModel::new(turns)
    };
    // Of depth 0, 2 and 4, which has to do without the other; and of depth 1 and 3.
    let (one, two) = (script(3, 6), script(2, 4));
    let [first, second] = [listen().await, listen().await];
    let declared = ModelAgent::with_model(one.clone()).engine(card()).card().clone();
    let limits = AgentLimits::default().with_max_depth(4);
    let agent = ModelAgent::with_model(one.clone()).with_limits(limits);
    let one_engine = engine(agent.with_agent("agent", client(&declared, &second)).expect("a tool"));
    let agent = ModelAgent::with_model(two.clone());
    let two_engine = engine(agent.with_agent("agent", client(&declared, &first)).expect("a tool"));
    for (engine, listener) in [(&one_engine, first), (&two_engine, second)] {
        let server = HttpServer::new(a2a_kit_jsonrpc::router(engine.clone()));
        tokio::spawn(server.serve(listener, pending()));
    }
    let task = timeout(LONG, send(&one_engine, text("go"))).await.expect("the ring ends");
    assert_eq!((task.state(), task.text()), (TaskState::Completed, "Done".to_owned()));
    assert_eq!((one.requests().len(), two.requests().len()), (6, 4));
    let read = "delegation limit reached; answer without this agent".to_owned();
    assert_eq!(result(&one.requests()[3]), (read, true));
    assert_eq!(result(&one.requests()[5]), ("Done".to_owned(), false));
}

#[tokio::test]
async fn usage_of_remote_tasks_is_summed_and_what_none_reports_is_counted() {
    let mut used = Usage::default();
    (used.input, used.output) = (3, 5);
    let answer = || ScriptedTurn::new().usage(used).text("Done").finish(StopReason::End);
    let inner = ModelAgent::with_model(ScriptedModel::new([answer(), answer()])).engine(card());
    let silent = Engine::new(card(), agent_fn(async |text: String| text));
    let middle = ScriptedModel::new([asks(&["inner"]), answer()]);
    let middle = ModelAgent::with_model(middle).with_agent("inner", serve(&inner).await);
    let middle = engine(middle.expect("a tool"));
    let model = ScriptedModel::new([asks(&["silent", "middle", "inner"]), answer()]);
    let mut agent = ModelAgent::with_model(model);
    for (name, remote) in [("silent", &silent), ("middle", &middle), ("inner", &inner)] {
        agent = agent.with_agent(name, serve(remote).await).expect("a tool");
    }
    let task = send(&engine(agent), text("go")).await;
    let report = UsageExtension::read(task.metadata.as_ref()).expect("a report");
    assert_eq!((report.input_tokens, report.tool_calls), (3, 3));
    let delegated = report.delegated.expect("delegated usage");
    let DelegatedUsage { tasks, unreported, input_tokens, output_tokens, .. } = delegated;
    assert_eq!((tasks, unreported, input_tokens, output_tokens), (3, 1, 9, 15));
}

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime")
}

#[test]
fn crash_does_not_repeat_what_was_sent() {
    let messages: Arc<Mutex<Vec<String>>> = Arc::default();
    let (begun, proceed) = (Arc::new(Notify::new()), Arc::new(Semaphore::new(0)));
    let (seen, begins, gate) = (Arc::clone(&messages), Arc::clone(&begun), Arc::clone(&proceed));
    let remote = agent_fn(move |text: String| {
        seen.lock().expect("a lock").push(text);
        begins.notify_one();
        let gate = Arc::clone(&gate);
        async move {
            drop(gate.acquire().await);
            "at last"
        }
    });
    let remote_runtime = runtime();
    let remote = Engine::new(card(), remote);
    let (agent, model) = remote_runtime.block_on(asking(&remote, 1));
    let node = |store: MemoryNode| {
        let config = EngineConfig::default().with_lease_renewal(LEASE / 4);
        agent.clone().builder(card()).store(store).config(config).build()
    };
    let one = MemoryNode::with_lease(LEASE);
    let two = one.join("two");
    let first = runtime();
    let (id, crashed) = first.block_on(async {
        let engine = node(one);
        let id = send(&engine, at_once(text("go"))).await.id;
        timeout(LONG, begun.notified()).await.expect("the agent is asked");
        (id, engine)
    });
    let ended = std::thread::spawn(move || first.shutdown_timeout(LONG));
    ended.join().expect("the runtime ends");
    drop(crashed);
    runtime().block_on(async {
        let engine = node(two);
        proceed.add_permits(1);
        let task = until(&engine, &id, |task| task.state().is_terminal()).await;
        assert_eq!((task.state(), task.text()), (TaskState::Completed, "Done".to_owned()));
    });
    assert_eq!(*messages.lock().expect("a lock"), ["hi"]);
    let requests = model.requests();
    assert_eq!((requests.len(), result(&requests[1])), (2, ("at last".to_owned(), false)));
}
