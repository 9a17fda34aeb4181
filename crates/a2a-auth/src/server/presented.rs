//! What a request authenticates with, and where it is found.

use std::fmt;

use a2a_http::PeerCertificates;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{
    HeaderMap, HeaderName, Uri,
    header::{AUTHORIZATION, COOKIE},
    request::Parts,
};
use ring::hmac;
use url::form_urlencoded;

/// Longest secret that is looked at, in bytes. Tokens are the longest of them.
const MAX_BYTES: usize = 16 << 10;

/// What a request presents to authenticate, by one scheme. Nothing prints the secrets.
#[derive(Clone)]
#[non_exhaustive]
pub enum Presented {
    /// An API key.
    ApiKey(String),
    /// A name and a password.
    Basic {
        /// The name.
        user: String,
        /// The password.
        password: String,
    },
    /// A bearer token.
    Bearer(String),
    /// Certificates of which TLS has verified that they are the peer's.
    Certificate(PeerCertificates),
}

impl Presented {
    /// Adds what makes it different from any other to a digest.
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

impl fmt::Debug for Presented {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ApiKey(_) => "ApiKey(..)",
            Self::Basic { .. } => "Basic(..)",
            Self::Bearer(_) => "Bearer(..)",
            Self::Certificate(_) => "Certificate(..)",
        })
    }
}

/// Where a scheme has its callers put what they present. Schemes can share a place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Place {
    Bearer,
    Basic,
    Header(String),
    Cookie(String),
    Query(String),
    Certificate,
}

/// What stands at a place can't be read, or could be read in two ways.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unreadable(pub(super) &'static str);

impl Place {
    /// Returns what a request presents here.
    pub(super) fn read(&self, request: &Parts) -> Result<Option<Presented>, Unreadable> {
        let presented = match self {
            Self::Bearer => authorization(&request.headers, "bearer")?
                .map(|token| Presented::Bearer(token.to_owned())),
            Self::Basic => authorization(&request.headers, "basic")?.map(basic).transpose()?,
            Self::Header(name) => {
                let lines = request.headers.get_all(name).into_iter();
                let keys = lines
                    .map(|line| line.to_str().map_err(|_error| Unreadable("the key is not text")));
                one(keys)?.map(|key| Presented::ApiKey(key.trim().to_owned()))
            }
            Self::Cookie(name) => one(cookies(&request.headers, name))?.map(Presented::ApiKey),
            Self::Certificate => {
                PeerCertificates::of(&request.extensions).cloned().map(Presented::Certificate)
            }
            Self::Query(name) => {
                let pairs =
                    form_urlencoded::parse(request.uri.query().unwrap_or_default().as_bytes());
                let keys = pairs.filter(|(key, _)| key == name);
                one(keys.map(|(_, value)| Ok(value.into_owned())))?.map(Presented::ApiKey)
            }
        };
        match &presented {
            Some(Presented::ApiKey(secret) | Presented::Bearer(secret))
                if secret.len() > MAX_BYTES =>
            {
                Err(Unreadable("it is too long"))
            }
            // An empty key proves nothing, and is what a client without one may send.
            Some(Presented::ApiKey(secret) | Presented::Bearer(secret)) if secret.is_empty() => {
                Ok(None)
            }
            _ => Ok(presented),
        }
    }

    /// Takes an API key out of a request, where its target or its headers would show it to others:
    /// headers that begin with `a2a-` are stored with the task and passed on by gateways.
    pub(super) fn hide(&self, request: &mut Parts) {
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
        // Less of what was a target is a target.
        if let Ok(target) = target.parse() {
            parts.path_and_query = Some(target);
            request.uri = Uri::from_parts(parts).unwrap_or_default();
        }
    }
}

/// What follows an authentication scheme in the one `Authorization` line.
fn authorization<'a>(headers: &'a HeaderMap, scheme: &str) -> Result<Option<&'a str>, Unreadable> {
    let lines = headers.get_all(AUTHORIZATION).into_iter();
    let lines =
        lines.map(|line| line.to_str().map_err(|_error| Unreadable("Authorization is not text")));
    let Some(line) = one(lines)? else { return Ok(None) };
    let Some((name, value)) = line.trim().split_once(' ') else { return Ok(None) };
    Ok(name.eq_ignore_ascii_case(scheme).then(|| value.trim()))
}

fn basic(encoded: &str) -> Result<Presented, Unreadable> {
    const BROKEN: Unreadable = Unreadable("Basic credentials can't be read");
    if encoded.len() > MAX_BYTES {
        return Err(BROKEN);
    }
    let decoded = STANDARD.decode(encoded).map_err(|_error| BROKEN)?;
    let decoded = String::from_utf8(decoded).map_err(|_error| BROKEN)?;
    let (user, password) = decoded.split_once(':').ok_or(BROKEN)?;
    Ok(Presented::Basic { user: user.to_owned(), password: password.to_owned() })
}

fn cookies<'a>(
    headers: &'a HeaderMap,
    name: &'a str,
) -> impl Iterator<Item = Result<String, Unreadable>> + 'a {
    let lines = headers.get_all(COOKIE).into_iter().filter_map(|line| line.to_str().ok());
    let cookies =
        lines.flat_map(|line| line.split(';')).filter_map(|cookie| cookie.split_once('='));
    cookies
        .filter(move |(found, _)| found.trim() == name)
        .map(|(_, value)| Ok(value.trim().trim_matches('"').to_owned()))
}

