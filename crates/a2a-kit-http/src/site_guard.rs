//! Protects agents without authentication against cross-site requests.
//!
//! A web page of any site can send requests to servers on the machine and the network of its
//! visitor (cross-site request forgery), and read the responses if it makes its own host name
//! resolve to their address (DNS rebinding). Authentication prevents both. Without it, the server
//! checks the headers that pages cannot set: `Host`, `Origin` and `Sec-Fetch-Site`.

use std::{
    net::{IpAddr, SocketAddr},
    sync::{Arc, OnceLock},
};

use a2a_core::{Error, ErrorKind, Result, host::is_loopback};
use a2a_kit_operations::{LogLimit, metrics};
use axum::Router;
use http::{HeaderMap, HeaderValue, header, request::Parts, uri::Authority};
use tracing::info;

use crate::{card_page::asks_for_page, head_check::check_heads, serve::plain_host};

/// Maximum length of a host or an origin in an error message, in characters.
const MAX_ECHO: usize = 80;

/// Rejects requests for unknown hosts and requests from pages of other origins, with
/// [`PermissionDenied`](ErrorKind::PermissionDenied) (403, over gRPC `PERMISSION_DENIED`).
///
/// Loopback hosts are always served: `localhost`, names below `.localhost`, 127.0.0.0/8 and `::1`.
/// A server that listens on another address also serves every IP address, as a page cannot rebind
/// those. Other host names have to be [allowed](Self::with_hosts).
#[derive(Clone, Debug)]
pub struct SiteGuard {
    is_local: bool,
    hosts: Arc<[String]>,
    origins: Arc<[String]>,
    /// The first host that was served, as requests name it: nearly all name the same.
    known: Arc<OnceLock<Box<[u8]>>>,
}

impl SiteGuard {
    /// Creates a guard for a server that listens on `address`.
    pub fn new(address: SocketAddr) -> Self {
        let is_local = address.ip().to_canonical().is_loopback();
        Self { is_local, hosts: Arc::default(), origins: Arc::default(), known: Arc::default() }
    }

    /// Allows these hosts: names and addresses, without a port. `*` allows all.
    #[must_use]
    pub fn with_hosts(mut self, hosts: impl IntoIterator<Item = String>) -> Self {
        self.hosts = hosts.into_iter().map(|host| bare(&host).to_ascii_lowercase()).collect();
        self.known = Arc::default();
        self
    }

    /// Allows requests from pages of these origins, such as `https://app.example`. `*` allows all.
    #[must_use]
    pub fn with_origins(mut self, origins: impl IntoIterator<Item = String>) -> Self {
        self.origins = origins.into_iter().map(|origin| origin.to_ascii_lowercase()).collect();
        self
    }

    /// Applies the guard to every route.
    pub fn layer(&self, router: Router) -> Router {
        let guard = self.clone();
        check_heads(router, move |parts| {
            guard.check(parts).inspect_err(|error| {
                static LIMIT: LogLimit = LogLimit::new();
                metrics::refused("site");
                if let Some(omitted) = LIMIT.admit() {
                    info!(%error, omitted, "cross-site request rejected");
                }
            })
        })
    }

    /// Checks the head of a request.
    ///
    /// # Errors
    ///
    /// [`PermissionDenied`](ErrorKind::PermissionDenied) for an unknown host or another origin.
    pub fn check(&self, parts: &Parts) -> Result<()> {
        if self.has_plain_host(parts) {
            return Ok(());
        }
        let of_target = parts.uri.authority().cloned();
        let of_headers = parts.headers.get_all(header::HOST).iter().map(|host| {
            let host = host.to_str().ok().and_then(|host| host.parse::<Authority>().ok());
            host.ok_or_else(|| denied("host", "?", "is malformed"))
        });
        let mut own = None;
        for authority in of_target.map(Ok).into_iter().chain(of_headers) {
            let authority = authority?;
            if !self.serves(authority.host()) {
                let host = bare(authority.host());
                let why = format!(
                    "is not allowed without authentication: allow it on the server with \
                     --allowed-host {}",
                    shown(host)
                );
                return Err(denied("host", host, &why));
            }
            own = Some(authority);
        }
        if is_followed_link(parts) {
            return Ok(());
        }
        self.check_origin(&parts.headers, own.as_ref())
    }

