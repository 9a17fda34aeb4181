//! Service parameters (spec §3.2.6), sent as HTTP headers.
//!
//! gRPC metadata has the same keys, so all three bindings read and write them here.

use a2a_core::{Error, ExtensionSet, ProtocolVersion, Result};
use a2a_kit_operations::{CallContext, Caller, Credential, CredentialLocation};
use http::{
    Extensions, HeaderMap, HeaderName, HeaderValue,
    header::{AUTHORIZATION, COOKIE},
};

#[cfg(feature = "server")]
use crate::{address::ClientAddress, query, repeated_fields};
#[cfg(feature = "server")]
use axum::extract::ConnectInfo;
#[cfg(feature = "server")]
use std::net::SocketAddr;

/// `A2A-Version`: the protocol revision of a request.
pub const VERSION: HeaderName = HeaderName::from_static("a2a-version");
/// `A2A-Extensions`: the extensions that a request requests and a response activated.
pub const EXTENSIONS: HeaderName = HeaderName::from_static("a2a-extensions");
/// `Last-Event-ID`: the last event that a client received before its stream was interrupted.
pub const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// `Idempotency-Key`: identifies a send, so that a retry joins the first attempt.
pub const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// `X-A2A-Via`: the gateways that forwarded a request, in order.
pub const VIA: HeaderName = HeaderName::from_static("x-a2a-via");

/// The name of [`EXTENSIONS`] in older revisions.
const EXTENSIONS_ALIAS: HeaderName = HeaderName::from_static("x-a2a-extensions");

/// Maximum number of parameters of a request; further ones are ignored.
const MAX_PARAMETERS: usize = 32;
/// Maximum length of a parameter value, in bytes; longer ones are ignored.
const MAX_VALUE_BYTES: usize = 4 << 10;
/// Maximum length of an `Idempotency-Key`, in bytes.
const MAX_KEY_BYTES: usize = 255;
/// Maximum length of an unsupported version in an error message, in characters.
const MAX_ECHO: usize = 32;

/// The revision of a request without a version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum VersionPolicy {
    /// Revision 0.3, as spec §3.6.2 says. Where it is not supported, the request is rejected.
    #[default]
    Strict,
    /// Revision 1.0, for clients that do not send the header.
    Lenient,
}

/// Reads the service parameters of a request. The caller is not one of them: see [`caller`].
///
/// The header `A2A-Version` takes precedence over the query parameter. Other `a2a-*` parameters,
/// the trace context and `X-A2A-Via` are kept, at most 32 of at most 4 KiB. A malformed
/// `Last-Event-ID` is ignored: the client then gets a snapshot.
///
/// # Errors
///
/// [`VersionNotSupported`](a2a_core::ErrorKind::VersionNotSupported) for any version but 1.0, with
/// the versions in `served`; [`InvalidParams`](a2a_core::ErrorKind::InvalidParams) for an invalid
/// `Idempotency-Key`, and for a repeated parameter with different values.
#[cfg(feature = "server")]
pub fn read(
    headers: &HeaderMap,
    query: Option<&str>,
    policy: VersionPolicy,
    served: &[ProtocolVersion],
) -> Result<CallContext> {
    repeated_fields::check(headers)?;
    let mut context = CallContext::default();
    let (mut version, mut has_others) = (None, false);
    for (name, value) in headers {
        match name.as_str().as_bytes() {
            b"a2a-version" => version = version.or(Some(value)),
            b"idempotency-key" | b"last-event-id" => has_others = true,
            // `a2a-`, `x-a2a-`, and `traceparent` or `tracestate`.
            [b'a', b'2', b'a', b'-', ..]
            | [b'x', b'-', b'a', b'2', b'a', b'-', ..]
            | [b't', b'r', b'a', b'c', b'e', ..] => has_others = true,
            _ => {}
        }
    }
    context.version = read_version(version, query, policy, served)?;
    // Most requests have no other parameter.
    if has_others {
        read_others(headers, &mut context)?;
    }
    Ok(context)
}

