//! Trust anchors and client certificate.

use std::{
    error::Error,
    path::{Path, PathBuf},
};

use a2a_kit_http::tls::{ClientTls, Pem};

use super::{flags::Flags, source::Environment};
use crate::failure::{Failure, chain};

/// Reads the trust anchors.
///
/// # Errors
///
/// A usage failure that names the flag.
pub(super) fn trust(flags: &Flags, environment: &Environment) -> Result<ClientTls, Failure> {
    let tls = ClientTls::new();
    match path(&flags.ca_cert, environment, "ca-cert") {
        None => Ok(tls),
        Some(roots) => tls
            .with_more_roots(&Pem::file(&roots))
            .map_err(|error| invalid("--ca-cert", &roots, &error)),
    }
}

/// Adds the client certificate for agents.
///
/// # Errors
///
/// A usage failure that names the flag.
pub(super) fn identified(
    tls: ClientTls,
    flags: &Flags,
    environment: &Environment,
) -> Result<ClientTls, Failure> {
    let certificate = path(&flags.client_cert, environment, "client-cert");
    let key = path(&flags.client_key, environment, "client-key");
    match (certificate, key) {
        (Some(certificate), Some(key)) => tls
            .with_identity(&Pem::file(&certificate), &Pem::file(&key))
            .map_err(|error| invalid("--client-cert", &certificate, &error)),
        (Some(_), None) => Err(Failure::usage("--client-cert needs --client-key")),
        (None, Some(_)) => Err(Failure::usage("--client-key needs --client-cert")),
        (None, None) => Ok(tls),
    }
}

fn path(flag: &Option<PathBuf>, environment: &Environment, name: &str) -> Option<PathBuf> {
    flag.clone().or_else(|| environment.text(name).map(Into::into))
}

fn invalid(flag: &str, path: &Path, error: &dyn Error) -> Failure {
    Failure::usage(format!("{flag} {}: {}", path.display(), chain(error)))
}
