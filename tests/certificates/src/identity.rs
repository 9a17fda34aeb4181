use std::{fs, path::Path};

use rcgen::{Certificate, KeyPair, SerialNumber};

use crate::authority::params;

/// A certificate and its key.
#[derive(Debug)]
pub struct Identity {
    /// The certificate, as PEM.
    pub certificate: String,
    /// The private key, as PEM.
    pub key: String,
    /// The certificate, as DER.
    pub der: Vec<u8>,
    serial: u64,
}

impl Identity {
    pub(crate) fn new(certificate: &Certificate, key: &KeyPair, serial: u64) -> Self {
        let (pem, der) = (certificate.pem(), certificate.der().to_vec());
        Self { certificate: pem, key: key.serialize_pem(), der, serial }
    }

    /// Creates a self-signed certificate for one name or address.
    #[must_use]
    pub fn self_signed(host: &str) -> Self {
        let mut params = params(host, &[host]);
        params.serial_number = Some(SerialNumber::from(1));
        let key = KeyPair::generate().expect("a key is made");
        let certificate = params.self_signed(&key).expect("the certificate is signed");
        Self::new(&certificate, &key, 1)
    }

    /// Writes the certificate to `{name}.crt` and the key to `{name}.key`.
    pub fn write(&self, directory: &Path, name: &str) {
        for (end, text) in [("crt", &self.certificate), ("key", &self.key)] {
            fs::write(directory.join(format!("{name}.{end}")), text).expect("the file is written");
        }
    }

    pub(crate) fn serial(&self) -> u64 {
        self.serial
    }
}
