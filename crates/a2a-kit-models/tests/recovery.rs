//! Answers that a crash interrupts.
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it expects, and panics where it does not get it"
)]

mod support;

use std::time::Duration;

use a2a_core::{Task, TaskState, v1::SendMessageConfiguration};
use a2a_kit_models::{
    ModelAgent,
    model::{ModelEvent, StopReason, ToolCall, Usage},
    testing::{ScriptedModel, ScriptedTurn},
};
use a2a_kit_operations::{Engine, EngineConfig, extension::UsageExtension};
use a2a_kit_store_testing::MemoryNode;
use support::{card, get, send, text, turns};
use tokio::{
    runtime::{Builder, Runtime},
    time::timeout,
};

const LEASE: Duration = Duration::from_millis(400);
/// Longer than any of these tests takes.
const LONG: Duration = Duration::from_secs(20);

fn engine(store: MemoryNode, model: &ScriptedModel) -> Engine {
    let config = EngineConfig::default().with_lease_renewal(LEASE / 4);
    ModelAgent::with_model(model.clone()).builder(card()).store(store).config(config).build()
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

/// Sends a message to a node that is killed when the task has this text, and returns the task as
/// another node ends it.
fn taken_over(model: &ScriptedModel, shown: &'static str) -> Task {
    taken_over_amid(model, shown, &[], &[])
}

/// The same, with messages in the same context that are answered before it, and while it is.
fn taken_over_amid(
    model: &ScriptedModel,
    shown: &'static str,
    before: &[&str],
    meanwhile: &[&str],
) -> Task {
    let one = MemoryNode::with_lease(LEASE);
    let two = one.join("two");
    let node = runtime();
    let (id, crashed) = node.block_on(async {
        let engine = engine(one, model);
        for earlier in before {
            send(&engine, text(earlier)).await;
        }
        let mut call = text("capital?");
        call.request.configuration =
            Some(SendMessageConfiguration { return_immediately: true, ..Default::default() });
        let id = send(&engine, call).await.id;
        until(&engine, &id, |task| task.text() == shown).await;
        for later in meanwhile {
            send(&engine, text(later)).await;
        }
        (id, engine)
    });
    let ended = std::thread::spawn(move || node.shutdown_timeout(LONG));
    ended.join().expect("the runtime ends");
    drop(crashed);
    runtime().block_on(async {
        let engine = engine(two, model);
        until(&engine, &id, |task| task.state().is_terminal()).await
    })
}

fn usage(input: u64, output: u64) -> Usage {
    let mut usage = Usage::default();
    (usage.input, usage.output) = (input, output);
    usage
}

#[test]
fn answer_that_a_crash_cut_is_asked_for_again_and_replaced() {
    let cut = ScriptedTurn::new().text("It is Os").forever();
    let whole =
        ScriptedTurn::new().usage(usage(3, 5)).text("Oslo, I think").finish(StopReason::End);
    let model = ScriptedModel::new([cut, whole]);
    let task = taken_over(&model, "It is ");
    assert_eq!((task.state(), task.text()), (TaskState::Completed, "Oslo, I think".to_owned()));
    assert_eq!((task.artifacts.len(), task.artifacts[0].parts.len()), (1, 1));
    assert_eq!(model.requests().len(), 2);
    let report = UsageExtension::read(task.metadata.as_ref()).expect("a report");
    assert_eq!((report.input_tokens, report.incomplete), (3, true), "the lost call is not counted");
}

#[test]
fn completed_call_is_not_repeated_and_its_text_and_usage_are_kept() {
    let call =
        ToolCall { id: "1".to_owned(), name: "shell".to_owned(), arguments: serde_json::json!({}) };
    let first = ScriptedTurn::new()
        .text("One moment.")
        .event(ModelEvent::ToolCall(call))
        .usage(usage(3, 5))
        .finish(StopReason::ToolCalls);
    let cut = ScriptedTurn::new().text("It is Os").forever();
    let last = ScriptedTurn::new().usage(usage(7, 2)).text("Oslo").finish(StopReason::End);
    let model = ScriptedModel::new([first, cut, last]);
    let task = taken_over(&model, "One moment.\n\nIt is ");
    assert_eq!(
        (task.state(), task.text()),
        (TaskState::Completed, "One moment.\n\nOslo".to_owned())
    );
    let requests = model.requests();
    assert_eq!(requests.len(), 3);
    assert_eq!(turns(&requests[1]), turns(&requests[2]), "the same call is made again");
    let report = UsageExtension::read(task.metadata.as_ref()).expect("a report");
    assert_eq!((report.input_tokens, report.output_tokens, report.model_calls), (10, 7, 2));
}

#[test]
fn rerun_remembers_what_the_first_run_did() {
    let cut = ScriptedTurn::new().text("It is Os").forever();
    let model = ScriptedModel::new([ScriptedTurn::from("Hello"), cut, "Bye".into(), "Oslo".into()]);
    let task = taken_over_amid(&model, "It is ", &["Hi"], &["Bye"]);
    assert_eq!((task.state(), task.text()), (TaskState::Completed, "Oslo".to_owned()));
    let requests = model.requests();
    let asked: Vec<_> = requests.iter().map(turns).collect();
    assert_eq!(asked[1], ["user: Hi", "assistant: Hello", "user: capital?"]);
    assert_eq!(asked[2], ["user: Hi", "assistant: Hello", "user: capital? | Bye"]);
    assert_eq!(asked[3], asked[1], "the task that has ended since is not remembered");
}

#[test]
fn rerun_remembers_nothing_if_there_was_nothing() {
    let call =
        ToolCall { id: "1".to_owned(), name: "shell".to_owned(), arguments: serde_json::json!({}) };
    let first = ScriptedTurn::new()
        .text("One moment.")
        .event(ModelEvent::ToolCall(call))
        .finish(StopReason::ToolCalls);
    let cut = ScriptedTurn::new().text("It is Os").forever();
    let model = ScriptedModel::new([first, cut, "Hello".into(), "Oslo".into()]);
    let task = taken_over_amid(&model, "One moment.\n\nIt is ", &[], &["Hi"]);
    assert_eq!(task.state(), TaskState::Completed);
    let requests = model.requests();
    assert_eq!(turns(&requests[3]), turns(&requests[1]));
}
