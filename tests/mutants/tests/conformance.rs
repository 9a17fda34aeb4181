//! The conformance checks on the faultless agent and on some mutants. `cargo xtask mutants` runs
//! them on all mutants.
#![allow(clippy::unwrap_used, reason = "a failed setup fails the test")]

use std::collections::BTreeSet;

use a2a_kit_conformance::{Conformance, Credential, Prompts, Report};
use a2a_kit_lint::Severity;
use a2a_test_mutants::{TOKENS, find, start};

async fn report(name: &str) -> Report {
    let agent = start(find(name)).await.unwrap();
    let [first, second] = TOKENS.map(|token| vec![Credential::Bearer(token.to_owned())]);
    let checks = Conformance::builder()
        .with_level(Severity::Info)
        .with_prompts(Prompts::demo())
        .with_credentials(first)
        .with_second_credentials(second);
    checks.run(&agent.url(), |_| {}).await.unwrap()
}

/// The broken requirement is reported, and besides it only what the table lists.
async fn is_named_rightly(name: &str) {
    let mutant = find(name).unwrap();
    let report = report(name).await;
    let failed: BTreeSet<_> = report.failures().map(|check| check.rule.id).collect();
    assert!(failed.contains(mutant.requirement), "{name}: {failed:?}\n{}", report.to_text());
    let expected = mutant.also.iter().copied().chain([mutant.requirement]).collect();
    let unexpected: Vec<_> = failed.difference(&expected).collect();
    assert!(unexpected.is_empty(), "{name}: {unexpected:?}\n{}", report.to_text());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn faultless_agent_has_no_findings() {
    let report = report("none").await;
    assert!(report.is_conformant(), "{}", report.to_text());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fault_of_the_card_is_named() {
    is_named_rightly("card-without-version").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fault_of_an_operation_is_named() {
    is_named_rightly("ended-task-is-canceled").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn visible_tasks_of_other_callers_are_named() {
    is_named_rightly("tasks-of-others-are-visible").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fault_of_a_stream_is_named() {
    is_named_rightly("chunks-are-swapped").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fault_of_grpc_is_named() {
    is_named_rightly("grpc-wrong-status").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fault_of_0_3_is_named() {
    is_named_rightly("0.3-stream-without-final").await;
}
