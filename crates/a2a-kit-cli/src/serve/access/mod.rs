//! Authentication of callers, as configured in the settings.

mod card;
mod declared;
mod tokens;

pub(super) use card::{check_open, plaintext_urls};

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Display,
};

use a2a_core::v1::{ApiKeySecurityScheme, MutualTlsSecurityScheme, security_scheme::Scheme};
use a2a_kit_auth::server::{
    ApiKeys, BasicUsers, BearerTokens, Certificates, Guard, Throttle, TrustedProxy,
};
use a2a_kit_http::tls::ClientTls;
use a2a_kit_operations::Caller;

use declared::{Declared, http, invalid};

use crate::{
    failure::Failure,
    settings::serve::{Secret, Serve},
};

/// The subject of callers with the shared secret of `--require-bearer` or `--require-api-key`.
const SHARED: &str = "shared";
const MTLS: &str = "expected caller and one of fingerprint, uri, dns and subject, or only any";

/// The configured authentication.
#[derive(Debug)]
pub(super) struct Access {
    schemes: Vec<Declared>,
    guard: Guard,
    is_open: bool,
    /// Whether only the extended card needs credentials.
    is_for_card: bool,
}

impl Access {
    /// Reads the configuration; `None` if authentication is not configured. `trust` is the TLS
    /// configuration for issuers.
    pub(super) fn read(serve: &Serve, trust: &ClientTls) -> Result<Option<Self>, Failure> {
        let mut schemes = Vec::new();
        schemes.extend(api_keys(serve)?);
        schemes.extend(bearer_tokens(serve)?);
        schemes.extend(users(serve)?);
        schemes.extend(certificates(serve)?);
        schemes.extend(tokens::of_issuers(&serve.auth, trust)?);
        let mut guard = guard(serve)?;
        let card_token = secret("--extended-card-token", serve.auth.extended_card_token.as_ref())?;
        let is_for_card = schemes.is_empty() && card_token.is_some();
        match card_token {
            Some(_) if !schemes.is_empty() => {
                return Err(Failure::usage(
                    "--extended-card-token can't be used with authentication",
                )
                .with_hint("all authenticated callers get the extended card"));
            }
            Some(token) => {
                let caller = Caller::authenticated(SHARED);
                let tokens = BearerTokens::new().with_token(token, caller);
                let source = "--extended-card-token";
                schemes.push(Declared::new("bearer", http("bearer", ""), tokens, source));
                guard = guard.with_extended_card_only();
            }
            None if !schemes.is_empty() => {}
            None => {
                let is_idle = serve.limits.rate_limit_per_address.is_none();
                return match serve.listen.trusted_proxies.first() {
                    Some(_) if is_idle => Err(Failure::usage(
                        "--trusted-proxy needs authentication, --extended-card-token or \
                         --rate-limit-per-address",
                    )),
                    _ => Ok(None),
                };
            }
        }
        let tenants = tenants(serve);
        if !tenants.is_empty() {
            guard = guard.with_tenants(move |caller, tenant| {
                let own = caller.subject().and_then(|subject| tenants.get(subject));
                own.is_none_or(|own| own.contains(tenant))
            });
        }
        Ok(Some(Self { schemes, guard, is_open: serve.auth.anonymous, is_for_card }))
    }

    /// Whether the credentials are for all operations, and not only for the extended card.
    pub(super) fn is_for_all(&self) -> bool {
        !self.is_for_card
    }
}

/// Returns a guard without verifiers, with throttling and trusted proxies.
pub(super) fn guard(serve: &Serve) -> Result<Guard, Failure> {
    let auth = &serve.auth;
    let throttle = Throttle::default()
        .with_failures_allowed(auth.failures_allowed)
        .with_backoff(auth.backoff_min.0, auth.backoff_max.0);
    let guard = Guard::new().with_realm(&auth.realm).with_throttle(throttle);
    Ok(proxies(serve)?.into_iter().fold(guard, Guard::with_trusted_proxy))
}

/// Returns the trusted proxies.
pub(super) fn proxies(serve: &Serve) -> Result<Vec<TrustedProxy>, Failure> {
    let parsed = serve.listen.trusted_proxies.iter().map(|text| text.parse());
    let failure = |error| Failure::usage(format!("--trusted-proxy: {error}"));
    parsed.map(|proxy| proxy.map_err(failure)).collect()
}

/// Returns the tenants that callers are restricted to, by subject.
fn tenants(serve: &Serve) -> BTreeMap<String, BTreeSet<String>> {
    let auth = &serve.auth;
    let keys = auth.api_key.iter().map(|row| (&row.caller, &row.tenants));
    let tokens = auth.bearer.iter().map(|row| (&row.caller, &row.tenants));
    let users = auth.basic.iter().map(|row| (&row.user, &row.tenants));
    let certificates =
        auth.mtls.iter().filter_map(|row| Some((row.caller.as_ref()?, &row.tenants)));
    let mut tenants: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (caller, own) in keys.chain(tokens).chain(users).chain(certificates) {
        if !own.is_empty() {
            tenants.entry(caller.0.clone()).or_default().extend(own.iter().cloned());
        }
    }
    tenants
}

