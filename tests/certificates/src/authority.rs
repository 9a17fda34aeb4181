use std::sync::atomic::{AtomicU64, Ordering};

use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, CertifiedIssuer,
    DistinguishedName, DnType, IsCa, KeyIdMethod, KeyPair, KeyUsagePurpose, RevokedCertParams,
    SerialNumber, date_time_ymd,
};

use crate::Identity;

/// A root certificate authority for a test.
#[derive(Debug)]
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    root: String,
    issued: AtomicU64,
}

impl Authority {
    /// Creates an authority with a new key. Two with the same name are different.
    #[must_use]
    pub fn new(name: &str) -> Self {
        let mut params = params(name, &[]);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().expect("a key is made");
        let issuer = CertifiedIssuer::self_signed(params, key).expect("the root is signed");
        Self { root: issuer.pem(), issuer, issued: AtomicU64::new(0) }
    }

    /// Returns the certificate of this authority, as PEM.
    #[must_use]
    pub fn root(&self) -> &str {
        &self.root
    }

    /// Issues a certificate with these parameters and the next serial number.
    #[must_use]
    pub fn issue(&self, mut params: CertificateParams) -> Identity {
        let serial = self.issued.fetch_add(1, Ordering::Relaxed) + 1;
        params.serial_number = Some(SerialNumber::from(serial));
        let key = KeyPair::generate().expect("a key is made");
        let certificate = params.signed_by(&key, &self.issuer).expect("the certificate is signed");
        Identity::new(&certificate, &key, serial)
    }

    /// Issues a certificate for `localhost` and `127.0.0.1`, whose subject has this name.
    #[must_use]
    pub fn for_this_machine(&self, name: &str) -> Identity {
        self.issue(params(name, &["localhost", "127.0.0.1"]))
    }

    /// Issues a certificate for exactly one name or address.
    #[must_use]
    pub fn for_host(&self, host: &str) -> Identity {
        self.issue(params(host, &[host]))
    }

    /// Returns a revocation list with one certificate of this authority, as PEM.
    #[must_use]
    pub fn revoked(&self, identity: &Identity) -> String {
        let list = CertificateRevocationListParams {
            this_update: date_time_ymd(2020, 1, 1),
            next_update: date_time_ymd(4000, 1, 1),
            crl_number: SerialNumber::from(1),
            issuing_distribution_point: None,
            revoked_certs: vec![RevokedCertParams {
                serial_number: SerialNumber::from(identity.serial()),
                revocation_time: date_time_ymd(2020, 1, 1),
                reason_code: None,
                invalidity_date: None,
            }],
            key_identifier_method: KeyIdMethod::Sha256,
        };
        let list = list.signed_by(&self.issuer).expect("the list is signed");
        list.pem().expect("the list is PEM")
    }
}

/// The parameters of a certificate with this subject and these hosts.
pub(crate) fn params(name: &str, hosts: &[&str]) -> CertificateParams {
    let hosts: Vec<_> = hosts.iter().map(|&host| host.to_owned()).collect();
    let mut params = CertificateParams::new(hosts).expect("hosts are ASCII");
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params
}
