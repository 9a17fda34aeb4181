//! Tools that a model calls.
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it expects, and panics where it does not get it"
)]

mod support;

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use a2a_core::{
    Message, Part, Task, TaskState,
    v1::{CancelTaskRequest, SendMessageConfiguration},
};
use a2a_kit_models::{
    AgentLimits, ModelAgent, Repeat, SetupError, ToolContext,
    model::{ChatRequest, ModelEvent, StopReason, ToolCall, ToolOutcome, Turn},
    testing::{ScriptedModel, ScriptedTurn},
    tool_fn,
};
use a2a_kit_operations::{Agent as _, AgentError, BoxError, Call, Engine, EngineConfig};
use a2a_kit_store_testing::MemoryNode;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use support::{card, engine, get, message, send, text};
use tokio::{
    runtime::{Builder, Runtime},
    sync::{Barrier, Notify},
    time::timeout,
};

const LEASE: Duration = Duration::from_millis(400);
/// Longer than any of these tests takes.
const LONG: Duration = Duration::from_secs(20);

#[derive(Deserialize, JsonSchema)]
struct City {
    city: String,
}

/// A turn that calls tools, with ids from 0.
fn calls(calls: &[(&str, Value)]) -> ScriptedTurn {
    let turn =
        calls.iter().enumerate().fold(ScriptedTurn::new(), |turn, (id, (name, arguments))| {
            let (id, name, arguments) = (id.to_string(), (*name).to_owned(), arguments.clone());
            turn.event(ModelEvent::ToolCall(ToolCall { id, name, arguments }))
        });
    turn.finish(StopReason::ToolCalls)
}

fn oslo(name: &str) -> (&str, Value) {
    (name, json!({"city": "Oslo"}))
}

/// The newest results in a request.
fn results(request: &ChatRequest) -> Vec<ToolOutcome> {
    match request.turns.last() {
        Some(Turn::ToolResults(results)) => results.clone(),
        other => panic!("not results: {other:?}"),
    }
}

/// What the model read of the first call of the last turn, with whether it failed.
fn result(model: &ScriptedModel) -> (String, bool) {
    let requests = model.requests();
    let result = results(requests.last().expect("a request")).remove(0);
    (result.content, result.is_error)
}

fn reply(task: &Task, part: impl Into<Part>) -> Call<a2a_core::v1::SendMessageRequest> {
    let mut answer = Message::user(part);
    answer.task_id.clone_from(&task.id);
    message(answer)
}

fn at_once(
    mut call: Call<a2a_core::v1::SendMessageRequest>,
) -> Call<a2a_core::v1::SendMessageRequest> {
    call.request.configuration =
        Some(SendMessageConfiguration { return_immediately: true, ..Default::default() });
    call
}

#[tokio::test]
async fn calls_of_a_turn_run_concurrently_and_their_results_keep_their_order() {
    let both = Arc::new(Barrier::new(2));
    let tool = |name: &str, answer: &'static str| {
        let both = Arc::clone(&both);
        tool_fn(name, "Waits", move |_: City| {
            let both = Arc::clone(&both);
            async move {
                both.wait().await;
                answer
            }
        })
    };
    let model = ScriptedModel::new([calls(&[oslo("one"), oslo("two")]), "Done".into()]);
    let agent = ModelAgent::with_model(model.clone());
    let agent = agent.with_tool(tool("one", "1")).expect("a tool");
    let agent = agent.with_tool(tool("two", "2")).expect("a tool");
    let task = timeout(LONG, send(&engine(agent), text("go"))).await.expect("both run");
    assert_eq!((task.state(), task.text()), (TaskState::Completed, "Done".to_owned()));
    let requests = model.requests();
    let names: Vec<_> = requests[0].tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!(names, ["one", "two"]);
    assert_eq!(requests[0].tools[0].schema["properties"]["city"]["type"], "string");
    let read: Vec<_> = results(&requests[1]).into_iter().map(|one| (one.id, one.content)).collect();
    assert_eq!(read, [("0".to_owned(), "1".to_owned()), ("1".to_owned(), "2".to_owned())]);
}

