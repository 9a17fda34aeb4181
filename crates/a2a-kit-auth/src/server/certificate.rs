//! Client certificates (mutual TLS).

use std::{collections::HashMap, time::SystemTime};

use a2a_core::{ParseError, v1::security_scheme::Scheme};
use a2a_kit_operations::Caller;
use async_trait::async_trait;
use derive_setters::Setters;
use ring::digest;
use x509_cert::{
    Certificate,
    der::Decode as _,
    ext::pkix::{SubjectAltName, name::GeneralName},
};

use super::{Attempt, Rejection, RequestCredential, SchemeVerifier};

/// Client certificates and their callers. TLS verifies the certificates: the server requests
/// one, and has trust anchors for them.
///
/// An unknown certificate is ignored, as it may have another purpose. A caller expires with its
/// certificate, even on an open connection.
#[derive(Clone, Default, Setters)]
#[setters(generate = false)]
pub struct Certificates {
    known: HashMap<Name, Caller>,
    /// Accepts any certificate that TLS has verified. The subject of the caller is the first URI of
    /// the certificate or else its subject: `x509#spiffe://example/agent`,
    /// `x509#CN=ann,O=Example`.
    #[setters(generate, bool, rename = "with_any")]
    accepts_any: bool,
}

/// An identifier of a certificate.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Name {
    Fingerprint([u8; 32]),
    Uri(String),
    Dns(String),
    Subject(String),
}

impl Certificates {
    /// Creates an empty set of certificates.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a certificate by the SHA-256 digest of its DER encoding, in hexadecimal.
    ///
    /// # Errors
    ///
    /// [`ParseError`].
    pub fn with_fingerprint(mut self, sha256: &str, caller: Caller) -> Result<Self, ParseError> {
        let plain = sha256.replace(':', "");
        self.known.insert(Name::Fingerprint(super::secrets::parse_sha256(&plain)?), caller);
        Ok(self)
    }

    /// Adds certificates by a URI in their subject alternative names, such as
    /// `spiffe://example/agent`.
    #[must_use]
    pub fn with_uri(mut self, uri: impl Into<String>, caller: Caller) -> Self {
        self.known.insert(Name::Uri(uri.into()), caller);
        self
    }

    /// Adds certificates by a DNS name in their subject alternative names.
    #[must_use]
    pub fn with_dns(mut self, name: &str, caller: Caller) -> Self {
        self.known.insert(Name::Dns(name.to_ascii_lowercase()), caller);
        self
    }

    /// Adds certificates by their subject, such as `CN=ann,O=Example` (RFC 4514: in reverse order
    /// of the certificate).
    #[must_use]
    pub fn with_subject(mut self, subject: impl Into<String>, caller: Caller) -> Self {
        self.known.insert(Name::Subject(subject.into()), caller);
        self
    }

    fn find(&self, der: &[u8]) -> Result<Caller, Rejection> {
        let certificate = Certificate::from_der(der)
            .map_err(|_error| Rejection::Invalid("malformed certificate"))?;
        let names = names(der, &certificate)?;
        let known = names.iter().find_map(|name| self.known.get(name)).cloned();
        let any = || {
            let name = names.iter().find_map(|name| match name {
                Name::Uri(name) | Name::Subject(name) if !name.is_empty() => Some(name),
                _ => None,
            });
            name.filter(|_| self.accepts_any)
                .map(|name| Caller::authenticated(format!("x509#{name}")))
        };
        let caller = known.or_else(any).ok_or(Rejection::Unknown)?;
        let expires = certificate.tbs_certificate().validity().not_after.to_system_time();
        if expires <= SystemTime::now() {
            return Err(Rejection::Expired);
        }
        Ok(caller.with_expiry(expires))
    }
}

/// The identifiers of a certificate, the most specific first.
fn names(der: &[u8], certificate: &Certificate) -> Result<Vec<Name>, Rejection> {
    let mut fingerprint = [0; 32];
    fingerprint.copy_from_slice(digest::digest(&digest::SHA256, der).as_ref());
    let mut names = vec![Name::Fingerprint(fingerprint)];
    let alternative = certificate
        .tbs_certificate()
        .get_extension::<SubjectAltName>()
        .map_err(|_error| Rejection::Invalid("malformed subject alternative names"))?;
    let alternative = alternative.map(|(_, names)| names.0).unwrap_or_default();
    let uris = alternative.iter().filter_map(|name| match name {
        GeneralName::UniformResourceIdentifier(uri) => Some(Name::Uri(uri.to_string())),
        _ => None,
    });
    names.extend(uris);
    let hosts = alternative.iter().filter_map(|name| match name {
        GeneralName::DnsName(host) => Some(Name::Dns(host.as_str().to_ascii_lowercase())),
        _ => None,
    });
    names.extend(hosts);
    names.push(Name::Subject(certificate.tbs_certificate().subject().to_string()));
    Ok(names)
}

#[async_trait]
impl SchemeVerifier for Certificates {
    fn supports(&self, scheme: &Scheme) -> bool {
        matches!(scheme, Scheme::MtlsSecurityScheme(_))
    }

    fn is_guessable(&self) -> bool {
        false
    }

    async fn verify(
        &self,
        credential: &RequestCredential,
        _: Attempt,
    ) -> Result<Caller, Rejection> {
        match credential {
            RequestCredential::Certificate(chain) => self.find(chain.leaf()),
            _ => Err(Rejection::Invalid("not a certificate")),
        }
    }
}

a2a_core::debug_fields!(Certificates { accepts_any, .. });
