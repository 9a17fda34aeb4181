//! Load tests from a Rust program.
#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::time::Duration;

use a2a_kit_bench::{
    Amount, Baseline, BaselineError, BenchSettings, Load, Operation, Stop, Target,
};
use a2a_kit_client::Client;
use a2a_kit_script::Script;

/// A client of an agent in this process.
fn client() -> Client {
    let script = "[default]\nsteps = [{ state = \"completed\", text = \"{text}\" }]";
    let script = Script::parse("echo.toml", script).unwrap();
    Client::from_agent(script.engine(), script.card())
}

fn settings(warmup: u64) -> BenchSettings {
    let load = Load::new(Amount::Requests(20)).with_warmup(warmup);
    BenchSettings::new(Operation::Send, 64, &load)
}

#[tokio::test]
async fn each_operation_of_an_agent_is_measured_in_the_same_process() {
    for operation in [Operation::Send, Operation::Stream, Operation::Get, Operation::List] {
        let target = Target::from(client()).with_operation(operation).prepare().await.unwrap();
        let load = Load::new(Amount::Requests(20)).with_concurrency(4).with_warmup(2);
        let summary = load.run(target, &Stop::default()).await;
        assert_eq!((summary.requests, summary.errors), (20, 0), "{operation:?}");
        assert!(summary.bytes_sent > 0 || operation == Operation::List, "{operation:?}");
        assert!(summary.latency(0.5) <= summary.latency(0.99));
        let is_stream = operation == Operation::Stream;
        assert_eq!(summary.first_event(0.5) > Duration::ZERO, is_stream, "{operation:?}");
    }
}

#[tokio::test]
async fn stopped_run_ends_without_requests() {
    let stop = Stop::default();
    stop.stop();
    let target = Target::from(client()).prepare().await.unwrap();
    let summary = Load::new(Amount::Requests(u64::MAX)).run(target, &stop).await;
    assert!(stop.is_stopped());
    assert_eq!((summary.requests, summary.error_percent()), (0, 100.0));
}

#[tokio::test]
async fn figures_worse_than_the_baseline_are_regressions() {
    let target = Target::from(client()).prepare().await.unwrap();
    let summary = Load::new(Amount::Requests(20)).run(target, &Stop::default()).await;
    let summaries = [summary];
    let summary = &summaries[0];
    let report = |factor: f64| {
        let mut result = summary.json();
        result["requestsPerSecond"] = (summary.requests_per_second() * factor).into();
        serde_json::json!({ "settings": settings(0), "results": [result] }).to_string()
    };
    let same = Baseline::read(&report(1.0), &settings(0)).unwrap();
    assert!(same.compare(&summaries, 1.0).is_empty());
    let faster = Baseline::read(&report(2.0), &settings(0)).unwrap();
    let regressions = faster.compare(&summaries, 1.0);
    assert_eq!(regressions.len(), 1);
    assert_eq!(regressions[0].metric, "requestsPerSecond");
    let other = settings(1);
    let error = Baseline::read(&report(1.0), &other).unwrap_err();
    assert!(matches!(error, BaselineError::OtherSettings { .. }), "{error}");
    assert!(matches!(Baseline::read("{}", &other), Err(BaselineError::Malformed(_))));
}
