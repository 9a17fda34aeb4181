//! How connections are encrypted, and what is said where they are not.

use std::{error::Error, net::SocketAddr};

use a2a_kit_http::tls::{ClientCertificates, Pem, Tls, TlsSettings};

use super::chain;
use crate::{
    failure::Failure,
    output::Output,
    settings::serve::{ClientAuth, Serve, Tls as TlsFlags, TlsVersion},
};

/// Reads certificates and keys; `None` for plaintext connections.
pub(super) fn tls(flags: &TlsFlags) -> Result<Option<Tls>, Failure> {
    let (certificate, key) = match (&flags.cert_file, &flags.key_file) {
        (Some(certificate), Some(key)) => (certificate, key),
        (Some(_), None) => return Err(Failure::usage("--tls-cert needs --tls-key")),
        (None, Some(_)) => return Err(Failure::usage("--tls-key needs --tls-cert")),
        (None, None) => {
            let given = [
                ("--tls-client-ca", flags.client_ca_file.is_some()),
                ("--tls-crl", flags.crl_file.is_some()),
            ];
            return match given.into_iter().find(|(_, is_given)| *is_given) {
                Some((flag, _)) => {
                    Err(Failure::usage(format!("{flag} needs --tls-cert and --tls-key")))
                }
                None => Ok(None),
            };
        }
    };
    let mut settings = TlsSettings::new(Pem::file(certificate), Pem::file(key))
        .with_only_tls13(flags.min_version == TlsVersion::V1_3)
        .with_handshake_timeout(flags.handshake_timeout.0)
        .with_max_handshakes(flags.max_handshakes)
        .with_hsts(Some(flags.hsts_max_age.0).filter(|age| !age.is_zero()));
    if let Some(roots) = &flags.client_ca_file {
        let certificates = match flags.client_auth {
            ClientAuth::Required => ClientCertificates::Required,
            ClientAuth::Optional => ClientCertificates::Optional,
        };
        settings = settings.with_client_roots(Pem::file(roots), certificates);
    }
    if let Some(lists) = &flags.crl_file {
        if flags.client_ca_file.is_none() {
            return Err(Failure::usage("--tls-crl needs --tls-client-ca"));
        }
        settings = settings.with_revocations(Pem::file(lists));
    }
    let unusable = |error: &dyn Error| Failure::usage(format!("--tls-cert: {}", chain(error)));
    settings.load().map(Some).map_err(|error| unusable(&error))
}

/// Warns about plaintext connections beyond loopback, or rejects them.
/// Errors: a usage failure with `--production`.
pub(super) fn check(
    serve: &Serve,
    has_tls: bool,
    address: SocketAddr,
    output: Output,
) -> Result<(), Failure> {
    // A public URL with TLS implies a proxy in front that terminates it.
    let is_encrypted_in_front =
        serve.listen.public_url.as_ref().is_some_and(|url| url.starts_with("https://"));
    if has_tls || is_here(address) || is_encrypted_in_front {
        return Ok(());
    }
    let problem = format!("{address} is served in plaintext, without encryption");
    let hint = "use --tls-cert and --tls-key, or --public-url https://… if a proxy terminates TLS";
    insecure(serve, &problem, hint, output)
}

/// Warns about an insecure setting, or rejects it with `--production`.
/// Errors: a usage failure with `--production`.
pub(super) fn insecure(
    serve: &Serve,
    problem: &str,
    hint: &str,
    output: Output,
) -> Result<(), Failure> {
    if serve.listen.production {
        return Err(Failure::usage(problem).with_hint(hint));
    }
    output.warning(&format!("{problem}; {hint}"));
    Ok(())
}

/// Returns whether an address can be reached from this machine only.
pub(super) fn is_here(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}
