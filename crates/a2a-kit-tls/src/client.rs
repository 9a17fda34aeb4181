//! TLS for outgoing connections.

use std::sync::{Arc, OnceLock};

use rustls::{
    ClientConfig, RootCertStore,
    client::{WebPkiServerVerifier, danger::ServerCertVerifier},
    pki_types::CertificateDer,
    sign::{CertifiedKey, SingleCertAndKey},
};
use rustls_platform_verifier::Verifier;

use crate::{
    Pem, TlsError,
    crypto::provider,
    pem,
    verify::{CertificateVerifier, Check},
};

/// TLS client configuration: trust anchors and client certificate.
///
/// By default, the platform's trust store and no client certificate.
///
/// ```no_run
/// use a2a_kit_tls::{ClientTls, Pem};
///
/// # fn main() -> Result<(), a2a_kit_tls::TlsError> {
/// let additional = ClientTls::new().with_more_roots(&Pem::file("ca.crt"))?;
/// let replaced = ClientTls::new().with_roots(&Pem::file("ca.crt"))?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct ClientTls {
    /// Trust anchors, in addition to the platform's or in place of them.
    roots: Vec<CertificateDer<'static>>,
    without_platform: bool,
    without_verification: bool,
    without_names: bool,
    pins: Vec<[u8; 32]>,
    identity: Option<Arc<SingleCertAndKey>>,
}

impl ClientTls {
    /// Creates a configuration with the platform's trust store.
    pub fn new() -> Self {
        Self::default()
    }

    /// Trusts these roots in place of the platform's.
    ///
    /// # Errors
    ///
    /// [`TlsError`] if they can't be read, or are not certificates.
    pub fn with_roots(mut self, roots: &Pem) -> Result<Self, TlsError> {
        self.without_platform = true;
        self.roots.clear();
        self.with_more_roots(roots)
    }

    /// Trusts these roots in addition.
    ///
    /// # Errors
    ///
    /// [`TlsError`] if they can't be read, or are not certificates.
    pub fn with_more_roots(mut self, roots: &Pem) -> Result<Self, TlsError> {
        let roots = pem::all(&roots.read(ROOTS)?, ROOTS)?;
        store(&roots)?;
        self.roots.extend(roots);
        Ok(self)
    }

    /// Presents this certificate to servers that request one (mutual TLS). The PEM text may
    /// continue with intermediate certificates.
    ///
    /// # Errors
    ///
    /// [`TlsError`] if they can't be read, or do not match.
    pub fn with_identity(mut self, certificate: &Pem, key: &Pem) -> Result<Self, TlsError> {
        let chain = pem::all(&certificate.read("certificate")?, "certificate")?;
        let key = pem::key(&key.read("private key")?)?;
        let certified = CertifiedKey::from_der(chain, key, &provider())
            .map_err(|error| TlsError::Identity(error.into()))?;
        self.identity = Some(Arc::new(certified.into()));
        Ok(self)
    }

    /// Presents no certificate: for servers that must not learn who the client is.
    #[must_use]
    pub fn without_identity(mut self) -> Self {
        self.identity = None;
        self
    }

    /// Skips certificate verification, so that a man in the middle can read and modify everything.
    /// Insecure; for local testing only.
    #[must_use]
    pub fn without_verification(mut self) -> Self {
        self.without_verification = true;
        self
    }

    /// Skips host name verification: any certificate of a trusted root is accepted. For databases
    /// with a private root, whose certificates don't name the host.
    #[must_use]
    pub fn without_names(mut self) -> Self {
        self.without_names = true;
        self
    }

    /// Trusts only a server whose certificate, or the public key in it, has this SHA-256 fingerprint
    /// or another pinned one: of the DER encoding of the certificate, or of its
    /// `SubjectPublicKeyInfo`. In place of every other check, also of host name and dates: for
    /// self-signed certificates.
    #[must_use]
    pub fn with_pin(mut self, sha256: [u8; 32]) -> Self {
        self.pins.push(sha256);
        self
    }

    /// Returns whether there is a client certificate.
    pub fn has_identity(&self) -> bool {
        self.identity.is_some()
    }

    /// Returns the rustls configuration, with ALPN for HTTP/2 and HTTP/1.1.
    ///
    /// # Errors
    ///
    /// As [`config`](Self::config).
    pub fn http_config(&self) -> Result<ClientConfig, TlsError> {
        let mut config = self.config()?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(config)
    }

    /// Returns the rustls configuration, without ALPN. No process-wide crypto provider is
    /// installed.
    ///
    /// # Errors
    ///
    /// [`TlsError::Setup`] if the system lacks a prerequisite of TLS.
    pub fn config(&self) -> Result<ClientConfig, TlsError> {
        let is_special = self.without_platform
            || self.without_verification
            || self.without_names
            || !self.pins.is_empty();
        if self.roots.is_empty() && !is_special && self.identity.is_none() {
            return platform_config();
        }
        config_with(self.verifier()?, self.identity.clone())
    }

    fn verifier(&self) -> Result<Arc<dyn ServerCertVerifier>, TlsError> {
        let check = if !self.pins.is_empty() {
            Check::Pinned(self.pins.clone())
        } else if self.without_verification {
            Check::None
        } else if self.without_names {
            Check::WithoutName(self.full_verifier()?)
        } else {
            return self.full_verifier();
        };
        Ok(Arc::new(CertificateVerifier::new(check)))
    }

    fn full_verifier(&self) -> Result<Arc<dyn ServerCertVerifier>, TlsError> {
        if !self.without_platform {
            let verifier = Verifier::new_with_extra_roots(self.roots.iter().cloned(), provider());
            return Ok(Arc::new(verifier.map_err(|error| TlsError::Setup(error.into()))?));
        }
        let roots = Arc::new(store(&self.roots)?);
        let verifier = WebPkiServerVerifier::builder_with_provider(roots, provider()).build();
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

/// Returns the default configuration, created once.
fn platform_config() -> Result<ClientConfig, TlsError> {
    static CONFIG: OnceLock<ClientConfig> = OnceLock::new();
    if let Some(config) = CONFIG.get() {
        return Ok(config.clone());
    }
    let verifier = CertificateVerifier::new(Check::Platform(OnceLock::new()));
    let config = config_with(Arc::new(verifier), None)?;
    Ok(CONFIG.get_or_init(|| config).clone())
}

fn config_with(
    verifier: Arc<dyn ServerCertVerifier>,
    identity: Option<Arc<SingleCertAndKey>>,
) -> Result<ClientConfig, TlsError> {
    let builder = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(|error| TlsError::Setup(error.into()))?
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    Ok(match identity {
        None => builder.with_no_client_auth(),
        Some(identity) => builder.with_client_cert_resolver(identity),
    })
}

a2a_core::debug_fields!(ClientTls {
    without_platform,
    without_verification,
    without_names,
    pins,
    ..
});
