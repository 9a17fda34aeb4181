//! Calls in progress at a provider: how many, whose is next, and waits that the provider wants.
#![allow(clippy::expect_used, reason = "a test says what it expects")]

mod support;

use std::time::Duration;

use a2a_core::{TaskState, v1::CancelTaskRequest};
use a2a_kit_models::{
    AgentLimits, Memory, ModelAgent, ModelInfo,
    model::{ModelError, ModelErrorKind, StopReason, Usage},
    testing::{ScriptedModel, ScriptedTurn},
};
use a2a_kit_operations::{Agent as _, Call, Caller, Engine, EngineConfig, EventStream, RunLimits};
use futures_util::StreamExt as _;
use support::{engine, stream, text, turns};
use tokio::time::sleep;

/// An answer that takes a second.
fn slow() -> ScriptedTurn {
    ScriptedTurn::new()
        .pause(Duration::from_secs(1))
        .text("Oslo")
        .usage(Usage::default())
        .finish(StopReason::End)
}

fn agent(model: &ScriptedModel, concurrency: usize) -> ModelAgent {
    let limits = AgentLimits::default().with_concurrency(concurrency);
    ModelAgent::with_model(model.clone()).with_limits(limits)
}

/// A message of a caller, whose name is the text.
async fn ask(engine: &Engine, caller: &str) -> EventStream {
    let mut call = text(caller);
    call.context.caller = Caller::authenticated(caller);
    stream(engine, call).await
}

/// The texts of the last messages of the requests so far.
fn asked(model: &ScriptedModel) -> Vec<String> {
    model.requests().iter().filter_map(|request| turns(request).pop()).collect()
}

async fn state(stream: &mut EventStream) -> TaskState {
    support::chunks(stream).await.1
}

#[tokio::test(start_paused = true)]
async fn caller_with_many_tasks_delays_the_call_of_another_by_one_call_at_most() {
    let model = ScriptedModel::new((0..41).map(|_| slow()));
    let engine = engine(agent(&model, 4).with_memory(Memory::task()));
    let mut streams = Vec::new();
    for _ in 0..40 {
        streams.push(ask(&engine, "ann").await);
    }
    streams.push(ask(&engine, "bob").await);
    sleep(Duration::from_millis(500)).await;
    assert_eq!((model.open(), model.requests().len()), (4, 4));
    sleep(Duration::from_secs(1)).await;
    assert_eq!((model.open(), model.requests().len()), (4, 8));
    let next = &asked(&model)[4..6];
    assert!(next.contains(&"user: bob".to_owned()), "{next:?}");
    for stream in &mut streams {
        assert_eq!(state(stream).await, TaskState::Completed);
    }
}

#[tokio::test(start_paused = true)]
async fn waits_for_a_turn_count_toward_no_limit_of_time() {
    let model = ScriptedModel::new((0..8).map(|_| slow()));
    let limits =
        AgentLimits::default().with_concurrency(1).with_call_timeout(Duration::from_secs(2));
    let agent = ModelAgent::with_model(model).with_limits(limits);
    let limits = RunLimits::default().with_max_run_time(Duration::from_secs(2));
    let config = EngineConfig::default().with_run_limits(limits);
    let engine = agent.builder(support::card()).config(config).build();
    let mut streams = Vec::new();
    for _ in 0..8 {
        streams.push(ask(&engine, "ann").await);
    }
    for stream in &mut streams {
        assert_eq!(state(stream).await, TaskState::Completed);
    }
}

#[tokio::test(start_paused = true)]
async fn wait_that_a_provider_wants_holds_for_all_agents_that_call_it() {
    let mut limited = ModelError::new(ModelErrorKind::RateLimit);
    limited.retry_after = Some(Duration::from_secs(2));
    let of = |turns: [ScriptedTurn; 2], port| {
        let mut info = ModelInfo::default();
        info.provider = "gate".to_owned();
        info.server = Some(("models.example".to_owned(), port));
        ScriptedModel::with_info(info, turns)
    };
    let refuses = of([ScriptedTurn::new().fail(limited), slow()], 1);
    let same = of([slow(), slow()], 1);
    let other = of([slow(), slow()], 2);
    let [refuses_engine, same_engine, other_engine] =
        [&refuses, &same, &other].map(|model| engine(agent(model, 16)));
    let mut first = ask(&refuses_engine, "ann").await;
    sleep(Duration::from_millis(10)).await;
    assert_eq!(refuses.requests().len(), 1);
    let mut second = ask(&same_engine, "ann").await;
    let mut third = ask(&other_engine, "ann").await;
    sleep(Duration::from_millis(1_900)).await;
    let counts = || [&refuses, &same, &other].map(|model| model.requests().len());
    assert_eq!(counts(), [1, 0, 1]);
    sleep(Duration::from_millis(200)).await;
    assert_eq!(counts(), [2, 1, 1]);
    for stream in [&mut first, &mut second, &mut third] {
        assert_eq!(state(stream).await, TaskState::Completed);
    }
}

#[tokio::test(start_paused = true)]
async fn cancel_ends_a_task_that_waits_for_its_turn() {
    let model = ScriptedModel::new([slow(), slow()]);
    let engine = engine(agent(&model, 1));
    let mut first = ask(&engine, "ann").await;
    let mut second = ask(&engine, "ann").await;
    let event = second.next().await.expect("an event").expect("a task");
    let id = event.task_id().expect("an id").to_owned();
    let request = CancelTaskRequest { id, ..Default::default() };
    let mut call = Call::new(request);
    call.context.caller = Caller::authenticated("ann");
    let task = engine.cancel_task(call).await.expect("a task").response;
    assert_eq!((task.state(), model.requests().len()), (TaskState::Canceled, 1));
    assert_eq!(state(&mut first).await, TaskState::Completed);
    let mut third = ask(&engine, "ann").await;
    assert_eq!(state(&mut third).await, TaskState::Completed, "the slot is free");
}
