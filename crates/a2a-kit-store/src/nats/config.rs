use std::{fmt, path::PathBuf};

/// Connection settings of a node.
#[derive(Clone)]
#[non_exhaustive]
pub struct NatsConfig {
    /// The NATS server: `nats://host:4222` or `tls://host`, optionally with `user:password@` or
    /// `token@` before the host, percent-encoded. Separate several servers of one NATS cluster with
    /// commas.
    pub url: String,
    /// The name of the cluster of nodes: letters, digits, `-` and `_`. Nodes of different clusters
    /// on the same server are isolated. Default: `a2a`.
    pub cluster: String,
    /// A credentials file, as created by `nsc`.
    pub credentials: Option<PathBuf>,
    /// A PEM file with trusted CA certificates, instead of the system's.
    pub roots: Option<PathBuf>,
    /// The client certificate and key, as PEM files.
    pub certificate: Option<(PathBuf, PathBuf)>,
    /// The number of replicas of the signal stream. Default: 1.
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

    /// Sets the name of the cluster.
    #[must_use]
    pub fn with_cluster(self, cluster: impl Into<String>) -> Self {
        Self { cluster: cluster.into(), ..self }
    }

    /// Sets the credentials file.
    #[must_use]
    pub fn with_credentials(self, file: impl Into<PathBuf>) -> Self {
        Self { credentials: Some(file.into()), ..self }
    }

    /// Sets the trusted CA certificates.
    #[must_use]
    pub fn with_roots(self, file: impl Into<PathBuf>) -> Self {
        Self { roots: Some(file.into()), ..self }
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

    /// Sets the number of replicas.
    #[must_use]
    pub fn with_replicas(self, replicas: usize) -> Self {
        Self { replicas, ..self }
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
