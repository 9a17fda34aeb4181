//! The service parameters (spec §3.2.6): what travels in headers beside a request.
//!
//! gRPC metadata keys are the same names, so all three bindings read and write them here.

use a2a_core::{Error, ExtensionSet, ProtocolVersion, Result};
use a2a_operations::{CallContext, Caller, Credential, EventId, Place};
use http::{
    Extensions, HeaderMap, HeaderName, HeaderValue,
    header::{AUTHORIZATION, COOKIE},
};

/// `A2A-Version`: the revision that a request is in.
pub const VERSION: HeaderName = HeaderName::from_static("a2a-version");
/// `A2A-Extensions`: the extensions that a request asks for and an answer used.
pub const EXTENSIONS: HeaderName = HeaderName::from_static("a2a-extensions");
/// `Last-Event-ID`: the last event that a reader of a cut stream has seen.
pub const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// `Idempotency-Key`: names one send, so that a retry joins the first try.
pub const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// `X-A2A-Via`: the gateways that a request has been through, the last one at the end.
pub const VIA: HeaderName = HeaderName::from_static("x-a2a-via");

/// The name under which older peers send [`EXTENSIONS`].
const EXTENSIONS_ALIAS: HeaderName = HeaderName::from_static("x-a2a-extensions");

/// Most parameters kept of one request; more are passed over.
const MAX_PARAMETERS: usize = 32;
/// Longest value of a parameter, in bytes; a longer one is passed over.
const MAX_VALUE_BYTES: usize = 4 << 10;
/// Longest `Idempotency-Key`, in bytes.
const MAX_KEY_BYTES: usize = 255;
/// How much of an unknown version is repeated to the peer, in characters.
const MAX_ECHO: usize = 32;

/// What a request without a version stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum VersionPolicy {
    /// Revision 0.3, as spec §3.6.2 says. Where that is not spoken, the request is refused.
    #[default]
    Strict,
    /// Revision 1.0, for clients that never learned to say so.
    Lenient,
}

/// Reads what came beside a request. The caller is not among it: see [`caller`].
///
/// The header `A2A-Version` wins over a query parameter of the same name. Other `a2a-*`
/// parameters, the trace context and the gateways on the way are kept, up to 32 of at most 4 KiB.
/// A `Last-Event-ID` that is not one of ours is passed over: the reader then gets a snapshot.
///
/// # Errors
///
/// [`VersionNotSupported`](a2a_core::ErrorKind::VersionNotSupported) for any version but 1.0;
/// [`InvalidParams`](a2a_core::ErrorKind::InvalidParams) for an unusable `Idempotency-Key`.
pub fn read(
    headers: &HeaderMap,
    query: Option<&str>,
    policy: VersionPolicy,
) -> Result<CallContext> {
    let mut context = CallContext::default();
    context.version = read_version(headers, query, policy)?;
    for name in [EXTENSIONS, EXTENSIONS_ALIAS] {
        for line in headers.get_all(name).iter().filter_map(|line| line.to_str().ok()) {
            context.extensions.extend_from_header(line);
        }
    }
    context.last_event_id = text(headers, &LAST_EVENT_ID).and_then(|id| id.parse::<EventId>().ok());
    if let Some(key) = headers.get(IDEMPOTENCY_KEY) {
        context.idempotency_key = Some(read_key(key)?);
    }
    // First, so that no number of others hides from a gateway that it has been passed before.
    let via = VIA;
    let first = headers.get_all(&via).iter().map(|value| (&via, value));
    for (name, value) in first.chain(headers.iter().filter(|(name, _)| **name != VIA)) {
        if is_passed_on(name.as_str())
            && context.parameters.len() < MAX_PARAMETERS
            && value.len() <= MAX_VALUE_BYTES
            && let Ok(value) = value.to_str()
        {
            // Several lines of one name are one list (RFC 9110 §5.3).
            let known = context.parameters.entry(name.as_str().to_owned()).or_default();
            if !known.is_empty() && known.len() + value.len() < MAX_VALUE_BYTES {
                known.push(',');
                known.push_str(value);
            } else if known.is_empty() {
                known.push_str(value);
            }
        }
    }
    Ok(context)
}

/// Writes what travels beside a request in the current revision, whatever the revision of the
/// call that it is made for. The caller is never written.
///
/// What is not fit for a header is left out.
pub fn write(context: &CallContext, headers: &mut HeaderMap) {
    headers.insert(VERSION, HeaderValue::from_static(ProtocolVersion::LATEST.as_str()));
    write_activated(&context.extensions, headers);
    for (name, value) in &context.parameters {
        if is_passed_on(name)
            && let Ok(name) = HeaderName::try_from(name.as_str())
            && let Ok(value) = HeaderValue::try_from(value.as_str())
        {
            headers.insert(name, value);
        }
    }
    if let Some(id) = context.last_event_id {
        headers.insert(LAST_EVENT_ID, HeaderValue::from(id.get()));
    }
    if let Some(key) = context.idempotency_key.as_deref()
        && let Ok(key) = HeaderValue::try_from(key)
    {
        headers.insert(IDEMPOTENCY_KEY, key);
    }
    if let Some(credential) = &context.credential {
        write_credential(credential, headers);
    }
}

