//! Absolute URLs as [`http::Uri`].
//!
//! [`parse`] is stricter than `str::parse::<Uri>`: it validates and normalizes the host and the
//! port, so that a URL that passes a check means the same to whatever calls it.

use a2a_core::{
    ParseError,
    url::{Host, default_port, normalize},
};
use http::Uri;

/// Parses an absolute URL of any scheme, and [normalizes](normalize) it.
///
/// # Errors
///
/// [`ParseError`] if it is not an absolute URL.
pub fn parse(text: &str) -> Result<Uri, ParseError> {
    Uri::try_from(normalize(text)?).map_err(|error| ParseError::new(error.to_string()))
}

/// Returns whether a URL contains a user name or a password.
pub fn has_credentials(url: &Uri) -> bool {
    url.authority().is_some_and(|authority| authority.as_str().contains('@'))
}

/// Returns whether a value, percent-encoded, stays in its segment of a URL path.
///
/// Clients and proxies resolve `.` and `..` in a decoded path, as nginx does before a `proxy_pass` with
/// a path. Some take `\\` for `/`, and leave out what follows a `;`.
pub fn is_segment(value: &str) -> bool {
    let is_dots = |part: &str| matches!(part.split(';').next(), Some("." | ".."));
    !value.is_empty() && !value.split(['/', '\\']).any(is_dots)
}

/// Returns a URL with another path and the same query.
///
/// # Errors
///
/// [`ParseError`] if the path is malformed.
pub fn with_path(url: &Uri, path: &str) -> Result<Uri, ParseError> {
    let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
    parse(&format!("{}{path}{query}", start(url)))
}

/// Returns the origin of a parsed URL: scheme, host, and the port if it is not the default.
pub(crate) fn origin(url: &Uri) -> String {
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{}{port}", url.scheme_str().unwrap_or_default(), url.host().unwrap_or_default())
}

/// Returns the port of a URL, or the default of its scheme.
pub(crate) fn port(url: &Uri) -> Option<u16> {
    url.port_u16().or_else(|| default_port(url.scheme_str()?))
}

/// Resolves a reference such as the target of a redirect (RFC 3986 §5.2).
///
/// # Errors
///
/// [`ParseError`] if the result is not an absolute URL.
pub(crate) fn resolve(base: &Uri, reference: &str) -> Result<Uri, ParseError> {
    let (reference, _fragment) = reference.split_once('#').unwrap_or((reference, ""));
    let (path, query) = reference.split_at(reference.find('?').unwrap_or(reference.len()));
    let first = path.split('/').next().unwrap_or_default();
    if first.contains(':') {
        return parse(reference);
    }
    if path.starts_with("//") {
        return parse(&format!("{}:{reference}", base.scheme_str().unwrap_or_default()));
    }
    if path.is_empty() {
        if query.is_empty() {
            return Ok(base.clone());
        }
        return parse(&format!("{}{}{query}", start(base), base.path()));
    }
    let directory = match base.path().rsplit_once('/') {
        Some((directory, _)) if !path.starts_with('/') => format!("{directory}/"),
        _ => String::new(),
    };
    let path = without_dot_segments(&format!("{directory}{path}"));
    parse(&format!("{}{path}{query}", start(base)))
}

/// Returns everything before the path.
fn start(url: &Uri) -> String {
    let authority = url.authority().map_or("", |authority| authority.as_str());
    format!("{}://{authority}", url.scheme_str().unwrap_or_default())
}

/// Resolves `.` and `..` in an absolute path (RFC 3986 §5.2.4).
fn without_dot_segments(path: &str) -> String {
    let mut kept = Vec::new();
    for segment in path.split('/').skip(1) {
        match segment {
            "." => {}
            ".." => drop(kept.pop()),
            _ => kept.push(segment),
        }
    }
    let end = if path.ends_with("/.") || path.ends_with("/..") { "/" } else { "" };
    let path = kept.join("/");
    if path.is_empty() { "/".to_owned() } else { format!("/{path}{end}") }
}

