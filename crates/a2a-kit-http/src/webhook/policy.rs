//! Policy for webhook URLs.

use std::{net::IpAddr, time::Duration};

use a2a_core::{Error, Result, host, url::Host};
use derive_setters::Setters;
use http::Uri;

use super::address::{self, Allowed};
use crate::uri;

/// Which webhook URLs are allowed, and the timeout of a delivery.
///
/// Webhook URLs come from clients. To prevent server-side request forgery, the default policy
/// allows only public internet addresses, and no ports of well-known services other than HTTP
/// (mail, SSH, databases). URLs are parsed by [`uri::parse`](crate::uri::parse), which rejects IPv4
/// addresses in unusual notation. An agent that calls other agents at URLs from clients should
/// apply the same policy to its client: see
/// [`ClientSettings::policy`](crate::client::ClientSettings::policy).
#[derive(Clone, Debug, Setters)]
#[non_exhaustive]
#[setters(prefix = "with_")]
pub struct WebhookPolicy {
    /// Allowed hosts and networks that are not public. Default: none.
    #[setters(skip)]
    pub allow: Vec<Allowed>,
    /// Whether all public addresses are allowed, not only `allow`. Default: true.
    #[setters(rename = "with_public")]
    pub allow_public: bool,
    /// Whether `http://` URLs are allowed, which send deliveries in plaintext. Default: true.
    #[setters(rename = "with_http")]
    pub allow_http: bool,
    /// Timeout of one delivery. The protocol recommends 10 to 30 s. Default: 15 s.
    pub timeout: Duration,
}

impl Default for WebhookPolicy {
    fn default() -> Self {
        Self {
            allow: Vec::new(),
            allow_public: true,
            allow_http: true,
            timeout: Duration::from_secs(15),
        }
    }
}

impl WebhookPolicy {
    /// Adds an allowed network, address or host.
    #[must_use]
    pub fn with_allowed(mut self, allowed: Allowed) -> Self {
        self.allow.push(allowed);
        self
    }

    /// Parses a URL and checks it without a DNS lookup.
    #[cfg(any(test, feature = "webhook"))]
    pub(super) fn check(&self, url: &str) -> Result<Uri> {
        let invalid = |error| Error::invalid_params("url", format!("is not a valid URL: {error}"));
        let parsed = uri::parse(url).map_err(invalid)?;
        self.check_url(&parsed)?;
        Ok(parsed)
    }

    /// Checks a URL without a DNS lookup.
    pub(crate) fn check_url(&self, parsed: &Uri) -> Result<()> {
        let refused = |why: &str| Err(Error::invalid_params("url", why));
        match parsed.scheme_str() {
            Some("https") => {}
            Some("http") if self.allow_http => {}
            Some("http") => return refused("must have the scheme https"),
            _ => return refused("must have the scheme http or https"),
        }
        if uri::has_credentials(parsed) {
            return refused("must not carry credentials");
        }
        let Some(host) = uri::host(parsed) else { return refused("must name a host") };
        let allowed = match host {
            Host::Address(address) => self.allows_address(address),
            // Always loopback (RFC 6761 §6.3). Other names are checked when they are resolved.
            Host::Name(name) if host::is_loopback(name) => {
                let loopback =
                    [IpAddr::from([127, 0, 0, 1]), IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1_u16])];
                self.allows_host(name) || loopback.into_iter().any(|it| self.allows_address(it))
            }
            Host::Name(name) => {
                // The name may resolve to an allowed network.
                let checked_later = self.allow_public || self.allow.iter().any(Allowed::is_network);
                checked_later || self.allows_host(name)
            }
        };
        if !allowed {
            return refused(if self.allow_public {
                "must not be an address in a private network"
            } else {
                "must be in the hosts and networks that this agent allows"
            });
        }
        let port = uri::port(parsed).unwrap_or_default();
        if is_service(port) && !self.allow.iter().any(|it| it.has_service(host, port)) {
            return Err(Error::invalid_params(
                "url",
                format!("must not have port {port}, which belongs to a well-known service"),
            ));
        }
        Ok(())
    }

    pub(super) fn allows_address(&self, address: IpAddr) -> bool {
        let public = self.allow_public && address::is_public(address);
        public || self.allow.iter().any(|allowed| allowed.has_address(address))
    }

    pub(super) fn allows_host(&self, host: &str) -> bool {
        self.allow.iter().any(|allowed| allowed.has_host(host))
    }
}

