//! Bounds of the answers of any model.

#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

mod support;

use a2a_core::TaskState;
use a2a_kit_models::{
    AgentLimits, ModelAgent,
    model::{ModelEvent, ToolCall},
    testing::{ScriptedModel, ScriptedTurn},
};
use serde_json::{Value, json};

fn turn(events: impl IntoIterator<Item = ModelEvent>) -> ScriptedTurn {
    events.into_iter().fold(ScriptedTurn::new(), ScriptedTurn::event)
}

fn call(name: &str, arguments: Value) -> ModelEvent {
    ModelEvent::ToolCall(ToolCall { id: "1".to_owned(), name: name.to_owned(), arguments })
}

#[tokio::test]
async fn answer_beyond_a_bound_fails_whatever_its_model() {
    let half = || "x".repeat(600 << 10);
    for (name, events) in [
        ("text", vec![ModelEvent::Text(half()), ModelEvent::Text(half())]),
        ("thoughts", vec![ModelEvent::Thinking(half()), ModelEvent::Thinking(half())]),
        (
            "opaque parts",
            vec![ModelEvent::Opaque(half().into()), ModelEvent::Opaque(half().into())],
        ),
        ("arguments", vec![call("f", json!({"a": half()}))]),
        ("the name of a tool", vec![call(&"f".repeat(300), json!({}))]),
        ("calls", (0..65).map(|_| call("f", json!({}))).collect()),
    ] {
        let model = ScriptedModel::new([turn(events)]);
        let limits = AgentLimits::default().with_retries(0);
        let engine = support::engine(ModelAgent::with_model(model).with_limits(limits));
        let task = support::send(&engine, support::text("a")).await;
        assert_eq!(task.state(), TaskState::Failed, "{name}");
        let expected = "The model provider is unavailable (1 attempt)";
        assert_eq!(task.status_text(), expected, "{name}");
    }
}

#[tokio::test]
async fn answer_at_the_bound_is_taken() {
    let turn = turn([ModelEvent::Text("x".repeat(1 << 20))]);
    let model = ScriptedModel::new([turn.finish(a2a_kit_models::model::StopReason::End)]);
    let engine = support::engine(ModelAgent::with_model(model));
    let task = support::send(&engine, support::text("a")).await;
    assert_eq!(task.state(), TaskState::Completed);
}
