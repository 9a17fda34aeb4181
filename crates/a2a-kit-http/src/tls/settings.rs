//! TLS settings of a server.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use a2a_kit_tls::{crypto, pem};
use derive_setters::Setters;
use ring::digest;
use rustls::{
    RootCertStore, ServerConfig, SupportedProtocolVersion,
    crypto::CryptoProvider,
    pki_types::CertificateDer,
    server::{NoServerSessionStorage, WebPkiClientVerifier, danger::ClientCertVerifier},
    version::{TLS12, TLS13},
};

use super::{Pem, TlsError, expiry};

/// Whether a server requires client certificates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ClientCertificates {
    /// A handshake without a valid client certificate fails.
    #[default]
    Required,
    /// Clients may send no certificate. One that is sent has to be valid.
    Optional,
}

/// TLS settings of a server: certificate and key, client trust anchors, and limits.
///
/// [`load`](Self::load) reads the files and returns the [`Tls`](super::Tls) for a server.
///
/// ```no_run
/// use a2a_kit_http::tls::{ClientCertificates, Pem, TlsSettings};
///
/// # fn main() -> Result<(), a2a_kit_http::tls::TlsError> {
/// let tls = TlsSettings::new(Pem::file("agent.crt"), Pem::file("agent.key"))
///     .with_client_roots(Pem::file("clients.crt"), ClientCertificates::Required)
///     .load()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Setters)]
#[non_exhaustive]
#[setters(prefix = "with_")]
pub struct TlsSettings {
    /// The certificate of the server, followed by its intermediates.
    #[setters(skip)]
    pub certificate: Pem,
    /// The private key of the certificate, in PKCS #8, SEC 1 or PKCS #1.
    #[setters(skip)]
    pub key: Pem,
    /// Trust anchors for client certificates. Default: client certificates are not requested.
    #[setters(skip)]
    pub client_roots: Option<Pem>,
    /// Whether client certificates are required, if there are client roots. Default: required.
    #[setters(skip)]
    pub client_certificates: ClientCertificates,
    /// Certificate revocation lists for client certificates (CRL, RFC 5280 §5). Certificates of
    /// roots without a list are accepted. Default: none.
    #[setters(into)]
    pub revocations: Option<Pem>,
    /// Whether TLS 1.2 is rejected. Default: no.
    pub only_tls13: bool,
    /// Handshake timeout. Default: 10 s.
    pub handshake_timeout: Duration,
    /// Maximum number of concurrent handshakes; each address is limited to a quarter. Further
    /// handshakes wait, within their timeout. Default: 1,024.
    pub max_handshakes: usize,
    /// Interval at which files are checked for changes; `None` for never. Default: 10 s.
    #[setters(into)]
    pub reload_interval: Option<Duration>,
    /// `max-age` of `Strict-Transport-Security` (RFC 6797); `None` omits the header.
    /// Default: 1 year.
    #[setters(into)]
    pub hsts: Option<Duration>,
}

impl TlsSettings {
    /// Creates the settings of a server with this certificate and key.
    pub fn new(certificate: Pem, key: Pem) -> Self {
        Self {
            certificate,
            key,
            client_roots: None,
            client_certificates: ClientCertificates::default(),
            revocations: None,
            only_tls13: false,
            handshake_timeout: Duration::from_secs(10),
            max_handshakes: 1_024,
            reload_interval: Some(Duration::from_secs(10)),
            hsts: Some(Duration::from_secs(365 * 24 * 3600)),
        }
    }

    /// Requests client certificates that chain to one of `roots`.
    ///
    /// Sessions are then never resumed: each connection verifies the certificate in a full
    /// handshake.
    #[must_use]
    pub fn with_client_roots(mut self, roots: Pem, certificates: ClientCertificates) -> Self {
        self.client_roots = Some(roots);
        self.client_certificates = certificates;
        self
    }

    /// Returns whether any certificate or key is in a file.
    pub(super) fn has_files(&self) -> bool {
        let optional = self.client_roots.iter().chain(&self.revocations);
        [&self.certificate, &self.key].into_iter().chain(optional).any(Pem::is_file)
    }
}

