//! Web origins, to which secrets are bound.

use std::{fmt, str::FromStr};

use a2a_core::{ParseError, host};
use a2a_kit_http::uri;
use http::Uri;

/// A web origin: scheme, host and port.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Origin {
    text: String,
    port: u16,
    is_encrypted: bool,
    is_loopback: bool,
}

impl Origin {
    /// Returns the origin of a URL; `None` for other schemes than HTTP and gRPC.
    pub fn of(url: &Uri) -> Option<Self> {
        let scheme = match url.scheme_str()? {
            "https" | "grpcs" => "https",
            "http" | "grpc" => "http",
            _ => return None,
        };
        let host = url.host()?;
        let port = url.port_u16().unwrap_or(if scheme == "https" { 443 } else { 80 });
        Some(Self {
            text: format!("{scheme}://{host}:{port}"),
            port,
            is_encrypted: scheme == "https",
            is_loopback: host::is_loopback(host),
        })
    }

    /// Returns whether connections to it are encrypted.
    pub fn is_encrypted(&self) -> bool {
        self.is_encrypted
    }

    /// Returns whether connections to it are encrypted or local.
    pub fn is_secure(&self) -> bool {
        self.is_encrypted || self.is_loopback
    }

    /// Returns whether both are the same origin, where all loopback hosts, such as `localhost` and
    /// `127.0.0.1`, count as the same.
    pub fn is_equivalent(&self, other: &Self) -> bool {
        let is_local = self.is_loopback && other.is_loopback;
        let is_same_port = (self.port, self.is_encrypted) == (other.port, other.is_encrypted);
        self == other || (is_local && is_same_port)
    }
}

impl FromStr for Origin {
    type Err = ParseError;

    /// Parses the origin of an interface URL in a card. `host:port`, as for gRPC, is encrypted
    /// unless the host is a loopback one.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let invalid = || {
            let text: String = text.chars().take(200).collect();
            let expected = "expected https://agent.example, or host:port for gRPC";
            ParseError::new(format!("invalid origin {text:?} ({expected})"))
        };
        let parse = |text: &str| uri::parse(text).ok();
        let url = parse(text).or_else(|| {
            let url = parse(&format!("https://{text}"))?;
            let is_local = url.host().is_some_and(host::is_loopback);
            let url = if is_local { parse(&format!("http://{text}"))? } else { url };
            (url.path() == "/" && !uri::has_credentials(&url)).then_some(url)
        });
        url.as_ref().and_then(Self::of).ok_or_else(invalid)
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_normalized_to_their_origin() {
        for (address, origin, is_secure) in [
            ("https://A.example/b?c", "https://a.example:443", true),
            ("https://a.example:443", "https://a.example:443", true),
            ("grpcs://a.example:50051", "https://a.example:50051", true),
            ("a.example:50051", "https://a.example:50051", true),
            ("http://a.example", "http://a.example:80", false),
            ("grpc://a.example:50051", "http://a.example:50051", false),
            ("http://127.0.0.1:8080/", "http://127.0.0.1:8080", true),
            ("http://127.0.0.1.example:8080/", "http://127.0.0.1.example:8080", false),
            ("localhost:50051", "http://localhost:50051", true),
            ("agent.localhost:50051", "http://agent.localhost:50051", true),
            ("[::1]:50051", "http://[::1]:50051", true),
            ("http://[::ffff:127.0.0.1]:1", "http://[::ffff:127.0.0.1]:1", true),
            ("http://[2001:db8::1]", "http://[2001:db8::1]:80", false),
        ] {
            let found: Origin = address.parse().unwrap();
            assert_eq!((found.to_string().as_str(), found.is_secure()), (origin, is_secure));
        }
        for address in [
            "",
            "/a2a",
            "ftp://a.example",
            "data:x",
            "a/b",
            "user@host:1",
            "user:password@host:1",
            "http://127.1",
            "http:/a.example",
            "https://a.example\\@b.example",
        ] {
            assert!(address.parse::<Origin>().is_err(), "{address}");
        }
    }

    #[test]
    fn loopback_hosts_are_equivalent_on_the_same_port() {
        for (one, other, is_same) in [
            ("http://localhost:1", "http://127.0.0.1:1/a2a", true),
            ("http://[::1]:1", "localhost:1", true),
            ("http://localhost:1", "http://127.0.0.1:2", false),
            ("http://localhost:1", "https://127.0.0.1:1", false),
            ("http://localhost:1", "http://localhost.example:1", false),
            ("https://a.example", "https://a.example:443/x", true),
            ("https://a.example", "https://b.a.example", false),
            ("https://a.example", "https://a.example:8443", false),
        ] {
            let [one, other] = [one, other].map(|address| address.parse::<Origin>().unwrap());
            assert_eq!(one.is_equivalent(&other), is_same, "{one} {other}");
        }
    }
}
