//! The interfaces in the card of a server.

use std::net::{IpAddr, SocketAddr};

use a2a_core::{AgentCard, ProtocolVersion, card, host::is_loopback, v1::AgentInterface};
use http::Uri;

use crate::{
    agents::Place,
    config::{Bindings, Config, Paths},
    older::{DRAFT, Revisions},
};

/// Adds the interfaces served at `address` to the card, unless it has interfaces already.
pub(crate) fn fill(config: &Config, address: SocketAddr, card: &mut AgentCard) {
    if !card.supported_interfaces.is_empty() {
        return;
    }
    for version in listed(&config.revisions) {
        let supported = bindings(config).filter(|binding| has(version, binding));
        let interfaces = supported.filter_map(|binding| {
            let (url, tenant) = place(config, address, version, binding)?;
            Some(AgentInterface {
                url,
                tenant: tenant.unwrap_or_default().to_owned(),
                protocol_binding: binding.to_owned(),
                protocol_version: version.to_owned(),
            })
        });
        card.supported_interfaces.extend(interfaces);
    }
}

/// The bindings in the order of preference.
fn bindings(config: &Config) -> impl Iterator<Item = &'static str> {
    let Bindings { jsonrpc, rest, grpc } = config.bindings;
    [(card::JSONRPC, jsonrpc), (card::HTTP_JSON, rest), (card::GRPC, grpc)]
        .into_iter()
        .filter_map(|(binding, is_served)| is_served.then_some(binding))
}

/// The URL of a binding and its tenant; `None` if requests would not reach the agent.
fn place<'a>(
    config: &'a Config,
    address: SocketAddr,
    version: &str,
    binding: &str,
) -> Option<(String, Option<&'a str>)> {
    let Paths { rpc_path, rest_prefix, place, .. } = &config.paths;
    let has_tenants = version == ProtocolVersion::V1_0.as_str();
    if binding == card::GRPC {
        return match place.tenant() {
            Some(tenant) if has_tenants => {
                Some((grpc_address(config, address, None), Some(tenant)))
            }
            Some(_) => None,
            None => lists_grpc(config).then(|| (grpc_address(config, address, None), None)),
        };
    }
    let path = if binding == card::JSONRPC { rpc_path } else { rest_prefix };
    match (place, path, &config.paths.public_url) {
        (Place::Tenant(tenant), None, None) if has_tenants => {
            Some((root(config, address), Some(tenant)))
        }
        (_, path, _) => {
            let path = path.as_deref().unwrap_or_default();
            Some((format!("{}{path}", base(config, address)), None))
        }
    }
}

/// Returns whether the card can list gRPC without a tenant: it has no paths, so it can't be reached
/// under that of a public URL.
pub(crate) fn lists_grpc(config: &Config) -> bool {
    let Paths { grpc_address, public_url, .. } = &config.paths;
    let public = public_url.as_ref().and_then(|url| url.parse::<Uri>().ok());
    grpc_address.is_some() || public.is_none_or(|url| url.path() == "/")
}

/// The revisions to list, newest first. One URL serves all revisions, so a revision is omitted if
/// its clients understand a listed one: 1.0 for the draft, 0.3 for 0.2, and any revision before
/// the draft for 0.1.
fn listed(revisions: &Revisions) -> Vec<&'static str> {
    use ProtocolVersion::{V0_1, V0_2, V0_3, V1_0, V1Draft};
    let served = |version| revisions.contains(version);
    let newer = if served(V1_0) {
        Some(V1_0.as_str())
    } else {
        (served(V1Draft) && !revisions.contains_v0_2_or_v0_3()).then_some(DRAFT)
    };
    let older = [V0_3, V0_2, V0_1].into_iter().find(|version| served(*version));
    newer.into_iter().chain(older.map(ProtocolVersion::as_str)).collect()
}

/// Returns whether a revision has a binding.
fn has(version: &str, binding: &str) -> bool {
    match version {
        "0.1" => binding == card::JSONRPC,
        "0.2" => binding != card::HTTP_JSON,
        _ => true,
    }
}

/// The URL under which clients reach the agent.
pub(crate) fn base(config: &Config, address: SocketAddr) -> String {
    let Paths { public_url, place, .. } = &config.paths;
    match (public_url, place) {
        (Some(url), _) => url.clone(),
        (None, Place::Path(name) | Place::Tenant(name)) => {
            format!("{}/{name}", root(config, address))
        }
        (None, Place::Port | Place::Host(_)) => root(config, address),
    }
}

/// The URL of the port.
fn root(config: &Config, address: SocketAddr) -> String {
    let url = match &config.paths.root_url {
        Some(url) => url.clone(),
        None => {
            let scheme = if config.has_tls { "https" } else { "http" };
            format!("{scheme}://{}:{}", host(address), address.port())
        }
    };
    match (&config.paths.place, url.parse::<Uri>()) {
        (Place::Host(host), Ok(uri)) => {
            let scheme = uri.scheme_str().unwrap_or("https");
            let port = uri.port().map(|port| format!(":{port}")).unwrap_or_default();
            format!("{scheme}://{host}{port}")
        }
        _ => url,
    }
}

