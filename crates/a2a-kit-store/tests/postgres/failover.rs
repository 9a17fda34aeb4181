//! Sessions that became read-only, as those of a demoted primary do, and writes that fail.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use a2a_core::TaskState;
use a2a_kit_operations::{
    Store,
    store::{LeaseStore as _, PushStore as _, Signal, StoreError, TaskStore as _},
};
use a2a_kit_store_testing::store::fixtures::{
    chunk, command, get, insert, insert_held, new_task, scope, task, transition, webhook,
};
use a2a_test_servers::Private;
use futures_util::{StreamExt as _, future::join_all};
use tokio::time::{Instant, sleep, timeout};
use tokio_postgres::Client;

use super::fixtures::Schema;

const TIMEOUT: Duration = Duration::from_secs(20);

/// Lets new sessions be read-only, and ends the present ones.
async fn demote(client: &Client) {
    let database: String = client.query_one("SELECT current_database()", &[]).await.unwrap().get(0);
    let alter = format!("ALTER DATABASE {database} SET default_transaction_read_only = on");
    client.batch_execute(&alter).await.unwrap();
    terminate(client).await;
}

/// Ends the sessions of the stores.
async fn terminate(client: &Client) {
    let terminate = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
        WHERE datname = current_database() AND pid <> pg_backend_pid()";
    client.batch_execute(terminate).await.unwrap();
}

/// Lets new sessions be writable.
async fn promote(client: &Client) {
    let database: String = client.query_one("SELECT current_database()", &[]).await.unwrap().get(0);
    let alter = format!("ALTER DATABASE {database} RESET default_transaction_read_only");
    client.batch_execute(&alter).await.unwrap();
}

