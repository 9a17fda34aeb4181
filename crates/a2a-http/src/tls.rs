//! TLS for outgoing connections.

use std::sync::{Arc, OnceLock};

use rustls::{ClientConfig, RootCertStore, crypto::CryptoProvider};
use rustls_platform_verifier::Verifier;

/// Returns the TLS settings of every client of this process, made once: rustls with ring, and
/// the certificates that the platform trusts. No provider is installed for the process.
pub(crate) fn client_config() -> Result<ClientConfig, rustls::Error> {
    static CONFIG: OnceLock<ClientConfig> = OnceLock::new();
    if let Some(config) = CONFIG.get() {
        return Ok(config.clone());
    }
    let config = build()?;
    Ok(CONFIG.get_or_init(|| config).clone())
}

fn build() -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = with_platform_roots(&provider)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

fn with_platform_roots(provider: &Arc<CryptoProvider>) -> Result<ClientConfig, rustls::Error> {
    let builder = ClientConfig::builder_with_provider(Arc::clone(provider))
        .with_safe_default_protocol_versions()?;
    Ok(match Verifier::new(Arc::clone(provider)) {
        Ok(verifier) => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth(),
        Err(error) => {
            // A container without certificates can still speak to its neighbours in clear.
            tracing::warn!(%error, "no trusted certificates: connections over TLS will fail");
            builder.with_root_certificates(RootCertStore::empty()).with_no_client_auth()
        }
    })
}
