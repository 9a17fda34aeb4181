//! Encrypted connections to NATS, and who is believed there.

use std::{path::PathBuf, sync::Arc};

use a2a_operations::{MemoryStore, store::LeaseStore as _};
use a2a_store::nats::{Clustered, NatsConfig, NatsError};
use a2a_test_servers::{Private, Skipped};

use crate::authority::{Authority, chain};

/// A server that has a certificate for 127.0.0.1, and speaks nothing but TLS.
async fn server(authority: &Authority, more: &[&str]) -> Result<Private, Skipped> {
    let (certificate, key) = authority.issue("127.0.0.1");
    let root = std::fs::read_to_string(authority.root()).unwrap();
    let files =
        [("server.crt", certificate.as_str()), ("server.key", key.as_str()), ("root.pem", &root)];
    let arguments = ["--tls", "--tlscert", "server.crt", "--tlskey", "server.key"];
    Private::nats_with(&files, &[&arguments[..], more].concat()).await
}

async fn connect(config: NatsConfig) -> Result<(), NatsError> {
    let store = Clustered::connect(Arc::new(MemoryStore::new()), config).await?;
    assert!(store.signals().is_some(), "it hears of others");
    Ok(())
}

fn refused(error: NatsError, expected: &str) {
    assert!(matches!(error, NatsError::Connect { .. }), "{error:?}");
    let said = chain(&error);
    assert!(said.contains(expected), "{said}");
}

#[tokio::test]
async fn a_server_is_believed_by_its_certificate() {
    let (authority, other) = (Authority::new("ours"), Authority::new("theirs"));
    let Ok(server) = server(&authority, &[]).await else { return };
    let plain = NatsConfig::new(server.url());
    let secure = NatsConfig::new(server.url().replace("nats://", "tls://"));
    let by_name = NatsConfig::new(server.url().replace("nats://127.0.0.1", "tls://localhost"));
    let unknown = "invalid peer certificate: UnknownIssuer";
    connect(secure.clone().with_roots(authority.root())).await.unwrap();
    // Certificates to check by say that there is to be TLS.
    connect(plain.clone().with_roots(authority.root())).await.unwrap();
    refused(connect(secure.clone().with_roots(other.root())).await.unwrap_err(), unknown);
    refused(connect(secure).await.unwrap_err(), "invalid peer certificate");
    let misnamed = connect(by_name.with_roots(authority.root())).await.unwrap_err();
    refused(misnamed, "certificate not valid for name \"localhost\"");
}

#[tokio::test]
async fn a_server_that_asks_for_a_certificate_is_shown_one() {
    let authority = Authority::new("ours");
    let more = ["--tlsverify", "--tlscacert", "root.pem"];
    let Ok(server) = server(&authority, &more).await else { return };
    let config = NatsConfig::new(server.url()).with_roots(authority.root());
    let (certificate, key) = authority.issue("node.example");
    let files: [PathBuf; 2] =
        [authority.write("node.crt", &certificate), authority.write("node.key", &key)];
    let [certificate, key] = files;
    connect(config.clone().with_certificate(&certificate, &key)).await.unwrap();
    let error = connect(config.clone()).await.unwrap_err();
    assert!(matches!(error, NatsError::Connect { .. }), "{error:?}");
    for (certificate, key) in [(&key, &key), (&certificate, &certificate)] {
        let error = connect(config.clone().with_certificate(certificate, key)).await.unwrap_err();
        assert!(matches!(error, NatsError::Credentials(_)), "{error:?}");
    }
    let error = connect(config.with_roots(&key)).await.unwrap_err();
    assert!(chain(&error).contains("there is no root certificate"), "{}", chain(&error));
}
