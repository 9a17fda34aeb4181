//! TLS configurations of both peers with certificates of a test authority.

use a2a_kit_http::tls::{ClientTls, Pem, TlsSettings};
use a2a_test_certificates::{Authority, Identity};

pub(crate) fn root(authority: &Authority) -> Pem {
    Pem::text(authority.root())
}

/// The TLS settings of a local server.
pub(crate) fn server(authority: &Authority) -> TlsSettings {
    let identity = authority.for_this_machine("server");
    TlsSettings::new(Pem::text(identity.certificate), Pem::text(identity.key))
}

/// A client that trusts an authority, and presents a certificate if it has one.
pub(crate) fn client(authority: &Authority, identity: Option<&Identity>) -> ClientTls {
    let tls = ClientTls::new().with_roots(&root(authority)).unwrap();
    let Some(Identity { certificate, key, .. }) = identity else { return tls };
    tls.with_identity(&Pem::text(certificate), &Pem::text(key)).unwrap()
}
