//! Calls that fail: retries, waits, timeouts, fallback models, and cancels.
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it expects, and panics where it does not get it"
)]

mod support;

use std::time::Duration;

use a2a_core::{TaskState, v1::CancelTaskRequest};
use a2a_kit_models::{
    AgentLimits, ModelAgent, ModelInfo,
    model::{Answer, ModelError, ModelErrorKind, ModelEvent, StopReason, ToolCall, Turn},
    testing::{ScriptedModel, ScriptedTurn},
};
use a2a_kit_operations::{Agent as _, Call, Engine, EventStream, extension::UsageExtension};
use futures_util::StreamExt as _;
use support::{engine, send, stream, text, turns};
use tokio::time::Instant;

fn after(kind: ModelErrorKind, seconds: u64) -> ScriptedTurn {
    let mut error = ModelError::new(kind);
    error.retry_after = Some(Duration::from_secs(seconds));
    error.into()
}

#[tokio::test(start_paused = true)]
async fn transient_failures_are_retried_three_times_and_others_end_the_task_at_once() {
    use ModelErrorKind::{
        Credentials, Cut, Quota, RateLimit, Rejected, Timeout, TooLong, Unavailable, UnknownModel,
    };
    let unavailable = "The model provider is unavailable (4 attempts)";
    let cases = [
        (RateLimit, 4, unavailable),
        (Unavailable, 4, unavailable),
        (Timeout, 4, unavailable),
        (Cut, 4, unavailable),
        (Credentials, 1, "The model provider refused the credentials of this agent"),
        (UnknownModel, 1, "The model of this agent is not available"),
        (Quota, 1, "The quota of this agent at its model provider is used up"),
        (TooLong, 1, "The conversation is too long for the model"),
        (Rejected, 1, "The model provider rejected the request (error "),
    ];
    for (kind, requests, expected) in cases {
        let model = ScriptedModel::new((0..4).map(|_| ScriptedTurn::error(kind)));
        let task = send(&engine(ModelAgent::with_model(model.clone())), text("go")).await;
        assert_eq!(
            (task.state(), model.requests().len()),
            (TaskState::Failed, requests),
            "{kind:?}"
        );
        assert!(task.status_text().starts_with(expected), "{kind:?}: {}", task.status_text());
    }
}

#[tokio::test(start_paused = true)]
async fn retry_waits_as_long_as_the_provider_asks_and_no_longer_than_the_limit() {
    let model = ScriptedModel::new([after(ModelErrorKind::RateLimit, 20), "Oslo".into()]);
    let engine_of = |model: &ScriptedModel| engine(ModelAgent::with_model(model.clone()));
    let begun = Instant::now();
    let task = send(&engine_of(&model), text("capital?")).await;
    let waited = begun.elapsed();
    assert_eq!((task.state(), task.text()), (TaskState::Completed, "Oslo".to_owned()));
    assert!((20..22).contains(&waited.as_secs()), "{waited:?}");

    let model = ScriptedModel::new([after(ModelErrorKind::RateLimit, 61), "Oslo".into()]);
    let task = send(&engine_of(&model), text("capital?")).await;
    let text = "The model provider is unavailable (1 attempt)";
    assert_eq!((task.state(), task.status_text()), (TaskState::Failed, text.to_owned()));
    assert_eq!(model.remaining(), 1);
}

#[tokio::test(start_paused = true)]
async fn waits_for_retries_do_not_count_toward_run_limits() {
    use a2a_kit_operations::{EngineConfig, RunLimits};
    let model = ScriptedModel::new([after(ModelErrorKind::Unavailable, 30), "Oslo".into()]);
    let limits = RunLimits::default().with_max_run_time(Duration::from_secs(10));
    let config = EngineConfig::default().with_run_limits(limits);
    let agent = ModelAgent::with_model(model);
    let engine = agent.builder(support::card()).config(config).build();
    let task = send(&engine, text("capital?")).await;
    assert_eq!(task.state(), TaskState::Completed, "{}", task.status_text());
}

