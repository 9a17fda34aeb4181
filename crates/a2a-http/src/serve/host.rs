//! The `Host` of HTTP/1.1, which every request has once (RFC 9112 §3.2).

use axum::body::Body;
use http::{
    HeaderValue, Request, Response, StatusCode, Version,
    header::{CONNECTION, CONTENT_TYPE, HOST},
    uri::Authority,
};

/// Checks the `Host` of a request. Over HTTP/2 `:authority` stands for it, and HTTP/1.0 may go
/// without.
///
/// # Errors
///
/// What is wrong with it.
pub(super) fn check<B>(request: &Request<B>) -> Result<(), &'static str> {
    if request.version() > Version::HTTP_11 {
        return Ok(());
    }
    let mut lines = request.headers().get_all(HOST).iter();
    match (lines.next(), lines.next()) {
        (None, _) if request.version() < Version::HTTP_11 => Ok(()),
        (None, _) => Err("the Host header is missing"),
        (Some(_), Some(_)) => Err("there is more than one Host header"),
        (Some(host), None) if is_host(host) => Ok(()),
        (Some(_), None) => Err("the Host header is malformed"),
    }
}

/// Refuses a request. Where its host is in doubt, so is where the next request begins.
pub(super) fn refuse(wrong: &'static str) -> Response<Body> {
    let mut response = Response::new(Body::from(wrong));
    *response.status_mut() = StatusCode::BAD_REQUEST;
    let headers = response.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

/// Whether this is `uri-host [":" port]`, with a host that is not empty.
fn is_host(value: &HeaderValue) -> bool {
    let Some(text) = value.to_str().ok().filter(|text| !text.contains('@')) else { return false };
    let Ok(authority) = text.parse::<Authority>() else { return false };
    let port = text.strip_prefix(authority.host()).unwrap_or_default();
    let is_port = match port.strip_prefix(':') {
        Some(digits) => digits.is_empty() || digits.parse::<u16>().is_ok(),
        None => port.is_empty(),
    };
    !authority.host().is_empty() && is_port
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(version: Version, hosts: &[&str]) -> Result<(), &'static str> {
        let mut request = Request::builder().version(version);
        for host in hosts {
            request = request.header(HOST, *host);
        }
        check(&request.body(()).unwrap())
    }

    #[test]
    fn http_1_1_has_one_well_formed_host() {
        for (hosts, is_served) in [
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
            (&["a:99999"], false),
            (&[":80"], false),
            (&["[::1"], false),
            (&["a\u{e9}"], false),
        ] {
            assert_eq!(outcome(Version::HTTP_11, hosts).is_ok(), is_served, "{hosts:?}");
        }
        assert!(outcome(Version::HTTP_10, &[]).is_ok());
        assert!(outcome(Version::HTTP_10, &["a", "b"]).is_err());
        assert!(outcome(Version::HTTP_2, &[]).is_ok());
    }
}
