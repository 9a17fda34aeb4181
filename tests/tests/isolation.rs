//! What belongs to somebody is to everybody else as if it had never existed: every operation, on
//! every binding, in every revision, at every store.

use a2a_tests::{isolation, kept::Kept};

/// Runs the suite at a store, where the servers are there that it takes.
async fn at(kept: Kept) {
    if kept.is_there().await {
        let answers = isolation::run(kept).await;
        assert!(answers > 1_000, "{answers} answers are not all");
    }
}

//
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_memory_nothing_of_somebody_else_is_there() {
    at(Kept::Memory).await;
}

//
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_a_file_nothing_of_somebody_else_is_there() {
    at(Kept::Sqlite).await;
}

//
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_a_database_nothing_of_somebody_else_is_there() {
    at(Kept::Postgres).await;
}

//
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn at_another_node_nothing_of_somebody_else_is_there() {
    at(Kept::TwoNodesOnNats).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_kept_apart_is_noticed() {
    let deviations = isolation::run_without_callers(Kept::Memory).await;
    assert!(deviations > 200, "only {deviations} answers told too much");
}