fn caller(name: &str, scopes: &[String]) -> Caller {
    Caller::authenticated(name).with_scopes(scopes)
}

fn api_keys(serve: &Serve) -> Result<Option<Declared>, Failure> {
    let mut keys = ApiKeys::new();
    let mut source = None;
    for (index, row) in serve.auth.api_key.iter().enumerate() {
        let caller = caller(&row.caller.0, &row.scopes);
        let invalid = |error: &dyn Display| invalid("api_key", index, error);
        keys = match (&row.key, &row.sha256) {
            (Some(Secret(key)), None) if !key.is_empty() => keys.with_key(key, caller),
            (None, Some(digest)) => {
                keys.with_digest(digest, caller).map_err(|error| invalid(&error))?
            }
            _ => return Err(invalid(&"exactly one of key and sha256 is required")),
        };
        source = Some("auth.api_key");
    }
    if let Some(key) = secret("--require-api-key", serve.auth.require_api_key.as_ref())? {
        keys = keys.with_key(key, Caller::authenticated(SHARED));
        source = Some("--require-api-key");
    }
    let scheme = ApiKeySecurityScheme {
        location: serve.auth.api_key_in.as_str().into(),
        name: serve.auth.api_key_name.clone(),
        ..ApiKeySecurityScheme::default()
    };
    let scheme = Scheme::ApiKeySecurityScheme(scheme);
    Ok(source.map(|source| Declared::new("apiKey", scheme, keys, source)))
}

fn bearer_tokens(serve: &Serve) -> Result<Option<Declared>, Failure> {
    let mut tokens = BearerTokens::new();
    let mut source = None;
    for (index, row) in serve.auth.bearer.iter().enumerate() {
        let caller = caller(&row.caller.0, &row.scopes);
        let invalid = |error: &dyn Display| invalid("bearer", index, error);
        tokens = match (&row.token, &row.sha256) {
            (Some(Secret(token)), None) if !token.is_empty() => tokens.with_token(token, caller),
            (None, Some(digest)) => {
                tokens.with_digest(digest, caller).map_err(|error| invalid(&error))?
            }
            _ => return Err(invalid(&"exactly one of token and sha256 is required")),
        };
        source = Some("auth.bearer");
    }
    if let Some(token) = secret("--require-bearer", serve.auth.require_bearer.as_ref())? {
        tokens = tokens.with_token(token, Caller::authenticated(SHARED));
        source = Some("--require-bearer");
    }
    Ok(source.map(|source| Declared::new("bearer", http("bearer", ""), tokens, source)))
}

fn users(serve: &Serve) -> Result<Option<Declared>, Failure> {
    let mut users = BasicUsers::new();
    for (index, row) in serve.auth.basic.iter().enumerate() {
        let user = &row.user.0;
        if user.contains(':') {
            let error = "user must not contain a colon (RFC 7617 §2)";
            return Err(invalid("basic", index, error));
        }
        users = users
            .with_user(user, &row.password_hash.0, caller(user, &row.scopes))
            .map_err(|error| invalid("basic", index, error))?;
    }
    let is_given = !serve.auth.basic.is_empty();
    Ok(is_given.then(|| Declared::new("basic", http("basic", ""), users, "auth.basic")))
}

fn certificates(serve: &Serve) -> Result<Option<Declared>, Failure> {
    let mut known = Certificates::new();
    for (index, row) in serve.auth.mtls.iter().enumerate() {
        let invalid = |error: &dyn Display| invalid("mtls", index, error);
        if serve.tls.client_ca_file.is_none() {
            return Err(invalid(&"tls.client_ca_file is required for client certificates"));
        }
        let names = (&row.fingerprint, &row.uri, &row.dns, &row.subject);
        known = match (row.any, &row.caller, names) {
            (true, None, (None, None, None, None)) => known.with_any(),
            (false, Some(name), names) => {
                let caller = caller(&name.0, &row.scopes);
                match names {
                    (Some(fingerprint), None, None, None) => known
                        .with_fingerprint(fingerprint, caller)
                        .map_err(|error| invalid(&format!("fingerprint: {error}")))?,
                    (None, Some(uri), None, None) => known.with_uri(uri, caller),
                    (None, None, Some(dns), None) => known.with_dns(dns, caller),
                    (None, None, None, Some(subject)) => known.with_subject(subject, caller),
                    _ => return Err(invalid(&MTLS)),
                }
            }
            _ => return Err(invalid(&MTLS)),
        };
    }
    let scheme = Scheme::MtlsSecurityScheme(MutualTlsSecurityScheme::default());
    let is_given = !serve.auth.mtls.is_empty();
    Ok(is_given.then(|| Declared::new("mtls", scheme, known, "auth.mtls")))
}

/// Rejects an empty secret, which would be trivial to guess.
fn secret<'a>(flag: &str, secret: Option<&'a Secret>) -> Result<Option<&'a str>, Failure> {
    match secret {
        Some(Secret(text)) if text.is_empty() => Err(Failure::usage(format!("{flag} is empty"))),
        other => Ok(other.map(|Secret(text)| text.as_str())),
    }
}