/// The only one. Of two, one layer may look at the first and another at the second.
fn one<T>(
    mut values: impl Iterator<Item = Result<T, Unreadable>>,
) -> Result<Option<T>, Unreadable> {
    let first = values.next().transpose()?;
    match values.next() {
        Some(_) => Err(Unreadable("there is more than one")),
        None => Ok(first),
    }
}

/// A header's name as it is compared; `None` for what is none.
pub(super) fn header_name(name: &str) -> Option<String> {
    HeaderName::try_from(name).ok().map(|name| name.as_str().to_owned())
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn parts(target: &str, lines: &[(&str, &str)]) -> Parts {
        let mut request = Request::builder().uri(target);
        for (name, value) in lines {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap().into_parts().0
    }

    fn read(
        place: &Place,
        target: &str,
        lines: &[(&str, &str)],
    ) -> Result<Option<String>, Unreadable> {
        let presented = place.read(&parts(target, lines))?;
        Ok(presented.map(|presented| match presented {
            Presented::ApiKey(text) | Presented::Bearer(text) => text,
            Presented::Basic { user, password } => format!("{user}/{password}"),
            Presented::Certificate(_) => panic!("there is none"),
        }))
    }

    #[test]
    fn each_place_gives_what_stands_there_and_nothing_else() {
        let header = Place::Header("x-key".into());
        let cookie = Place::Cookie("key".into());
        let query = Place::Query("key".into());
        for (place, target, lines, found) in [
            (&Place::Bearer, "/", &[("authorization", "Bearer a.b")][..], Some("a.b")),
            (&Place::Bearer, "/", &[("authorization", "bearer  a ")], Some("a")),
            (&Place::Bearer, "/", &[("authorization", "Basic YTpi")], None),
            (&Place::Bearer, "/", &[("authorization", "Bearer ")], None),
            (&Place::Bearer, "/", &[], None),
            (&Place::Basic, "/", &[("authorization", "Basic YTpiOmM=")], Some("a/b:c")),
            (&Place::Basic, "/", &[("authorization", "Bearer a")], None),
            (&header, "/?x-key=b", &[("X-Key", " a ")], Some("a")),
            (&header, "/", &[("x-key", "")], None),
            (&cookie, "/", &[("cookie", "a=b; key=c; d=e")], Some("c")),
            (&cookie, "/", &[("cookie", "a=b"), ("cookie", "key=\"c\"")], Some("c")),
            (&cookie, "/", &[("cookie", "monkey=c")], None),
            (&query, "/?a=b&key=c%20d", &[], Some("c d")),
            (&query, "/?monkey=b", &[("key", "c")], None),
        ] {
            let read = read(place, target, lines).unwrap();
            assert_eq!(read.as_deref(), found, "{place:?} {target} {lines:?}");
        }
    }

    #[test]
    fn what_could_be_read_in_two_ways_is_not_read() {
        let long = "x".repeat(MAX_BYTES + 1);
        let long = format!("Bearer {long}");
        for (place, target, lines) in [
            (
                Place::Bearer,
                "/",
                &[("authorization", "Bearer a"), ("authorization", "Bearer b")][..],
            ),
            (Place::Bearer, "/", &[("authorization", &*long)]),
            (Place::Basic, "/", &[("authorization", "Basic %")]),
            (Place::Basic, "/", &[("authorization", "Basic YQ==")]),
            (Place::Header("x-key".into()), "/", &[("x-key", "a"), ("x-key", "a")]),
            (Place::Cookie("key".into()), "/", &[("cookie", "key=a; key=b")]),
            (Place::Query("key".into()), "/?key=a&key=b", &[]),
        ] {
            assert!(read(&place, target, lines).is_err(), "{place:?} {target}");
        }
    }

    #[test]
    fn a_key_in_the_query_goes_no_further() {
        let query = Place::Query("key".into());
        for (target, left) in [
            ("/tasks?key=a", "/tasks"),
            ("/tasks?b=c&k%65y=a&d=%26", "/tasks?b=c&d=%26"),
            ("/tasks?monkey=a", "/tasks?monkey=a"),
            ("/tasks", "/tasks"),
            ("http://host/tasks?key=a&key=b", "http://host/tasks"),
        ] {
            let mut parts = parts(target, &[]);
            query.hide(&mut parts);
            assert_eq!(parts.uri.to_string(), left, "{target}");
        }
    }

    #[test]
    fn a_key_in_a_header_goes_no_further() {
        let mut parts = parts("/", &[("A2A-Key", "a"), ("a2a-key", "b"), ("a2a-keys", "c")]);
        Place::Header(header_name("A2A-Key").unwrap()).hide(&mut parts);
        let left: Vec<_> = parts.headers.keys().map(HeaderName::as_str).collect();
        assert_eq!(left, ["a2a-keys"]);
    }

    #[test]
    fn nothing_prints_a_secret() {
        let basic = Presented::Basic { user: "u".into(), password: "hidden".into() };
        for presented in
            [basic, Presented::ApiKey("hidden".into()), Presented::Bearer("hidden".into())]
        {
            assert!(!format!("{presented:?}").contains("hidden"));
        }
    }
}