/// Writes what goes into headers. Secrets for the query are left to whoever makes the URL.
fn write_credential(credential: &Credential, headers: &mut HeaderMap) {
    let mut cookies = String::new();
    for (place, secret) in credential.expose() {
        let name = match place {
            Place::Authorization => AUTHORIZATION,
            Place::Header(name) => match HeaderName::try_from(&**name) {
                Ok(name) => name,
                Err(_) => continue,
            },
            Place::Cookie(name) => {
                let separator = if cookies.is_empty() { "" } else { "; " };
                cookies.extend([separator, name, "=", secret]);
                continue;
            }
            Place::Query(_) => continue,
        };
        write_secret(name, secret, headers);
    }
    if !cookies.is_empty() {
        write_secret(COOKIE, &cookies, headers);
    }
}

fn write_secret(name: HeaderName, secret: &str, headers: &mut HeaderMap) {
    if let Ok(mut value) = HeaderValue::try_from(secret) {
        value.set_sensitive(true);
        headers.insert(name, value);
    }
}

/// Writes the extensions that were used for an answer; nothing if there were none.
pub fn write_activated(activated: &ExtensionSet, headers: &mut HeaderMap) {
    if !activated.is_empty()
        && let Ok(line) = HeaderValue::try_from(activated.to_string())
    {
        headers.insert(EXTENSIONS, line);
    }
}

/// Reads the extensions that were used for an answer.
pub fn read_activated(headers: &HeaderMap) -> ExtensionSet {
    let mut activated = ExtensionSet::new();
    for line in headers.get_all(EXTENSIONS).iter().filter_map(|line| line.to_str().ok()) {
        activated.extend_from_header(line);
    }
    activated
}

/// Returns who makes a request: the [`Caller`] that an authenticating layer put into its
/// extensions, or an anonymous one.
pub fn caller(extensions: &Extensions) -> Caller {
    extensions.get().cloned().unwrap_or_default()
}

/// Returns what a request authenticates with, for a layer that keeps it in the [`Caller`].
pub fn credential(headers: &HeaderMap) -> Option<Credential> {
    text(headers, &AUTHORIZATION).map(Credential::new)
}

fn read_version(
    headers: &HeaderMap,
    query: Option<&str>,
    policy: VersionPolicy,
) -> Result<ProtocolVersion> {
    let supported = &[ProtocolVersion::V1_0];
    let header = headers.get(VERSION).map(|value| value.to_str().unwrap_or("?").trim());
    let from_query;
    let asked = match header.filter(|text| !text.is_empty()) {
        Some(text) => text,
        None => {
            from_query = query.and_then(query_version).unwrap_or_default();
            from_query.trim()
        }
    };
    if asked.is_empty() && policy == VersionPolicy::Lenient {
        return Ok(ProtocolVersion::V1_0);
    }
    match asked.parse() {
        Ok(ProtocolVersion::V1_0) => Ok(ProtocolVersion::V1_0),
        // Known or not, it is not spoken here.
        Ok(_) | Err(_) => {
            let echo: String = asked.chars().take(MAX_ECHO).collect();
            Err(ProtocolVersion::not_supported(&echo, supported))
        }
    }
}

fn query_version(query: &str) -> Option<String> {
    url::form_urlencoded::parse(query.as_bytes())
        .find(|(name, _)| name.eq_ignore_ascii_case(VERSION.as_str()))
        .map(|(_, value)| value.into_owned())
}

fn read_key(key: &HeaderValue) -> Result<String> {
    let refused = |why: &str| Err(Error::invalid_params("Idempotency-Key", why));
    match key.to_str() {
        Ok("") => refused("must not be empty"),
        Ok(key) if key.len() > MAX_KEY_BYTES => refused("must have at most 255 characters"),
        Ok(key) => Ok(key.to_owned()),
        Err(_) => refused("must be visible ASCII characters"),
    }
}

