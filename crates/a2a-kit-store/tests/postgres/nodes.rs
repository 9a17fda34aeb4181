//! Nodes sharing a database.

use std::{sync::Arc, time::Duration};

use a2a_core::TaskState;
use a2a_kit_operations::{
    Scope,
    store::{
        Acquired, LeaseStore as _, LeaseUpdate, PushStore as _, Signal, Signals, StoreError, Sweep,
        TaskStore as _,
    },
};
use a2a_kit_store::{
    SecretKey, SecretKeys,
    postgres::{PostgresConfig, PostgresStore},
};
use a2a_kit_store_testing::store::fixtures::{
    chunk, get, hooked, insert, insert_held, list, post, push, query, scope, task, transition,
    webhook,
};
use futures_util::StreamExt as _;
use tokio::time::timeout;

use super::fixtures::{Schema, asked};

const TIMEOUT: Duration = Duration::from_secs(20);

async fn next(signals: &mut Signals) -> Signal {
    timeout(TIMEOUT, signals.next()).await.unwrap().unwrap()
}

async fn written(signals: &mut Signals, id: &str, last: u64) {
    match next(signals).await {
        Signal::Written { task_id, last_event, .. } => {
            assert_eq!((&*task_id, last_event.get()), (id, last));
        }
        other => panic!("{other:?} came for {id} at {last}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_receive_signals_of_others_only() {
    let Ok(schema) = Schema::new().await else { return };
    let (one, two, scope) = (schema.open().await, schema.open().await, scope("ann"));
    let (mut from_two, mut from_one) = (one.signals().unwrap(), two.signals().unwrap());
    assert!(one.signals().is_none(), "signals are asked for once");
    insert_held(&one, &scope, "t", b"work").await;
    written(&mut from_one, "t", 1).await;
    one.commit(&scope, transition("t", 1, 1, vec![chunk(2, "t", "x")])).await.unwrap();
    written(&mut from_one, "t", 2).await;
    assert!(post(&two, &scope, "t", "ask").await);
    let heard = next(&mut from_two).await;
    assert!(matches!(&heard, Signal::Posted { task_id } if &**task_id == "t"), "{heard:?}");
    let answering = transition("t", 2, 1, vec![chunk(3, "t", "y")])
        .with_answers([("ask".into(), "done".into())]);
    one.commit(&scope, answering).await.unwrap();
    written(&mut from_one, "t", 3).await;
    let heard = next(&mut from_one).await;
    assert!(matches!(&heard, Signal::Answered { command_id } if &**command_id == "ask"));
    assert_eq!(two.read_answer("ask").await.unwrap().as_deref(), Some(&b"done"[..]));
    one.abandon("t", 1).await.unwrap();
    assert!(matches!(next(&mut from_one).await, Signal::Abandoned));
    assert_eq!(two.take_over(5).await.unwrap().len(), 1);
    written(&mut from_two, "t", 3).await;
    assert!(two.release("t", 2).await.unwrap());
    written(&mut from_two, "t", 3).await;
    assert!(matches!(two.acquire(&scope, "t").await.unwrap(), Some(Acquired::Here(_))));
    written(&mut from_two, "t", 3).await;
    insert(&one, &scope, &task("u", "c", TaskState::Working, 5)).await;
    written(&mut from_one, "u", 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn node_past_its_lease_cannot_write() {
    let Ok(schema) = Schema::new().await else { return };
    let config = PostgresConfig::default().with_lease(Duration::from_millis(1));
    let (one, two) = (schema.open_with(config).await, schema.open().await);
    let scope = scope("ann");
    insert_held(&one, &scope, "t", b"work").await;
    let orphans = loop {
        let orphans = two.take_over(5).await.unwrap();
        if !orphans.is_empty() {
            break orphans;
        }
    };
    assert_eq!((&orphans[0].checkpoint[..], orphans[0].checkpoint_epoch), (&b"work"[..], 1));
    assert_eq!(orphans[0].stored.epoch, 2);
    let late = one.commit(&scope, transition("t", 1, 1, vec![chunk(2, "t", "late")])).await;
    assert!(matches!(late, Err(StoreError::Conflict { .. })), "{late:?}");
    one.renew(&[("t".into(), 1)]).await.unwrap();
    assert!(one.take_over(5).await.unwrap().is_empty(), "a renewal under an old epoch is nothing");
    let elsewhere = one.acquire(&scope, "t").await.unwrap();
    assert!(matches!(elsewhere, Some(Acquired::Elsewhere(_))), "{elsewhere:?}");
    assert!(one.release("t", 1).await.unwrap());
    two.commit(&scope, transition("t", 1, 2, vec![chunk(2, "t", "x")])).await.unwrap();
    assert_eq!(get(&one, &scope, "t").await.version, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_acquires_of_many_nodes_have_one_winner() {
    let Ok(schema) = Schema::new().await else { return };
    let mut nodes = Vec::new();
    for _ in 0..4 {
        nodes.push(Arc::new(schema.open().await));
    }
    let scope = scope("ann");
    for round in 0..20 {
        let id = format!("t{round}");
        insert(&*nodes[0], &scope, &task(&id, "c", TaskState::Working, 5)).await;
        let reach = |node: &Arc<PostgresStore>| {
            let (node, scope, id) = (Arc::clone(node), scope.clone(), id.clone());
            tokio::spawn(async move { node.acquire(&scope, &id).await.unwrap().unwrap() })
        };
        let mut here = 0;
        for reached in nodes.iter().map(reach).collect::<Vec<_>>() {
            here += usize::from(matches!(reached.await.unwrap(), Acquired::Here(_)));
        }
        assert_eq!(here, 1, "round {round}");
    }
    for node in &nodes {
        node.abandon("t0", 2).await.unwrap();
    }
    let take = |node: &Arc<PostgresStore>| {
        let node = Arc::clone(node);
        tokio::spawn(async move { node.take_over(50).await.unwrap().len() })
    };
    let mut taken = 0;
    for count in nodes.iter().map(take).collect::<Vec<_>>() {
        taken += count.await.unwrap();
    }
    assert_eq!(taken, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn totals_are_exact_with_many_writers_and_after_merging() {
    let Ok(schema) = Schema::new().await else { return };
    let nodes = [Arc::new(schema.open().await), Arc::new(schema.open().await)];
    let scope = scope("ann");
    let work = (0..300_i64).map(|number| {
        let node = Arc::clone(&nodes[usize::from(number % 2 == 0)]);
        let scope = scope.clone();
        tokio::spawn(async move {
            let (id, context) = (format!("t{number}"), format!("c{}", number % 7));
            insert(&*node, &scope, &task(&id, &context, TaskState::Submitted, number)).await;
            let ended = task(&id, &context, TaskState::Completed, number);
            let ended =
                transition(&id, 1, 1, vec![chunk(2, &id, "x")]).with_snapshot(Arc::new(ended));
            node.commit(&scope, ended).await.unwrap();
        })
    });
    for work in work.collect::<Vec<_>>() {
        work.await.unwrap();
    }
    let count = async |state, context: Option<&str>| {
        let query = asked(1, |query| {
            (query.state, query.context_id) = (state, context.map(Into::into));
        });
        list(&*nodes[0], &scope, &query).await.total
    };
    let completed = Some(TaskState::Completed);
    for _ in 0..2 {
        assert_eq!(count(None, None).await, 300);
        assert_eq!(count(completed, None).await, 300);
        assert_eq!(count(Some(TaskState::Submitted), None).await, 0);
        assert_eq!(count(completed, Some("c3")).await, 43);
        nodes[1].sweep(Sweep::default()).await.unwrap();
    }
    let mut sweep = Sweep::default();
    sweep.tasks = Some(Duration::ZERO);
    assert_eq!(nodes[1].sweep(sweep).await.unwrap().len(), 300);
    assert_eq!(count(None, None).await, 0);
    assert_eq!(count(completed, Some("c3")).await, 0);
    let client = schema.client().await;
    let left = client.query_one("SELECT count(*) FROM totals WHERE NOT whole", &[]).await.unwrap();
    assert_eq!(left.get::<_, i64>(0), 0, "counts of contexts that are gone are gone");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn webhook_added_during_writes_gets_all_later_events() {
    let Ok(schema) = Schema::new().await else { return };
    let (one, two) = (Arc::new(schema.open().await), schema.open().await);
    let scope = scope("ann");
    for round in 0..30 {
        let id = format!("t{round}");
        insert(&*one, &scope, &task(&id, "c", TaskState::Working, 5)).await;
        let writer = {
            let (one, scope, id) = (Arc::clone(&one), scope.clone(), id.clone());
            tokio::spawn(async move {
                for _ in 0..5 {
                    push(&*one, &scope, &id).await;
                }
            })
        };
        two.put_config(&scope, webhook(&id, "hook")).await.unwrap();
        let seen = get(&two, &scope, &id).await.last_event.get();
        writer.await.unwrap();
        let due = two.claim_deliveries(10).await.unwrap().deliveries;
        // Events stored after the webhook are complete, without a gap to the last.
        let first = due.first().map_or(7, |due| due.events[0].id().unwrap().get());
        assert!(first <= seen + 1, "round {round}: {first} is the first, {seen} were there");
        for due in due {
            let events = due.events.iter().map(|event| event.id().unwrap().get());
            assert_eq!(events.collect::<Vec<_>>(), (first..=6).collect::<Vec<_>>());
        }
        two.delete_config(&scope, &id, "hook").await.unwrap();
    }
}

//
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn webhook_secrets_are_encrypted_in_the_database() {
    let Ok(schema) = Schema::new().await else { return };
    let keys = SecretKeys::new([SecretKey::from_bytes([7; 32])]);
    let store = schema.open_with(PostgresConfig::default().with_secret_keys(keys)).await;
    let scope = scope("ann");
    store.insert(&scope, hooked("t", &["hook"])).await.unwrap();
    assert_eq!(store.configs(&scope, "t").await.unwrap(), [webhook("t", "hook")]);
    let client = schema.client().await;
    let body = client.query_one("SELECT body FROM webhooks", &[]).await.unwrap();
    let body: &[u8] = body.get(0);
    assert!(!body.windows(6).any(|bytes| bytes == b"secret"));
    let without = schema.open().await;
    assert!(without.configs(&scope, "t").await.is_err(), "without the key nothing is read");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn texts_too_long_for_an_index_are_stored() {
    let Ok(schema) = Schema::new().await else { return };
    let (store, scope) = (schema.open().await, scope("ann"));
    let contexts = ["x".repeat(100_000), "a\0b".into(), "'; DROP TABLE tasks; --".into()];
    for (number, context) in contexts.iter().enumerate() {
        let task = task(&format!("t{number}"), context, TaskState::Working, 5);
        insert(&store, &scope, &task).await;
        let query = asked(5, |query| query.context_id = Some(context.clone()));
        let page = list(&store, &scope, &query).await;
        assert_eq!((page.total, &*page.tasks[0]), (1, &task));
        assert!(matches!(
            store.claim_key(&scope, context, u64::MAX, "t").await.unwrap(),
            a2a_kit_operations::store::Claim::New
        ));
        let id = format!("t{number}");
        store.put_config(&scope, webhook(&id, context)).await.unwrap();
        assert_eq!(store.configs(&scope, &id).await.unwrap(), [webhook(&id, context)]);
        push(&store, &scope, &id).await;
        let due = store.claim_deliveries(1).await.unwrap().deliveries;
        assert_eq!(&*due[0].key.config_id, context);
        let dead = a2a_kit_operations::store::DeliveryOutcome::DeadLetter {
            event: due[0].events[0].id().unwrap(),
            error: "a\0b".into(),
        };
        assert!(!store.record_delivery(&due[0].key, dead).await.unwrap());
    }
    assert!(store.get(&scope, "a\0b").await.unwrap().is_none());
    let strange = Scope { tenant: "\0".into(), owner: "y".repeat(10_000).into() };
    assert!(store.get(&strange, "t0").await.unwrap().is_none());
    assert_eq!(list(&store, &strange, &query(1)).await.total, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn releasing_commit_leaves_no_lease() {
    let Ok(schema) = Schema::new().await else { return };
    let (store, scope) = (schema.open().await, scope("ann"));
    insert_held(&store, &scope, "t", b"work").await;
    let last = transition("t", 1, 1, Vec::new()).with_lease(LeaseUpdate::Release);
    store.commit(&scope, last).await.unwrap();
    let client = schema.client().await;
    let leases = client.query_one("SELECT count(*) FROM leases", &[]).await.unwrap();
    assert_eq!(leases.get::<_, i64>(0), 0);
}
