//! Authentication of callers, as configured in the settings.

mod card;
mod tokens;

pub(super) use card::{check_open, plaintext_urls};

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use a2a_auth::server::{
    ApiKeys, BasicUsers, BearerTokens, Certificates, Guard, Throttle, TrustedProxy, Verifier,
};
use a2a_core::v1::{
    ApiKeySecurityScheme, HttpAuthSecurityScheme, MutualTlsSecurityScheme, security_scheme::Scheme,
};
use a2a_http::tls::ClientTls;
use a2a_operations::Caller;

use crate::{
    command::Serve,
    failure::Failure,
    settings::serve::{Row, Told},
};

/// The subject of callers with the shared secret of `--require-bearer` or `--require-api-key`.
const SHARED: &str = "shared";

/// The configured authentication.
#[derive(Debug)]
pub(super) struct Access {
    schemes: Vec<Declared>,
    guard: Guard,
    is_open: bool,
}

/// A security scheme and its verifier.
#[derive(Debug)]
struct Declared {
    name: String,
    scheme: Scheme,
    /// The required scopes.
    scopes: Vec<String>,
    verifier: Arc<dyn Verifier>,
    /// The flag or settings table that configures it, for messages.
    source: String,
}

impl Access {
    /// Reads the configuration; `None` if authentication is not configured. `trust` is the TLS
    /// configuration for issuers.
    ///
    /// # Errors
    ///
    /// A usage failure that names the flag, or the location in the file.
    pub(super) fn read(
        serve: &Serve,
        told: &Told,
        trust: &ClientTls,
    ) -> Result<Option<Self>, Failure> {
        let mut schemes = Vec::new();
        schemes.extend(api_keys(serve, told)?);
        schemes.extend(bearer_tokens(serve, told)?);
        schemes.extend(users(told)?);
        schemes.extend(certificates(serve, told)?);
        schemes.extend(tokens::of_issuers(told, trust)?);
        if schemes.is_empty() {
            let is_idle =
                serve.limits.address_rate.is_none() && serve.access.extended_card_token.is_none();
            return match serve.access.trusted_proxy.first() {
                Some(_) if is_idle => Err(Failure::usage(
                    "--trusted-proxy needs authentication, --extended-card-token or --address-rate",
                )),
                _ => Ok(None),
            };
        }
        let mut guard = guard(serve)?;
        let tenants = tenants(told);
        if !tenants.is_empty() {
            guard = guard.with_tenants(move |caller, tenant| {
                let own = caller.subject().and_then(|subject| tenants.get(subject));
                own.is_none_or(|own| own.contains(tenant))
            });
        }
        Ok(Some(Self { schemes, guard, is_open: serve.access.anonymous }))
    }
}

/// Returns a guard without verifiers, with throttling and trusted proxies.
///
/// # Errors
///
/// A usage failure that names the flag.
pub(super) fn guard(serve: &Serve) -> Result<Guard, Failure> {
    let throttle = Throttle::default()
        .with_failures_allowed(serve.access.free_failures)
        .with_backoff(serve.access.first_pause, serve.access.longest_pause);
    let guard = Guard::new().with_realm(&serve.access.realm).with_throttle(throttle);
    Ok(proxies(serve)?.into_iter().fold(guard, Guard::with_trusted_proxy))
}

/// Returns the trusted proxies.
///
/// # Errors
///
/// A usage failure that names the flag.
pub(super) fn proxies(serve: &Serve) -> Result<Vec<TrustedProxy>, Failure> {
    let parsed = serve.access.trusted_proxy.iter().map(|text| text.parse());
    let failure = |error| Failure::usage(format!("--trusted-proxy: {error}"));
    parsed.map(|proxy| proxy.map_err(failure)).collect()
}

/// Returns the tenants that callers are restricted to, by subject.
fn tenants(told: &Told) -> BTreeMap<String, BTreeSet<String>> {
    let mut tenants: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let tables =
        [("api_key", "caller"), ("bearer", "caller"), ("basic", "user"), ("mtls", "caller")];
    for (table, subject) in tables {
        for row in told.rows(&format!("auth.{table}")) {
            let own = row.list("tenants");
            if let (Some(subject), false) = (row.text(subject), own.is_empty()) {
                tenants.entry(subject.to_owned()).or_default().extend(own.iter().cloned());
            }
        }
    }
    tenants
}

fn caller(row: &Row, subject: &str) -> Caller {
    let caller = Caller::authenticated(row.text(subject).unwrap_or_default());
    caller.with_scopes(row.list("scopes"))
}

/// The secret of a row, or its digest.
enum Known<'a> {
    Secret(&'a str),
    Digest(&'a str),
}

fn known<'a>(row: &'a Row, name: &str) -> Result<Known<'a>, Failure> {
    match (row.text(name), row.text("sha256")) {
        (Some(secret), None) if !secret.is_empty() => Ok(Known::Secret(secret)),
        (None, Some(digest)) => Ok(Known::Digest(digest)),
        _ => Err(row.failure(format!("exactly one of {name} and sha256 is required"))),
    }
}

