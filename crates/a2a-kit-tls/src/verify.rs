//! Server certificate verifiers beyond the default of rustls.

use std::sync::{Arc, OnceLock};

use rustls::{
    CertificateError, DigitallySignedStruct, Error, SignatureScheme, SupportedCipherSuite,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, hash::Output, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime},
    server::ParsedCertificate,
};
use rustls_platform_verifier::Verifier;

use crate::crypto::provider;

/// Verifies that a server has the key of its certificate, and the certificate by one of several
/// [checks](Check).
#[derive(Debug)]
pub(crate) struct CertificateVerifier {
    provider: Arc<CryptoProvider>,
    check: Check,
}

#[derive(Debug)]
pub(crate) enum Check {
    /// Any certificate is accepted.
    None,
    /// The certificate has to be valid for the inner verifier, but for any host name.
    WithoutName(Arc<dyn ServerCertVerifier>),
    /// The certificate or its public key has to have one of these SHA-256 fingerprints.
    Pinned(Vec<[u8; 32]>),
    /// The certificate has to be trusted by the platform. Its root certificates are loaded at the
    /// first handshake, which takes milliseconds: many processes never open a TLS connection.
    /// `None` where loading has failed.
    Platform(OnceLock<Option<Verifier>>),
}

impl CertificateVerifier {
    pub(crate) fn new(check: Check) -> Self {
        Self { provider: provider(), check }
    }

    fn verify_pin(
        &self,
        certificate: &CertificateDer<'_>,
        pins: &[[u8; 32]],
    ) -> Result<ServerCertVerified, Error> {
        let fingerprint = self.sha256(certificate)?;
        let key = ParsedCertificate::try_from(certificate)?.subject_public_key_info();
        let is_pinned =
            |fingerprint: &Output| pins.iter().any(|pin| pin.as_slice() == fingerprint.as_ref());
        if is_pinned(&fingerprint) || is_pinned(&self.sha256(&key)?) {
            return Ok(ServerCertVerified::assertion());
        }
        let shown: String = fingerprint.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        Err(Error::General(format!("the certificate is not pinned, its SHA-256 is {shown}")))
    }

    /// Hashes with SHA-256 as the cipher suites do.
    fn sha256(&self, bytes: &[u8]) -> Result<Output, Error> {
        let hash = self.provider.cipher_suites.iter().find_map(|suite| match suite {
            SupportedCipherSuite::Tls13(suite) => {
                Some(suite.common.hash_provider).filter(|hash| hash.output_len() == 32)
            }
            _ => None,
        });
        let hash = hash.ok_or_else(|| Error::General("no cipher suite has SHA-256".to_owned()))?;
        Ok(hash.hash(bytes))
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
            Check::Pinned(pins) => self.verify_pin(certificate, pins),
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
