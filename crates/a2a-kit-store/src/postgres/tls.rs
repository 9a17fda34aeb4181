//! TLS to the database.

use a2a_kit_tls::{ClientTls, Pem, TlsError};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::{
    PostgresError,
    address::{Address, Roots, Verify},
};

/// Creates the TLS connector for an address.
pub(super) fn connector(address: &Address) -> Result<MakeRustlsConnect, PostgresError> {
    let config = client(address).and_then(|tls| tls.config()).map_err(|source| {
        let place = match &address.roots {
            Roots::System => "the system".to_owned(),
            Roots::File(path) => path.display().to_string(),
        };
        PostgresError::Roots { place, source: source.into() }
    })?;
    Ok(MakeRustlsConnect::new(config))
}

fn client(address: &Address) -> Result<ClientTls, TlsError> {
    let tls = match (&address.roots, address.verify) {
        (Roots::System, _) => ClientTls::new(),
        // Root certificates are not needed without verification.
        (Roots::File(_), Verify::Nothing) => ClientTls::new(),
        (Roots::File(path), _) => ClientTls::new().with_roots(&Pem::file(path))?,
    };
    Ok(match address.verify {
        // Encrypted but not authenticated, as requested.
        Verify::Nothing => tls.without_verification(),
        Verify::Signature => tls.without_names(),
        Verify::Full => tls,
    })
}
