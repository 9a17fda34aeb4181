//! Isolation between owners and tenants: every operation, on every binding, in every revision, with
//! every store.

use a2a_tests::{backend::Backend, isolation};

/// Runs the suite with a store, if its servers are available.
async fn at(backend: Backend) {
    if backend.is_available().await {
        let answers = isolation::run(backend).await;
        assert!(answers > 1_000, "only {answers} responses");
    }
}

//
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_owners_see_nothing_in_memory() {
    at(Backend::Memory).await;
}

//
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_owners_see_nothing_in_sqlite() {
    at(Backend::Sqlite).await;
}

//
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_owners_see_nothing_in_postgres() {
    at(Backend::Postgres).await;
}

//
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_owners_see_nothing_on_another_node() {
    at(Backend::TwoNodesOnNats).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn missing_isolation_is_detected() {
    let deviations = isolation::run_without_callers(Backend::Memory).await;
    assert!(deviations > 200, "only {deviations} deviations");
}
