//! What a host name or address says about where a connection goes.

use std::net::IpAddr;

/// Returns whether connections to `host` stay on this machine: it is `localhost`, a name below
/// `.localhost` (RFC 6761 §6.3), or a loopback address, also one of IPv4 that is mapped to IPv6.
///
/// Takes the host as URLs and `host:port` addresses spell it, without the port: an IPv6 address
/// may stand in brackets, and a name may end in a dot. Names are not resolved.
pub fn is_loopback(host: &str) -> bool {
    let address = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    if let Ok(address) = address.parse::<IpAddr>() {
        return address.to_canonical().is_loopback();
    }
    let name = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    name == "localhost" || name.strip_suffix(".localhost").is_some_and(|label| !label.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_hosts_are_localhost_names_and_loopback_addresses() {
        for (host, expected) in [
            ("localhost", true),
            ("LOCALHOST", true),
            ("localhost.", true),
            ("agent.localhost", true),
            ("a.b.LocalHost.", true),
            ("127.0.0.1", true),
            ("127.255.255.254", true),
            ("::1", true),
            ("[::1]", true),
            ("[0:0:0:0:0:0:0:1]", true),
            ("::ffff:127.0.0.1", true),
            ("[::ffff:7f00:1]", true),
            ("", false),
            (".", false),
            (".localhost", false),
            ("localhost..", false),
            ("[localhost]", false),
            ("localhost:80", false),
            ("localhost.example", false),
            ("notlocalhost", false),
            ("127.0.0.1.example", false),
            ("127.0.0.1.", false),
            ("[::1", false),
            ("[[::1]]", false),
            ("[::1]:80", false),
            ("0.0.0.0", false),
            ("::", false),
            ("10.0.0.1", false),
            ("169.254.0.1", false),
            ("::ffff:10.0.0.1", false),
            ("2001:db8::1", false),
            ("agent.example", false),
        ] {
            assert_eq!(is_loopback(host), expected, "{host:?}");
        }
    }
}