fn new(id: &str) -> a2a_kit_operations::store::NewTask {
    new_task(&task(id, "c", TaskState::Working, 5))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn read_only_sessions_are_replaced_once_new_ones_are_writable() {
    let Ok(schema) = Schema::alone().await else { return };
    let (store, other) = (Arc::new(schema.open().await), schema.open().await);
    let (client, scope) = (schema.client().await, scope("ann"));
    let mut signals = other.signals().unwrap();
    insert_held(&*store, &scope, "t", b"work").await;
    store.probe().await.expect("writes succeed");

    demote(&client).await;
    let write = |id: String| {
        let (store, scope) = (Arc::clone(&store), scope.clone());
        tokio::spawn(async move {
            let inserted = store.insert(&scope, new(&id)).await;
            let claimed = store.claim_key(&scope, &id, 1, &id).await;
            (inserted.map(|_| ()), claimed.map(|_| ()))
        })
    };
    let failed = join_all((0..20).map(|number| write(format!("failed {number}")))).await;
    for result in failed {
        let (inserted, claimed) = result.unwrap();
        assert!(matches!(inserted, Err(StoreError::Failed(_))), "{inserted:?}");
        assert!(matches!(claimed, Err(StoreError::Failed(_))), "{claimed:?}");
    }
    for _ in 0..3 {
        let probed = store.probe().await;
        assert!(matches!(probed, Err(StoreError::Unwritable(_))), "{probed:?}");
        assert_eq!(get(&*store, &scope, "t").await.version, 1, "reads go on");
    }

    promote(&client).await;
    // Each of these may reach another session.
    for number in 0..20 {
        let id = format!("written {number}");
        let (inserted, claimed) = write(id.clone()).await.unwrap();
        inserted.expect("a writable session");
        claimed.expect("a writable session");
        assert!(store.renew(&[("t".into(), 1)]).await.expect("a writable session").is_empty());
        store.put_config(&scope, webhook("t", &id)).await.expect("a writable session");
        store.post_command(&scope, "t", command(&id)).await.expect("a writable session");
        store.claim_deliveries(1).await.expect("a writable session");
        store.take_over(1).await.expect("a writable session");
    }
    store.probe().await.expect("writes succeed");
    // The listener of the other node does not wait at a demoted primary.
    let heard = async {
        let mut number = 0;
        loop {
            number += 1;
            insert(&*store, &scope, &task(&format!("told {number}"), "c", TaskState::Working, 5))
                .await;
            let told = |signal: &Signal| matches!(signal, Signal::Written { task_id, .. } if task_id.starts_with("told"));
            while let Ok(Some(signal)) = timeout(Duration::from_millis(200), signals.next()).await {
                if told(&signal) {
                    return;
                }
            }
        }
    };
    timeout(TIMEOUT, heard).await.expect("the node is signalled");
}

/// Each write of a session that is terminated while it is idle is repeated over a new one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_of_terminated_sessions_are_repeated() {
    let Ok(schema) = Schema::alone().await else { return };
    let (store, client, scope) = (schema.open().await, schema.client().await, scope("ann"));
    insert_held(&store, &scope, "t", b"work").await;
    for version in 1..6 {
        terminate(&client).await;
        let commit = transition("t", version, 1, vec![chunk(version + 1, "t", "x")]);
        store.commit(&scope, commit).await.expect("a new session");
        assert!(store.renew(&[("t".into(), 1)]).await.expect("a new session").is_empty());
        store.put_config(&scope, webhook("t", "a")).await.expect("a new session");
    }
    assert_eq!(get(&store, &scope, "t").await.version, 6);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn locked_table_is_unwritable_until_it_is_unlocked() {
    let Ok(schema) = Schema::alone().await else { return };
    let (store, scope) = (Arc::new(schema.open().await), scope("ann"));
    let client = schema.client().await;
    insert(&*store, &scope, &task("t", "c", TaskState::Working, 5)).await;
    client.batch_execute("BEGIN; LOCK TABLE events IN EXCLUSIVE MODE").await.unwrap();
    let begun = Instant::now();
    let inserts = (0..10).map(|number| {
        let (store, scope) = (Arc::clone(&store), scope.clone());
        tokio::spawn(async move { store.insert(&scope, new(&format!("n{number}"))).await })
    });
    for inserted in join_all(inserts).await {
        let inserted = inserted.unwrap();
        assert!(matches!(inserted, Err(StoreError::Unwritable(_))), "{inserted:?}");
    }
    assert!(begun.elapsed() < Duration::from_secs(16), "{:?}", begun.elapsed());
    let probed = timeout(Duration::from_secs(1), store.probe()).await;
    assert!(!matches!(probed, Ok(Ok(()))), "{probed:?}");
    client.batch_execute("ROLLBACK").await.unwrap();
    let ready = async {
        while store.probe().await.is_err() {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(TIMEOUT, ready).await.expect("writes succeed again");
    insert(&*store, &scope, &task("u", "c", TaskState::Working, 5)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn value_that_the_database_rejects_is_never_tried_again() {
    let Ok(schema) = Schema::alone().await else { return };
    let (store, client, scope) = (schema.open().await, schema.client().await, scope("ann"));
    // As if a later version had a longer index.
    client
        .batch_execute("CREATE INDEX too_long ON tasks ((repeat(context_id, 4000)))")
        .await
        .unwrap();
    let long: String = ('a'..='z').cycle().step_by(7).take(300).collect();
    let rejected = store.insert(&scope, new_task(&task("t", &long, TaskState::Working, 5))).await;
    assert!(matches!(rejected, Err(StoreError::Rejected(_))), "{rejected:?}");
    let error = a2a_core::Error::from(rejected.unwrap_err());
    assert!(!error.is_transient(), "{error:?}");
    store.probe().await.expect("other writes succeed");
    let store: &dyn Store = &store;
    let impossible = a2a_kit_operations::Scope { tenant: "\0".into(), owner: "ann".into() };
    let rejected = store.insert(&impossible, new("u")).await;
    assert!(matches!(rejected, Err(StoreError::Rejected(_))), "{rejected:?}");
}

/// The sessions of the stores.
async fn sessions(client: &Client) -> BTreeSet<i32> {
    let sessions = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() \
        AND pid <> pg_backend_pid() AND backend_type = 'client backend'";
    client.query(sessions, &[]).await.unwrap().iter().map(|row| row.get(0)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn read_over_a_session_that_became_read_only_is_repeated_over_a_new_one() {
    let Ok(server) = Private::postgres(&[]).await else { return };
    let schema = Schema::of(&server);
    // The server tells its newest session first that its configuration changed.
    let client = schema.client().await;
    let (store, scope) = (schema.open().await, scope("ann"));
    insert_held(&store, &scope, "t", b"work").await;
    get(&store, &scope, "t").await;
    let before = sessions(&client).await;
    client.batch_execute("ALTER SYSTEM SET default_transaction_read_only = on").await.unwrap();
    client.batch_execute("SELECT pg_reload_conf()").await.unwrap();
    let is_loaded = async {
        let show = "SELECT current_setting('default_transaction_read_only')";
        while client.query_one(show, &[]).await.unwrap().get::<_, String>(0) != "on" {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(TIMEOUT, is_loaded).await.expect("the server reloads");
    assert_eq!(get(&store, &scope, "t").await.version, 1, "the database can still be read");
    let after = sessions(&client).await;
    assert!(after.difference(&before).next().is_some(), "an old session may read the past");
    // Other sessions of the store are replaced as well.
    let is_kept = async {
        loop {
            let served = sessions(&client).await;
            get(&store, &scope, "t").await;
            if sessions(&client).await == served {
                break;
            }
        }
    };
    timeout(TIMEOUT, is_kept).await.expect("a new session is kept while nothing changes");
}
