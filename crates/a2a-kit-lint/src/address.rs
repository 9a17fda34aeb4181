//! Addresses of interfaces and cards.

use std::{fmt, net::IpAddr};

use a2a_core::{
    card,
    host::is_loopback,
    url::{default_port, normalize},
    v1::AgentInterface,
};
use http::Uri;

/// The address of an interface or a card.
#[derive(Clone, Debug)]
pub(crate) struct Address {
    pub(crate) url: Uri,
    /// Whether it is written with a scheme; gRPC also has addresses without one.
    pub(crate) has_scheme: bool,
}

/// The network from which a host can be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum AddressScope {
    /// None: the unspecified address.
    Unspecified,
    /// The machine itself.
    Loopback,
    /// A private network.
    Private,
    /// The internet, as far as the address shows.
    Public,
}

impl Address {
    /// Parses the address of an interface.
    ///
    /// # Errors
    ///
    /// The reason, if it is invalid for the binding.
    pub(crate) fn of_interface(interface: &AgentInterface) -> Result<Self, String> {
        Self::parse(&interface.url, is_grpc(interface))
    }

    /// Parses a URL of HTTP or, if it may be one of gRPC, also `host:port`.
    pub(crate) fn parse(text: &str, is_grpc: bool) -> Result<Self, String> {
        let has_scheme = text.contains("://");
        let url = if is_grpc && !has_scheme {
            let encrypted = parse_url(&format!("https://{text}"))?;
            let is_local = encrypted.host().is_some_and(is_loopback);
            if is_local { parse_url(&format!("http://{text}"))? } else { encrypted }
        } else {
            parse_url(text)?
        };
        match url.scheme_str() {
            Some("http" | "https") => {}
            Some("grpc" | "grpcs") if is_grpc => {}
            Some(other) => return Err(format!("unsupported scheme {other:?}")),
            None => return Err("missing scheme".to_owned()),
        }
        Ok(Self { url, has_scheme })
    }

    pub(crate) fn host(&self) -> &str {
        self.url.host().unwrap_or_default()
    }

    pub(crate) fn scope(&self) -> AddressScope {
        scope(self.host())
    }

    pub(crate) fn has_credentials(&self) -> bool {
        self.url.authority().is_some_and(|authority| authority.as_str().contains('@'))
    }

    pub(crate) fn is_encrypted(&self) -> bool {
        matches!(self.url.scheme_str(), Some("https" | "grpcs"))
    }

    /// Whether traffic to it crosses a network in plaintext.
    pub(crate) fn is_exposed(&self) -> bool {
        !self.is_encrypted() && self.scope() > AddressScope::Loopback
    }

    /// Whether both have the same origin, where all loopback hosts count as one.
    pub(crate) fn has_origin_of(&self, other: &Self) -> bool {
        let is_same_host = self.host() == other.host()
            || (self.scope(), other.scope()) == (AddressScope::Loopback, AddressScope::Loopback);
        is_same_host && self.is_encrypted() == other.is_encrypted() && self.port() == other.port()
    }

    fn port(&self) -> Option<u16> {
        let scheme = if self.is_encrypted() { "https" } else { "http" };
        self.url.port_u16().or_else(|| default_port(scheme))
    }
}

/// Writes the origin.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_encrypted() { "https" } else { "http" };
        write!(f, "{scheme}://{}:{}", self.host(), self.port().unwrap_or_default())
    }
}

/// Parses an absolute URL.
///
/// # Errors
///
/// Why it is malformed.
pub(crate) fn parse_url(text: &str) -> Result<Uri, String> {
    let url = normalize(text).map_err(|error| error.to_string())?;
    Uri::try_from(url).map_err(|error| error.to_string())
}

/// The binding that a name stands for, ignoring case.
pub(crate) fn binding(name: &str) -> Option<&'static str> {
    let name = name.trim();
    if name.eq_ignore_ascii_case("rest") {
        return Some(card::HTTP_JSON);
    }
    BINDINGS.into_iter().find(|binding| binding.eq_ignore_ascii_case(name))
}

/// The bindings of the specification.
pub(crate) const BINDINGS: [&str; 3] = [card::JSONRPC, card::HTTP_JSON, card::GRPC];

pub(crate) fn is_grpc(interface: &AgentInterface) -> bool {
    binding(&interface.protocol_binding) == Some(card::GRPC)
}

/// Suffixes of names that do not resolve on the internet: RFC 2606, RFC 6762, RFC 8375, RFC 9476,
/// the domain that ICANN reserves for private use, and that of services in Kubernetes.
const PRIVATE_SUFFIXES: [&str; 6] = [".local", ".internal", ".home.arpa", ".alt", ".svc", ".test"];

/// Returns the scope of a host of a URL. Names are not resolved.
pub(crate) fn scope(host: &str) -> AddressScope {
    if is_loopback(host) {
        return AddressScope::Loopback;
    }
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    if let Ok(address) = bare.parse::<IpAddr>() {
        return match address.to_canonical() {
            address if address.is_unspecified() => AddressScope::Unspecified,
            IpAddr::V4(v4) => {
                let [a, b, ..] = v4.octets();
                let is_shared = a == 100 && (64..128).contains(&b);
                if v4.is_private() || v4.is_link_local() || is_shared {
                    AddressScope::Private
                } else {
                    AddressScope::Public
                }
            }
            IpAddr::V6(v6) if v6.is_unique_local() || v6.is_unicast_link_local() => {
                AddressScope::Private
            }
            IpAddr::V6(_) => AddressScope::Public,
        };
    }
    let name = host.trim_end_matches('.').to_ascii_lowercase();
    let is_private =
        !name.contains('.') || PRIVATE_SUFFIXES.iter().any(|suffix| name.ends_with(suffix));
    if is_private { AddressScope::Private } else { AddressScope::Public }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_classified_by_their_scope() {
        for (host, expected) in [
            ("0.0.0.0", AddressScope::Unspecified),
            ("[::]", AddressScope::Unspecified),
            ("[::ffff:0.0.0.0]", AddressScope::Unspecified),
            ("localhost", AddressScope::Loopback),
            ("127.0.0.9", AddressScope::Loopback),
            ("[::1]", AddressScope::Loopback),
            ("10.1.2.3", AddressScope::Private),
            ("172.16.0.1", AddressScope::Private),
            ("192.168.1.1", AddressScope::Private),
            ("169.254.169.254", AddressScope::Private),
            ("100.64.0.1", AddressScope::Private),
            ("[fd00::1]", AddressScope::Private),
            ("[fe80::1]", AddressScope::Private),
            ("agent", AddressScope::Private),
            ("agent.default.svc", AddressScope::Private),
            ("printer.local", AddressScope::Private),
            ("agent.example", AddressScope::Public),
            ("8.8.8.8", AddressScope::Public),
            ("[2606:4700::1]", AddressScope::Public),
        ] {
            assert_eq!(scope(host), expected, "{host}");
        }
    }
}
