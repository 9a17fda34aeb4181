//! Classification of host names and addresses.

use std::net::IpAddr;

/// Returns whether `host` is the local machine: `localhost`, a name below `.localhost` (RFC 6761
/// §6.3), or a loopback address, including IPv4-mapped ones.
///
/// Takes the host as in URLs and `host:port` addresses, without the port: IPv6 addresses may have
/// brackets, and names a trailing dot. Names are not resolved.
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
