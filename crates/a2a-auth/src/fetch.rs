//! Documents that others publish.

use std::{sync::Arc, time::Duration};

use bytes::{Bytes, BytesMut};
use rustls::ClientConfig;
use rustls_platform_verifier::BuilderVerifierExt;

/// No document is longer, in bytes.
const MAX_LENGTH: usize = 1 << 20;

/// Connections over TLS can't be set up.
#[derive(Debug, thiserror::Error)]
#[error("connections over TLS can't be set up")]
pub struct SetupError(#[source] Box<dyn std::error::Error + Send + Sync>);

/// A client with rustls, ring and the certificates that the platform trusts, which follows no
/// redirects.
pub(crate) fn client() -> Result<reqwest::Client, SetupError> {
    builder()?.build().map_err(|error| SetupError(error.into()))
}

/// The same, past the proxies that the environment names: what goes in clear to this machine must
/// not be read by them.
pub(crate) fn direct_client() -> Result<reqwest::Client, SetupError> {
    builder()?.no_proxy().build().map_err(|error| SetupError(error.into()))
}

fn builder() -> Result<reqwest::ClientBuilder, SetupError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut tls = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(BuilderVerifierExt::with_platform_verifier)
        .map_err(|error| SetupError(error.into()))?
        .with_no_client_auth();
    tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .redirect(reqwest::redirect::Policy::none())
        .timeout(Duration::from_secs(10))
        .user_agent(concat!("a2a-rust/", env!("CARGO_PKG_VERSION"))))
}

pub(crate) async fn document(
    client: reqwest::Client,
    url: Arc<str>,
) -> Result<Bytes, Box<dyn std::error::Error + Send + Sync>> {
    read(client.get(&*url).send().await?.error_for_status()?).await
}

/// Reads a document up to where it is too long.
pub(crate) async fn read(
    mut response: reqwest::Response,
) -> Result<Bytes, Box<dyn std::error::Error + Send + Sync>> {
    let mut document = BytesMut::new();
    while let Some(chunk) = response.chunk().await? {
        if document.len() + chunk.len() > MAX_LENGTH {
            return Err("the document is too long".into());
        }
        document.extend_from_slice(&chunk);
    }
    Ok(document.freeze())
}
