//! Pages are index scans, however many tasks there are.

use std::time::{Duration, Instant};

use a2a_core::{TaskState, well_known::Timestamp};
use a2a_kit_operations::{
    Scope,
    store::{PageKey, TaskQuery, TaskStore as _},
};
use a2a_kit_store::postgres::PostgresStore;
use a2a_kit_store_testing::store::fixtures::{query, scope};
use tokio_postgres::Client;

use super::fixtures::{Schema, asked};

/// Inserts tasks directly: the second half of them in one context.
async fn fill(client: &Client, count: i32) {
    let fill = format!(
        "INSERT INTO tasks (id, tenant, owner, context_id, state, millis, version, epoch, last_event) \
         SELECT 't' || lpad(n::text, 8, '0'), '', 'ann', \
             CASE WHEN n % 2 = 0 THEN 'big' ELSE 'c' || n / 10 END, \
             CASE WHEN n % 1000 = 1 THEN 6 ELSE 3 END, n, 1, 1, 1 \
         FROM generate_series(1, {count}) n; \
         INSERT INTO bodies (task, position, snapshot) \
         SELECT key, 1, '\\x000a0174'::bytea FROM tasks; \
         INSERT INTO totals SELECT tenant, owner, true, '', 0, 0, 0, 0, \
             count(*) FILTER (WHERE state = 3), 0, 0, count(*) FILTER (WHERE state = 6), 0, 0 \
             FROM tasks GROUP BY 1, 2; \
         INSERT INTO totals SELECT tenant, owner, false, context_id, 0, 0, 0, 0, \
             count(*) FILTER (WHERE state = 3), 0, 0, count(*) FILTER (WHERE state = 6), 0, 0 \
             FROM tasks GROUP BY 1, 2, 4; \
         ANALYZE tasks; ANALYZE bodies; ANALYZE totals"
    );
    client.batch_execute(&fill).await.unwrap();
}

fn queries(count: i64) -> Vec<(&'static str, TaskQuery)> {
    let after = |millis| Some(PageKey::new(millis, "t"));
    let big = || Some("big".to_owned());
    let state = Some(TaskState::InputRequired);
    let middle = |query: &mut TaskQuery| query.after = after(count / 2);
    let since = Some(Timestamp::from_millis(count - 100));
    vec![
        ("all", query(50)),
        ("all, in the middle", asked(50, middle)),
        ("a context", asked(50, |query| query.context_id = big())),
        (
            "a context, in the middle",
            asked(50, |query| {
                query.context_id = big();
                middle(query);
            }),
        ),
        ("a state", asked(50, |query| query.state = state)),
        (
            "a context and a state",
            asked(50, |query| (query.context_id, query.state) = (big(), state)),
        ),
        ("since", asked(50, |query| query.since = since)),
    ]
}

async fn fastest(store: &PostgresStore, scope: &Scope, query: &TaskQuery) -> Duration {
    let mut fastest = Duration::MAX;
    for _ in 0..15 {
        let start = Instant::now();
        store.list(scope, query).await.unwrap();
        fastest = fastest.min(start.elapsed());
    }
    fastest
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn page_latency_is_independent_of_the_number_of_tasks() {
    const FEW: i32 = 1_000;
    const MANY: i32 = 100_000;
    let (Ok(few), Ok(many)) = (Schema::new().await, Schema::new().await) else { return };
    let scope = scope("ann");
    let (small, large) = (few.open().await, many.open().await);
    fill(&few.client().await, FEW).await;
    fill(&many.client().await, MANY).await;
    let all = small.list(&scope, &query(50)).await.unwrap();
    assert_eq!((all.total, all.tasks.len(), all.has_more), (1_000, 50, true));
    let queries = queries(FEW.into()).into_iter().zip(queries(MANY.into()));
    for ((name, of_few), (_, of_many)) in queries {
        let of_few = fastest(&small, &scope, &of_few).await;
        let of_many = fastest(&large, &scope, &of_many).await;
        assert!(of_many < 5 * of_few, "{name}: {of_few:?} of {FEW}, {of_many:?} of {MANY}");
    }
}
