use std::{fmt, path::PathBuf};

/// How a node gets to its cluster.
#[derive(Clone)]
#[non_exhaustive]
pub struct NatsConfig {
    /// Where NATS is: `nats://host:4222`, `tls://host`, with `user:password@` or `token@`
    /// before the host where one is asked for, percent-encoded. Several, separated by commas, are servers of one NATS cluster.
    pub url: String,
    /// The name of this cluster of nodes, of letters, digits, `-` and `_`. Nodes of another name
    /// on the same server hear nothing of these. Default: `a2a`.
    pub cluster: String,
    /// A file with the credentials of a user, as `nsc` makes it.
    pub credentials: Option<PathBuf>,
    /// Certificates of authorities to trust, as PEM, instead of the system's.
    pub roots: Option<PathBuf>,
    /// The certificate and the key to show to the server, as PEM.
    pub certificate: Option<(PathBuf, PathBuf)>,
    /// On how many servers of a NATS cluster the signals are. Default: 1.
    pub replicas: usize,
}

impl NatsConfig {
    /// Names a server.
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

    /// Gives the cluster a name.
    #[must_use]
    pub fn with_cluster(self, cluster: impl Into<String>) -> Self {
        Self { cluster: cluster.into(), ..self }
    }

    /// Names a file with credentials.
    #[must_use]
    pub fn with_credentials(self, file: impl Into<PathBuf>) -> Self {
        Self { credentials: Some(file.into()), ..self }
    }

    /// Trusts the authorities in a file, instead of the system's.
    #[must_use]
    pub fn with_roots(self, file: impl Into<PathBuf>) -> Self {
        Self { roots: Some(file.into()), ..self }
    }

    /// Shows a certificate to the server.
    #[must_use]
    pub fn with_certificate(
        self,
        certificate: impl Into<PathBuf>,
        key: impl Into<PathBuf>,
    ) -> Self {
        Self { certificate: Some((certificate.into(), key.into())), ..self }
    }

    /// Keeps the signals on several servers of a NATS cluster.
    #[must_use]
    pub fn with_replicas(self, replicas: usize) -> Self {
        Self { replicas, ..self }
    }

    /// The addresses without what authenticates.
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
    fn a_password_is_shown_to_nobody() {
        let config = NatsConfig::new("nats://me:secret@one:4222,nats://two");
        assert_eq!(config.public_url(), "one:4222,nats://two");
        assert!(!format!("{config:?}").contains("secret"));
    }
}