#[tokio::test(start_paused = true)]
async fn model_reads_why_a_call_failed_but_no_cause() {
    let tool = tool_fn("tool", "Fails", async |City { city }: City| -> Result<String, BoxError> {
        match &*city {
            "public" => Err(AgentError::new("sold out").into()),
            "slow" => std::future::pending().await,
            _ => Err("secret".into()),
        }
    });
    let tool = tool.with_timeout(Duration::from_secs(3));
    let cases = [
        (json!({"city": "public"}), "sold out"),
        (json!({"city": "slow"}), "the tool timed out after 3s"),
        (json!({"city": "else"}), "the tool failed (error "),
        (json!({}), "arguments.city: missing field"),
        (json!({"city": 1}), "arguments.city: invalid type: integer `1`, expected a string"),
    ];
    for (arguments, expected) in cases {
        let model = ScriptedModel::new([calls(&[("tool", arguments)]), "Done".into()]);
        let agent = ModelAgent::with_model(model.clone()).with_tool(tool.clone());
        let task = send(&engine(agent.expect("a tool")), text("go")).await;
        assert_eq!(task.state(), TaskState::Completed);
        let (content, is_error) = result(&model);
        assert!(content.starts_with(expected) && is_error, "{content}");
        assert!(!content.contains("secret"), "{content}");
    }
}

#[tokio::test]
async fn three_turns_of_wrong_calls_in_a_row_fail_the_task() {
    let wrong = || calls(&[("tool", json!({}))]);
    let right = || calls(&[oslo("tool"), ("tool", json!({}))]);
    let tool = || tool_fn("tool", "Echoes", async |City { city }: City| city);
    let cases = [
        (vec![wrong(), wrong(), wrong(), "Done".into()], TaskState::Failed, 3),
        (vec![wrong(), wrong(), right(), wrong(), wrong(), "Done".into()], TaskState::Completed, 6),
    ];
    for (turns, state, requests) in cases {
        let model = ScriptedModel::new(turns);
        let agent = ModelAgent::with_model(model.clone()).with_tool(tool()).expect("a tool");
        let task = send(&engine(agent), text("go")).await;
        assert_eq!((task.state(), model.requests().len()), (state, requests));
        if state == TaskState::Failed {
            assert_eq!(task.status_text(), "The model kept calling tools wrongly");
        }
    }
}

#[tokio::test]
async fn long_result_is_cut_and_files_become_artifacts() {
    let tool = tool_fn("tool", "Gives much", async |_: City| {
        let file = Part::raw(b"a,b".to_vec()).with_filename("a.csv").with_media_type("text/csv");
        vec![Part::data(json!({"n": 1})), file, Part::text("x".repeat(1 << 20))]
    });
    let model = ScriptedModel::new([calls(&[oslo("tool")]), "Done".into()]);
    let agent = ModelAgent::with_model(model.clone()).with_tool(tool).expect("a tool");
    let task = send(&engine(agent), text("go")).await;
    let (content, is_error) = result(&model);
    assert!(content.len() <= 32 << 10 && content.len() > 32_000 && !is_error, "{}", content.len());
    let start = "{\"n\":1}\n\n[file a.csv, text/csv, 3 bytes was given to the user]\n\nxxx";
    assert!(content.starts_with(start), "{}", &content[..100]);
    assert!(content.contains("characters left out"));
    let file = task.artifacts.iter().find(|one| one.name == "a.csv").expect("a file");
    assert_eq!(file.parts[0].as_raw().map(|bytes| &bytes[..]), Some(&b"a,b"[..]));
}

#[tokio::test]
async fn limits_of_steps_and_calls_end_with_one_call_without_tools() {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let tool = tool_fn("tool", "Counts", move |_: City| {
        counted.fetch_add(1, Ordering::SeqCst);
        std::future::ready("counted")
    });
    let two = || calls(&[oslo("tool"), oslo("tool")]);
    let cases = [
        (AgentLimits::default().with_max_steps(2), 4, 3, "Tools were stopped after 2 steps"),
        (AgentLimits::default().with_max_tool_calls(1), 1, 2, "Tools were stopped after 1 step"),
    ];
    for (limits, called, requests, expected) in cases {
        count.store(0, Ordering::SeqCst);
        let turns: Vec<_> = (1..requests).map(|_| two()).chain(["Done".into()]).collect();
        let model = ScriptedModel::new(turns);
        let agent = ModelAgent::with_model(model.clone()).with_limits(limits);
        let task = send(&engine(agent.with_tool(tool.clone()).expect("a tool")), text("go")).await;
        assert_eq!((task.state(), task.status_text()), (TaskState::Completed, expected.to_owned()));
        assert_eq!(count.load(Ordering::SeqCst), called, "{expected}");
        let asked = model.requests();
        assert_eq!(asked.len(), requests);
        assert!(asked[requests - 1].tools.is_empty() && !asked[requests - 2].tools.is_empty());
    }
}

