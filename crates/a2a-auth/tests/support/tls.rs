//! Both ends of a connection, where an authority vouches for them.

use a2a_http::tls::{ClientTls, Pem, TlsSettings};
use a2a_test_certificates::{Authority, Identity};

pub(crate) fn root(authority: &Authority) -> Pem {
    Pem::text(authority.root())
}

/// The settings of a server on this machine.
pub(crate) fn server(authority: &Authority) -> TlsSettings {
    let identity = authority.for_this_machine("server");
    TlsSettings::new(Pem::text(identity.certificate), Pem::text(identity.key))
}

/// A client that trusts an authority, and shows a certificate if it has one.
pub(crate) fn client(authority: &Authority, identity: Option<&Identity>) -> ClientTls {
    let tls = ClientTls::new().with_roots(&root(authority)).unwrap();
    let Some(Identity { certificate, key, .. }) = identity else { return tls };
    tls.with_identity(&Pem::text(certificate), &Pem::text(key)).unwrap()
}
