use std::{fmt, path::PathBuf};

use a2a_kit_tls::{ClientTls, Pem, TlsError};
use async_nats::rustls::ClientConfig;
use derive_setters::Setters;

/// Connection settings of a node.
#[derive(Clone, Setters)]
#[non_exhaustive]
#[setters(prefix = "with_", into)]
pub struct NatsConfig {
    /// The NATS server: `nats://host:4222` or `tls://host`, optionally with `user:password@` or
    /// `token@` before the host, percent-encoded. Separate several servers of one NATS cluster with
    /// commas.
    #[setters(skip)]
    pub url: String,
    /// The name of the cluster of nodes: letters, digits, `-` and `_`. Nodes of different clusters
    /// on the same server are isolated. Default: `a2a`.
    pub cluster: String,
    /// A credentials file, as created by `nsc`.
    #[setters(strip_option)]
    pub credentials: Option<PathBuf>,
    /// A PEM file with trusted CA certificates, instead of the system's.
    #[setters(strip_option)]
    pub roots: Option<PathBuf>,
    /// The client certificate and key, as PEM files.
    #[setters(skip)]
    pub certificate: Option<(PathBuf, PathBuf)>,
    /// The number of replicas of the signal stream. Default: 1.
    #[setters(into = false)]
    pub replicas: usize,
}

impl NatsConfig {
    /// Creates a configuration for a server.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            cluster: "a2a".to_owned(),
            credentials: None,
            roots: None,
            certificate: None,
            replicas: 1,
        }
    }

    /// Sets the client certificate.
    #[must_use]
    pub fn with_certificate(
        self,
        certificate: impl Into<PathBuf>,
        key: impl Into<PathBuf>,
    ) -> Self {
        Self { certificate: Some((certificate.into(), key.into())), ..self }
    }

    /// The client configuration for servers that require TLS.
    pub(super) fn tls(&self) -> Result<ClientConfig, TlsError> {
        let mut tls = ClientTls::new();
        if let Some(roots) = &self.roots {
            tls = tls.with_roots(&Pem::file(roots))?;
        }
        if let Some((certificate, key)) = &self.certificate {
            tls = tls.with_identity(&Pem::file(certificate), &Pem::file(key))?;
        }
        tls.config()
    }

    /// The server addresses without credentials.
    pub(super) fn public_url(&self) -> String {
        let public = |url: &str| match url.rsplit_once('@') {
            Some((_, host)) => host.to_owned(),
            None => url.trim().to_owned(),
        };
        self.url.split(',').map(public).collect::<Vec<_>>().join(",")
    }
}

impl fmt::Debug for NatsConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NatsConfig")
            .field("url", &self.public_url())
            .field("cluster", &self.cluster)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_redacted() {
        let config = NatsConfig::new("nats://me:secret@one:4222,nats://two");
        assert_eq!(config.public_url(), "one:4222,nats://two");
        assert!(!format!("{config:?}").contains("secret"));
    }
}