#[tokio::test(start_paused = true)]
async fn call_with_all_its_attempts_ends_at_its_timeout() {
    let silent = ScriptedTurn::new().text("Oslo is ").forever();
    let model = ScriptedModel::new([ScriptedTurn::error(ModelErrorKind::Unavailable), silent]);
    let limits = AgentLimits::default().with_call_timeout(Duration::from_secs(30));
    let agent = ModelAgent::with_model(model.clone()).with_limits(limits);
    let begun = Instant::now();
    let task = send(&engine(agent), text("capital?")).await;
    let expected = "The model provider is unavailable (2 attempts)";
    assert_eq!((task.state(), task.status_text()), (TaskState::Failed, expected.to_owned()));
    assert_eq!(task.text(), "Oslo is ", "what has arrived is kept");
    assert_eq!((begun.elapsed().as_secs(), model.aborted()), (30, 1));
    let report = UsageExtension::read(task.metadata.as_ref()).expect("a report");
    assert!(report.incomplete);
}

#[tokio::test(start_paused = true)]
async fn conversation_that_is_too_long_is_asked_again_with_half_of_it() {
    let too_long = || ScriptedTurn::error(ModelErrorKind::TooLong);
    let script = ["1".into(), "2".into(), too_long(), "3".into(), too_long(), too_long()];
    let model = ScriptedModel::new(script);
    let engine = engine(ModelAgent::with_model(model.clone()));
    for question in ["one", "two", "three", "four"] {
        send(&engine, text(question)).await;
    }
    let requests = model.requests();
    assert_eq!(requests[2].turns.len(), 5);
    assert_eq!(turns(&requests[3]), ["user: two", "assistant: 2", "user: three"]);
    assert_eq!(requests.len(), 6, "a second time, the task fails");
}

#[tokio::test(start_paused = true)]
async fn next_model_answers_after_failures_that_it_may_not_have() {
    use ModelErrorKind::{Credentials, Quota, Rejected, TooLong, Unavailable, UnknownModel};
    let cases: [(ScriptedTurn, usize, bool); 7] = [
        (ScriptedTurn::error(Unavailable), 4, true),
        (ScriptedTurn::error(Credentials), 1, true),
        (ScriptedTurn::error(UnknownModel), 1, true),
        (ScriptedTurn::error(Quota), 1, true),
        (after(Unavailable, 61), 1, true),
        (ScriptedTurn::error(Rejected), 1, false),
        (ScriptedTurn::error(TooLong), 1, false),
    ];
    for (number, (turn, attempts, falls_back)) in cases.into_iter().enumerate() {
        let more = (0..3).map(|_| ScriptedTurn::error(Unavailable));
        let first = ScriptedModel::new([turn].into_iter().chain(more));
        let second = ScriptedModel::new(["Oslo"]);
        let agent = ModelAgent::with_model(first.clone()).with_fallback(second.clone());
        let task = send(&engine(agent), text("capital?")).await;
        let state = if falls_back { TaskState::Completed } else { TaskState::Failed };
        assert_eq!((task.state(), first.requests().len()), (state, attempts), "case {number}");
        assert_eq!(second.requests().len(), usize::from(falls_back), "case {number}");
    }
}