#[tokio::test]
async fn call_is_made_only_if_the_caller_approves_it() {
    let approve = |id: &str| Part::from(json!({"approve": true, "callId": id}));
    let cases: [(Vec<Part>, &str); 5] = [
        (vec!["Yes.".into()], "paid"),
        (vec!["no, take Rome".into()], "no, take Rome"),
        (vec![approve("9"), approve("0")], "paid"),
        (
            vec![approve("9"), approve("9"), approve("9"), approve("9")],
            "the user did not approve this call",
        ),
        (vec![Part::from(json!({"approve": false}))], "the user did not approve this call"),
    ];
    for (answers, expected) in cases {
        let tool = tool_fn("pay", "Pays", async |_: City| "paid").needs_approval();
        let model = ScriptedModel::new([calls(&[oslo("pay")]), "Done".into()]);
        let agent = ModelAgent::with_model(model.clone()).with_tool(tool).expect("a tool");
        let engine = engine(agent);
        let mut task = send(&engine, text("go")).await;
        for answer in answers {
            assert_eq!(task.state(), TaskState::InputRequired, "{expected}");
            assert_eq!(task.status_text(), r#"Allow pay? {"city":"Oslo"}"#);
            task = send(&engine, reply(&task, answer)).await;
        }
        assert_eq!(task.state(), TaskState::Completed, "{expected}");
        assert_eq!(result(&model), (expected.to_owned(), expected != "paid"));
    }
}

#[tokio::test]
async fn pattern_has_calls_of_its_tools_approved() {
    for (pattern, is_asked) in [("pay", true), ("p*", true), ("*", true), ("pa", false)] {
        let tool = tool_fn("pay", "Pays", async |_: City| "paid");
        let model = ScriptedModel::new([calls(&[oslo("pay")]), "Done".into()]);
        let agent = ModelAgent::with_model(model).with_tool(tool).expect("a tool");
        let task = send(&engine(agent.with_approval(pattern)), text("go")).await;
        assert_eq!(task.state() == TaskState::InputRequired, is_asked, "{pattern}");
    }
}

#[tokio::test]
async fn cancel_drops_the_calls_of_tools() {
    struct Dropped(Arc<Notify>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.notify_one();
        }
    }
    let (begun, dropped) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (begins, drops) = (Arc::clone(&begun), Arc::clone(&dropped));
    let tool = tool_fn("tool", "Waits", move |_: City| {
        let (begins, guard) = (Arc::clone(&begins), Dropped(Arc::clone(&drops)));
        async move {
            begins.notify_one();
            let _guard = guard;
            std::future::pending::<&'static str>().await
        }
    });
    let model = ScriptedModel::new([calls(&[oslo("tool")])]);
    let agent = ModelAgent::with_model(model.clone()).with_tool(tool).expect("a tool");
    let engine = engine(agent);
    let task = send(&engine, at_once(text("go"))).await;
    timeout(LONG, begun.notified()).await.expect("the tool is called");
    let cancel = CancelTaskRequest { id: task.id.clone(), ..Default::default() };
    engine.cancel_task(Call::new(cancel)).await.expect("a cancel");
    timeout(LONG, dropped.notified()).await.expect("the call is dropped");
    let task = until(&engine, &task.id, |task| task.state().is_terminal()).await;
    assert_eq!((task.state(), model.requests().len()), (TaskState::Canceled, 1));
}

#[test]
fn tool_that_no_model_could_call_is_refused() {
    let tool = |name: &str| tool_fn(name, "Does", async |City { city }: City| city);
    let agent = || ModelAgent::with_model(ScriptedModel::new(["a"]));
    let long = "x".repeat(65);
    for name in ["", "a b", "é", &long] {
        let error = agent().with_tool(tool(name)).expect_err(name);
        assert!(matches!(error, SetupError::InvalidTool { .. }), "{name}: {error}");
    }
    let twice = agent().with_tool(tool("a")).and_then(|agent| agent.with_tool(tool("a")));
    assert!(twice.is_err(), "a name is unique");
    let text = agent().with_tool(tool_fn("a", "Does", async |text: String| text));
    assert!(text.is_err(), "an argument is an object");
    let many =
        (0..64).try_fold(agent(), |agent, number| agent.with_tool(tool(&number.to_string())));
    assert!(many.expect("64 tools").with_tool(tool("a")).is_err(), "65 tools");
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

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime")
}

fn node(store: MemoryNode, agent: ModelAgent) -> Engine {
    let config = EngineConfig::default().with_lease_renewal(LEASE / 4);
    agent.builder(card()).store(store).config(config).build()
}

