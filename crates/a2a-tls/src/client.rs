//! TLS for outgoing connections.

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use rustls::{
    ClientConfig, RootCertStore,
    client::{WebPkiServerVerifier, danger::ServerCertVerifier},
    crypto::CryptoProvider,
    pki_types::CertificateDer,
    sign::{CertifiedKey, SingleCertAndKey},
};
use rustls_platform_verifier::Verifier;

use crate::{Pem, TlsError, pem, verify::CertificateVerifier};

/// Whom a client trusts, and who it says it is, on connections over TLS.
///
/// Without anything: the certificates that the platform trusts, and no certificate of its own.
///
/// ```no_run
/// use a2a_tls::{ClientTls, Pem};
///
/// # fn main() -> Result<(), a2a_tls::TlsError> {
/// let beside = ClientTls::new().with_more_roots(&Pem::file("ca.crt"))?;
/// let instead = ClientTls::new().with_roots(&Pem::file("ca.crt"))?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct ClientTls {
    /// Trusted, beside those of the platform or instead of them.
    roots: Vec<CertificateDer<'static>>,
    without_platform: bool,
    without_verification: bool,
    without_names: bool,
    identity: Option<Arc<SingleCertAndKey>>,
}

impl ClientTls {
    /// Trusts what the platform trusts.
    pub fn new() -> Self {
        Self::default()
    }

    /// Trusts these roots, and those of the platform no more.
    ///
    /// # Errors
    ///
    /// [`TlsError`] where they can't be read, or are none.
    pub fn with_roots(mut self, roots: &Pem) -> Result<Self, TlsError> {
        self.without_platform = true;
        self.roots.clear();
        self.with_more_roots(roots)
    }

    /// Trusts these roots too.
    ///
    /// # Errors
    ///
    /// [`TlsError`] where they can't be read, or are none.
    pub fn with_more_roots(mut self, roots: &Pem) -> Result<Self, TlsError> {
        let roots = pem::certificates(&roots.read(ROOTS)?, ROOTS)?;
        store(&roots)?;
        self.roots.extend(roots);
        Ok(self)
    }

    /// Shows this certificate to servers that ask for one (mutual TLS). The text of the
    /// certificate may go on with those that lead to its root.
    ///
    /// # Errors
    ///
    /// [`TlsError`] where they can't be read, or are not of each other.
    pub fn with_identity(mut self, certificate: &Pem, key: &Pem) -> Result<Self, TlsError> {
        let chain = pem::certificates(&certificate.read("certificate")?, "certificate")?;
        let key = pem::key(&key.read("private key")?)?;
        let certified = CertifiedKey::from_der(chain, key, &provider())
            .map_err(|error| TlsError::Identity(error.into()))?;
        self.identity = Some(Arc::new(certified.into()));
        Ok(self)
    }

    /// Speaks to whoever answers: that somebody vouches for a server is not looked at, so that
    /// anybody on the way can read and change everything. For tries on one's own machine.
    #[must_use]
    pub fn without_verification(mut self) -> Self {
        self.without_verification = true;
        self
    }

    /// Takes a certificate that is vouched for, whatever host it is for: anybody who has one of the
    /// same root can be at the other end. For databases that are known by their root alone.
    #[must_use]
    pub fn without_names(mut self) -> Self {
        self.without_names = true;
        self
    }

    /// Returns whether the client has a certificate of its own to show.
    pub fn has_identity(&self) -> bool {
        self.identity.is_some()
    }

    /// The settings for rustls, which offer HTTP/2 and HTTP/1.1.
    ///
    /// # Errors
    ///
    /// As [`config`](Self::config).
    pub fn http_config(&self) -> Result<ClientConfig, TlsError> {
        let mut config = self.config()?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(config)
    }

    /// The settings for rustls, without protocols to offer. No provider is installed for the
    /// process.
    ///
    /// # Errors
    ///
    /// [`TlsError::Setup`] where the system lacks what TLS needs.
    pub fn config(&self) -> Result<ClientConfig, TlsError> {
        let is_special = self.without_platform || self.without_verification || self.without_names;
        if self.roots.is_empty() && !is_special && self.identity.is_none() {
            return platform_config();
        }
        let provider = provider();
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| TlsError::Setup(error.into()))?
            .dangerous()
            .with_custom_certificate_verifier(self.verifier(provider)?);
        Ok(match &self.identity {
            None => builder.with_no_client_auth(),
            Some(identity) => builder.with_client_cert_resolver(identity.clone()),
        })
    }

    fn verifier(
        &self,
        provider: Arc<CryptoProvider>,
    ) -> Result<Arc<dyn ServerCertVerifier>, TlsError> {
        if self.without_verification {
            return Ok(Arc::new(CertificateVerifier::unverified(provider)));
        }
        let verifier = self.full_verifier(Arc::clone(&provider))?;
        if self.without_names {
            return Ok(Arc::new(CertificateVerifier::without_name(provider, verifier)));
        }
        Ok(verifier)
    }

    fn full_verifier(
        &self,
        provider: Arc<CryptoProvider>,
    ) -> Result<Arc<dyn ServerCertVerifier>, TlsError> {
        if !self.without_platform {
            let verifier = Verifier::new_with_extra_roots(self.roots.iter().cloned(), provider);
            return Ok(Arc::new(verifier.map_err(|error| TlsError::Setup(error.into()))?));
        }
        let roots = Arc::new(store(&self.roots)?);
        let verifier = WebPkiServerVerifier::builder_with_provider(roots, provider).build();
        Ok(verifier.map_err(|error| TlsError::Unusable { what: ROOTS, source: error.into() })?)
    }
}

const ROOTS: &str = "root certificate";

fn store(roots: &[CertificateDer<'static>]) -> Result<RootCertStore, TlsError> {
    let mut store = RootCertStore::empty();
    for root in roots {
        store
            .add(root.clone())
            .map_err(|error| TlsError::Unusable { what: ROOTS, source: error.into() })?;
    }
    Ok(store)
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// Returns the TLS settings of clients that ask for nothing else, made once: the certificates
/// that the platform trusts. No provider is installed for the process.
fn platform_config() -> Result<ClientConfig, TlsError> {
    static CONFIG: OnceLock<ClientConfig> = OnceLock::new();
    if let Some(config) = CONFIG.get() {
        return Ok(config.clone());
    }
    let provider = provider();
    let config = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| TlsError::Setup(error.into()))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(CertificateVerifier::platform(provider)))
        .with_no_client_auth();
    Ok(CONFIG.get_or_init(|| config).clone())
}

impl fmt::Debug for ClientTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientTls")
            .field("roots", &self.roots.len())
            .field("platform", &!self.without_platform)
            .field("verifies", &!self.without_verification)
            .field("names", &!self.without_names)
            .field("identity", &self.identity.is_some())
            .finish()
    }
}
