//! TLS to NATS.

use std::sync::Arc;

use a2a_core::error_chain;
use a2a_kit_operations::{MemoryStore, store::LeaseStore as _};
use a2a_kit_store::nats::{Clustered, NatsConfig, NatsError};
use a2a_test_certificates::{Authority, Folder, Identity};
use a2a_test_servers::{Private, Skipped};

/// A TLS server with a certificate for 127.0.0.1.
async fn server(authority: &Authority, more: &[&str]) -> Result<Private, Skipped> {
    let Identity { certificate, key, .. } = authority.for_host("127.0.0.1");
    let files = [
        ("server.crt", certificate.as_str()),
        ("server.key", key.as_str()),
        ("root.pem", authority.root()),
    ];
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
    let said = error_chain(&error);
    assert!(said.contains(expected), "{said}");
}

#[tokio::test]
async fn server_certificate_is_verified() {
    let (ours, theirs) = (Folder::new("ours"), Folder::new("theirs"));
    let (own, others) = (ours.path("root.pem"), theirs.path("root.pem"));
    let Ok(server) = server(ours.authority(), &[]).await else { return };
    let plain = NatsConfig::new(server.url());
    let secure = NatsConfig::new(server.url().replace("nats://", "tls://"));
    let by_name = NatsConfig::new(server.url().replace("nats://127.0.0.1", "tls://localhost"));
    let unknown = "invalid peer certificate: UnknownIssuer";
    connect(secure.clone().with_roots(&own)).await.unwrap();
    // Root certificates imply TLS.
    connect(plain.clone().with_roots(&own)).await.unwrap();
    refused(connect(secure.clone().with_roots(&others)).await.unwrap_err(), unknown);
    refused(connect(secure).await.unwrap_err(), "invalid peer certificate");
    let misnamed = connect(by_name.with_roots(&own)).await.unwrap_err();
    refused(misnamed, "certificate not valid for name \"localhost\"");
}

#[tokio::test]
async fn client_certificate_is_presented() {
    let folder = Folder::new("ours");
    let more = ["--tlsverify", "--tlscacert", "root.pem"];
    let Ok(server) = server(folder.authority(), &more).await else { return };
    let config = NatsConfig::new(server.url()).with_roots(folder.path("root.pem"));
    folder.keep("node", &folder.authority().for_host("node.example"));
    let (certificate, key) = (folder.path("node.crt"), folder.path("node.key"));
    connect(config.clone().with_certificate(&certificate, &key)).await.unwrap();
    let error = connect(config.clone()).await.unwrap_err();
    assert!(matches!(error, NatsError::Connect { .. }), "{error:?}");
    for (certificate, key) in [(&key, &key), (&certificate, &certificate)] {
        let error = connect(config.clone().with_certificate(certificate, key)).await.unwrap_err();
        assert!(matches!(error, NatsError::Credentials(_)), "{error:?}");
    }
    let error = connect(config.with_roots(&key)).await.unwrap_err();
    assert!(error_chain(&error).contains("no root certificate found"), "{}", error_chain(&error));
}
