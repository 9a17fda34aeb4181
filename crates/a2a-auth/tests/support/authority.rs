//! A certificate authority, and those whom it vouches for.
#![allow(dead_code, reason = "each test file uses some of it")]

use a2a_http::tls::{ClientTls, Pem, TlsSettings};
use rcgen::{BasicConstraints, Certificate, CertificateParams, IsCa, Issuer, KeyPair};

pub(crate) struct Authority(Issuer<'static, KeyPair>, Pem);

pub(crate) type Certified = (Certificate, KeyPair);

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let pem = Pem::text(params.self_signed(&key).unwrap().pem());
        Self(Issuer::new(params, key), pem)
    }

    pub(crate) fn root(&self) -> Pem {
        self.1.clone()
    }

    pub(crate) fn issue(&self, params: CertificateParams) -> Certified {
        let key = KeyPair::generate().unwrap();
        (params.signed_by(&key, &self.0).unwrap(), key)
    }

    /// The settings of a server on this machine.
    pub(crate) fn server(&self) -> TlsSettings {
        let params = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
        let (certificate, key) = self.issue(params);
        TlsSettings::new(Pem::text(certificate.pem()), Pem::text(key.serialize_pem()))
    }

    /// A client that trusts this root, and shows a certificate if it has one.
    pub(crate) fn client(&self, certified: Option<&Certified>) -> ClientTls {
        let tls = ClientTls::new().with_roots(&self.1).unwrap();
        match certified {
            None => tls,
            Some((certificate, key)) => tls
                .with_identity(&Pem::text(certificate.pem()), &Pem::text(key.serialize_pem()))
                .unwrap(),
        }
    }
}
