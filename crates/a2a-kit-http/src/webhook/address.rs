//! Public internet addresses, and exceptions for private ones.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    str::FromStr,
};

use a2a_core::{ParseError, url::Host};
use ipnet::IpNet;

/// A host or network that webhooks may call although it is not public. With a port, webhooks may
/// call that port there even if it belongs to a well-known service.
///
/// ```
/// use a2a_kit_http::Allowed;
///
/// let network: Allowed = "10.1.0.0/16".parse()?;
/// let address: Allowed = "127.0.0.1".parse()?;
/// let host: Allowed = "hooks.internal".parse()?;
/// let host_and_service: Allowed = "hooks.internal:25".parse()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allowed {
    kind: Kind,
    service_port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Network(IpNet),
    /// In lower case, without a trailing dot.
    Host(String),
}

fn unknown_address(text: &str) -> ParseError {
    ParseError::new(format!("{text:?} is neither a network, an IP address nor a host name"))
}

impl Allowed {
    /// Returns whether an address is in this network.
    pub(super) fn has_address(&self, address: IpAddr) -> bool {
        match &self.kind {
            Kind::Network(network) => {
                network.contains(&address) || network.contains(&embedded(address))
            }
            Kind::Host(_) => false,
        }
    }

    /// Returns whether webhooks may call the port of a well-known service on a host.
    pub(super) fn has_service(&self, host: Host<'_>, port: u16) -> bool {
        self.service_port == Some(port)
            && match host {
                Host::Name(name) => self.has_host(name),
                Host::Address(address) => self.has_address(address),
            }
    }

    /// Returns whether this is a network or an address.
    pub(super) fn is_network(&self) -> bool {
        matches!(self.kind, Kind::Network(_))
    }

    /// Returns whether this is the host.
    pub(super) fn has_host(&self, host: &str) -> bool {
        match &self.kind {
            Kind::Network(_) => false,
            Kind::Host(name) => name.eq_ignore_ascii_case(host.trim_end_matches('.')),
        }
    }
}

impl FromStr for Allowed {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        if let Ok(kind) = text.parse() {
            return Ok(Self { kind, service_port: None });
        }
        let with_port = text.rsplit_once(':').and_then(|(host, port)| {
            Some(Self { kind: host.parse().ok()?, service_port: Some(port.parse().ok()?) })
        });
        with_port.ok_or_else(|| unknown_address(text))
    }
}

impl FromStr for Kind {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Ok(network) = text.parse() {
            return Ok(Self::Network(network));
        }
        if let Ok(address) = text.trim_matches(['[', ']']).parse::<IpAddr>() {
            return Ok(Self::Network(address.into()));
        }
        let host = text.trim_end_matches('.');
        let is_host = !host.is_empty()
            && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte));
        if !is_host {
            return Err(unknown_address(text));
        }
        Ok(Self::Host(host.to_ascii_lowercase()))
    }
}

impl fmt::Display for Allowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Network(network) => network.fmt(f)?,
            Kind::Host(host) => host.fmt(f)?,
        }
        self.service_port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

/// The Azure platform address, which is in a public range but internal to each virtual machine. The
/// metadata addresses of other clouds are in private networks.
const AZURE_HOST: Ipv4Addr = Ipv4Addr::new(168, 63, 129, 16);

/// Returns whether an address is globally reachable, by the special-purpose registries of RFC 6890.
pub(super) fn is_public(address: IpAddr) -> bool {
    match embedded(address) {
        IpAddr::V4(v4) => {
            let [a, b, c, _] = v4.octets();
            !(a == 0 // this network
                || v4.is_private()
                || v4.is_loopback()
                || v4.is_link_local()
                || v4.is_documentation()
                || a >= 224 // multicast, reserved, broadcast
                || (a == 100 && (64..128).contains(&b)) // carrier-grade NAT
                || (a == 192 && b == 0 && c == 0) // protocol assignments
                || (a == 192 && b == 88 && c == 99) // 6to4 relays
                || (a == 198 && (18..20).contains(&b)) // benchmarking
                || v4 == AZURE_HOST)
        }
        IpAddr::V6(v6) => {
            let [a, b, ..] = v6.segments();
            // Global unicast is 2000::/3; everything else is local, multicast or reserved.
            (a & 0xe000) == 0x2000
                && !(a == 0x2001 && b < 0x0200) // protocol assignments, Teredo among them
                && !(a == 0x2001 && b == 0x0db8) // documentation
                && !(a == 0x3fff && b < 0x1000) // documentation
        }
    }
}