/// Reads all parameters but the version.
#[cfg(feature = "server")]
fn read_others(headers: &HeaderMap, context: &mut CallContext) -> Result<()> {
    for name in [EXTENSIONS, EXTENSIONS_ALIAS] {
        for line in headers.get_all(name).iter().filter_map(|line| line.to_str().ok()) {
            context.extensions.extend_from_header(line);
        }
    }
    context.last_event_id = text(headers, &LAST_EVENT_ID).and_then(|id| id.parse().ok());
    if let Some(key) = headers.get(IDEMPOTENCY_KEY) {
        context.idempotency_key = Some(read_key(key)?);
    }
    // `Via` comes first, so that other parameters cannot displace it and hide a gateway loop.
    let via = VIA;
    let first = headers.get_all(&via).iter().map(|value| (&via, value));
    for (name, value) in first.chain(headers.iter().filter(|(name, _)| **name != VIA)) {
        if is_forwarded(name.as_str())
            && context.parameters.len() < MAX_PARAMETERS
            && value.len() <= MAX_VALUE_BYTES
            && let Ok(value) = value.to_str()
        {
            // Repeated headers are combined into one list (RFC 9110 §5.3).
            let known = context.parameters.entry(name.as_str().to_owned()).or_default();
            if !known.is_empty() && known.len() + value.len() < MAX_VALUE_BYTES {
                known.push(',');
                known.push_str(value);
            } else if known.is_empty() {
                known.push_str(value);
            }
        }
    }
    Ok(())
}

