//! TLS to NATS.

use std::sync::Arc;

use rustls::{
    ClientConfig, RootCertStore,
    client::{WebPkiServerVerifier, danger::ServerCertVerifier},
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
};
use rustls_platform_verifier::Verifier;

use super::{NatsConfig, NatsError};

/// What is trusted and shown where the server wants TLS. The provider is named: what is the
/// default of this process is not ours to choose.
pub(super) fn client_config(config: &NatsConfig) -> Result<ClientConfig, NatsError> {
    read(config).map_err(NatsError::Credentials)
}

fn read(config: &NatsConfig) -> Result<ClientConfig, Box<dyn std::error::Error + Send + Sync>> {
    let provider = Arc::new(ring::default_provider());
    let verifier: Arc<dyn ServerCertVerifier> = match &config.roots {
        None => Arc::new(Verifier::new(Arc::clone(&provider))?),
        Some(file) => {
            let mut roots = RootCertStore::empty();
            for certificate in CertificateDer::pem_file_iter(file)? {
                roots.add(certificate?)?;
            }
            let builder =
                WebPkiServerVerifier::builder_with_provider(roots.into(), Arc::clone(&provider));
            builder.build()?
        }
    };
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    let Some((certificate, key)) = &config.certificate else {
        return Ok(builder.with_no_client_auth());
    };
    let chain: Result<Vec<_>, _> = CertificateDer::pem_file_iter(certificate)?.collect();
    Ok(builder.with_client_auth_cert(chain?, PrivateKeyDer::from_pem_file(key)?)?)
}