    /// Returns whether a request, which is not of a browser, is for an allowed host: without an
    /// allocation, for nearly all requests.
    fn has_plain_host(&self, parts: &Parts) -> bool {
        // Over HTTP/2 in the target, otherwise in a header.
        let mut named = parts.uri.authority().map(|authority| authority.as_str().as_bytes());
        for (name, value) in &parts.headers {
            match name.as_str() {
                "origin" | "sec-fetch-site" => return false,
                "host" if named.replace(value.as_bytes()).is_some() => return false,
                _ => {}
            }
        }
        let Some(named) = named else { return false };
        if self.known.get().is_some_and(|known| **known == *named) {
            return true;
        }
        let host = plain_host(named).and_then(|host| str::from_utf8(host).ok());
        let is_served = host.is_some_and(|host| self.serves(host));
        if is_served {
            self.known.get_or_init(|| named.into());
        }
        is_served
    }

    fn serves(&self, host: &str) -> bool {
        let host = bare(host);
        is_loopback(host)
            || !self.is_local && host.parse::<IpAddr>().is_ok()
            || self.hosts.iter().any(|allowed| allowed == "*" || allowed.eq_ignore_ascii_case(host))
    }

    fn check_origin(&self, headers: &HeaderMap, own: Option<&Authority>) -> Result<()> {
        let why = "is not allowed without authentication: allow it on the server with \
                   --allowed-origin";
        let Some(origin) = headers.get(header::ORIGIN) else {
            // Browsers omit `Origin` from some requests, and send `Sec-Fetch-Site` instead.
            let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
            return match site {
                Some(b"cross-site" | b"same-site") if !self.allows("*") => {
                    Err(denied("cross-site request", "", why))
                }
                _ => Ok(()),
            };
        };
        let text = origin.to_str().unwrap_or("?");
        let is_own = own.is_some_and(|own| {
            let authority = text.split_once("://").map(|(_, authority)| authority);
            authority.is_some_and(|authority| authority.eq_ignore_ascii_case(own.as_str()))
        });
        if is_own || self.allows(text) { Ok(()) } else { Err(denied("origin", text, why)) }
    }

    fn allows(&self, origin: &str) -> bool {
        self.origins.iter().any(|allowed| allowed == "*" || allowed.eq_ignore_ascii_case(origin))
    }
}

/// Returns whether a person followed a link to the page at the root. No page can read the response
/// or show it in a frame of its own.
fn is_followed_link(parts: &Parts) -> bool {
    let has = |name: &str, value: &[u8]| {
        let mut lines = parts.headers.get_all(name).iter();
        lines.next().is_some_and(|line| line.as_bytes() == value) && lines.next().is_none()
    };
    asks_for_page(parts)
        && !parts.headers.contains_key(header::ORIGIN)
        && has("sec-fetch-mode", b"navigate")
        && has("sec-fetch-dest", b"document")
}

/// Strips the brackets of an IPv6 host and the trailing dot of a name.
fn bare(host: &str) -> &str {
    let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    inner.strip_suffix('.').unwrap_or(inner)
}

fn shown(value: &str) -> String {
    value.chars().take(MAX_ECHO).collect()
}

