//! Whom to trust, and who to be, over TLS.

use std::{error::Error, path::Path};

use a2a_http::tls::{ClientTls, Pem};

use super::{Environment, Flags};
use crate::failure::Failure;

/// Reads the certificates that flags and variables name.
///
/// # Errors
///
/// A usage failure that names the flag.
pub(super) fn of(flags: &Flags, environment: &Environment) -> Result<ClientTls, Failure> {
    let path =
        |flag: &Option<_>, name| flag.clone().or_else(|| environment.text(name).map(Into::into));
    let mut tls = ClientTls::new();
    if let Some(roots) = path(&flags.ca_cert, "ca-cert") {
        tls = tls
            .with_more_roots(&Pem::file(&roots))
            .map_err(|error| unusable("--ca-cert", &roots, &error))?;
    }
    let certificate = path(&flags.client_cert, "client-cert");
    let key = path(&flags.client_key, "client-key");
    match (certificate, key) {
        (Some(certificate), Some(key)) => tls
            .with_identity(&Pem::file(&certificate), &Pem::file(&key))
            .map_err(|error| unusable("--client-cert", &certificate, &error)),
        (Some(_), None) => Err(Failure::usage("--client-cert needs --client-key")),
        (None, Some(_)) => Err(Failure::usage("--client-key needs --client-cert")),
        (None, None) => Ok(tls),
    }
}

fn unusable(flag: &str, path: &Path, error: &dyn Error) -> Failure {
    let mut message = format!("{flag} {}: {error}", path.display());
    let mut source = error.source();
    while let Some(cause) = source {
        message = format!("{message}: {cause}");
        source = cause.source();
    }
    Failure::usage(message)
}
