//! The client IP address of a request, with support for proxies.

use std::{
    net::{IpAddr, Ipv6Addr, SocketAddr},
    str::FromStr,
};

use a2a_core::ParseError;
use axum::extract::ConnectInfo;
use http::{HeaderMap, HeaderName, request::Parts};
use ipnet::IpNet;

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// A proxy, or network of proxies, trusted to report client addresses: an address such as
/// `10.0.0.7`, or a network such as `10.0.0.0/8`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustedProxy(IpNet);

/// The client address of a request in its extensions, added by a layer that knows the trusted
/// proxies: those of authentication and of rate limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientAddress(pub IpAddr);

impl FromStr for TrustedProxy {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let network = text.parse::<IpNet>().ok();
        let network = network.or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from));
        network.map(Self).ok_or_else(|| {
            let expected = "neither an IP address nor a network in CIDR notation";
            ParseError::new(format!("{expected}: {text:?}"))
        })
    }
}

/// Returns the client address of a request; `None` if the server does not provide peer addresses.
/// `X-Forwarded-For` is honored if it comes from a trusted proxy.
pub fn client_address(request: &Parts, proxies: &[TrustedProxy]) -> Option<IpAddr> {
    let ConnectInfo(peer) = request.extensions.get::<ConnectInfo<SocketAddr>>()?;
    Some(forwarded(peer.ip().to_canonical(), &request.headers, proxies))
}

/// Returns the last address that is not a trusted proxy; addresses before it are unverified.
fn forwarded(peer: IpAddr, headers: &HeaderMap, proxies: &[TrustedProxy]) -> IpAddr {
    let is_trusted =
        |address: &IpAddr| proxies.iter().any(|TrustedProxy(net)| net.contains(address));
    let mut client = peer;
    let lines = headers.get_all(FORWARDED_FOR).into_iter().collect::<Vec<_>>();
    let hops = lines.iter().rev().flat_map(|line| line.to_str().unwrap_or("?").rsplit(','));
    for hop in hops {
        if !is_trusted(&client) {
            break;
        }
        let Some(address) = address(hop.trim()) else { break };
        client = address;
    }
    client
}

/// Parses an address as proxies write it, with or without a port.
fn address(text: &str) -> Option<IpAddr> {
    let plain = text.trim_start_matches('[').trim_end_matches(']').parse().ok();
    let address = plain.or_else(|| text.parse::<SocketAddr>().ok().map(|socket| socket.ip()));
    address.map(|address: IpAddr| address.to_canonical())
}

/// Returns what counts as one client: the address for IPv4, its /64 network for IPv6, because
/// providers assign at least a /64 to each customer.
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)))
        }
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forwarded_for_is_honored_only_from_trusted_proxies() {
        let proxies: Vec<TrustedProxy> =
            ["10.0.0.0/8", "192.0.2.1"].map(|text| text.parse().unwrap()).into();
        for (peer, lines, client) in [
            ("198.51.100.1", &["203.0.113.1"][..], "198.51.100.1"),
            ("10.0.0.1", &[], "10.0.0.1"),
            ("10.0.0.1", &["203.0.113.1"], "203.0.113.1"),
            ("10.0.0.1", &["1.1.1.1, 203.0.113.1"], "203.0.113.1"),
            ("10.0.0.1", &["203.0.113.1, 192.0.2.1"], "203.0.113.1"),
            ("10.0.0.1", &["1.1.1.1", "203.0.113.1 ,10.0.0.2"], "203.0.113.1"),
            ("10.0.0.1", &["203.0.113.1:4711"], "203.0.113.1"),
            ("10.0.0.1", &["[2001:db8::1]:80"], "2001:db8::1"),
            ("10.0.0.1", &["2001:db8::1"], "2001:db8::1"),
            ("10.0.0.1", &["203.0.113.1, unknown"], "10.0.0.1"),
            ("10.0.0.1", &["10.0.0.3, 10.0.0.2"], "10.0.0.3"),
        ] {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(FORWARDED_FOR, line.parse().unwrap());
            }
            let found = forwarded(peer.parse().unwrap(), &headers, &proxies);
            assert_eq!(found, client.parse::<IpAddr>().unwrap(), "{peer} {lines:?}");
        }
    }

    #[test]
    fn malformed_proxy_is_rejected_with_its_text() {
        for text in ["", "10.0.0.0/33", "proxy.example", "10.0.0"] {
            let error = text.parse::<TrustedProxy>().unwrap_err();
            assert!(error.to_string().contains(text), "{error}");
        }
    }
}
