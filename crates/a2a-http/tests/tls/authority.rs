//! A certificate authority, and those whom it vouches for.

use a2a_http::tls::Pem;
use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, DistinguishedName,
    DnType, IsCa, Issuer, KeyIdMethod, KeyPair, KeyUsagePurpose, RevokedCertParams, SerialNumber,
    date_time_ymd,
};

pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: String,
}

pub(crate) struct Identity {
    pub(crate) certificate: String,
    pub(crate) key: String,
    pub(crate) der: Vec<u8>,
    serial: u64,
}

impl Authority {
    pub(crate) fn new(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        params.distinguished_name = named(name);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap().pem();
        Self { issuer: Issuer::new(params, key), certificate }
    }

    pub(crate) fn text(&self) -> &str {
        &self.certificate
    }

    pub(crate) fn pem(&self) -> Pem {
        Pem::text(&self.certificate)
    }

    /// An identity of this machine, named `name`.
    pub(crate) fn issue(&self, name: &str, serial: u64) -> Identity {
        let hosts = ["localhost".to_owned(), "127.0.0.1".to_owned()];
        let mut params = CertificateParams::new(hosts).unwrap();
        params.serial_number = Some(SerialNumber::from(serial));
        params.distinguished_name = named(name);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        Identity {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
            der: certificate.der().to_vec(),
            serial,
        }
    }

    pub(crate) fn revoke(&self, identity: &Identity) -> Pem {
        let list = CertificateRevocationListParams {
            this_update: date_time_ymd(2020, 1, 1),
            next_update: date_time_ymd(4000, 1, 1),
            crl_number: SerialNumber::from(1),
            issuing_distribution_point: None,
            revoked_certs: vec![RevokedCertParams {
                serial_number: SerialNumber::from(identity.serial),
                revocation_time: date_time_ymd(2020, 1, 1),
                reason_code: None,
                invalidity_date: None,
            }],
            key_identifier_method: KeyIdMethod::Sha256,
        };
        Pem::text(list.signed_by(&self.issuer).unwrap().pem().unwrap())
    }
}

impl Identity {
    pub(crate) fn certificate(&self) -> Pem {
        Pem::text(&self.certificate)
    }

    pub(crate) fn key(&self) -> Pem {
        Pem::text(&self.key)
    }
}

fn named(name: &str) -> DistinguishedName {
    let mut names = DistinguishedName::new();
    names.push(DnType::CommonName, name);
    names
}
