//! Addresses of gRPC servers.

use std::error::Error;

use a2a_core::host;
use a2a_kit_http::tls::TlsError;
use http::{
    Uri,
    uri::{Authority, InvalidUri, PathAndQuery, Scheme},
};

/// Why an address is invalid.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    /// The scheme is not `http`, `https`, `grpc` or `grpcs`.
    #[error("unsupported scheme {0:?} (expected http, https, grpc or grpcs)")]
    Scheme(String),
    /// The host is missing or invalid.
    #[error("missing or invalid host in {address:?}")]
    Host {
        /// The address as given.
        address: String,
        /// Why the host is invalid, if it is present.
        #[source]
        source: Option<InvalidUri>,
    },
    /// The connection can't be set up, for any address.
    #[error("failed to set up the connection")]
    Transport(#[source] Box<dyn Error + Send + Sync>),
    /// The certificates of the settings are invalid.
    #[error("invalid certificates")]
    Tls(#[from] TlsError),
}

a2a_core::debug_as_chain!(AddressError);

/// Parses `host:port` or a URL. `https` and `grpcs` mean TLS, `http` and `grpc` plaintext. Other
/// addresses mean TLS, except for loopback. A path is ignored.
pub(crate) fn parse(address: &str) -> Result<Uri, AddressError> {
    let no_host = |source| AddressError::Host { address: address.to_owned(), source };
    let (scheme, rest) = match address.trim().split_once("://") {
        Some((scheme, rest)) => (Some(scheme.to_ascii_lowercase()), rest),
        None => (None, address.trim()),
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return Err(no_host(None));
    }
    let authority: Authority = authority.parse().map_err(|source| no_host(Some(source)))?;
    if authority.host().is_empty() {
        return Err(no_host(None));
    }
    let scheme = match scheme.as_deref() {
        Some("http" | "grpc") => Scheme::HTTP,
        Some("https" | "grpcs") => Scheme::HTTPS,
        None if host::is_loopback(authority.host()) => Scheme::HTTP,
        None => Scheme::HTTPS,
        Some(other) => return Err(AddressError::Scheme(other.to_owned())),
    };
    let mut parts = http::uri::Parts::default();
    parts.scheme = Some(scheme);
    parts.authority = Some(authority);
    parts.path_and_query = Some(PathAndQuery::from_static("/"));
    Uri::from_parts(parts).map_err(|_parts| no_host(None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_parsed() {
        for (address, uri) in [
            ("localhost:50051", "http://localhost:50051/"),
            ("127.0.0.1:1", "http://127.0.0.1:1/"),
            ("[::1]:1", "http://[::1]:1/"),
            ("agent.localhost", "http://agent.localhost/"),
            ("agent.example:443", "https://agent.example:443/"),
            ("10.0.0.1:50051", "https://10.0.0.1:50051/"),
            ("http://agent.example:8080", "http://agent.example:8080/"),
            ("grpc://agent.example:8080", "http://agent.example:8080/"),
            ("https://agent.example/a2a/v1?x=y", "https://agent.example/"),
            (" GRPCS://agent.example:1/ ", "https://agent.example:1/"),
        ] {
            assert_eq!(parse(address).unwrap(), uri, "{address}");
        }
    }

    #[test]
    fn invalid_addresses_are_rejected() {
        for address in ["", "https://", ":50051", "user@host:1", "a b:1", "http://[::1"] {
            let error = parse(address).unwrap_err();
            assert!(matches!(error, AddressError::Host { .. }), "{address:?} {error}");
        }
        let error = parse("ftp://host").unwrap_err();
        assert_eq!(
            error.to_string(),
            "unsupported scheme \"ftp\" (expected http, https, grpc or grpcs)"
        );
    }
}
