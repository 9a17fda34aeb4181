//! Bearer tokens of external issuers.

use std::{fs, sync::Arc};

use a2a_auth::{
    jose::{JwkSet, RemoteKeys},
    server::{Introspection, Jwt, Verifier},
};
use a2a_core::{
    host,
    v1::{OpenIdConnectSecurityScheme, security_scheme::Scheme},
};
use a2a_http::tls::ClientTls;
use url::Url;

use super::{Declared, http};
use crate::{
    failure::Failure,
    settings::{
        serve::{Row, Told},
        value,
    },
};

/// Reads a table of some type.
type Read = fn(&Row, &ClientTls) -> Result<(Scheme, Arc<dyn Verifier>), Failure>;

/// Returns a scheme for each issuer in the settings file.
///
/// # Errors
///
/// A usage failure that names the location in the file.
pub(super) fn of_issuers(told: &Told, trust: &ClientTls) -> Result<Vec<Declared>, Failure> {
    let kinds: [(&str, Read); 3] =
        [("jwt", of_keys), ("oidc", of_discovery), ("introspection", of_introspection)];
    let mut schemes = Vec::new();
    for (kind, read) in kinds {
        for (index, row) in told.rows(&format!("auth.{kind}")).enumerate() {
            let (scheme, verifier) = read(row, trust)?;
            let name = match (row.text("scheme"), index) {
                (Some(name), _) => name.to_owned(),
                (None, 0) => kind.to_owned(),
                (None, more) => format!("{kind}{}", more + 1),
            };
            let scopes = row.list("scopes").to_vec();
            schemes.push(Declared {
                name,
                scheme,
                scopes,
                verifier,
                source: format!("auth.{kind}"),
            });
        }
    }
    Ok(schemes)
}

/// An issuer with a key set in a file or at a URL.
fn of_keys(row: &Row, trust: &ClientTls) -> Result<(Scheme, Arc<dyn Verifier>), Failure> {
    let issuer = row.text("issuer").unwrap_or_default();
    let (first, more) = audiences(row)?;
    let jwt = match (row.text("jwks_url"), row.text("jwks_file")) {
        (Some(url), None) => {
            encrypted(url).map_err(|error| row.failure(format!("jwks_url: {error}")))?;
            let keys = RemoteKeys::at_with_tls(url, trust.clone());
            Jwt::new(issuer, first, keys.map_err(|error| row.failure(error))?)
        }
        (None, Some(path)) => Jwt::new(issuer, first, keys(row, path)?),
        _ => return Err(row.failure("exactly one of jwks_url and jwks_file is required")),
    };
    Ok((http("bearer", "JWT"), Arc::new(complete(jwt, more, row)?)))
}

/// An issuer with an OpenID Connect discovery document.
fn of_discovery(row: &Row, trust: &ClientTls) -> Result<(Scheme, Arc<dyn Verifier>), Failure> {
    let url = row.text("url").unwrap_or_default();
    let (first, more) = audiences(row)?;
    let jwt =
        Jwt::discovered_with_tls(url, first, trust.clone()).map_err(|error| row.failure(error))?;
    let scheme = OpenIdConnectSecurityScheme {
        open_id_connect_url: url.to_owned(),
        ..OpenIdConnectSecurityScheme::default()
    };
    let scheme = Scheme::OpenIdConnectSecurityScheme(scheme);
    Ok((scheme, Arc::new(complete(jwt, more, row)?)))
}

/// An issuer with a token introspection endpoint.
fn of_introspection(row: &Row, trust: &ClientTls) -> Result<(Scheme, Arc<dyn Verifier>), Failure> {
    let text = |name| row.text(name).unwrap_or_default();
    let verifier =
        Introspection::new(text("issuer"), text("url"), text("client_id"), text("client_secret"));
    let verifier = verifier.and_then(|verifier| verifier.with_tls(trust.clone()));
    let mut verifier = verifier.map_err(|error| row.failure(error))?;
    for audience in row.list("audiences") {
        verifier = verifier.with_audience(audience);
    }
    if let [_, ..] = row.list("claims") {
        verifier = verifier.with_claims(row.list("claims"));
    }
    if let Some(lifetime) = row.text("lifetime") {
        let lifetime = value::duration(lifetime).map_err(|error| row.failure(error))?;
        verifier = verifier.with_lifetime(lifetime);
    }
    Ok((http("bearer", ""), Arc::new(verifier)))
}

fn audiences(row: &Row) -> Result<(&String, &[String]), Failure> {
    row.list("audiences").split_first().ok_or_else(|| row.failure("audiences must not be empty"))
}

fn complete(jwt: Jwt, more: &[String], row: &Row) -> Result<Jwt, Failure> {
    let mut jwt = more.iter().fold(jwt, |jwt, audience| jwt.with_audience(audience));
    if let [_, ..] = row.list("claims") {
        jwt = jwt.with_claims(row.list("claims"));
    }
    Ok(match row.text("leeway") {
        Some(leeway) => {
            jwt.with_leeway(value::duration(leeway).map_err(|error| row.failure(error))?)
        }
        None => jwt,
    })
}

fn keys(row: &Row, path: &str) -> Result<JwkSet, Failure> {
    let invalid = |error: &dyn std::fmt::Display| row.failure(format!("jwks_file {path}: {error}"));
    let text = fs::read(path).map_err(|error| invalid(&error))?;
    let keys: JwkSet = serde_json::from_slice(&text).map_err(|error| invalid(&error))?;
    if keys.keys().is_empty() {
        return Err(invalid(&"no supported signing key"));
    }
    Ok(keys)
}

/// Checks that a URL is protected in transit (spec §7.1).
fn encrypted(url: &str) -> Result<(), String> {
    let url = Url::parse(url).map_err(|error| error.to_string())?;
    match url.scheme() {
        "https" => Ok(()),
        "http" if url.host_str().is_some_and(host::is_loopback) => Ok(()),
        _ => Err("expected an https URL".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_urls_must_be_https_or_loopback() {
        for (url, is_fine) in [
            ("https://issuer.example/keys", true),
            ("http://127.0.0.1:8000/keys", true),
            ("http://[::1]/keys", true),
            ("http://issuer.example/keys", false),
            ("http://localhost.evil.example/keys", false),
            ("file:///etc/keys", false),
            ("keys", false),
        ] {
            assert_eq!(encrypted(url).is_ok(), is_fine, "{url}");
        }
    }
}