/// Sends a message to a node that is killed when a tool is in flight, or when the task asks, and
/// returns the task as another node ends it, with this answer.
fn taken_over(agent: &ModelAgent, begun: Option<&Notify>, answer: Option<&str>) -> Task {
    let one = MemoryNode::with_lease(LEASE);
    let two = one.join("two");
    let first = runtime();
    let (id, crashed) = first.block_on(async {
        let engine = node(one, agent.clone());
        let id = send(&engine, at_once(text("go"))).await.id;
        match begun {
            Some(begun) => timeout(LONG, begun.notified()).await.expect("the tool is called"),
            None => {
                until(&engine, &id, |task| task.state() == TaskState::InputRequired).await;
            }
        }
        (id, engine)
    });
    let ended = std::thread::spawn(move || first.shutdown_timeout(LONG));
    ended.join().expect("the runtime ends");
    drop(crashed);
    runtime().block_on(async {
        let engine = node(two, agent.clone());
        if let Some(answer) = answer {
            let task = get(&engine, &id).await;
            send(&engine, at_once(reply(&task, answer))).await;
        }
        until(&engine, &id, |task| task.state().is_terminal()).await
    })
}

/// A tool that records its idempotency keys, and never returns the first time.
fn hanging(keys: &Arc<Mutex<Vec<String>>>, begun: &Arc<Notify>) -> a2a_kit_models::ToolFn {
    let (keys, begun) = (Arc::clone(keys), Arc::clone(begun));
    tool_fn("tool", "Hangs once", move |_: City, context: ToolContext| {
        let mut keys = keys.lock().expect("a lock");
        keys.push(context.idempotency_key().to_owned());
        let is_first = keys.len() == 1;
        let begun = Arc::clone(&begun);
        async move {
            if is_first {
                begun.notify_one();
                std::future::pending::<()>().await;
            }
            "done at last"
        }
    })
}

#[test]
fn call_that_a_crash_interrupts_is_repeated_with_its_key_or_reported() {
    let cases = [
        (Repeat::Always, 2, "done at last"),
        (Repeat::Never, 1, "interrupted; whether it took effect is unknown"),
    ];
    for (repeat, times, expected) in cases {
        let (keys, begun) = (Arc::default(), Arc::new(Notify::new()));
        let quick = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&quick);
        let quick_tool = tool_fn("quick", "Counts", move |_: City| {
            counted.fetch_add(1, Ordering::SeqCst);
            std::future::ready("counted")
        });
        let model =
            ScriptedModel::new([calls(&[oslo("quick")]), calls(&[oslo("tool")]), "Done".into()]);
        let agent = ModelAgent::with_model(model.clone()).with_tool(quick_tool).expect("a tool");
        let agent = agent.with_tool(hanging(&keys, &begun).with_repeat(repeat)).expect("a tool");
        let task = taken_over(&agent, Some(&begun), None);
        assert_eq!((task.state(), task.text()), (TaskState::Completed, "Done".to_owned()));
        let keys = keys.lock().expect("a lock");
        assert_eq!(keys.len(), times, "{repeat:?}");
        assert!(keys.iter().all(|key| *key == keys[0]), "{keys:?}");
        assert_eq!(quick.load(Ordering::SeqCst), 1, "what returned is not repeated");
        assert_eq!(result(&model).0, expected);
        assert_eq!(model.requests().len(), 3, "completed calls of the model are not repeated");
    }
}

#[test]
fn approval_is_answered_on_another_node() {
    for (answer, times, expected) in [("yes", 1, "paid"), ("no", 0, "no")] {
        let paid = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&paid);
        let tool = tool_fn("pay", "Pays", move |_: City| {
            counted.fetch_add(1, Ordering::SeqCst);
            std::future::ready("paid")
        });
        let model = ScriptedModel::new([calls(&[oslo("pay")]), "Done".into()]);
        let agent = ModelAgent::with_model(model.clone()).with_tool(tool.needs_approval());
        let task = taken_over(&agent.expect("a tool"), None, Some(answer));
        assert_eq!((task.state(), task.text()), (TaskState::Completed, "Done".to_owned()));
        assert_eq!((paid.load(Ordering::SeqCst), result(&model).0.as_str()), (times, expected));
        assert_eq!(model.requests().len(), 2);
    }
}

#[test]
fn tool_asks_and_goes_on_another_node() {
    let booked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&booked);
    let tool = tool_fn("form", "Asks", move |_: City, context: ToolContext| {
        let counted = Arc::clone(&counted);
        async move {
            let number = context
                .once("book", async { Ok::<_, BoxError>(counted.fetch_add(1, Ordering::SeqCst)) });
            let number: usize = number.await?;
            let name = context.ask("Your name?").await?;
            Ok::<_, BoxError>(format!("{} has number {number}", name.text()))
        }
    });
    let model = ScriptedModel::new([calls(&[oslo("form")]), "Done".into()]);
    let agent = ModelAgent::with_model(model.clone()).with_tool(tool.asking()).expect("a tool");
    let task = taken_over(&agent, None, Some("Ada"));
    assert_eq!(task.state(), TaskState::Completed);
    assert_eq!(result(&model), ("Ada has number 0".to_owned(), false));
    assert_eq!(booked.load(Ordering::SeqCst), 1);
}