fn is_passed_on(name: &str) -> bool {
    name == "traceparent"
        || name == "tracestate"
        || name == VIA.as_str()
        || (name.starts_with("a2a-") && name != VERSION.as_str() && name != EXTENSIONS.as_str())
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

#[cfg(test)]
mod tests {
    use a2a_core::ErrorKind;

    use super::*;

    fn headers(lines: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, HeaderValue::try_from(*value).unwrap());
        }
        headers
    }

    fn version(header: Option<&str>, query: Option<&str>, policy: VersionPolicy) -> Result<()> {
        let headers = match header {
            Some(value) => headers(&[("a2a-version", value)]),
            None => HeaderMap::new(),
        };
        read(&headers, query, policy).map(|context| assert_eq!(context.version.as_str(), "1.0"))
    }

    #[test]
    fn only_version_1_0_is_spoken_and_the_header_wins_over_the_query() {
        use VersionPolicy::{Lenient, Strict};
        for (header, query, policy) in [
            (Some("1.0"), None, Strict),
            (Some("1.0.9"), None, Strict),
            (Some("1.0"), Some("A2A-Version=0.3"), Strict),
            (None, Some("a=b&A2A-Version=1.0"), Strict),
            (None, Some("a2a-version=1%2E0"), Strict),
            (None, None, Lenient),
            (Some(""), None, Lenient),
        ] {
            assert!(version(header, query, policy).is_ok(), "{header:?} {query:?} {policy:?}");
        }
        for (header, query, policy) in [
            (None, None, Strict),
            (Some(" "), None, Strict),
            (Some("0.3"), None, Lenient),
            (Some("0.3"), Some("A2A-Version=1.0"), Strict),
            (Some("9.9"), None, Strict),
            (Some("one"), None, Lenient),
            (None, Some("A2A-Version=2.0"), Lenient),
        ] {
            let error = version(header, query, policy).unwrap_err();
            assert_eq!(
                error.kind(),
                ErrorKind::VersionNotSupported,
                "{header:?} {query:?} {policy:?}"
            );
            assert_eq!(error.metadata()["supportedVersions"], "1.0");
        }
    }

    //
    #[test]
    fn what_a_client_writes_a_server_reads() {
        let mut context = CallContext::default();
        context.extensions = ["urn:a", "urn:b"].into_iter().collect();
        context.parameters.insert("a2a-budget".into(), "7".into());
        context.parameters.insert("traceparent".into(), "00-1-2-01".into());
        context.parameters.insert("x-a2a-via".into(), "gateway".into());
        context.parameters.insert("cookie".into(), "never".into());
        context.parameters.insert("a2a-broken".into(), "line\nbreak".into());
        context.last_event_id = EventId::new(12);
        context.idempotency_key = Some("key 1".into());
        context.caller = Caller::authenticated("me").with_credential(Credential::new("front"));
        context.credential = Some(Credential::new("Bearer back"));

        let mut headers = HeaderMap::new();
        write(&context, &mut headers);
        assert!(headers.contains_key("a2a-version") && headers.contains_key("a2a-extensions"));
        assert!(!headers.contains_key("cookie") && !headers.contains_key("a2a-broken"));
        let read = read(&headers, None, VersionPolicy::Strict).unwrap();
        assert_eq!(read.extensions, context.extensions);
        assert_eq!(read.last_event_id, context.last_event_id);
        assert_eq!(read.idempotency_key, context.idempotency_key);
        assert_eq!(read.caller, Caller::ANONYMOUS);
        assert!(read.credential.is_none(), "a credential is not a parameter");
        assert_eq!(credential(&headers), Some(Credential::new("Bearer back")));
        assert!(!format!("{context:?} {headers:?}").contains("back"), "it is a secret");
        let kept: Vec<_> = read.parameters.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        let passed = [("a2a-budget", "7"), ("traceparent", "00-1-2-01"), ("x-a2a-via", "gateway")];
        assert_eq!(kept, passed);
    }

    #[test]
    fn extensions_come_in_several_lines_and_under_an_older_name() {
        let headers = headers(&[
            ("a2a-version", "1.0"),
            ("a2a-extensions", "urn:a, urn:b"),
            ("a2a-extensions", "urn:c"),
            ("x-a2a-extensions", "urn:d"),
        ]);
        let context = read(&headers, None, VersionPolicy::Strict).unwrap();
        assert_eq!(context.extensions.to_string(), "urn:a,urn:b,urn:c,urn:d");
    }

    #[test]
    fn parameters_are_bounded() {
        let mut headers = headers(&[("a2a-version", "1.0"), ("last-event-id", "not ours")]);
        for number in 0..100 {
            let name = HeaderName::try_from(format!("a2a-p{number}")).unwrap();
            headers.insert(name, HeaderValue::from_static("x"));
        }
        let long = "x".repeat(MAX_VALUE_BYTES + 1);
        headers.insert("tracestate", HeaderValue::try_from(long).unwrap());
        let context = read(&headers, None, VersionPolicy::Strict).unwrap();
        assert_eq!(context.parameters.len(), MAX_PARAMETERS);
        assert!(!context.parameters.contains_key("tracestate"));
        headers.append(VIA, HeaderValue::from_static("first"));
        headers.append(VIA, HeaderValue::from_static("second"));
        let context = read(&headers, None, VersionPolicy::Strict).unwrap();
        assert_eq!(context.parameters[VIA.as_str()], "first,second");
        assert_eq!(context.last_event_id, None);
    }

    #[test]
    fn an_idempotency_key_has_1_to_255_characters() {
        for (key, ok) in [("k", true), ("", false), (&*"k".repeat(255), true)] {
            let headers = headers(&[("a2a-version", "1.0"), ("idempotency-key", key)]);
            assert_eq!(read(&headers, None, VersionPolicy::Strict).is_ok(), ok, "{key:?}");
        }
        let headers = headers(&[("a2a-version", "1.0"), ("idempotency-key", &"k".repeat(256))]);
        let error = read(&headers, None, VersionPolicy::Strict).unwrap_err();
        assert_eq!(error.violations()[0].field, "Idempotency-Key");
    }
}