/// Returns whether a port belongs to a well-known service other than HTTP: remote access, mail,
/// directories, file shares, databases, caches, queues and control planes.
fn is_service(port: u16) -> bool {
    SERVICE_PORTS.iter().any(|ports| ports.contains(&port))
}

/// By the kind of service. Those with two ports have one for TLS.
const SERVICE_PORTS: [&[u16]; 14] = [
    // Reserved: behavior differs between systems.
    &[0],
    // echo, chargen, time, name server, whois, DNS, finger, ident, NTP, SNMP
    &[7, 19, 37, 42, 43, 53, 79, 113, 123, 161],
    // FTP data, FTP, TFTP, FTP over TLS; rsync
    &[20, 21, 69, 990, 873],
    // SSH, telnet, rexec, rlogin, rsh and syslog
    &[22, 23, 512, 513, 514],
    // RDP, VNC, WinRM, X11, IPMI
    &[3389, 5900, 5985, 5986, 6000, 623],
    // SMTP, POP3, NNTP, IMAP, SMTP over TLS, mail submission, IMAP over TLS, POP3 over TLS
    &[25, 110, 119, 143, 465, 587, 993, 995],
    // Kerberos, portmapper, DCE endpoint mapper, BGP, LDAP, SLP
    &[88, 111, 135, 179, 389, 636, 427],
    // NetBIOS names and sessions, SMB, AFP, NFS
    &[137, 139, 445, 548, 2049],
    // Modbus, printers, IPP, RTSP, SIP
    &[502, 515, 631, 554, 5060, 5061],
    // SQL Server and its browser, Oracle, MySQL, PostgreSQL, CouchDB, InfluxDB
    &[1433, 1434, 1521, 3306, 5432, 5984, 8086],
    // Redis and Redis Sentinel, Cassandra and its nodes, Thrift, memcached
    &[6379, 6380, 26379, 9042, 7000, 7001, 9160, 11211],
    // Elasticsearch and its nodes, MongoDB and its shards, RethinkDB
    &[9200, 9300, 27017, 27018, 27019, 28015],
    // MQTT, NATS, AMQP, Kafka, XMPP, IRC
    &[1883, 4222, 5671, 5672, 9092, 5222, 6667, 6697],
    // ZooKeeper, Docker, etcd and its peers, Kubernetes, kubelet
    &[2181, 2375, 2376, 2379, 2380, 6443, 10250],
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_and_malformed_webhook_urls_are_rejected() {
        let policy = WebhookPolicy::default();
        for (url, ok) in [
            ("https://example.com/hook?x=1", true),
            ("http://example.com:8080/hook", true),
            ("https://8.8.8.8/", true),
            ("https://internal.example/", true),
            ("", false),
            ("/hook", false),
            ("ftp://example.com/", false),
            ("file:///etc/passwd", false),
            ("https://user:pass@example.com/", false),
            ("https://user@example.com/", false),
            ("http://127.0.0.1/", false),
            ("http://2130706433/", false),
            ("http://0x7f.1/", false),
            ("http://[::1]/", false),
            ("http://[::ffff:10.0.0.1]/", false),
            ("http://169.254.169.254/latest/meta-data", false),
            ("http://localhost:9000/", false),
            ("http://a.localhost./", false),
            ("HTTP://LOCALHOST/", false),
            ("http://localhost../", false),
            ("http://127.1/", false),
            ("http://0177.0.0.1/", false),
            ("http://0x7f000001/", false),
            ("http://127.0.0.1./", false),
            ("http://[::ffff:7f00:1]/", false),
            ("http://[::127.0.0.1]/", false),
            ("http://%31%32%37.0.0.1/", false),
            ("http://１２７.0.0.1/", false),
            ("http://127。0.0.1/", false),
            ("http://example.com@127.0.0.1/", false),
            ("http://example.com\\@127.0.0.1/", false),
            ("http://127.0.0.1\\@example.com/", false),
            ("http://127.0.0.1#@example.com/", false),
            ("http://127.0.0.1?@example.com/", false),
            ("http:\\\\127.0.0.1/", false),
            ("http:/127.0.0.1/", false),
            ("http:///127.0.0.1/", false),
            ("http://127.0.\t0.1/", false),
            ("http://local\nhost/", false),
            (" http://127.0.0.1/", false),
        ] {
            let result = policy.check(url);
            assert_eq!(result.is_ok(), ok, "{url:?}");
            if let Err(error) = result {
                assert_eq!(error.violations()[0].field, "url", "{url:?}");
            }
        }
        assert!(policy.clone().with_http(false).check("http://example.com/").is_err());
        let local = policy.clone().with_allowed("127.0.0.0/8".parse().unwrap());
        assert!(local.check("http://127.0.0.1:1/").is_ok());
        assert!(local.check("http://localhost:1/").is_ok());
        assert!(local.check("http://10.0.0.1/").is_err());
    }

    #[test]
    fn ports_of_well_known_services_are_rejected_unless_allowed() {
        let mut ports = SERVICE_PORTS.concat();
        ports.sort_unstable();
        ports.dedup();
        assert_eq!(ports.len(), 89);
        let policy = WebhookPolicy::default();
        for port in [0, 22, 23, 25, 53, 110, 143, 389, 445, 465, 587, 1433, 3306, 5432, 6379] {
            for host in ["hooks.example", "8.8.8.8", "[2606:4700::1111]"] {
                let url = format!("http://{host}:{port}/");
                let error = policy.check(&url).expect_err(&url);
                assert_eq!(error.violations()[0].field, "url", "{url}");
                let description = &error.violations()[0].description;
                assert!(description.contains(&format!("port {port}")), "{description}");
            }
        }
        for port in [9200, 11211, 27017] {
            assert!(policy.check(&format!("https://hooks.example:{port}/")).is_err(), "{port}");
        }
        for port in [80, 443, 1024, 3000, 8000, 8080, 8443, 9000, 40_000] {
            assert!(policy.check(&format!("https://hooks.example:{port}/")).is_ok(), "{port}");
        }
        let allowed = policy
            .with_allowed("hooks.example:25".parse().unwrap())
            .with_allowed("10.0.0.0/8:5432".parse().unwrap())
            .with_allowed("192.168.0.1".parse().unwrap());
        for (url, ok) in [
            ("http://hooks.example:25/", true),
            ("http://HOOKS.example.:25/", true),
            ("http://hooks.example:22/", false),
            ("http://other.example:25/", false),
            ("http://10.1.2.3:5432/", true),
            ("http://10.1.2.3:8080/", true),
            ("http://10.1.2.3:6379/", false),
            // A network without a port allows no services.
            ("http://192.168.0.1:8080/", true),
            ("http://192.168.0.1:22/", false),
        ] {
            assert_eq!(allowed.check(url).is_ok(), ok, "{url}");
        }
    }

    //
    #[test]
    fn without_public_only_allowed_hosts_and_networks_are_accepted() {
        let none = WebhookPolicy::default().with_public(false);
        let hosts = none.clone().with_allowed("hooks.example".parse().unwrap());
        let networks = hosts.clone().with_allowed("8.8.8.0/24".parse().unwrap());
        for (policy, url, ok) in [
            (&none, "https://example.com/", false),
            (&none, "https://8.8.8.8/", false),
            (&none, "http://localhost/", false),
            (&hosts, "https://hooks.example/a", true),
            (&hosts, "https://HOOKS.example./a", true),
            (&hosts, "https://other.example/", false),
            (&hosts, "https://hooks.example.com/", false),
            (&hosts, "https://8.8.8.8/", false),
            (&networks, "https://8.8.8.8/", true),
            (&networks, "https://8.8.4.4/", false),
            // The name may resolve to the network, which each delivery checks.
            (&networks, "https://other.example/", true),
        ] {
            let result = policy.check(url);
            assert_eq!(result.is_ok(), ok, "{url}");
            if let Err(error) = result {
                assert_eq!(error.violations()[0].field, "url", "{url}");
            }
        }
        assert!(!networks.allows_address([8, 8, 4, 4].into()));
        assert!(networks.allows_address([8, 8, 8, 4].into()));
    }
}
