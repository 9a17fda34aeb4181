//! TLS to NATS.

use a2a_kit_tls::{ClientTls, Pem, TlsError};
use async_nats::rustls::ClientConfig;

use super::{NatsConfig, NatsError};

/// The client configuration for servers that require TLS.
pub(super) fn client_config(config: &NatsConfig) -> Result<ClientConfig, NatsError> {
    read(config).map_err(|error| NatsError::Credentials(error.into()))
}

fn read(config: &NatsConfig) -> Result<ClientConfig, TlsError> {
    let mut tls = ClientTls::new();
    if let Some(roots) = &config.roots {
        tls = tls.with_roots(&Pem::file(roots))?;
    }
    if let Some((certificate, key)) = &config.certificate {
        tls = tls.with_identity(&Pem::file(certificate), &Pem::file(key))?;
    }
    tls.config()
}