fn denied(what: &str, value: &str, why: &str) -> Error {
    let shown = shown(value);
    let named = if shown.is_empty() { what.to_owned() } else { format!("{what} {shown:?}") };
    Error::new(ErrorKind::PermissionDenied, format!("{named} {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(host: &str, headers: &[(&'static str, &str)]) -> Parts {
        let mut request = http::Request::builder().uri("/tasks").header("host", host);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap().into_parts().0
    }

    fn guard(address: &str) -> SiteGuard {
        SiteGuard::new(address.parse().unwrap())
            .with_hosts(["Agent.Example".to_owned()])
            .with_origins(["https://app.example".to_owned()])
    }

    #[test]
    fn hosts_open_to_dns_rebinding_are_rejected() {
        for (host, on_loopback, elsewhere) in [
            ("localhost", true, true),
            ("localhost:8080", true, true),
            ("agent.localhost:8080", true, true),
            ("127.0.0.1:8080", true, true),
            ("127.1.2.3", true, true),
            ("[::1]:8080", true, true),
            ("agent.example:8080", true, true),
            ("AGENT.EXAMPLE.", true, true),
            ("192.0.2.1:8080", false, true),
            ("[2001:db8::1]:8080", false, true),
            ("rebind.example", false, false),
            ("localhost.example", false, false),
            ("127.0.0.1.example:80", false, false),
            ("agent.example.org", false, false),
            ("a b", false, false),
            ("", false, false),
        ] {
            let request = parts(host, &[]);
            assert_eq!(guard("127.0.0.1:80").check(&request).is_ok(), on_loopback, "{host:?}");
            assert_eq!(guard("[::1]:80").check(&request).is_ok(), on_loopback, "{host:?}");
            assert_eq!(guard("0.0.0.0:80").check(&request).is_ok(), elsewhere, "{host:?}");
            let any = guard("127.0.0.1:80").with_hosts(["*".to_owned()]);
            let is_host = !host.is_empty() && host != "a b";
            assert_eq!(any.check(&request).is_ok(), is_host, "{host:?}");
        }
    }

    #[test]
    fn requests_after_one_for_an_allowed_host_are_checked() {
        let guard = guard("127.0.0.1:80");
        let local = |headers| parts("localhost:80", headers);
        for _ in 0..2 {
            assert!(guard.check(&local(&[])).is_ok());
            assert!(guard.check(&local(&[("origin", "https://evil.example")])).is_err());
            assert!(guard.check(&local(&[("host", "rebind.example")])).is_err());
            assert!(guard.check(&parts("rebind.example:80", &[])).is_err());
            assert!(guard.check(&parts("agent.example", &[])).is_ok());
        }
        let other = guard.with_hosts(["other.example".to_owned()]);
        assert!(other.check(&parts("agent.example", &[])).is_err());
    }

    #[test]
    fn rejected_host_is_named_with_the_flag_that_allows_it() {
        let error = guard("0.0.0.0:80").check(&parts("agent:8080", &[])).unwrap_err();
        assert!(error.message().ends_with("with --allowed-host agent"), "{error}");
    }

    #[test]
    fn target_authority_and_host_header_are_both_checked() {
        let mut request = parts("localhost", &[]);
        request.uri = "http://rebind.example/tasks".parse().unwrap();
        assert!(guard("127.0.0.1:80").check(&request).is_err());
        let mut request = parts("rebind.example", &[]);
        request.uri = "http://localhost/tasks".parse().unwrap();
        assert!(guard("127.0.0.1:80").check(&request).is_err());
    }

    #[test]
    fn requests_from_other_origins_are_rejected() {
        let guard = guard("127.0.0.1:80");
        for (headers, is_served) in [
            (&[][..], true),
            (&[("origin", "http://localhost:8080")], true),
            (&[("origin", "https://APP.example")], true),
            (&[("origin", "http://localhost:3000")], false),
            (&[("origin", "https://evil.example")], false),
            (&[("origin", "http://app.example")], false),
            (&[("origin", "null")], false),
            (&[("origin", "")], false),
            (&[("sec-fetch-site", "cross-site")], false),
            (&[("sec-fetch-site", "same-site")], false),
            (&[("sec-fetch-site", "same-origin")], true),
            (&[("sec-fetch-site", "none")], true),
            (&[("origin", "https://app.example"), ("sec-fetch-site", "cross-site")], true),
        ] {
            let request = parts("localhost:8080", headers);
            assert_eq!(guard.check(&request).is_ok(), is_served, "{headers:?}");
            let any = guard.clone().with_origins(["*".to_owned()]);
            assert!(any.check(&request).is_ok(), "{headers:?}");
        }
    }
}
