//! Bearer tokens of external issuers.

use std::{fs, path::Path, sync::Arc};

use a2a_core::{
    host,
    v1::{OpenIdConnectSecurityScheme, security_scheme::Scheme},
};
use a2a_kit_auth::{
    jose::{JwkSet, RemoteKeys},
    server::{Introspection, JwtVerifier, SchemeVerifier},
};
use a2a_kit_http::tls::ClientTls;
use url::Url;

use super::declared::{Declared, http, invalid};
use crate::{
    failure::Failure,
    settings::serve::{
        Duration,
        auth::{self as settings, Auth},
    },
    settings::value,
};

/// A security scheme and its verifier, or why there is none.
type Verified = Result<(Scheme, Arc<dyn SchemeVerifier>), String>;

/// Returns a scheme for each issuer in the settings file.
pub(super) fn of_issuers(auth: &Auth, trust: &ClientTls) -> Result<Vec<Declared>, Failure> {
    let mut schemes = Vec::new();
    let mut declare = |table: &str, index, name: Option<&String>, scopes: &[String], verified| {
        let (scheme, verifier) = Verified::map_err(verified, |error| invalid(table, index, error))?;
        let name = match (name, index) {
            (Some(name), _) => name.clone(),
            (None, 0) => table.to_owned(),
            (None, index) => format!("{table}{}", index + 1),
        };
        let (scopes, source) = (scopes.to_vec(), format!("auth.{table}"));
        schemes.push(Declared { name, scheme, scopes, verifier, source });
        Ok::<_, Failure>(())
    };
    for (index, row) in auth.jwt.iter().enumerate() {
        declare("jwt", index, row.scheme.as_ref(), &row.scopes, of_keys(row, trust))?;
    }
    for (index, row) in auth.oidc.iter().enumerate() {
        declare("oidc", index, row.scheme.as_ref(), &row.scopes, of_discovery(row, trust))?;
    }
    for (index, row) in auth.introspection.iter().enumerate() {
        let verified = of_introspection(row, trust);
        declare("introspection", index, row.scheme.as_ref(), &row.scopes, verified)?;
    }
    Ok(schemes)
}

/// An issuer with a key set in a file or at a URL.
fn of_keys(row: &settings::Jwt, trust: &ClientTls) -> Verified {
    let (first, more) = audiences(&row.audiences, &row.client_ids)?;
    let jwt = match (&row.jwks_url, &row.jwks_file) {
        (Some(url), None) => {
            value::public_address(url).map_err(|error| format!("jwks_url {error}"))?;
            encrypted(url).map_err(|error| format!("jwks_url: {error}"))?;
            let keys = RemoteKeys::at_with_tls(url, trust.clone());
            JwtVerifier::new(&row.issuer.0, first, keys.map_err(|error| error.to_string())?)
        }
        (None, Some(path)) => {
            let invalid = |error| format!("jwks_file {}: {error}", path.display());
            JwtVerifier::new(&row.issuer.0, first, keys(path).map_err(invalid)?)
        }
        _ => return Err("exactly one of jwks_url and jwks_file is required".to_owned()),
    };
    let jwt =
        complete(jwt.with_client_ids(&row.client_ids), more, &row.claims, row.leeway.as_ref());
    Ok((http("bearer", "JWT"), Arc::new(jwt)))
}

/// An issuer with an OpenID Connect discovery document.
fn of_discovery(row: &settings::Oidc, trust: &ClientTls) -> Verified {
    let url = &row.url.0;
    value::public_address(url).map_err(|error| format!("url {error}"))?;
    let (first, more) = audiences(&row.audiences, &row.client_ids)?;
    let jwt = JwtVerifier::discovered_with_tls(url, first, trust.clone())
        .map_err(|error| error.to_string())?;
    let scheme = OpenIdConnectSecurityScheme {
        open_id_connect_url: url.clone(),
        ..OpenIdConnectSecurityScheme::default()
    };
    let jwt =
        complete(jwt.with_client_ids(&row.client_ids), more, &row.claims, row.leeway.as_ref());
    Ok((Scheme::OpenIdConnectSecurityScheme(scheme), Arc::new(jwt)))
}

/// An issuer with a token introspection endpoint.
fn of_introspection(row: &settings::Introspection, trust: &ClientTls) -> Verified {
    let (id, secret) = (&row.client_id.0, &row.client_secret.0);
    value::public_address(&row.url.0).map_err(|error| format!("url {error}"))?;
    let verifier = Introspection::new(&row.issuer.0, &row.url.0, id, secret);
    let verifier = verifier.and_then(|verifier| verifier.with_tls(trust.clone()));
    let mut verifier = verifier.map_err(|error| error.to_string())?;
    for audience in &row.audiences {
        verifier = verifier.with_audience(audience);
    }
    if !row.claims.is_empty() {
        verifier = verifier.with_claims(&row.claims);
    }
    if let Some(lifetime) = &row.lifetime {
        verifier = verifier.with_lifetime(lifetime.0);
    }
    Ok((http("bearer", ""), Arc::new(verifier)))
}

/// The first audience, empty for none, and the others.
fn audiences<'a>(
    audiences: &'a [String],
    client_ids: &[String],
) -> Result<(&'a str, &'a [String]), String> {
    match audiences.split_first() {
        Some((first, more)) => Ok((first, more)),
        None if !client_ids.is_empty() => Ok(("", &[])),
        None => Err("audiences or client_ids must not be empty".to_owned()),
    }
}

fn complete(
    jwt: JwtVerifier,
    more: &[String],
    claims: &[String],
    leeway: Option<&Duration>,
) -> JwtVerifier {
    let mut jwt = more.iter().fold(jwt, |jwt, audience| jwt.with_audience(audience));
    if !claims.is_empty() {
        jwt = jwt.with_claims(claims);
    }
    match leeway {
        Some(leeway) => jwt.with_leeway(leeway.0),
        None => jwt,
    }
}

fn keys(path: &Path) -> Result<JwkSet, String> {
    let text = fs::read(path).map_err(|error| error.to_string())?;
    let keys: JwkSet = serde_json::from_slice(&text).map_err(|error| error.to_string())?;
    if keys.keys().is_empty() {
        return Err("no supported signing key".to_owned());
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
