//! The credentials of a request, and their locations in it.

use std::fmt;

use a2a_core::v1::{SecurityScheme, security_scheme::Scheme};
use a2a_kit_http::PeerCertificates;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{
    HeaderMap, HeaderName, Uri,
    header::{AUTHORIZATION, COOKIE},
    request::Parts,
};
use ring::hmac;

/// Maximum length of a credential, in bytes. Tokens are the longest.
const MAX_BYTES: usize = 16 << 10;

/// A credential that a request carries for one or more schemes. `Debug` omits the secret.
#[derive(Clone)]
#[non_exhaustive]
pub enum RequestCredential {
    /// An API key.
    ApiKey(String),
    /// A user name and a password.
    Basic {
        /// The user name.
        user: String,
        /// The password.
        password: String,
    },
    /// A bearer token.
    Bearer(String),
    /// The peer's certificates, verified by TLS.
    Certificate(PeerCertificates),
}

impl RequestCredential {
    /// Adds the credential to a digest, unambiguously.
    pub(super) fn digest_into(&self, digest: &mut hmac::Context) {
        let (kind, fields): (&[u8], [&[u8]; 2]) = match self {
            Self::ApiKey(key) => (b"k", [key.as_bytes(), b""]),
            Self::Basic { user, password } => (b"p", [user.as_bytes(), password.as_bytes()]),
            Self::Bearer(token) => (b"t", [token.as_bytes(), b""]),
            Self::Certificate(chain) => (b"c", [chain.leaf(), b""]),
        };
        digest.update(kind);
        for field in fields {
            digest.update(&field.len().to_be_bytes());
            digest.update(field);
        }
    }
}

impl fmt::Debug for RequestCredential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ApiKey(_) => "ApiKey(..)",
            Self::Basic { .. } => "Basic(..)",
            Self::Bearer(_) => "Bearer(..)",
            Self::Certificate(_) => "Certificate(..)",
        })
    }
}

/// The location of a scheme's credential in a request. Schemes can share a location.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum CredentialLocation {
    Bearer,
    Basic,
    Header(String),
    Cookie(String),
    Query(String),
    Certificate,
}

