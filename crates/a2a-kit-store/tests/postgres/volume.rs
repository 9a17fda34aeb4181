//! Write amplification.

use a2a_kit_operations::store::TaskStore as _;
use a2a_kit_store_testing::store::fixtures::{chunk, insert_held, scope, transition};
use a2a_test_servers::Private;
use tokio_postgres::Client;

use super::fixtures::Schema;

async fn written(client: &Client) -> i64 {
    let now = "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::int8";
    client.query_one(now, &[]).await.unwrap().get(0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_small_chunks_write_less_than_a_megabyte() {
    const CHUNKS: u64 = 1_000;
    // WAL is counted for the whole server, so there must be no other writer.
    let Ok(server) = Private::postgres(&[]).await else { return };
    let schema = Schema::of(&server);
    let (store, client, scope) = (schema.open().await, schema.client().await, scope("ann"));
    let id = "0191c9a7-5b6e-7cc3-9f62-3f1f0a3b5c77";
    insert_held(&store, &scope, id, b"work").await;
    let before = written(&client).await;
    let text = "forty bytes of text, more or less, it is";
    let events = (2..=CHUNKS + 1).map(|position| chunk(position, id, text)).collect::<Vec<_>>();
    // The worst case: chunks without pauses arrive in groups.
    for (version, event) in (1..).zip(&events) {
        store.commit(&scope, transition(id, version, 1, vec![event.clone()])).await.unwrap();
    }
    let alone = written(&client).await - before;
    let id = "0191c9a7-5b6e-7cc3-9f62-3f1f0a3b5c78";
    insert_held(&store, &scope, id, b"work").await;
    let before = written(&client).await;
    for (version, events) in (1..).zip(events.chunks(20)) {
        store.commit(&scope, transition(id, version, 1, events.to_vec())).await.unwrap();
    }
    let grouped = written(&client).await - before;
    assert!(alone < 1_000_000, "{alone} bytes");
    assert!(grouped < 300_000, "{grouped} bytes");
}
