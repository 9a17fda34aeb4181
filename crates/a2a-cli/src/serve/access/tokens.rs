//! Bearer tokens that somebody else signs.

use std::{fs, sync::Arc};

use a2a_auth::{
    jose::{JwkSet, RemoteKeys},
    server::{Jwt, Verifier},
};
use url::{Host, Url};

use super::{Declared, http};
use crate::{
    failure::Failure,
    settings::{
        serve::{Row, Told},
        value,
    },
};

/// The issuers of the settings file, each a scheme of its own.
///
/// # Errors
///
/// A usage failure that names the place in the file.
pub(super) fn of_issuers(told: &Told) -> Result<Vec<Declared>, Failure> {
    told.rows("auth.jwt").enumerate().map(|(index, row)| of_issuer(index, row)).collect()
}

fn of_issuer(index: usize, row: &Row) -> Result<Declared, Failure> {
    let issuer = row.text("issuer").unwrap_or_default();
    let Some((first, more)) = row.list("audiences").split_first() else {
        return Err(row.failure("audiences has to name one"));
    };
    let jwt = match (row.text("jwks_url"), row.text("jwks_file")) {
        (Some(url), None) => {
            encrypted(url).map_err(|said| row.failure(format!("jwks_url: {said}")))?;
            Jwt::new(issuer, first, RemoteKeys::at(url).map_err(|error| row.failure(error))?)
        }
        (None, Some(path)) => Jwt::new(issuer, first, keys(row, path)?),
        _ => return Err(row.failure("jwks_url or jwks_file is needed, and not both")),
    };
    let mut jwt = more.iter().fold(jwt, |jwt, audience| jwt.with_audience(audience));
    if let Some(leeway) = row.text("leeway") {
        jwt = jwt.with_leeway(value::duration(leeway).map_err(|error| row.failure(error))?);
    }
    let name = match (row.text("scheme"), index) {
        (Some(name), _) => name.to_owned(),
        (None, 0) => "jwt".to_owned(),
        (None, more) => format!("jwt{}", more + 1),
    };
    let verifier: Arc<dyn Verifier> = Arc::new(jwt);
    let scopes = row.list("scopes").to_vec();
    Ok(Declared { name, scheme: http("bearer", "JWT"), scopes, verifier, asked: "auth.jwt".into() })
}

fn keys(row: &Row, path: &str) -> Result<JwkSet, Failure> {
    let unusable =
        |error: &dyn std::fmt::Display| row.failure(format!("jwks_file {path}: {error}"));
    let text = fs::read(path).map_err(|error| unusable(&error))?;
    let keys: JwkSet = serde_json::from_slice(&text).map_err(|error| unusable(&error))?;
    if keys.keys().is_empty() {
        return Err(unusable(&"it has no key that signs tokens"));
    }
    Ok(keys)
}

/// Checks that nobody on the way can change what is fetched (spec §7.1).
fn encrypted(url: &str) -> Result<(), String> {
    let url = Url::parse(url).map_err(|error| error.to_string())?;
    let is_here = match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    match url.scheme() {
        "https" => Ok(()),
        "http" if is_here => Ok(()),
        _ => Err("expected an https URL".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_fetched_where_nobody_can_exchange_them() {
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