impl CredentialLocation {
    /// Returns the location of a scheme's credential, and its rank.
    ///
    /// # Errors
    ///
    /// The reason that the scheme can't be enforced.
    pub(super) fn of(scheme: &SecurityScheme) -> Result<(Self, u8), &'static str> {
        match scheme.scheme.as_ref().ok_or("empty scheme")? {
            Scheme::OpenIdConnectSecurityScheme(_) => Ok((Self::Bearer, 0)),
            Scheme::Oauth2SecurityScheme(_) => Ok((Self::Bearer, 1)),
            Scheme::HttpAuthSecurityScheme(http) if http.scheme.eq_ignore_ascii_case("bearer") => {
                Ok((Self::Bearer, 2))
            }
            Scheme::HttpAuthSecurityScheme(http) if http.scheme.eq_ignore_ascii_case("basic") => {
                Ok((Self::Basic, 3))
            }
            Scheme::HttpAuthSecurityScheme(_) => {
                Err("unsupported HTTP authentication scheme (expected Basic or Bearer)")
            }
            Scheme::ApiKeySecurityScheme(key) => {
                if key.name.is_empty() {
                    return Err("name of the API key is missing");
                }
                let location = match key.location.as_str() {
                    "header" => Self::Header(header_name(&key.name).ok_or("invalid header name")?),
                    "query" => Self::Query(key.name.clone()),
                    "cookie" => Self::Cookie(key.name.clone()),
                    _ => return Err("location of the API key must be header, query or cookie"),
                };
                if location == Self::Header("authorization".into()) {
                    return Err("header Authorization is not allowed for an API key");
                }
                Ok((location, 4))
            }
            Scheme::MtlsSecurityScheme(_) => Ok((Self::Certificate, 5)),
        }
    }

    /// The challenge for a missing credential (RFC 9110 §11.6.1), with a realm that is [`quoted`];
    /// `None` for bearer tokens, whose challenge depends on the requirement.
    pub(super) fn challenge(&self, realm: &str) -> Option<String> {
        // There is no standard challenge for API keys; other servers use this one.
        let key = |location, name| {
            format!("ApiKey realm=\"{realm}\", in=\"{location}\", name=\"{}\"", quoted(name))
        };
        Some(match self {
            Self::Bearer => return None,
            Self::Basic => format!("Basic realm=\"{realm}\", charset=\"UTF-8\""),
            Self::Header(name) => key("header", name),
            Self::Cookie(name) => key("cookie", name),
            Self::Query(name) => key("query", name),
            // There is no standard challenge for mutual TLS, but a 401 must have one.
            Self::Certificate => format!("MutualTLS realm=\"{realm}\""),
        })
    }

    /// Extracts the credential at this location, or returns why it is malformed or ambiguous.
    pub(super) fn read(&self, request: &Parts) -> Result<Option<RequestCredential>, &'static str> {
        let credential = match self {
            Self::Bearer => {
                bearer(&request.headers)?.map(|token| RequestCredential::Bearer(token.to_owned()))
            }
            Self::Basic => authorization(&request.headers, "basic")?.map(basic).transpose()?,
            Self::Header(name) => {
                let lines = request.headers.get_all(name).into_iter();
                let keys = lines.map(|line| line.to_str().map_err(|_error| "API key is not ASCII"));
                one(keys)?.map(|key| RequestCredential::ApiKey(key.trim().to_owned()))
            }
            Self::Cookie(name) => {
                one(cookies(&request.headers, name))?.map(RequestCredential::ApiKey)
            }
            Self::Certificate => PeerCertificates::of(&request.extensions)
                .cloned()
                .map(RequestCredential::Certificate),
            Self::Query(name) => {
                let pairs =
                    form_urlencoded::parse(request.uri.query().unwrap_or_default().as_bytes());
                let keys = pairs.filter(|(key, _)| key == name);
                one(keys.map(|(_, value)| Ok(value.into_owned())))?.map(RequestCredential::ApiKey)
            }
        };
        match &credential {
            Some(RequestCredential::ApiKey(key)) if !is_present(key)? => Ok(None),
            _ => Ok(credential),
        }
    }

    /// Removes an API key from the query or the headers of a request, where it could leak: `a2a-`
    /// headers are stored with the task and forwarded by gateways.
    pub(super) fn strip(&self, request: &mut Parts) {
        if let Self::Header(name) = self {
            request.headers.remove(name);
        }
        let Self::Query(name) = self else { return };
        let Some(query) = request.uri.query() else { return };
        let is_key = |pair: &&str| {
            form_urlencoded::parse(pair.as_bytes()).next().is_some_and(|(key, _)| key == *name)
        };
        let rest: Vec<_> = query.split('&').filter(|pair| !is_key(pair)).collect();
        if rest.len() == query.split('&').count() {
            return;
        }
        let path = request.uri.path();
        let target =
            if rest.is_empty() { path.to_owned() } else { format!("{path}?{}", rest.join("&")) };
        let mut parts = request.uri.clone().into_parts();
        // Removing a query parameter leaves a valid target.
        if let Ok(target) = target.parse() {
            parts.path_and_query = Some(target);
            request.uri = Uri::from_parts(parts).unwrap_or_default();
        }
    }
}

/// Returns the bearer token of a request.
pub(super) fn bearer(headers: &HeaderMap) -> Result<Option<&str>, &'static str> {
    match authorization(headers, "bearer")? {
        Some(token) if is_present(token)? => Ok(Some(token)),
        _ => Ok(None),
    }
}

/// Returns whether a secret is not empty: clients without a key may send an empty one.
fn is_present(secret: &str) -> Result<bool, &'static str> {
    if secret.len() > MAX_BYTES { Err("too long") } else { Ok(!secret.is_empty()) }
}