/// Returns the host of a URL; `None` if it is missing or malformed.
pub(crate) fn host(url: &Uri) -> Option<Host<'_>> {
    Host::parse(url.host()?).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn url_is_normalized() {
        for (text, expected) in [
            ("https://a.example", "https://a.example/"),
            ("HTTPS://A.Example:443/B?C#d", "https://a.example/B?C"),
            ("http://a.example:443/", "http://a.example:443/"),
            ("http://a.example:/", "http://a.example/"),
            ("http://a.example:0080", "http://a.example/"),
            ("http://a.example?b=c", "http://a.example/?b=c"),
            ("http://a.example?b=http://c/@d", "http://a.example/?b=http://c/@d"),
            ("http://a.example./", "http://a.example./"),
            ("http://8.8.8.8/", "http://8.8.8.8/"),
            ("http://[0:0:0:0:0:0:0:1]:81/", "http://[::1]:81/"),
            ("http://[::FFFF:7F00:1]/", "http://[::ffff:127.0.0.1]/"),
            ("http://a_b.example/é?ü=%20", "http://a_b.example/%C3%A9?%C3%BC=%20"),
            ("grpc://a.example:443", "grpc://a.example:443/"),
            ("https://xn--bcher-kva.example/", "https://xn--bcher-kva.example/"),
            ("https://ann:secret@a.example/", "https://ann:secret@a.example/"),
        ] {
            let url = parse(text).unwrap();
            assert_eq!(url.to_string(), expected);
            assert_eq!(parse(expected), Ok(url), "{text}");
        }
    }

    #[test]
    fn value_that_leaves_its_segment_is_none() {
        for (value, expected) in [
            ("t", true),
            ("a/b:cancel é", true),
            ("...", true),
            ("a..b/.c", true),
            (".;a", false),
            ("", false),
            (".", false),
            ("..", false),
            ("../t", false),
            ("a/./b", false),
            ("a/../../t", false),
            (r"a\..\t", false),
            (r"a\../t", false),
            ("a/..;b/t", false),
            ("t/..", false),
        ] {
            assert_eq!(is_segment(value), expected, "{value}");
        }
    }

    #[test]
    fn malformed_and_ambiguous_urls_are_rejected() {
        for text in [
            "",
            "a.example",
            "//a.example/",
            "/a",
            "mailto:a@b",
            "http:a.example",
            "http:/a.example/",
            "http:///a.example/",
            "http:\\\\a.example/",
            " http://a.example/",
            "ht\ttp://a.example/",
            "http://",
            "http://:80/",
            "http://@/",
            "http://./",
            "http://a..example/",
            "http://a.example../",
            "http://a b/",
            "http://a.example\n/",
            "http://a.example/\n",
            "http://a.example/b c",
            "http://a\t.example/",
            "http://%6c%6f%63alhost/",
            "http://127.0.0.1%2f/",
            "http://a.example\\@127.0.0.1/",
            "http://127.0.0.1\\.a.example/",
            "http://a|b/",
            "http://a.example:99999/",
            "http://a.example:+80/",
            "http://a.example:8o/",
            "http://a.example:80:81/",
            "http://[::1/",
            "http://[::1]80/",
            "http://[::1%25eth0]/",
            "http://[localhost]/",
            "http://[v1.a]/",
            "http://ann@b@a.example/",
            "http://2130706433/",
            "http://0x7f000001/",
            "http://017700000001/",
            "http://0177.0.0.1/",
            "http://0x7f.1/",
            "http://0X7F.0.0.0x1/",
            "http://127.1/",
            "http://127.0.0.1./",
            "http://127.0.0.1../",
            "http://127.0.0.256/",
            "http://1.2.3.4.5/",
            "http://a.example.1/",
            "http://a.0x/",
        ] {
            let result = parse(text);
            assert!(result.is_err(), "{text:?}: {result:?}");
        }
    }

    #[test]
    fn internationalized_host_is_rejected_with_advice() {
        for host in ["bücher.example", "１２７.0.0.1", "127。0。0。1", "ⓛocalhost"] {
            let error = parse(&format!("http://ann@{host}:80/")).unwrap_err().to_string();
            assert!(error.contains(host) && error.contains("xn--"), "{error}");
        }
    }

    #[test]
    fn error_has_neither_credentials_nor_path() {
        for text in ["http://ann:secret@a b/secret", "http://a.example:1x/secret?secret"] {
            let error = parse(text).unwrap_err().to_string();
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn references_are_resolved() {
        let base = parse("http://a.example:81/b/c/d?q").unwrap();
        for (reference, expected) in [
            ("", "http://a.example:81/b/c/d?q"),
            ("#f", "http://a.example:81/b/c/d?q"),
            ("?y", "http://a.example:81/b/c/d?y"),
            ("g", "http://a.example:81/b/c/g"),
            ("g?y#f", "http://a.example:81/b/c/g?y"),
            ("./g/", "http://a.example:81/b/c/g/"),
            (".", "http://a.example:81/b/c/"),
            ("..", "http://a.example:81/b/"),
            ("../g", "http://a.example:81/b/g"),
            ("../../../g", "http://a.example:81/g"),
            ("/", "http://a.example:81/"),
            ("/g/./h/../i", "http://a.example:81/g/i"),
            ("/..", "http://a.example:81/"),
            ("//other.example/g", "http://other.example/g"),
            ("https://other.example", "https://other.example/"),
            ("HTTP://A.example:81", "http://a.example:81/"),
            ("./g:h", "http://a.example:81/b/c/g:h"),
            ("/\\other.example", "http://a.example:81/\\other.example"),
        ] {
            assert_eq!(resolve(&base, reference).unwrap().to_string(), expected, "{reference}");
        }
        for reference in ["mailto:a@b", "http:g", "//", "///g", "//127.1/"] {
            assert!(resolve(&base, reference).is_err(), "{reference}");
        }
    }

    #[test]
    fn path_is_replaced_and_origin_has_no_credentials() {
        let url = parse("http://ann:secret@[::1]:81/b?c").unwrap();
        assert_eq!(with_path(&url, "/d").unwrap().to_string(), "http://ann:secret@[::1]:81/d?c");
        assert!(has_credentials(&url));
        assert_eq!(origin(&url), "http://[::1]:81");
        let url = parse("https://a.example/@b").unwrap();
        assert!(!has_credentials(&url));
        assert_eq!((origin(&url).as_str(), port(&url)), ("https://a.example", Some(443)));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        /// Browsers and the operating system read a URL that is accepted in the same way.
        #[test]
        fn accepted_url_has_the_host_and_port_of_the_url_standard(
            text in r"(http|https)://[0-9a-fxX.:@\[\]%/\\#?\-_ \t~é。]{1,24}"
        ) {
            if let Ok(url) = parse(&text) {
                let standard = url::Url::parse(&text).unwrap();
                let host = match standard.host().unwrap() {
                    url::Host::Domain(name) => Host::Name(name),
                    url::Host::Ipv4(v4) => Host::Address(v4.into()),
                    url::Host::Ipv6(v6) => Host::Address(v6.into()),
                };
                prop_assert_eq!(super::host(&url), Some(host));
                prop_assert_eq!(port(&url), standard.port_or_known_default());
            }
        }
    }
}