/// Writes the service parameters in the current revision, whatever the revision of the call. The
/// caller is never written.
///
/// Values that are invalid in a header are omitted.
pub fn write(context: &CallContext, headers: &mut HeaderMap) {
    headers.insert(VERSION, HeaderValue::from_static(ProtocolVersion::LATEST.as_str()));
    write_activated(&context.extensions, headers);
    for (name, value) in &context.parameters {
        if is_forwarded(name)
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

/// Writes the header and cookie parts of a credential. The query part belongs to the URL.
fn write_credential(credential: &Credential, headers: &mut HeaderMap) {
    let mut cookies = String::new();
    for (place, secret) in credential.expose() {
        let name = match place {
            CredentialLocation::Authorization => AUTHORIZATION,
            CredentialLocation::Header(name) => match HeaderName::try_from(&**name) {
                Ok(name) => name,
                Err(_) => continue,
            },
            CredentialLocation::Cookie(name) => {
                let separator = if cookies.is_empty() { "" } else { "; " };
                cookies.extend([separator, name, "=", secret]);
                continue;
            }
            CredentialLocation::Query(_) => continue,
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

/// Writes the activated extensions of a response; no header if there are none.
pub fn write_activated(activated: &ExtensionSet, headers: &mut HeaderMap) {
    if !activated.is_empty()
        && let Ok(line) = HeaderValue::try_from(activated.to_string())
    {
        headers.insert(EXTENSIONS, line);
    }
}

/// Reads the activated extensions of a response.
pub fn read_activated(headers: &HeaderMap) -> ExtensionSet {
    let mut activated = ExtensionSet::new();
    for line in headers.get_all(EXTENSIONS).iter().filter_map(|line| line.to_str().ok()) {
        activated.extend_from_header(line);
    }
    activated
}

/// Returns the [`Caller`] that an authentication layer added to the request extensions, or an
/// anonymous one.
pub fn caller(extensions: &Extensions) -> Caller {
    extensions.get().cloned().unwrap_or_default()
}

/// Adds to a context what the layers in front of a binding know of its request: the [`caller`], the
/// label of the agent in metrics and the client address, which is that of the peer unless a layer knows better.
#[cfg(feature = "server")]
pub fn identify(context: &mut CallContext, extensions: &Extensions) {
    context.caller = caller(extensions);
    context.metrics_label = extensions.get().copied().unwrap_or_default();
    context.client_address =
        extensions.get().map(|ClientAddress(address)| *address).or_else(|| {
            let ConnectInfo(peer) = extensions.get::<ConnectInfo<SocketAddr>>()?;
            Some(peer.ip().to_canonical())
        });
}

/// Returns the `Authorization` of a request, for a layer that keeps it in the [`Caller`].
pub fn credential(headers: &HeaderMap) -> Option<Credential> {
    text(headers, &AUTHORIZATION).map(Credential::new)
}

#[cfg(feature = "server")]
fn read_version(
    header: Option<&HeaderValue>,
    query: Option<&str>,
    policy: VersionPolicy,
    served: &[ProtocolVersion],
) -> Result<ProtocolVersion> {
    let header = header.map(|value| value.to_str().unwrap_or("?").trim());
    let from_query;
    let requested = match header.filter(|text| !text.is_empty()) {
        Some(text) => text,
        None => {
            from_query = query_version(query)?.unwrap_or_default();
            from_query.trim()
        }
    };
    let is_lenient = requested.is_empty() && policy == VersionPolicy::Lenient;
    if is_lenient || requested == ProtocolVersion::V1_0.as_str() {
        return Ok(ProtocolVersion::V1_0);
    }
    match requested.parse() {
        Ok(ProtocolVersion::V1_0) => Ok(ProtocolVersion::V1_0),
        // Other revisions are not supported here.
        Ok(_) | Err(_) => {
            let echo: String = requested.chars().take(MAX_ECHO).collect();
            Err(ProtocolVersion::not_supported(&echo, served))
        }
    }
}

/// Returns the version in a query.
///
/// # Errors
///
/// [`InvalidParams`](a2a_core::ErrorKind::InvalidParams) if it is repeated with different values, or
/// is not UTF-8.
#[cfg(feature = "server")]
pub fn query_version(query: Option<&str>) -> Result<Option<String>> {
    // Most queries have none.
    let Some(query) = query else { return Ok(None) };
    let mut version: Option<String> = None;
    for pair in query.split('&') {
        let name = pair.split('=').next().unwrap_or_default();
        if !name.eq_ignore_ascii_case(VERSION.as_str()) {
            continue;
        }
        for (_, value) in query::parse(pair)? {
            if version.as_deref().is_some_and(|known| *known != *value) {
                let why = "must not be repeated with different values";
                return Err(Error::invalid_params("A2A-Version", why));
            }
            version = Some(value.into_owned());
        }
    }
    Ok(version)
}

fn read_key(key: &HeaderValue) -> Result<String> {
    let invalid = |why: &str| Err(Error::invalid_params("Idempotency-Key", why));
    match key.to_str() {
        Ok("") => invalid("must not be empty"),
        Ok(key) if key.len() > MAX_KEY_BYTES => invalid("must have at most 255 characters"),
        Ok(key) => Ok(key.to_owned()),
        Err(_) => invalid("must be visible ASCII characters"),
    }
}

fn is_forwarded(name: &str) -> bool {
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

    const SERVED: &[ProtocolVersion] = &[ProtocolVersion::V1_0];

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
        read(&headers, query, policy, SERVED)
            .map(|context| assert_eq!(context.version.as_str(), "1.0"))
    }

    #[test]
    fn only_version_1_0_is_accepted_and_the_header_takes_precedence() {
        use VersionPolicy::{Lenient, Strict};
        for (header, query, policy) in [
            (Some("1.0"), None, Strict),
            (Some("1.0.9"), None, Strict),
            (Some("1.0"), Some("A2A-Version=0.3"), Strict),
            (None, Some("A2A-Version=1.0&a2a-version=1%2E0"), Strict),
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

    #[test]
    fn version_error_lists_all_served_versions() {
        use ProtocolVersion::{V0_1, V0_3, V1_0, V1Draft};
        let headers = headers(&[("a2a-version", "1.1")]);
        let served = [V0_1, V0_3, V1Draft, V1_0];
        let error = read(&headers, None, VersionPolicy::Strict, &served).unwrap_err();
        assert_eq!(error.metadata()["supportedVersions"], "0.1,0.3,1.0");
    }

    #[test]
    fn repeated_version_with_different_values_is_rejected() {
        let query = Some("A2A-Version=1.0&a2a-version=0.3");
        let error = read(&HeaderMap::new(), query, VersionPolicy::Strict, SERVED).unwrap_err();
        assert_eq!(error.violations()[0].field, "A2A-Version");
    }

    //
    #[test]
    fn service_parameters_round_trip_through_headers() {
        let mut context = CallContext::default();
        context.extensions = ["urn:a", "urn:b"].into_iter().collect();
        context.parameters.insert("a2a-budget".into(), "7".into());
        context.parameters.insert("traceparent".into(), "00-1-2-01".into());
        context.parameters.insert("x-a2a-via".into(), "gateway".into());
        context.parameters.insert("cookie".into(), "never".into());
        context.parameters.insert("a2a-broken".into(), "line\nbreak".into());
        context.last_event_id = a2a_kit_operations::EventId::new(12);
        context.idempotency_key = Some("key 1".into());
        context.caller = Caller::authenticated("me").with_credential(Credential::new("front"));
        context.credential = Some(Credential::new("Bearer back"));

        let mut headers = HeaderMap::new();
        write(&context, &mut headers);
        assert!(headers.contains_key("a2a-version") && headers.contains_key("a2a-extensions"));
        assert!(!headers.contains_key("cookie") && !headers.contains_key("a2a-broken"));
        let read = read(&headers, None, VersionPolicy::Strict, SERVED).unwrap();
        assert_eq!(read.extensions, context.extensions);
        assert_eq!(read.last_event_id, context.last_event_id);
        assert_eq!(read.idempotency_key, context.idempotency_key);
        assert_eq!(read.caller, Caller::ANONYMOUS);
        assert!(read.credential.is_none(), "a credential is not a parameter");
        assert_eq!(credential(&headers), Some(Credential::new("Bearer back")));
        assert!(!format!("{context:?} {headers:?}").contains("back"), "credentials are redacted");
        let kept: Vec<_> = read.parameters.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        let passed = [("a2a-budget", "7"), ("traceparent", "00-1-2-01"), ("x-a2a-via", "gateway")];
        assert_eq!(kept, passed);
    }

    #[test]
    fn repeated_and_legacy_extension_headers_are_combined() {
        let headers = headers(&[
            ("a2a-version", "1.0"),
            ("a2a-extensions", "urn:a, urn:b"),
            ("a2a-extensions", "urn:c"),
            ("x-a2a-extensions", "urn:d"),
        ]);
        let context = read(&headers, None, VersionPolicy::Strict, SERVED).unwrap();
        assert_eq!(context.extensions.to_string(), "urn:a,urn:b,urn:c,urn:d");
    }

    #[test]
    fn parameters_beyond_the_limits_are_ignored() {
        let mut headers = headers(&[("a2a-version", "1.0"), ("last-event-id", "not ours")]);
        for number in 0..100 {
            let name = HeaderName::try_from(format!("a2a-p{number}")).unwrap();
            headers.insert(name, HeaderValue::from_static("x"));
        }
        let long = "x".repeat(MAX_VALUE_BYTES + 1);
        headers.insert("tracestate", HeaderValue::try_from(long).unwrap());
        let context = read(&headers, None, VersionPolicy::Strict, SERVED).unwrap();
        assert_eq!(context.parameters.len(), MAX_PARAMETERS);
        assert!(!context.parameters.contains_key("tracestate"));
        headers.append(VIA, HeaderValue::from_static("first"));
        headers.append(VIA, HeaderValue::from_static("second"));
        let context = read(&headers, None, VersionPolicy::Strict, SERVED).unwrap();
        assert_eq!(context.parameters[VIA.as_str()], "first,second");
        assert_eq!(context.last_event_id, None);
    }

    #[test]
    fn idempotency_key_outside_1_to_255_characters_is_rejected() {
        for (key, ok) in [("k", true), ("", false), (&*"k".repeat(255), true)] {
            let headers = headers(&[("a2a-version", "1.0"), ("idempotency-key", key)]);
            assert_eq!(read(&headers, None, VersionPolicy::Strict, SERVED).is_ok(), ok, "{key:?}");
        }
        let headers = headers(&[("a2a-version", "1.0"), ("idempotency-key", &"k".repeat(256))]);
        let error = read(&headers, None, VersionPolicy::Strict, SERVED).unwrap_err();
        assert_eq!(error.violations()[0].field, "Idempotency-Key");
    }
}
