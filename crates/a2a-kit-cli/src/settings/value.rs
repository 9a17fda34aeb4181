//! How the values of flags, variables and files are read: one function for each kind of value.

use std::time::Duration;

pub(crate) use a2a_core::text::{duration, state};
use a2a_core::{ParseError, ProtocolVersion, well_known::Struct};
use a2a_kit_client::{Transport, credentials::Origin};
use http::{HeaderName, HeaderValue};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::Url;

/// Reads a binding: `jsonrpc`, `http+json` (also `rest`), `grpc`.
pub(crate) fn binding(text: &str) -> Result<Transport, String> {
    text.parse().map_err(|_error| "expected jsonrpc, http+json (or rest), or grpc".to_owned())
}

/// Reads a revision of the protocol: `1.0`, `draft`, `0.3`, `0.2`, `0.1`.
pub(crate) fn version(text: &str) -> Result<ProtocolVersion, String> {
    let known = match text.trim() {
        "" => None,
        "draft" => Some(ProtocolVersion::V1Draft),
        number => number.parse().ok(),
    };
    known.ok_or_else(|| "expected 1.0, draft, 0.3, 0.2 or 0.1".to_owned())
}

/// What [`version`] reads.
pub(crate) const fn version_name(version: ProtocolVersion) -> &'static str {
    match version {
        ProtocolVersion::V1Draft => "draft",
        other => other.as_str(),
    }
}

/// How results are printed.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Format {
    #[default]
    Text,
    Json,
}

/// Reads a pause between polls: at least 100 ms.
pub(crate) fn poll_interval(text: &str) -> Result<Duration, String> {
    let interval = duration(text)?;
    if interval < Duration::from_millis(100) {
        return Err("must be at least 100ms".into());
    }
    Ok(interval)
}

/// Reads a fingerprint: 64 hexadecimal digits, with or without colons, as openssl prints them.
pub(crate) fn fingerprint(text: &str) -> Result<[u8; 32], String> {
    let digits: Vec<_> = text.chars().filter(|c| *c != ':').map(|c| c.to_digit(16)).collect();
    let byte = |pair: &[Option<u32>]| match pair {
        [Some(high), Some(low)] => u8::try_from(high * 16 + low).ok(),
        _ => None,
    };
    let bytes: Option<Vec<_>> = digits.chunks(2).map(byte).collect();
    let fingerprint = bytes.and_then(|bytes| bytes.try_into().ok());
    fingerprint.ok_or_else(|| {
        "expected 64 hexadecimal digits, such as openssl x509 -fingerprint -sha256 prints".into()
    })
}

/// Reads a number of bytes: `1048576`, `64KiB`, `10MiB`, `1GiB`.
pub(crate) fn bytes(text: &str) -> Result<usize, String> {
    let expected = || "expected a number of bytes such as 65536, 64KiB or 10MiB".to_owned();
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let number: usize = number.parse().map_err(|_error| expected())?;
    let factor: usize = match unit.trim() {
        "" | "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return Err(expected()),
    };
    number.checked_mul(factor).ok_or_else(expected)
}

/// Reads a service parameter: `name:value` or `name=value`, split at the first of either.
pub(crate) fn service_parameter(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once([':', '=']).ok_or("expected name:value or name=value")?;
    let name = name.trim().to_ascii_lowercase();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if name.is_empty() || !name.bytes().all(plain) {
        return Err("the name may have letters, digits, `-`, `_` and `.` only".into());
    }
    match name.as_str() {
        "a2a-version" => Err("the version is set with --a2a-version".into()),
        // They decide which server behind an address gets the call, and where it ends.
        "host" | "connection" | "content-length" | "te" | "trailer" | "transfer-encoding"
        | "upgrade" => Err("the HTTP client sets this header".into()),
        "a2a-extensions" => Err("extensions are asked for with --extension".into()),
        _ => Ok((name, value.trim().to_owned())),
    }
}

/// Reads a header of outgoing requests: `name: value`.
pub(crate) fn header(text: &str) -> Result<(HeaderName, HeaderValue), String> {
    let expected = || "expected name: value".to_owned();
    let (name, value) = text.split_once(':').ok_or_else(expected)?;
    let name: HeaderName = name.trim().parse().map_err(|_invalid| expected())?;
    let mut value: HeaderValue = value.trim().parse().map_err(|_invalid| expected())?;
    value.set_sensitive(true);
    Ok((name, value))
}

/// Reads an origin, as `https://agents.example`.
pub(crate) fn origin(text: &str) -> Result<Origin, String> {
    text.trim().parse().map_err(|unknown: ParseError| unknown.to_string())
}

/// Reads an origin as browsers send it, or `*`.
pub(crate) fn web_origin(text: &str) -> Result<String, String> {
    let text = text.trim();
    if text == "*" {
        return Ok(text.to_owned());
    }
    let wrong = || "expected an origin such as https://app.example, or *".to_owned();
    let url: Url = text.parse().map_err(|_error| wrong())?;
    // Browsers leave out the port of the scheme, and never send a path.
    let origin = url.origin().ascii_serialization();
    let is_origin = matches!(url.path(), "" | "/") && url.query().is_none();
    if is_origin && origin != "null" { Ok(origin) } else { Err(wrong()) }
}

/// Refuses a user or a password in an address that others see: in the card, in errors and in logs.
/// Requests to such an address fail anyway.
pub(crate) fn public_address(address: &str) -> Result<(), &'static str> {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') { Err("must not contain credentials") } else { Ok(()) }
}

/// Reads a JSON object.
pub(crate) fn json_object(text: &str) -> Result<Struct, String> {
    serde_json::from_str(text).map_err(|error| format!("expected a JSON object: {error}"))
}

/// Reads a switch from a variable: `1 true yes on`, `0 false no off`.
pub(crate) fn switch(text: &str) -> Result<bool, String> {
    match text.trim().to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Ok(true),
        "0" | "false" | "no" | "off" => Ok(false),
        _ => Err("expected 1, true, yes, on, 0, false, no or off".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_or_password_in_an_address_is_refused() {
        for (address, is_fine) in [
            ("https://a.example/path?mail=me@b.example#x@y", true),
            ("a.example:443", true),
            ("", true),
            ("https://me@a.example", false),
            ("https://me:secret@a.example/", false),
            ("me:secret@a.example:443", false),
            ("https://:secret@[::1]:8080", false),
        ] {
            assert_eq!(public_address(address).is_ok(), is_fine, "{address}");
        }
    }

    #[test]
    fn a_poll_interval_has_a_minimum_and_a_fingerprint_32_bytes() {
        assert!(poll_interval("99ms").is_err());
        let colons = ["Ab"; 32].join(":");
        assert_eq!(fingerprint(&colons), Ok([0xab; 32]));
        assert_eq!(fingerprint(&"0".repeat(64)), Ok([0; 32]));
        for invalid in ["", "sha256", &"0".repeat(63), &"0".repeat(66), &"+1".repeat(32)] {
            assert!(fingerprint(invalid).is_err(), "{invalid}");
        }
    }

    #[test]
    fn service_parameters_split_at_the_first_separator_and_leave_the_protocols_own_alone() {
        assert_eq!(service_parameter("X-Key: a=b"), Ok(("x-key".into(), "a=b".into())));
        assert_eq!(service_parameter("k=a:b"), Ok(("k".into(), "a:b".into())));
        for text in [
            "k",
            ":v",
            "Host:evil.example",
            "Content-Length=1",
            "A2A-Version:1.0",
            "a2a-extensions=urn:x",
            "a b:c",
        ] {
            assert!(service_parameter(text).is_err(), "{text}");
        }
    }
}