/// Returns the credentials of an authentication scheme in `Authorization`.
fn authorization<'a>(
    headers: &'a HeaderMap,
    scheme: &str,
) -> Result<Option<&'a str>, &'static str> {
    let lines = headers.get_all(AUTHORIZATION).into_iter();
    let lines = lines.map(|line| line.to_str().map_err(|_error| "Authorization is not ASCII"));
    let Some(line) = one(lines)? else { return Ok(None) };
    let Some((name, value)) = line.trim().split_once(' ') else { return Ok(None) };
    Ok(name.eq_ignore_ascii_case(scheme).then(|| value.trim()))
}

fn basic(encoded: &str) -> Result<RequestCredential, &'static str> {
    const MALFORMED: &str = "malformed Basic credentials";
    if encoded.len() > MAX_BYTES {
        return Err(MALFORMED);
    }
    let decoded = STANDARD.decode(encoded).map_err(|_error| MALFORMED)?;
    let decoded = String::from_utf8(decoded).map_err(|_error| MALFORMED)?;
    let (user, password) = decoded.split_once(':').ok_or(MALFORMED)?;
    Ok(RequestCredential::Basic { user: user.to_owned(), password: password.to_owned() })
}

fn cookies<'a>(
    headers: &'a HeaderMap,
    name: &'a str,
) -> impl Iterator<Item = Result<String, &'static str>> + 'a {
    let lines = headers.get_all(COOKIE).into_iter().filter_map(|line| line.to_str().ok());
    let cookies =
        lines.flat_map(|line| line.split(';')).filter_map(|cookie| cookie.split_once('='));
    cookies
        .filter(move |(found, _)| found.trim() == name)
        .map(|(_, value)| Ok(value.trim().trim_matches('"').to_owned()))
}

/// Returns the only value. Two are ambiguous: one layer might use the first, another the second.
fn one<T>(
    mut values: impl Iterator<Item = Result<T, &'static str>>,
) -> Result<Option<T>, &'static str> {
    let first = values.next().transpose()?;
    match values.next() {
        Some(_) => Err("more than one value"),
        None => Ok(first),
    }
}

/// Removes characters that are not allowed in a quoted string.
pub(super) fn quoted(text: &str) -> String {
    let is_allowed = |letter: &char| matches!(letter, ' '..='~') && !matches!(letter, '"' | '\\');
    text.chars().filter(is_allowed).collect()
}