/// Returns the IPv4 address that is embedded in an IPv6 address, if any: mapped, compatible, NAT64
/// or 6to4.
fn embedded(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else { return address };
    let v4 = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        IpAddr::from([a, b, c, d])
    };
    match v6.segments() {
        _ if v6 == Ipv6Addr::LOCALHOST || v6 == Ipv6Addr::UNSPECIFIED => address,
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low] => v4(high, low),
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => v4(high, low),
        [0x2002, high, low, ..] => v4(high, low),
        _ => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_purpose_addresses_are_not_public() {
        for (text, public) in [
            ("8.8.8.8", true),
            ("2606:4700::1111", true),
            ("127.0.0.1", false),
            ("127.8.9.1", false),
            ("0.0.0.0", false),
            ("10.0.0.1", false),
            ("172.16.0.1", false),
            ("172.32.0.1", true),
            ("192.168.1.1", false),
            ("169.254.169.254", false),
            ("168.63.129.16", false),
            ("168.63.129.17", true),
            ("100.64.0.1", false),
            ("100.100.100.200", false),
            ("100.128.0.1", true),
            ("198.18.0.1", false),
            ("192.0.0.8", false),
            ("192.0.2.1", false),
            ("224.0.0.1", false),
            ("255.255.255.255", false),
            ("::", false),
            ("::1", false),
            ("fe80::1", false),
            ("fc00::1", false),
            ("fd00:ec2::254", false),
            ("ff02::1", false),
            ("2001:db8::1", false),
            ("2001::1", false),
            ("::ffff:127.0.0.1", false),
            ("::ffff:8.8.8.8", true),
            ("::127.0.0.1", false),
            ("64:ff9b::7f00:1", false),
            ("64:ff9b::808:808", true),
            ("64:ff9b:1::808:808", false),
            ("::ffff:0:7f00:1", false),
            ("2002:7f00:1::", false),
            ("2002:a9fe:a9fe::1", false),
            ("2002:808:808::1", true),
            ("fec0::1", false),
            ("100::1", false),
        ] {
            assert_eq!(is_public(text.parse().unwrap()), public, "{text}");
        }
    }

    #[test]
    fn exceptions_parse_as_networks_addresses_and_hosts() {
        let network: Allowed = "10.1.0.0/16".parse().unwrap();
        assert!(network.has_address("10.1.2.3".parse().unwrap()));
        assert!(network.has_address("::ffff:10.1.2.3".parse().unwrap()));
        assert!(!network.has_address("10.2.0.1".parse().unwrap()));
        let address: Allowed = "[::1]".parse().unwrap();
        assert!(address.has_address("::1".parse().unwrap()));
        let host: Allowed = "Hooks.Internal.".parse().unwrap();
        assert!(host.has_host("hooks.INTERNAL") && !host.has_host("x.hooks.internal"));
        for (text, shown) in [
            ("hooks.internal:25", "hooks.internal:25"),
            ("10.0.0.0/8:25", "10.0.0.0/8:25"),
            ("[::1]:25", "::1/128:25"),
        ] {
            let service: Allowed = text.parse().unwrap();
            assert_eq!((service.service_port, service.to_string()), (Some(25), shown.to_owned()));
        }
        for text in ["", "a b", "http://x", "10.0.0.0/99", "x:", "x:99999", ":25"] {
            assert!(text.parse::<Allowed>().is_err(), "{text:?}");
        }
    }
}
