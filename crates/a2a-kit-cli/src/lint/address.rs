//! Addresses of interfaces.

use std::net::IpAddr;

use a2a_core::{host::is_loopback, v1::AgentInterface};
use a2a_kit_client::Transport;
use a2a_kit_http::uri;
use http::Uri;

/// The address of an interface.
#[derive(Debug)]
pub(super) struct Address {
    pub(super) url: Uri,
    /// Whether the interface has a scheme; gRPC also has addresses without one.
    pub(super) has_scheme: bool,
}

/// From where a host can be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reach {
    /// From nowhere: the unspecified address.
    Nowhere,
    /// From the machine itself.
    Loopback,
    /// From a private network.
    Private,
    /// From the internet, as far as the address shows.
    Public,
}

impl Address {
    /// Parses the address of an interface.
    ///
    /// # Errors
    ///
    /// The reason, if it is invalid for the binding.
    pub(super) fn parse(interface: &AgentInterface) -> Result<Self, String> {
        let text = interface.url.as_str();
        let has_scheme = text.contains("://");
        let is_grpc = is_grpc(interface);
        let url = if is_grpc && !has_scheme {
            let local = |url: &Uri| url.host().is_some_and(is_loopback);
            uri::parse(&format!("https://{text}")).and_then(|url| {
                if local(&url) { uri::parse(&format!("http://{text}")) } else { Ok(url) }
            })
        } else {
            uri::parse(text)
        };
        let url = url.map_err(|error| error.to_string())?;
        match url.scheme_str() {
            Some("http" | "https") => {}
            Some("grpc" | "grpcs") if is_grpc => {}
            Some(other) => return Err(format!("unsupported scheme {other:?}")),
            None => return Err("missing scheme".to_owned()),
        }
        Ok(Self { url, has_scheme })
    }

    pub(super) fn host(&self) -> &str {
        self.url.host().unwrap_or_default()
    }

    pub(super) fn reach(&self) -> Reach {
        reach(self.host())
    }

    pub(super) fn is_encrypted(&self) -> bool {
        matches!(self.url.scheme_str(), Some("https" | "grpcs"))
    }

    /// Whether traffic to it crosses a network in plaintext.
    pub(super) fn is_exposed(&self) -> bool {
        !self.is_encrypted() && self.reach() > Reach::Loopback
    }
}

pub(super) fn is_grpc(interface: &AgentInterface) -> bool {
    interface.protocol_binding.parse() == Ok(Transport::Grpc)
}

/// Suffixes of names that do not resolve on the internet: RFC 2606, RFC 6762, RFC 8375, RFC 9476,
/// the domain that ICANN reserves for private use, and that of services in Kubernetes.
const PRIVATE_SUFFIXES: [&str; 6] = [".local", ".internal", ".home.arpa", ".alt", ".svc", ".test"];

/// Returns from where a host of a URL can be reached. Names are not resolved.
pub(super) fn reach(host: &str) -> Reach {
    if is_loopback(host) {
        return Reach::Loopback;
    }
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    if let Ok(address) = bare.parse::<IpAddr>() {
        return match address.to_canonical() {
            address if address.is_unspecified() => Reach::Nowhere,
            IpAddr::V4(v4) => {
                let [a, b, ..] = v4.octets();
                let is_shared = a == 100 && (64..128).contains(&b);
                if v4.is_private() || v4.is_link_local() || is_shared {
                    Reach::Private
                } else {
                    Reach::Public
                }
            }
            IpAddr::V6(v6) if v6.is_unique_local() || v6.is_unicast_link_local() => Reach::Private,
            IpAddr::V6(_) => Reach::Public,
        };
    }
    let name = host.trim_end_matches('.').to_ascii_lowercase();
    let is_private =
        !name.contains('.') || PRIVATE_SUFFIXES.iter().any(|suffix| name.ends_with(suffix));
    if is_private { Reach::Private } else { Reach::Public }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_classified_by_their_reach() {
        for (host, expected) in [
            ("0.0.0.0", Reach::Nowhere),
            ("[::]", Reach::Nowhere),
            ("[::ffff:0.0.0.0]", Reach::Nowhere),
            ("localhost", Reach::Loopback),
            ("127.0.0.9", Reach::Loopback),
            ("[::1]", Reach::Loopback),
            ("10.1.2.3", Reach::Private),
            ("172.16.0.1", Reach::Private),
            ("192.168.1.1", Reach::Private),
            ("169.254.169.254", Reach::Private),
            ("100.64.0.1", Reach::Private),
            ("[fd00::1]", Reach::Private),
            ("[fe80::1]", Reach::Private),
            ("agent", Reach::Private),
            ("agent.default.svc", Reach::Private),
            ("printer.local", Reach::Private),
            ("agent.example", Reach::Public),
            ("8.8.8.8", Reach::Public),
            ("[2606:4700::1]", Reach::Public),
        ] {
            assert_eq!(reach(host), expected, "{host}");
        }
    }
}
