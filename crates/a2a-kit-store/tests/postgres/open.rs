//! Opening a database.

use a2a_kit_store::postgres::{PostgresError, PostgresStore};

use super::fixtures::Schema;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_opens_migrate_once() {
    let Ok(schema) = Schema::new().await else { return };
    let open = |_| {
        let schema = schema.clone();
        tokio::spawn(async move { schema.open().await })
    };
    for opened in (0..5).map(open).collect::<Vec<_>>() {
        opened.await.unwrap();
    }
    let made = "SELECT count(*) FROM refinery_schema_history";
    let made = schema.client().await.query_one(made, &[]).await.unwrap();
    assert_eq!(made.get::<_, i64>(0), 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn newer_schema_is_rejected() {
    let Ok(schema) = Schema::new().await else { return };
    drop(schema.open().await);
    let newer = "INSERT INTO refinery_schema_history \
        SELECT 99, 'later', applied_on, checksum FROM refinery_schema_history \
        WHERE version = 1";
    schema.client().await.batch_execute(newer).await.unwrap();
    let config = a2a_kit_store::postgres::PostgresConfig::default().with_schema(&schema.name);
    let error = PostgresStore::connect_with(&schema.url, config).await.unwrap_err();
    assert!(matches!(error, PostgresError::TooNew { found: 99, known: 4, .. }), "{error:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connection_error_names_the_server_without_the_password() {
    // A port that was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("postgres://ann:hunter2@127.0.0.1:{port}/tasks");
    let error = PostgresStore::connect(&url).await.unwrap_err();
    let text = format!("{error} {error:?}");
    assert!(matches!(error, PostgresError::Connect { .. }), "{text}");
    assert!(text.contains(&format!("127.0.0.1:{port}")) && text.contains("tasks"), "{text}");
    assert!(!text.contains("hunter2"), "{text}");
}