/// The address of gRPC: `host:port`, the form that most gRPC libraries expect. It implies TLS
/// except on loopback hosts, where TLS needs a URL.
pub(crate) fn grpc_address(config: &Config, address: SocketAddr, port: Option<u16>) -> String {
    if let Some(given) = &config.paths.grpc_address {
        return given.clone();
    }
    let url = base(config, address).parse::<Uri>().ok();
    let (host, port, is_secure) = match url.as_ref().and_then(|url| Some((url, url.host()?))) {
        Some((url, host)) => {
            let is_secure = url.scheme_str() != Some("http");
            let default = if is_secure { 443 } else { 80 };
            (host.to_owned(), port.or(url.port_u16()).unwrap_or(default), is_secure)
        }
        None => (host(address), port.unwrap_or(address.port()), config.has_tls),
    };
    if is_secure && is_loopback(&host) {
        return format!("https://{host}:{port}");
    }
    format!("{host}:{port}")
}

/// A host that clients on this machine can connect to, also if the server listens on all
/// addresses.
fn host(address: SocketAddr) -> String {
    match address.ip() {
        ip if ip.is_unspecified() => "localhost".into(),
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    }
}

#[cfg(test)]
mod tests {
    use a2a_kit_operations::{Engine, agent_fn};

    use super::*;
    use crate::Server;

    fn server() -> Server {
        let card = AgentCard::new("Echo", "Repeats its input");
        Server::from(Engine::new(card, agent_fn(async |text: String| text)))
    }

    fn interfaces(server: &Server, address: &str) -> Vec<(String, String)> {
        let card = server.card_at(address.parse().unwrap());
        let of_current = |interface: &AgentInterface| interface.protocol_version == "1.0";
        let pair = |interface: AgentInterface| (interface.protocol_binding, interface.url);
        card.supported_interfaces.into_iter().filter(of_current).map(pair).collect()
    }

    fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
        list.iter().map(|(binding, url)| ((*binding).to_owned(), (*url).to_owned())).collect()
    }

    #[test]
    fn interfaces_are_listed_in_the_order_of_preference() {
        let at = |host: &str| {
            vec![
                ("JSONRPC".to_owned(), format!("http://{host}:80")),
                ("HTTP+JSON".to_owned(), format!("http://{host}:80")),
                ("GRPC".to_owned(), format!("{host}:80")),
            ]
        };
        for (address, host) in [
            ("127.0.0.1:80", "127.0.0.1"),
            ("[::1]:80", "[::1]"),
            ("0.0.0.0:80", "localhost"),
            ("[::]:80", "localhost"),
        ] {
            assert_eq!(interfaces(&server(), address), at(host), "{address}");
        }
    }

    #[test]
    fn interfaces_of_older_revisions_follow_with_the_same_urls() {
        let card = server().card_at("127.0.0.1:80".parse().unwrap());
        let older = &card.supported_interfaces[3..];
        let urls: Vec<_> = older.iter().map(|interface| interface.url.as_str()).collect();
        assert_eq!(urls, ["http://127.0.0.1:80", "http://127.0.0.1:80", "127.0.0.1:80"]);
        assert!(older.iter().all(|interface| interface.protocol_version == "0.3"));
    }

    #[test]
    fn only_served_revisions_are_listed() {
        let every = ["JSONRPC", "HTTP+JSON", "GRPC"].as_slice();
        let before_rest = ["JSONRPC", "GRPC"].as_slice();
        let first = ["JSONRPC"].as_slice();
        for (revisions, named) in [
            ("all", vec![("1.0", every), ("0.3", every)]),
            ("1.0", vec![("1.0", every)]),
            ("1.0,draft", vec![("1.0", every)]),
            ("1.0,0.2", vec![("1.0", every), ("0.2", before_rest)]),
            ("1.0,0.1", vec![("1.0", every), ("0.1", first)]),
            ("draft", vec![("draft", every)]),
            ("draft,0.3", vec![("0.3", every)]),
            ("draft,0.1", vec![("draft", every), ("0.1", first)]),
            ("0.3,0.2", vec![("0.3", every)]),
            ("0.2", vec![("0.2", before_rest)]),
            ("0.1", vec![("0.1", first)]),
        ] {
            let server = server().with_revisions(revisions.parse().unwrap());
            let card = server.card_at("127.0.0.1:80".parse().unwrap());
            let found = card.supported_interfaces.iter();
            let found = found.map(|one| (&*one.protocol_version, &*one.protocol_binding));
            let named = named.iter().flat_map(|(version, bindings)| {
                bindings.iter().map(|binding| (*version, *binding))
            });
            assert_eq!(found.collect::<Vec<_>>(), named.collect::<Vec<_>>(), "{revisions}");
        }
    }

    #[test]
    fn paths_and_the_public_url_are_in_the_interfaces() {
        let server = server()
            .with_public_url("https://echo.example/")
            .with_rpc_path("rpc/")
            .with_rest_prefix("/rest");
        assert_eq!(
            interfaces(&server, "127.0.0.1:80"),
            pairs(&[
                ("JSONRPC", "https://echo.example/rpc"),
                ("HTTP+JSON", "https://echo.example/rest"),
                ("GRPC", "echo.example:443"),
            ])
        );
    }

    #[test]
    fn grpc_with_tls_on_a_loopback_host_is_a_url() {
        for (url, grpc) in [
            ("https://localhost:8443", "https://localhost:8443"),
            ("https://127.0.0.1", "https://127.0.0.1:443"),
            ("https://[::1]:1", "https://[::1]:1"),
            ("http://localhost:8080", "localhost:8080"),
            ("https://echo.example:8443", "echo.example:8443"),
        ] {
            let server = server().with_public_url(url);
            assert_eq!(interfaces(&server, "127.0.0.1:80")[2].1, grpc, "{url}");
        }
    }

    #[test]
    fn disabled_bindings_are_not_listed_and_given_interfaces_are_kept() {
        let one = server().without_rest().without_grpc();
        let named = pairs(&[("JSONRPC", "http://127.0.0.1:80")]);
        assert_eq!(interfaces(&one, "127.0.0.1:80"), named);
        let mut given = server();
        given.parts.card = given.parts.card.with_interface("GRPC", "gateway:443");
        assert_eq!(interfaces(&given, "127.0.0.1:80"), pairs(&[("GRPC", "gateway:443")]));
    }
    #[test]
    fn grpc_is_not_listed_under_a_path_without_its_address() {
        let under = |server: Server| server.with_public_url("https://example.com/echo");
        let listed = pairs(&[
            ("JSONRPC", "https://example.com/echo"),
            ("HTTP+JSON", "https://example.com/echo"),
        ]);
        assert_eq!(interfaces(&under(server()), "127.0.0.1:80"), listed);
        let addressed = under(server()).with_grpc_address("grpc.example.com:443");
        let grpc = &interfaces(&addressed, "127.0.0.1:80")[2];
        assert_eq!(grpc, &("GRPC".to_owned(), "grpc.example.com:443".to_owned()));
    }

    #[test]
    fn each_place_lists_the_bindings_that_reach_it() {
        let (http, grpc) = ("http://127.0.0.1:80", "127.0.0.1:80");
        let under = "http://127.0.0.1:80/echo";
        let local = "http://echo.localhost:80";
        type Listed<'a> = (&'a str, &'a str, &'a str);
        let cases: [(Place, &[Listed<'_>]); 3] = [
            (
                Place::Path("echo".into()),
                &[
                    ("1.0 JSONRPC", under, ""),
                    ("1.0 HTTP+JSON", under, ""),
                    ("1.0 GRPC", grpc, "echo"),
                    ("0.3 JSONRPC", under, ""),
                    ("0.3 HTTP+JSON", under, ""),
                ],
            ),
            (
                Place::Tenant("echo".into()),
                &[
                    ("1.0 JSONRPC", http, "echo"),
                    ("1.0 HTTP+JSON", http, "echo"),
                    ("1.0 GRPC", grpc, "echo"),
                    ("0.3 JSONRPC", under, ""),
                    ("0.3 HTTP+JSON", under, ""),
                ],
            ),
            (
                Place::Host("echo.localhost".into()),
                &[
                    ("1.0 JSONRPC", local, ""),
                    ("1.0 HTTP+JSON", local, ""),
                    ("1.0 GRPC", "echo.localhost:80", ""),
                    ("0.3 JSONRPC", local, ""),
                    ("0.3 HTTP+JSON", local, ""),
                    ("0.3 GRPC", "echo.localhost:80", ""),
                ],
            ),
        ];
        for (place, expected) in cases {
            let mut server = server();
            server.parts.config.paths.place = place.clone();
            let card = server.card_at("127.0.0.1:80".parse().unwrap());
            let found: Vec<_> = card
                .supported_interfaces
                .into_iter()
                .map(|one| {
                    let name = format!("{} {}", one.protocol_version, one.protocol_binding);
                    (name, one.url, one.tenant)
                })
                .collect();
            let owned = |(name, url, tenant): &(&str, &str, &str)| {
                ((*name).to_owned(), (*url).to_owned(), (*tenant).to_owned())
            };
            assert_eq!(found, expected.iter().map(owned).collect::<Vec<_>>(), "{place}");
        }
    }
}