#[tokio::test(start_paused = true)]
async fn next_model_keeps_calls_and_results_but_not_opaque_parts_of_another_provider() {
    let named = |provider: &str| {
        let mut info = ModelInfo::default();
        info.provider = provider.to_owned();
        info
    };
    let call =
        ToolCall { id: "1".to_owned(), name: "shell".to_owned(), arguments: serde_json::json!({}) };
    let calls = ScriptedTurn::new()
        .event(ModelEvent::Opaque(serde_json::json!("signature")))
        .event(ModelEvent::ToolCall(call))
        .finish(StopReason::ToolCalls);
    let refused = ScriptedTurn::error(ModelErrorKind::Credentials);
    let first = ScriptedModel::with_info(named("one"), [calls, refused]);
    let second = ScriptedModel::with_info(named("two"), ["Oslo"]);
    let agent = ModelAgent::with_model(first.clone()).with_fallback(second.clone());
    send(&engine(agent), text("capital?")).await;
    let pieces = |model: &ScriptedModel, number: usize| match &model.requests()[number].turns[1] {
        Turn::Assistant(answer) => {
            answer.iter().map(|piece| matches!(piece, Answer::Opaque(_))).collect::<Vec<_>>()
        }
        other => panic!("not an answer: {other:?}"),
    };
    assert_eq!(pieces(&first, 1), [true, false]);
    assert_eq!(pieces(&second, 0), [false]);
    assert!(matches!(second.requests()[0].turns[2], Turn::ToolResults(_)));
}

async fn cancel(engine: &Engine, id: &str) -> TaskState {
    let request = CancelTaskRequest { id: id.to_owned(), ..Default::default() };
    engine.cancel_task(Call::new(request)).await.expect("a canceled task").response.state()
}

/// The id of the task of a stream, after a number of further events.
async fn after_events(events: &mut EventStream, number: usize) -> String {
    let mut id = String::new();
    for _ in 0..=number {
        let event = events.next().await.expect("an event").expect("an event");
        if let Some(task) = event.task() {
            id.clone_from(&task.id);
        }
    }
    id
}

#[tokio::test(start_paused = true)]
async fn cancel_aborts_the_request_wherever_it_is_and_keeps_what_has_arrived() {
    let before_the_head = || ScriptedTurn::new().forever();
    let in_the_body = || ScriptedTurn::new().text("Oslo is the ").forever();
    let in_a_wait = || after(ModelErrorKind::RateLimit, 50);
    let cases: [(ScriptedTurn, usize, &str, usize); 3] = [
        (before_the_head(), 1, "", 1),
        (in_the_body(), 2, "Oslo is the ", 1),
        (in_a_wait(), 1, "", 0),
    ];
    for (number, (turn, events, expected, aborted)) in cases.into_iter().enumerate() {
        let model = ScriptedModel::new([turn, "never".into()]);
        let engine = engine(ModelAgent::with_model(model.clone()));
        let mut stream = stream(&engine, text("capital?")).await;
        let id = after_events(&mut stream, events).await;
        let begun = Instant::now();
        assert_eq!(cancel(&engine, &id).await, TaskState::Canceled, "case {number}");
        assert!(begun.elapsed() < Duration::from_millis(250), "case {number}");
        assert_eq!((model.open(), model.aborted()), (0, aborted), "case {number}");
        let task = support::get(&engine, &id).await;
        assert_eq!(task.text(), expected, "case {number}");
        let report = UsageExtension::read(task.metadata.as_ref()).expect("a report");
        assert!(report.incomplete, "case {number}");
        tokio::time::advance(Duration::from_secs(120)).await;
        assert_eq!(model.requests().len(), 1, "case {number}: no request after the cancel");
    }
}

#[tokio::test(start_paused = true)]
async fn caller_that_goes_away_cancels_nothing() {
    let turn = ScriptedTurn::new()
        .text("Oslo is ")
        .pause(Duration::from_secs(5))
        .text("the capital")
        .finish(StopReason::End);
    let model = ScriptedModel::new([turn]);
    let engine = engine(ModelAgent::with_model(model));
    let mut events = stream(&engine, text("capital?")).await;
    let id = after_events(&mut events, 1).await;
    drop(events);
    tokio::time::sleep(Duration::from_secs(6)).await;
    let task = support::get(&engine, &id).await;
    let expected = (TaskState::Completed, "Oslo is the capital".to_owned());
    assert_eq!((task.state(), task.text()), expected);
}
