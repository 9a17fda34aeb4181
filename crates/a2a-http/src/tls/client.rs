//! TLS for outgoing connections.

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use rustls::{
    ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime},
    sign::{CertifiedKey, SingleCertAndKey},
};
use rustls_platform_verifier::Verifier;

use super::{Pem, TlsError, pem};

/// Whom a client trusts, and who it says it is, on connections over TLS.
///
/// Without anything: the certificates that the platform trusts, and no certificate of its own.
///
/// ```no_run
/// use a2a_http::{client::ClientSettings, tls::{ClientTls, Pem}};
///
/// # fn main() -> Result<(), a2a_http::tls::TlsError> {
/// let tls = ClientTls::new()
///     .with_roots(&Pem::file("ca.crt"))?
///     .with_identity(&Pem::file("client.crt"), &Pem::file("client.key"))?;
/// let settings = ClientSettings::default().with_tls(tls);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct ClientTls {
    /// Trusted, beside those of the platform or instead of them.
    roots: Vec<CertificateDer<'static>>,
    without_platform: bool,
    without_verification: bool,
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

    /// Returns whether the client has a certificate of its own to show.
    pub fn has_identity(&self) -> bool {
        self.identity.is_some()
    }

    /// The settings for rustls, which offer HTTP/2 and HTTP/1.1.
    pub(crate) fn http_config(&self) -> Result<ClientConfig, TlsError> {
        let mut config = self.config()?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(config)
    }

    /// The settings for rustls, without protocols to offer.
    pub(crate) fn config(&self) -> Result<ClientConfig, TlsError> {
        let asks_platform = !self.without_platform && !self.without_verification;
        if self.roots.is_empty() && asks_platform && self.identity.is_none() {
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
            return Ok(Arc::new(Unverified(provider)));
        }
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
    let config = with_platform_roots().map_err(|error| TlsError::Setup(error.into()))?;
    Ok(CONFIG.get_or_init(|| config).clone())
}

fn with_platform_roots() -> Result<ClientConfig, rustls::Error> {
    let provider = provider();
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()?;
    Ok(match Verifier::new(provider) {
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

/// Takes any certificate, as long as the server has the key of it.
#[derive(Debug)]
struct Unverified(Arc<CryptoProvider>);

impl ServerCertVerifier for Unverified {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

impl fmt::Debug for ClientTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientTls")
            .field("roots", &self.roots.len())
            .field("platform", &!self.without_platform)
            .field("verifies", &!self.without_verification)
            .field("identity", &self.identity.is_some())
            .finish()
    }
}
