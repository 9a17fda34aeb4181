//! Server certificate verifiers beyond the default of rustls.

use std::sync::{Arc, OnceLock};

use rustls::{
    CertificateError, DigitallySignedStruct, Error, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime},
};
use rustls_platform_verifier::Verifier;

/// Verifies that a server has the key of its certificate, and the certificate by one of several
/// [checks](Check).
#[derive(Debug)]
pub(crate) struct CertificateVerifier {
    provider: Arc<CryptoProvider>,
    check: Check,
}

#[derive(Debug)]
enum Check {
    /// Any certificate is accepted.
    None,
    /// The certificate has to be valid for the inner verifier, but for any host name.
    WithoutName(Arc<dyn ServerCertVerifier>),
    /// The certificate has to be trusted by the platform. Its root certificates are loaded at the
    /// first handshake, which takes milliseconds: many processes never open a TLS connection.
    /// `None` where loading has failed.
    Platform(OnceLock<Option<Verifier>>),
}

impl CertificateVerifier {
    /// Accepts any certificate.
    pub(crate) fn unverified(provider: Arc<CryptoProvider>) -> Self {
        Self { provider, check: Check::None }
    }

    /// Accepts what the inner verifier accepts, for any host name.
    pub(crate) fn without_name(
        provider: Arc<CryptoProvider>,
        inner: Arc<dyn ServerCertVerifier>,
    ) -> Self {
        Self { provider, check: Check::WithoutName(inner) }
    }

    /// Accepts what the platform trusts.
    pub(crate) fn platform(provider: Arc<CryptoProvider>) -> Self {
        Self { provider, check: Check::Platform(OnceLock::new()) }
    }

    fn load_platform(&self) -> Option<Verifier> {
        // Not an error: a container without root certificates can still use plain HTTP.
        Verifier::new(Arc::clone(&self.provider))
            .inspect_err(|error| {
                tracing::warn!(%error, "failed to load the platform's root certificates, TLS connections will fail");
            })
            .ok()
    }
}

impl ServerCertVerifier for CertificateVerifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        use CertificateError::{NotValidForName, NotValidForNameContext, UnknownIssuer};
        match &self.check {
            Check::None => Ok(ServerCertVerified::assertion()),
            Check::WithoutName(inner) => {
                match inner.verify_server_cert(certificate, intermediates, name, ocsp, now) {
                    Err(Error::InvalidCertificate(
                        NotValidForName | NotValidForNameContext { .. },
                    )) => Ok(ServerCertVerified::assertion()),
                    other => other,
                }
            }
            Check::Platform(verifier) => match verifier.get_or_init(|| self.load_platform()) {
                Some(verifier) => {
                    verifier.verify_server_cert(certificate, intermediates, name, ocsp, now)
                }
                None => Err(Error::InvalidCertificate(UnknownIssuer)),
            },
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