/// Normalizes a header name; `None` if it is invalid.
pub(super) fn header_name(name: &str) -> Option<String> {
    HeaderName::try_from(name).ok().map(|name| name.as_str().to_owned())
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    #[test]
    fn names_in_the_card_cannot_inject_into_a_challenge() {
        let name = "k\", Basic realm=\"x\r\nSet-Cookie: a=b\u{e4}";
        let challenge = CredentialLocation::Header(name.into()).challenge(&quoted("a\"b"));
        assert_eq!(
            challenge.unwrap(),
            "ApiKey realm=\"ab\", in=\"header\", name=\"k, Basic realm=xSet-Cookie: a=b\""
        );
    }

    fn parts(target: &str, lines: &[(&str, &str)]) -> Parts {
        let mut request = Request::builder().uri(target);
        for (name, value) in lines {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap().into_parts().0
    }

    fn read(
        location: &CredentialLocation,
        target: &str,
        lines: &[(&str, &str)],
    ) -> Result<Option<String>, &'static str> {
        let credential = location.read(&parts(target, lines))?;
        Ok(credential.map(|credential| match credential {
            RequestCredential::ApiKey(text) | RequestCredential::Bearer(text) => text,
            RequestCredential::Basic { user, password } => format!("{user}/{password}"),
            RequestCredential::Certificate(_) => panic!("no certificate"),
        }))
    }

    #[test]
    fn each_location_yields_only_its_own_credential() {
        let header = CredentialLocation::Header("x-key".into());
        let cookie = CredentialLocation::Cookie("key".into());
        let query = CredentialLocation::Query("key".into());
        for (location, target, lines, found) in [
            (&CredentialLocation::Bearer, "/", &[("authorization", "Bearer a.b")][..], Some("a.b")),
            (&CredentialLocation::Bearer, "/", &[("authorization", "bearer  a ")], Some("a")),
            (&CredentialLocation::Bearer, "/", &[("authorization", "Basic YTpi")], None),
            (&CredentialLocation::Bearer, "/", &[("authorization", "Bearer ")], None),
            (&CredentialLocation::Bearer, "/", &[], None),
            (
                &CredentialLocation::Basic,
                "/",
                &[("authorization", "Basic YTpiOmM=")],
                Some("a/b:c"),
            ),
            (&CredentialLocation::Basic, "/", &[("authorization", "Bearer a")], None),
            (&header, "/?x-key=b", &[("X-Key", " a ")], Some("a")),
            (&header, "/", &[("x-key", "")], None),
            (&cookie, "/", &[("cookie", "a=b; key=c; d=e")], Some("c")),
            (&cookie, "/", &[("cookie", "a=b"), ("cookie", "key=\"c\"")], Some("c")),
            (&cookie, "/", &[("cookie", "monkey=c")], None),
            (&query, "/?a=b&key=c%20d", &[], Some("c d")),
            (&query, "/?monkey=b", &[("key", "c")], None),
        ] {
            let read = read(location, target, lines).unwrap();
            assert_eq!(read.as_deref(), found, "{location:?} {target} {lines:?}");
        }
    }

    #[test]
    fn ambiguous_and_malformed_credentials_are_rejected() {
        let long = "x".repeat(MAX_BYTES + 1);
        let long = format!("Bearer {long}");
        for (location, target, lines) in [
            (
                CredentialLocation::Bearer,
                "/",
                &[("authorization", "Bearer a"), ("authorization", "Bearer b")][..],
            ),
            (CredentialLocation::Bearer, "/", &[("authorization", &*long)]),
            (CredentialLocation::Basic, "/", &[("authorization", "Basic %")]),
            (CredentialLocation::Basic, "/", &[("authorization", "Basic YQ==")]),
            (CredentialLocation::Header("x-key".into()), "/", &[("x-key", "a"), ("x-key", "a")]),
            (CredentialLocation::Cookie("key".into()), "/", &[("cookie", "key=a; key=b")]),
            (CredentialLocation::Query("key".into()), "/?key=a&key=b", &[]),
        ] {
            assert!(read(&location, target, lines).is_err(), "{location:?} {target}");
        }
    }

    #[test]
    fn api_key_is_stripped_from_the_query() {
        let query = CredentialLocation::Query("key".into());
        for (target, left) in [
            ("/tasks?key=a", "/tasks"),
            ("/tasks?b=c&k%65y=a&d=%26", "/tasks?b=c&d=%26"),
            ("/tasks?monkey=a", "/tasks?monkey=a"),
            ("/tasks", "/tasks"),
            ("http://host/tasks?key=a&key=b", "http://host/tasks"),
        ] {
            let mut parts = parts(target, &[]);
            query.strip(&mut parts);
            assert_eq!(parts.uri.to_string(), left, "{target}");
        }
    }

    #[test]
    fn api_key_is_stripped_from_the_headers() {
        let mut parts = parts("/", &[("A2A-Key", "a"), ("a2a-key", "b"), ("a2a-keys", "c")]);
        CredentialLocation::Header(header_name("A2A-Key").unwrap()).strip(&mut parts);
        let left: Vec<_> = parts.headers.keys().map(HeaderName::as_str).collect();
        assert_eq!(left, ["a2a-keys"]);
    }

    #[test]
    fn debug_output_omits_secrets() {
        let basic = RequestCredential::Basic { user: "u".into(), password: "hidden".into() };
        for credential in [
            basic,
            RequestCredential::ApiKey("hidden".into()),
            RequestCredential::Bearer("hidden".into()),
        ] {
            assert!(!format!("{credential:?}").contains("hidden"));
        }
    }
}
