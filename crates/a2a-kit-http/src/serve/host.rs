//! Validates the `Host` header of HTTP/1.1 requests (RFC 9112 §3.2).

use axum::body::Body;
use http::{
    HeaderValue, Response, StatusCode, Version,
    header::{CONNECTION, HOST},
    request::Parts,
    uri::Authority,
};

use crate::body;

/// Checks the `Host` header of a request. HTTP/2 has `:authority` instead, and HTTP/1.0 does not
/// require it.
///
/// # Errors
///
/// The reason why the header is invalid.
pub(super) fn check(head: &Parts) -> Result<(), &'static str> {
    if head.version > Version::HTTP_11 {
        return Ok(());
    }
    let mut lines = head.headers.get_all(HOST).iter();
    match (lines.next(), lines.next()) {
        (None, _) if head.version < Version::HTTP_11 => Ok(()),
        (None, _) => Err("missing Host header"),
        (Some(_), Some(_)) => Err("more than one Host header"),
        (Some(host), None) if is_host(host) => Ok(()),
        (Some(_), None) => Err("malformed Host header"),
    }
}

/// Rejects a request and closes the connection, which can no longer be trusted or is not wanted.
pub(super) fn reject(status: StatusCode, reason: &'static str) -> Response<Body> {
    let text = HeaderValue::from_static("text/plain; charset=utf-8");
    let mut response = body::respond(status.as_u16(), text, reason);
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

/// Returns the host of a value without an allocation, if it is a plain one: a name or an IPv4 address,
/// with or without a port. Others have to be parsed.
pub(crate) fn plain_host(value: &[u8]) -> Option<&[u8]> {
    let is_plain = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-');
    let (host, port) = value.split_at(value.iter().take_while(is_plain).count());
    let is_port = match port {
        [] => true,
        [b':', digits @ ..] => {
            let is_short = digits.len() < 5 || digits.len() == 5 && digits <= &b"65535"[..];
            is_short && digits.iter().all(u8::is_ascii_digit)
        }
        _ => false,
    };
    (!host.is_empty() && is_port).then_some(host)
}

fn is_port(digits: &str) -> bool {
    digits.is_empty() || digits.parse::<u16>().is_ok()
}

/// Returns whether the value is `uri-host [":" port]` with a non-empty host.
fn is_host(value: &HeaderValue) -> bool {
    if plain_host(value.as_bytes()).is_some() {
        return true;
    }
    let Some(text) = value.to_str().ok().filter(|text| !text.contains('@')) else { return false };
    let Ok(authority) = text.parse::<Authority>() else { return false };
    let port = text.strip_prefix(authority.host()).unwrap_or_default();
    let is_port = match port.strip_prefix(':') {
        Some(digits) => is_port(digits),
        None => port.is_empty(),
    };
    !authority.host().is_empty() && is_port
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_hosts(version: Version, hosts: &[&str]) -> Result<(), &'static str> {
        let mut request = http::Request::builder().version(version);
        for host in hosts {
            request = request.header(HOST, *host);
        }
        check(&request.body(()).unwrap().into_parts().0)
    }

    #[test]
    fn http_1_1_requires_one_well_formed_host() {
        for (hosts, is_accepted) in [
            (&["a"][..], true),
            (&["agent.example:8080"], true),
            (&["agent.example:"], true),
            (&["127.0.0.1:1"], true),
            (&["[::1]:8080"], true),
            (&["xn--bcher-kva_x.example"], true),
            (&[], false),
            (&["a", "a"], false),
            (&["a", "b"], false),
            (&[""], false),
            (&["a b"], false),
            (&["a,b"], true),
            (&["a/b"], false),
            (&["user@a"], false),
            (&["a:b"], false),
            (&["a:65535"], true),
            (&["a:65536"], false),
            (&["a:00080"], true),
            (&[":80"], false),
            (&["[::1"], false),
            (&["a\u{e9}"], false),
        ] {
            assert_eq!(check_hosts(Version::HTTP_11, hosts).is_ok(), is_accepted, "{hosts:?}");
        }
        assert!(check_hosts(Version::HTTP_10, &[]).is_ok());
        assert!(check_hosts(Version::HTTP_10, &["a", "b"]).is_err());
        assert!(check_hosts(Version::HTTP_2, &[]).is_ok());
    }
}
