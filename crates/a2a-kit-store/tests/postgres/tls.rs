//! TLS to the database.

use a2a_core::error_chain;
use a2a_kit_store::postgres::{PostgresConfig, PostgresError, PostgresStore};
use a2a_test_certificates::{Authority, Folder, Identity};
use a2a_test_servers::{Private, Skipped};
use tokio_postgres::NoTls;

/// A server with a certificate for 127.0.0.1, which also accepts plaintext connections.
async fn server(authority: &Authority) -> Result<Private, Skipped> {
    let Identity { certificate, key, .. } = authority.for_host("127.0.0.1");
    let files = [("server.crt", certificate.as_str()), ("server.key", key.as_str())];
    let settings = ["ssl=on", "ssl_cert_file=../server.crt", "ssl_key_file=../server.key"];
    Private::postgres_with(&files, &settings).await
}

/// Opens a store at `url` with this query, and returns whether its connections are encrypted.
async fn open(url: &str, query: &str) -> Result<bool, PostgresError> {
    let config = PostgresConfig::default().with_schema("tasks");
    let mark = query.len();
    let store = format!("{url}?application_name=store{mark}&{query}");
    let _store = PostgresStore::connect_with(&store, config).await?;
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    let seen = "SELECT bool_and(ssl), bool_or(ssl) FROM pg_stat_ssl JOIN pg_stat_activity \
        USING (pid) WHERE application_name = $1";
    let row = client.query_one(seen, &[&format!("store{mark}")]).await.unwrap();
    let (all, any): (bool, bool) = (row.get(0), row.get(1));
    assert_eq!(all, any, "{query}: each connection is like the others");
    Ok(all)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn server_certificate_is_verified_as_sslmode_requires() {
    let (ours, theirs) = (Folder::new("ours"), Folder::new("theirs"));
    let Ok(server) = server(ours.authority()).await else { return };
    let by_address = server.url();
    // The certificate is for the address, not for the name.
    let by_name = by_address.replace("127.0.0.1", "localhost");
    let (own, others) = (ours.path("root.pem"), theirs.path("root.pem"));
    let unknown = "invalid peer certificate: UnknownIssuer";
    let misnamed = "certificate not valid for name \"localhost\"";
    for (url, query, expected) in [
        (by_address, format!("sslmode=verify-full&sslrootcert={own}"), Ok(true)),
        (by_address, format!("sslrootcert={own}"), Ok(true)),
        (by_address, format!("sslmode=verify-full&sslrootcert={others}"), Err(unknown)),
        (by_address, format!("sslmode=verify-ca&sslrootcert={others}"), Err(unknown)),
        (by_address, format!("sslmode=require&sslrootcert={others}"), Err(unknown)),
        (by_address, "sslmode=verify-full".to_owned(), Err("invalid peer certificate")),
        (&by_name, format!("sslmode=verify-full&sslrootcert={own}"), Err(misnamed)),
        (&by_name, format!("sslmode=verify-ca&sslrootcert={own}"), Ok(true)),
        (by_address, "sslmode=require".to_owned(), Ok(true)),
        (by_address, "sslmode=prefer".to_owned(), Ok(true)),
        (by_address, String::new(), Ok(true)),
        (by_address, "sslmode=disable".to_owned(), Ok(false)),
    ] {
        match (open(url, &query).await, expected) {
            (Ok(is_encrypted), Ok(expected)) => assert_eq!(is_encrypted, expected, "{query}"),
            (Err(error), Err(expected)) => {
                assert!(matches!(error, PostgresError::Connect { .. }), "{query}: {error:?}");
                let said = error_chain(&error);
                assert!(said.contains(expected), "{query}: {said}");
                assert!(said.contains(":") && said.contains("postgres"), "{query}: {said}");
            }
            (outcome, expected) => panic!("{query}: {outcome:?} and not {expected:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn server_without_tls_is_rejected_if_required() {
    let Ok(server) = Private::postgres(&[]).await else { return };
    assert!(!open(server.url(), "sslmode=prefer").await.unwrap());
    let error = open(server.url(), "sslmode=require").await.unwrap_err();
    assert!(error_chain(&error).contains("server does not support TLS"), "{}", error_chain(&error));
}

#[tokio::test]
async fn unreadable_ca_file_is_named() {
    let folder = Folder::new("ours");
    let empty = folder.write("empty.pem", "");
    let other = folder.write("key.pem", &folder.authority().for_host("a.example").key);
    let missing = folder.path("missing.pem");
    for path in [empty, other, missing] {
        let url = format!("postgres://ann:hunter2@127.0.0.1:1/tasks?sslrootcert={path}");
        let error = PostgresStore::connect(&url).await.unwrap_err();
        assert!(matches!(error, PostgresError::Roots { .. }), "{path}: {error:?}");
        let said = error_chain(&error);
        assert!(said.contains(&path), "{path}: {said}");
        assert!(!said.contains("hunter2"), "{said}");
    }
}
