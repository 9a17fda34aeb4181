//! Callers who have proved with a certificate who they are (mutual TLS).

use std::{collections::HashMap, fmt, time::SystemTime};

use a2a_core::v1::security_scheme::Scheme;
use a2a_operations::Caller;
use async_trait::async_trait;
use ring::digest;
use x509_cert::{
    Certificate,
    der::Decode as _,
    ext::pkix::{SubjectAltName, name::GeneralName},
};

use super::{Presented, Rejection, Verifier, secrets::InvalidDigest};

/// Certificates of callers, and who they are. That a certificate is genuine is proved by TLS: the
/// server asks for one, and has roots of its own for them.
///
/// A certificate that nobody here is known by is like none: peers may have one for other reasons.
/// A caller is known until the certificate expires, on a connection that has been open for longer
/// too.
#[derive(Clone, Default)]
pub struct Certificates {
    known: HashMap<Name, Caller>,
    takes_any: bool,
}

/// What a certificate can be known by.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Name {
    Fingerprint([u8; 32]),
    Uri(String),
    Dns(String),
    Subject(String),
}

impl Certificates {
    /// No certificates yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a certificate by the SHA-256 of its DER form, in hexadecimal.
    ///
    /// # Errors
    ///
    /// [`InvalidDigest`].
    pub fn with_fingerprint(mut self, sha256: &str, caller: Caller) -> Result<Self, InvalidDigest> {
        let plain = sha256.replace(':', "");
        self.known.insert(Name::Fingerprint(super::secrets::hexadecimal(&plain)?), caller);
        Ok(self)
    }

    /// Adds whoever has a URI among its alternative names, as `spiffe://example/agent`.
    #[must_use]
    pub fn with_uri(mut self, uri: impl Into<String>, caller: Caller) -> Self {
        self.known.insert(Name::Uri(uri.into()), caller);
        self
    }

    /// Adds whoever has a DNS name among its alternative names.
    #[must_use]
    pub fn with_dns(mut self, name: &str, caller: Caller) -> Self {
        self.known.insert(Name::Dns(name.to_ascii_lowercase()), caller);
        self
    }

    /// Adds whoever has a subject, as `CN=ann,O=Example` (RFC 4514): what stands last in the
    /// certificate stands first.
    #[must_use]
    pub fn with_subject(mut self, subject: impl Into<String>, caller: Caller) -> Self {
        self.known.insert(Name::Subject(subject.into()), caller);
        self
    }

    /// Takes everyone whose certificate TLS has verified, and calls them by its first URI or else
    /// its subject: `x509#spiffe://example/agent`, `x509#CN=ann,O=Example`.
    #[must_use]
    pub fn with_any(mut self) -> Self {
        self.takes_any = true;
        self
    }

    fn find(&self, der: &[u8]) -> Result<Caller, Rejection> {
        let certificate = Certificate::from_der(der)
            .map_err(|_error| Rejection::Invalid("the certificate can't be read"))?;
        let names = names(der, &certificate)?;
        let known = names.iter().find_map(|name| self.known.get(name)).cloned();
        let any = || {
            let name = names.iter().find_map(|name| match name {
                Name::Uri(name) | Name::Subject(name) if !name.is_empty() => Some(name),
                _ => None,
            });
            name.filter(|_| self.takes_any)
                .map(|name| Caller::authenticated(format!("x509#{name}")))
        };
        let caller = known.or_else(any).ok_or(Rejection::Unknown)?;
        let expires = certificate.tbs_certificate.validity.not_after.to_system_time();
        if expires <= SystemTime::now() {
            return Err(Rejection::Expired);
        }
        Ok(caller.with_expiry(expires))
    }
}

/// What a certificate can be known by, the surest first.
fn names(der: &[u8], certificate: &Certificate) -> Result<Vec<Name>, Rejection> {
    let mut fingerprint = [0; 32];
    fingerprint.copy_from_slice(digest::digest(&digest::SHA256, der).as_ref());
    let mut names = vec![Name::Fingerprint(fingerprint)];
    let alternative = certificate
        .tbs_certificate
        .get::<SubjectAltName>()
        .map_err(|_error| Rejection::Invalid("the names of the certificate can't be read"))?;
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
    names.push(Name::Subject(certificate.tbs_certificate.subject.to_string()));
    Ok(names)
}

#[async_trait]
impl Verifier for Certificates {
    fn fits(&self, scheme: &Scheme) -> bool {
        matches!(scheme, Scheme::MtlsSecurityScheme(_))
    }

    fn can_be_guessed(&self) -> bool {
        false
    }

    async fn verify(&self, presented: &Presented) -> Result<Caller, Rejection> {
        match presented {
            Presented::Certificate(chain) => self.find(chain.leaf()),
            _ => Err(Rejection::Invalid("it is no certificate")),
        }
    }
}

impl fmt::Debug for Certificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certificates")
            .field("known", &self.known.len())
            .field("takes_any", &self.takes_any)
            .finish()
    }
}