fn api_keys(serve: &Serve, told: &Told) -> Result<Option<Declared>, Failure> {
    let mut keys = ApiKeys::new();
    let mut source = None;
    for row in told.rows("auth.api_key") {
        let caller = caller(row, "caller");
        keys = match known(row, "key")? {
            Known::Secret(key) => keys.with_key(key, caller),
            Known::Digest(digest) => {
                keys.with_digest(digest, caller).map_err(|error| row.failure(error))?
            }
        };
        source = Some("auth.api_key");
    }
    if let Some(key) = secret("--require-api-key", serve.access.require_api_key.as_deref())? {
        keys = keys.with_key(key, Caller::authenticated(SHARED));
        source = Some("--require-api-key");
    }
    let scheme = ApiKeySecurityScheme {
        location: serve.access.api_key_in.as_str().into(),
        name: serve.access.api_key_name.clone(),
        ..ApiKeySecurityScheme::default()
    };
    Ok(source.map(|source| Declared {
        name: "apiKey".into(),
        scheme: Scheme::ApiKeySecurityScheme(scheme),
        scopes: Vec::new(),
        verifier: Arc::new(keys),
        source: source.into(),
    }))
}

fn bearer_tokens(serve: &Serve, told: &Told) -> Result<Option<Declared>, Failure> {
    let mut tokens = BearerTokens::new();
    let mut source = None;
    for row in told.rows("auth.bearer") {
        let caller = caller(row, "caller");
        tokens = match known(row, "token")? {
            Known::Secret(token) => tokens.with_token(token, caller),
            Known::Digest(digest) => {
                tokens.with_digest(digest, caller).map_err(|error| row.failure(error))?
            }
        };
        source = Some("auth.bearer");
    }
    if let Some(token) = secret("--require-bearer", serve.access.require_bearer.as_deref())? {
        tokens = tokens.with_token(token, Caller::authenticated(SHARED));
        source = Some("--require-bearer");
    }
    Ok(source.map(|source| Declared {
        name: "bearer".into(),
        scheme: http("bearer", ""),
        scopes: Vec::new(),
        verifier: Arc::new(tokens),
        source: source.into(),
    }))
}

fn users(told: &Told) -> Result<Option<Declared>, Failure> {
    let mut users = BasicUsers::new();
    let mut is_any = false;
    for row in told.rows("auth.basic") {
        let (Some(user), Some(hash)) = (row.text("user"), row.text("password_hash")) else {
            return Err(row.failure("user and password_hash are required"));
        };
        if user.contains(':') {
            return Err(row.failure("user must not contain a colon (RFC 7617 §2)"));
        }
        users =
            users.with_user(user, hash, caller(row, "user")).map_err(|error| row.failure(error))?;
        is_any = true;
    }
    Ok(is_any.then(|| Declared {
        name: "basic".into(),
        scheme: http("basic", ""),
        scopes: Vec::new(),
        verifier: Arc::new(users),
        source: "auth.basic".into(),
    }))
}

fn certificates(serve: &Serve, told: &Told) -> Result<Option<Declared>, Failure> {
    let mut known = Certificates::new();
    let mut is_any = false;
    for row in told.rows("auth.mtls") {
        if serve.encryption.tls_client_ca.is_none() {
            return Err(row.failure("tls.client_ca_file is required for client certificates"));
        }
        let given = ["fingerprint", "uri", "dns", "subject"];
        let given: Vec<_> =
            given.iter().filter_map(|name| Some((*name, row.text(name)?))).collect();
        known = match (row.text("any"), row.text("caller"), given.as_slice()) {
            (Some("true"), None, []) => known.with_any(),
            (None | Some("false"), Some(_), [(name, value)]) => {
                let caller = caller(row, "caller");
                match *name {
                    "fingerprint" => known
                        .with_fingerprint(value, caller)
                        .map_err(|error| row.failure(format!("fingerprint: {error}")))?,
                    "uri" => known.with_uri(*value, caller),
                    "dns" => known.with_dns(value, caller),
                    _ => known.with_subject(*value, caller),
                }
            }
            _ => {
                return Err(row.failure(
                    "expected caller and one of fingerprint, uri, dns and subject, or only any",
                ));
            }
        };
        is_any = true;
    }
    Ok(is_any.then(|| Declared {
        name: "mtls".into(),
        scheme: Scheme::MtlsSecurityScheme(MutualTlsSecurityScheme::default()),
        scopes: Vec::new(),
        verifier: Arc::new(known),
        source: "auth.mtls".into(),
    }))
}

fn http(scheme: &str, format: &str) -> Scheme {
    Scheme::HttpAuthSecurityScheme(HttpAuthSecurityScheme {
        scheme: scheme.into(),
        bearer_format: format.into(),
        ..HttpAuthSecurityScheme::default()
    })
}

/// Rejects an empty secret, which would be trivial to guess.
fn secret<'a>(flag: &str, text: Option<&'a str>) -> Result<Option<&'a str>, Failure> {
    match text {
        Some("") => Err(Failure::usage(format!("{flag} is empty"))),
        other => Ok(other),
    }
}
