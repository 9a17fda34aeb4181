//! What an agent remembers: tasks of the context, as the model is asked to continue them.
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it expects, and panics where it does not get it"
)]

mod support;

use a2a_core::{Message, Part, TaskState};
use a2a_kit_models::{
    Memory, ModelAgent, ModelInfo,
    model::{ModelError, ModelErrorKind},
    testing::{ScriptedModel, ScriptedTurn},
};
use a2a_kit_operations::{Caller, Engine};
use support::{engine, message, send, text, turns};

/// Asks in order, and returns what the model was asked last.
async fn ask(engine: &Engine, model: &ScriptedModel, questions: &[&str]) -> Vec<String> {
    for question in questions {
        send(engine, text(question)).await;
    }
    turns(model.requests().last().expect("a request"))
}

#[tokio::test]
async fn earlier_tasks_of_the_context_are_turns_of_the_conversation() {
    let model = ScriptedModel::new(["Oslo", "Since 1814", "Yes"]);
    let engine = engine(ModelAgent::with_model(model.clone()));
    let asked = ask(&engine, &model, &["Capital of Norway?", "Since when?"]).await;
    assert_eq!(asked, ["user: Capital of Norway?", "assistant: Oslo", "user: Since when?"]);
}

#[tokio::test]
async fn other_contexts_callers_and_tasks_are_not_remembered() {
    let elsewhere = || message(Message::user("Second").with_context_id("elsewhere"));
    let mut of_ann = text("Second");
    of_ann.context.caller = Caller::authenticated("ann");
    let cases = [
        ("another context", Memory::context(), elsewhere()),
        ("another caller", Memory::context(), of_ann),
        ("another task", Memory::task(), text("Second")),
        ("no budget", Memory::context().with_tokens(1), text("Second")),
    ];
    for (case, memory, second) in cases {
        let model = ScriptedModel::new(["one", "two"]);
        let engine = engine(ModelAgent::with_model(model.clone()).with_memory(memory));
        send(&engine, text("First")).await;
        send(&engine, second).await;
        assert_eq!(turns(&model.requests()[1]), ["user: Second"], "{case}");
    }
}

#[tokio::test]
async fn failed_answer_is_remembered_as_unfinished() {
    let rejected = ScriptedTurn::new().fail(ModelError::new(ModelErrorKind::Rejected));
    let model = ScriptedModel::new([rejected, ScriptedTurn::from("Oslo")]);
    let engine = engine(ModelAgent::with_model(model.clone()));
    let asked = ask(&engine, &model, &["Capital?", "Again"]).await;
    assert_eq!(
        asked,
        ["user: Capital?", "assistant: [the answer was not finished]", "user: Again"]
    );
}

#[tokio::test]
async fn large_message_does_not_displace_what_was_said() {
    let mut info = ModelInfo::default();
    info.media_types = vec!["image/png".into()];
    let model = ScriptedModel::with_info(info, ["Oslo", "A photo"]);
    let engine = engine(ModelAgent::with_model(model.clone()));
    send(&engine, text("Capital?")).await;
    let photo = Part::raw(vec![0; 5 << 20]).with_media_type("image/png");
    let photo = Message::user("What is this?").with_part(photo).with_context_id("context");
    send(&engine, message(photo)).await;
    let asked = turns(&model.requests()[1]);
    assert_eq!(asked, ["user: Capital?", "assistant: Oslo", "user: What is this? | (file)"]);
}

#[tokio::test]
async fn message_beyond_eight_budgets_is_rejected_without_a_call() {
    let model = ScriptedModel::new(["never"]);
    let agent = ModelAgent::with_model(model.clone());
    let engine = engine(agent.with_memory(Memory::context().with_tokens(2)));
    let task = send(&engine, text(&"x".repeat(49))).await;
    assert_eq!(task.state(), TaskState::Rejected);
    assert_eq!(task.status_text(), "The message is too long for this agent");
    assert!(model.requests().is_empty());
}

#[tokio::test]
async fn conversation_that_is_too_long_is_asked_once_more_with_half_the_history() {
    let too_long = || ScriptedTurn::new().fail(ModelError::new(ModelErrorKind::TooLong));
    let script =
        [ScriptedTurn::from("1"), "2".into(), too_long(), "3".into(), too_long(), too_long()];
    let model = ScriptedModel::new(script);
    let engine = engine(ModelAgent::with_model(model.clone()));
    let asked = ask(&engine, &model, &["a", "b", "c"]).await;
    assert_eq!(asked, ["user: b", "assistant: 2", "user: c"]);
    let task = send(&engine, text("d")).await;
    assert_eq!(task.state(), TaskState::Failed);
    assert_eq!(task.status_text(), "The conversation is too long for the model");
    assert_eq!(model.remaining(), 0);
}