/// The contents of certificates, keys and revocation lists.
pub(super) struct Material {
    certificate: Vec<u8>,
    key: Vec<u8>,
    client_roots: Option<Vec<u8>>,
    revocations: Option<Vec<u8>>,
}

pub(super) type Fingerprint = [u8; digest::SHA256_OUTPUT_LEN];

impl Material {
    pub(super) fn read(settings: &TlsSettings) -> Result<Self, TlsError> {
        let optional = |pem: &Option<Pem>, what| match pem {
            Some(pem) => pem.read(what).map(|text| Some(text.into_owned())),
            None => Ok(None),
        };
        Ok(Self {
            certificate: settings.certificate.read("certificate")?.into_owned(),
            key: settings.key.read("private key")?.into_owned(),
            client_roots: optional(&settings.client_roots, "client root certificate")?,
            revocations: optional(&settings.revocations, "certificate revocation list")?,
        })
    }

    /// Returns a hash of the contents, to detect changes.
    pub(super) fn fingerprint(&self) -> Fingerprint {
        let mut context = digest::Context::new(&digest::SHA256);
        let empty = Vec::new();
        for text in [
            &self.certificate,
            &self.key,
            self.client_roots.as_ref().unwrap_or(&empty),
            self.revocations.as_ref().unwrap_or(&empty),
        ] {
            context.update(&text.len().to_be_bytes());
            context.update(text);
        }
        let mut fingerprint = Fingerprint::default();
        fingerprint.copy_from_slice(context.finish().as_ref());
        fingerprint
    }

    /// When the server certificate expires, if that can be read.
    pub(super) fn not_after(&self) -> Option<SystemTime> {
        let chain: Vec<CertificateDer<'_>> = pem::all(&self.certificate, "certificate").ok()?;
        expiry::not_after(chain.first()?)
    }

    pub(super) fn config(&self, settings: &TlsSettings) -> Result<ServerConfig, TlsError> {
        let provider = crypto::provider();
        let versions: &[&SupportedProtocolVersion] =
            if settings.only_tls13 { &[&TLS13] } else { &[&TLS13, &TLS12] };
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(versions)
            .map_err(|error| TlsError::Setup(error.into()))?;
        let verifier = self.client_verifier(settings, provider)?;
        let requests_client_certificates = verifier.is_some();
        let builder = match verifier {
            Some(verifier) => builder.with_client_cert_verifier(verifier),
            None => builder.with_no_client_auth(),
        };
        let chain = pem::all(&self.certificate, "certificate")?;
        let key = pem::key(&self.key)?;
        let mut config = builder
            .with_single_cert(chain, key)
            .map_err(|error| TlsError::Identity(error.into()))?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        if requests_client_certificates {
            // A resumed session would outlive the certificate and its revocation.
            config.session_storage = Arc::new(NoServerSessionStorage {});
            config.send_tls13_tickets = 0;
        } else {
            config.ticketer = crypto::ticketer()?;
        }
        Ok(config)
    }

    fn client_verifier(
        &self,
        settings: &TlsSettings,
        provider: Arc<CryptoProvider>,
    ) -> Result<Option<Arc<dyn ClientCertVerifier>>, TlsError> {
        let Some(text) = &self.client_roots else { return Ok(None) };
        let mut roots = RootCertStore::empty();
        for root in pem::all(text, "client root certificate")? {
            roots.add(root).map_err(|error| TlsError::Unusable {
                what: "client root certificate",
                source: error.into(),
            })?;
        }
        let mut builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
        if let Some(text) = &self.revocations {
            let lists = pem::all(text, "certificate revocation list")?;
            builder = builder.with_crls(lists).allow_unknown_revocation_status();
        }
        if settings.client_certificates == ClientCertificates::Optional {
            builder = builder.allow_unauthenticated();
        }
        builder.build().map(Some).map_err(|error| TlsError::Unusable {
            what: "certificate revocation list",
            source: error.into(),
        })
    }
}
