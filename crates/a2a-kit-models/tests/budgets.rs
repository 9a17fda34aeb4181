//! What a task costs, and the budgets that end it.
#![allow(clippy::expect_used, reason = "a test says what it expects")]

mod support;

use a2a_core::TaskState;
use a2a_kit_models::{
    AgentLimits, ModelAgent, Price, Prices, SetupError,
    model::{ModelEvent, StopReason, ToolCall, Usage},
    testing::{ScriptedModel, ScriptedTurn},
};
use a2a_kit_operations::extension::{Amount, UsageExtension};
use serde_json::json;
use support::{engine, send, text};

const BUDGET: &str = "The budget of this task is used up";

fn prices() -> Prices {
    let amount = |text: &str| text.parse::<Amount>().expect("an amount");
    Prices::default().with("scripted/model", Price::new(amount("2"), amount("10"), "EUR"))
}

/// A call of 1,000 tokens read and 100 written, which wants a tool or answers.
fn turn(calls: bool) -> ScriptedTurn {
    let mut usage = Usage::default();
    (usage.input, usage.output) = (1_000, 100);
    let turn = ScriptedTurn::new().event(ModelEvent::Usage(usage));
    if !calls {
        return turn.text("Done").finish(StopReason::End);
    }
    let call = ToolCall { id: "1".to_owned(), name: "none".to_owned(), arguments: json!({}) };
    turn.event(ModelEvent::ToolCall(call)).finish(StopReason::ToolCalls)
}

#[tokio::test]
async fn cost_of_all_calls_is_reported() {
    let model = ScriptedModel::new([turn(true), turn(false)]);
    let agent = ModelAgent::with_model(model).with_prices(prices());
    let task = send(&engine(agent), text("work")).await;
    let report = UsageExtension::read(task.metadata.as_ref()).expect("a report");
    let cost = report.cost.expect("a cost");
    assert_eq!((cost.amount.to_string().as_str(), cost.currency.as_str()), ("0.006", "EUR"));
    assert!(!report.incomplete);
}

#[tokio::test]
async fn no_call_is_made_beyond_a_budget() {
    let cases = [(Some(1_000), None), (None, Some("0.002")), (None, None)];
    for (tokens, cost) in cases {
        let model = ScriptedModel::new([turn(true), turn(false)]);
        let limits = AgentLimits::default().with_token_budget(tokens);
        let mut agent =
            ModelAgent::with_model(model.clone()).with_limits(limits).with_prices(prices());
        if let Some(cost) = cost {
            let budget = cost.parse().expect("an amount");
            agent = agent.with_cost_budget(budget).expect("a price");
        }
        let task = send(&engine(agent), text("work")).await;
        let is_limited = tokens.is_some() || cost.is_some();
        let calls = if is_limited { 1 } else { 2 };
        assert_eq!(model.requests().len(), calls, "{tokens:?} {cost:?}");
        let state = if is_limited { TaskState::Failed } else { TaskState::Completed };
        assert_eq!(task.state(), state);
        assert_eq!(task.status_text() == BUDGET, is_limited, "{}", task.status_text());
    }
}

#[tokio::test]
async fn message_that_alone_exceeds_the_budget_is_not_sent() {
    let model = ScriptedModel::new([turn(false)]);
    let limits = AgentLimits::default().with_token_budget(100);
    let agent = ModelAgent::with_model(model.clone()).with_limits(limits);
    let task = send(&engine(agent), text(&"x".repeat(400))).await;
    assert_eq!((task.status_text().as_str(), model.requests().len()), (BUDGET, 0));
}

#[test]
fn cost_budget_without_a_price_is_an_error() {
    let budget = Amount::from_nanos(1);
    let agent = || ModelAgent::with_model(ScriptedModel::new(["a"]));
    assert!(agent().with_prices(prices()).with_cost_budget(budget).is_ok());
    let error = agent().with_cost_budget(budget).expect_err("no price");
    assert!(matches!(error, SetupError::InvalidSetting { setting: "model.cost_budget", .. }));
}
