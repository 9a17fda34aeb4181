//! Trust anchors and client certificate.

use std::{error::Error, path::Path};

use a2a_kit_http::tls::{ClientTls, Pem};

use crate::failure::{Failure, chain};

/// Reads the trust anchors.
///
/// # Errors
///
/// A usage failure that names the flag.
pub(super) fn trust(roots: Option<&Path>) -> Result<ClientTls, Failure> {
    let tls = ClientTls::new();
    match roots {
        None => Ok(tls),
        Some(roots) => tls
            .with_more_roots(&Pem::file(roots))
            .map_err(|error| invalid("--ca-cert", roots, &error)),
    }
}

/// Adds the client certificate for agents.
///
/// # Errors
///
/// A usage failure that names the flag.
pub(super) fn identified(
    tls: ClientTls,
    certificate: Option<&Path>,
    key: Option<&Path>,
) -> Result<ClientTls, Failure> {
    match (certificate, key) {
        (Some(certificate), Some(key)) => tls
            .with_identity(&Pem::file(certificate), &Pem::file(key))
            .map_err(|error| invalid("--client-cert", certificate, &error)),
        (Some(_), None) => Err(Failure::usage("--client-cert needs --client-key")),
        (None, Some(_)) => Err(Failure::usage("--client-key needs --client-cert")),
        (None, None) => Ok(tls),
    }
}

fn invalid(flag: &str, path: &Path, error: &dyn Error) -> Failure {
    Failure::usage(format!("{flag} {}: {}", path.display(), chain(error)))
}
