//! Selection of an interface from an agent card (spec §8.3.2).

use a2a_core::{
    ProtocolVersion, Violation,
    v1::{AgentCard, AgentInterface},
};
use a2a_kit_auth::client::{CredentialError, Origin};
use a2a_kit_http::uri;
use derive_setters::Setters;

use crate::{DiscoveryError, Transport, older::DRAFT};

/// How a client selects interfaces. By default the order of the card decides.
#[derive(Clone, Debug, Default, Setters)]
#[non_exhaustive]
#[setters(prefix = "with_")]
pub struct Preference {
    /// Preferred bindings in descending order; other bindings follow in the order of the card.
    #[setters(skip)]
    pub transports: Vec<Transport>,
    /// Use only the bindings in `transports`; selection fails if the card has none of them.
    #[setters(skip)]
    pub only: bool,
    /// Use only this protocol version. Default: the newest version of the card.
    #[setters(into)]
    pub version: Option<ProtocolVersion>,
    /// Minimum protocol version.
    #[setters(into)]
    pub oldest: Option<ProtocolVersion>,
    /// Use only interfaces at these origins, to which credentials may be sent: the origin of the
    /// card first, then further trusted origins. Empty for any origin.
    #[setters(skip)]
    pub origins: Vec<Origin>,
}

/// An interface that the client supports.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SelectedInterface {
    /// The protocol binding.
    pub transport: Transport,
    /// The protocol version.
    pub version: ProtocolVersion,
    /// The entry of the card, unchanged.
    pub interface: AgentInterface,
}

impl SelectedInterface {
    /// Returns whether traffic to the interface is plaintext on the network: it uses neither TLS
    /// nor a loopback address.
    pub fn is_exposed(&self) -> bool {
        !self.interface.url.parse::<Origin>().is_ok_and(|origin| origin.is_secure())
    }

    /// Returns an error if the interface is at none of `origins`, so that credentials must not be
    /// sent to it. Without any origin, every interface is allowed.
    pub(crate) fn origin_error(&self, origins: &[Origin]) -> Option<CredentialError> {
        let card = origins.first()?.clone();
        match self.interface.url.parse::<Origin>() {
            Ok(interface) if origins.iter().any(|origin| origin.is_equivalent(&interface)) => None,
            Ok(interface) => Some(CredentialError::CrossOrigin { card, interface }),
            Err(unknown) => Some(unknown.into()),
        }
    }
}

impl Preference {
    /// Prefers these bindings, in this order, to the other bindings of the card.
    #[must_use]
    pub fn with_transports(self, transports: impl IntoIterator<Item = Transport>) -> Self {
        Self { only: false, transports: transports.into_iter().collect(), ..self }
    }

    /// Uses only these bindings, in this order.
    #[must_use]
    pub fn with_only(self, transports: impl IntoIterator<Item = Transport>) -> Self {
        Self { only: true, ..self.with_transports(transports) }
    }

    /// Sets the origins whose interfaces are used, the origin of the card first.
    #[must_use]
    pub fn with_origins(mut self, origins: impl IntoIterator<Item = Origin>) -> Self {
        self.origins = origins.into_iter().collect();
        self
    }

    /// Returns the usable interfaces of a card, the preferred one first. All of them have the same
    /// protocol version: the configured one, else the newest version that the card lists for a
    /// supported binding.
    ///
    /// A configured version that the card does not list is called at the URL of a version with
    /// which it shares its endpoint: the draft with 1.0 or 0.3, 0.2 and 0.1 with 0.3.
    ///
    /// # Errors
    ///
    /// [`DiscoveryError::NoCommonBinding`] and [`DiscoveryError::NoCommonVersion`] if no interface
    /// matches, [`DiscoveryError::Invalid`] if no matching interface has a usable URL, and
    /// [`DiscoveryError::Credentials`] if all matching interfaces are at other origins.
    pub fn select(&self, card: &AgentCard) -> Result<Vec<SelectedInterface>, DiscoveryError> {
        let mut bindings_match = false;
        let mut supported = Vec::new();
        for (index, interface) in card.supported_interfaces.iter().enumerate() {
            let Some(transport) = Transport::of_interface(&interface.protocol_binding) else {
                continue;
            };
            let is_allowed = !self.only || self.transports.contains(&transport);
            bindings_match |= is_allowed;
            if let Some(version) = listed_version(&interface.protocol_version)
                && transport.supports(self.version.unwrap_or(version))
            {
                supported.push(SupportedInterface { index, transport, version, is_allowed });
            }
        }
        let version = self.select_version(&supported);
        supported.retain(|one| one.is_allowed && Some(one.version) == version);
        let mut unusable = Vec::new();
        let mut selected = Vec::new();
        for SupportedInterface { index, transport, version, .. } in supported {
            let interface = &card.supported_interfaces[index];
            if let Err(reason) = check_address(transport, &interface.url) {
                unusable.push(Violation::new(format!("supportedInterfaces[{index}].url"), reason));
                continue;
            }
            let version = self.version.unwrap_or(version);
            selected.push(SelectedInterface { transport, version, interface: interface.clone() });
        }
        if selected.is_empty() {
            return Err(match (bindings_match, unusable.is_empty()) {
                (_, false) => DiscoveryError::Invalid(unusable),
                (true, true) => DiscoveryError::NoCommonVersion(offered(card)),
                (false, true) => DiscoveryError::NoCommonBinding(offered(card)),
            });
        }
        let rank = |selected: &SelectedInterface| {
            let position = self.transports.iter().position(|one| *one == selected.transport);
            position.unwrap_or(self.transports.len())
        };
        // The sort is stable, so interfaces of equal rank keep the order of the card.
        selected.sort_by_key(rank);
        // Origins are checked last: they must not lead to an older protocol version.
        let origin_error = selected.iter().find_map(|one| one.origin_error(&self.origins));
        selected.retain(|one| one.origin_error(&self.origins).is_none());
        match origin_error {
            Some(error) if selected.is_empty() => Err(DiscoveryError::Credentials(error)),
            _ => Ok(selected),
        }
    }

    /// Returns the listed version to use. Excluded bindings count as well: a required binding must
    /// not lead to an older protocol version.
    fn select_version(&self, supported: &[SupportedInterface]) -> Option<ProtocolVersion> {
        let newest = || supported.iter().map(|one| one.version).max();
        let listed = |version| supported.iter().any(|one| one.is_allowed && one.version == version);
        let versions = match self.version {
            None => return newest().filter(|newest| self.oldest.is_none_or(|old| old <= *newest)),
            Some(version @ ProtocolVersion::V1Draft) => {
                vec![version, ProtocolVersion::V1_0, ProtocolVersion::V0_3]
            }
            Some(version @ (ProtocolVersion::V0_1 | ProtocolVersion::V0_2)) => {
                vec![version, ProtocolVersion::V0_3]
            }
            Some(version) => vec![version],
        };
        versions.into_iter().find(|version| listed(*version))
    }
}

/// An interface whose binding and version the client supports.
struct SupportedInterface {
    index: usize,
    transport: Transport,
    version: ProtocolVersion,
    is_allowed: bool,
}

fn listed_version(text: &str) -> Option<ProtocolVersion> {
    if text == DRAFT {
        return Some(ProtocolVersion::V1Draft);
    }
    // An empty version means 0.3 in a header, but is invalid in a card.
    text.parse().ok().filter(|_| !text.trim().is_empty())
}

fn offered(card: &AgentCard) -> Vec<String> {
    let name = |interface: &AgentInterface| {
        format!("{} {}", interface.protocol_binding, interface.protocol_version)
    };
    card.supported_interfaces.iter().map(name).collect()
}

/// Checks that the URL of an interface is absolute and has a scheme of its binding.
fn check_address(transport: Transport, address: &str) -> Result<(), String> {
    let grpc = transport == Transport::Grpc;
    let url = match uri::parse(address) {
        Ok(url) => url,
        Err(_) if grpc => match uri::parse(&format!("https://{address}")) {
            Ok(url) if url.path() == "/" => url,
            _ => return Err(format!("{address:?} is neither host:port nor an absolute URL")),
        },
        Err(_) => return Err(format!("{address:?} is not an absolute URL")),
    };
    match url.scheme_str().unwrap_or_default() {
        "http" | "https" => Ok(()),
        "grpc" | "grpcs" if grpc => Ok(()),
        other => Err(format!("has unsupported scheme {other:?} for {transport}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interface(binding: &str, url: &str, version: &str) -> AgentInterface {
        AgentInterface {
            url: url.into(),
            protocol_binding: binding.into(),
            protocol_version: version.into(),
            ..AgentInterface::default()
        }
    }

    fn card(interfaces: &[(&str, &str, &str)]) -> AgentCard {
        let interfaces =
            interfaces.iter().map(|(binding, url, version)| interface(binding, url, version));
        AgentCard { supported_interfaces: interfaces.collect(), ..AgentCard::new("a", "b") }
    }

    fn urls(selected: &[SelectedInterface]) -> Vec<&str> {
        selected.iter().map(|selected| selected.interface.url.as_str()).collect()
    }

    //
    #[test]
    fn first_interface_with_supported_binding_and_version_is_selected() {
        let card = card(&[
            ("urn:example:carrier-pigeon", "https://a/pigeon", "1.0"),
            ("JSONRPC", "https://a/old", "0.3"),
            ("GRPC", "a:50051", "1.0"),
            ("JSONRPC", "https://a/new", "1.0.1"),
            ("HTTP+JSON", "https://a/future", "1.1"),
        ]);
        let selected = Preference::default().select(&card).unwrap();
        assert_eq!(urls(&selected), ["a:50051", "https://a/new"]);
        assert_eq!(selected[0].transport, Transport::Grpc);
    }

    //
    #[test]
    fn preferred_bindings_come_first_and_only_excludes_others() {
        let card = card(&[
            ("JSONRPC", "https://a/1", "1.0"),
            ("HTTP+JSON", "https://a/2", "1.0"),
            ("GRPC", "https://a/3", "1.0"),
        ]);
        let preference = Preference::default().with_transports([Transport::Grpc]);
        let order = ["https://a/3", "https://a/1", "https://a/2"];
        assert_eq!(urls(&preference.select(&card).unwrap()), order);
        let preference = preference.with_only([Transport::Grpc]);
        assert_eq!(urls(&preference.select(&card).unwrap()), ["https://a/3"]);
    }

    //
    #[test]
    fn unmatched_pinned_binding_or_version_is_an_error_without_fallback() {
        let card = card(&[("JSONRPC", "https://a/1", "1.0"), ("GRPC", "https://a/2", "0.3")]);
        let pinned = Preference::default().with_only([Transport::Rest]);
        assert!(matches!(pinned.select(&card), Err(DiscoveryError::NoCommonBinding(_))));
        let pinned = Preference::default()
            .with_only([Transport::JsonRpc])
            .with_version(ProtocolVersion::V0_3);
        assert!(matches!(pinned.select(&card), Err(DiscoveryError::NoCommonVersion(_))));
        let pinned = Preference::default().with_only([Transport::Grpc]);
        assert!(matches!(pinned.select(&card), Err(DiscoveryError::NoCommonVersion(_))));
    }

    #[test]
    fn newest_common_version_is_selected_and_none_below_the_minimum() {
        use ProtocolVersion::{V0_1, V0_2, V0_3, V1_0, V1Draft};
        type Listed<'a> = &'a [(&'a str, &'a str, &'a str)];
        let newest: Listed<'_> =
            &[("JSONRPC", "https://a/1", "0.3"), ("GRPC", "https://a/2", "1.0")];
        let older: Listed<'_> =
            &[("JSONRPC", "https://a/1", "0.2.5"), ("HTTP+JSON", "https://a/2", "0.3")];
        let draft: Listed<'_> = &[("JSONRPC", "https://a/1", "draft")];
        let none: Option<ProtocolVersion> = None;
        for (listed, version, oldest, found) in [
            (newest, none, none, Some(("https://a/2", V1_0))),
            (newest, Some(V0_3), none, Some(("https://a/1", V0_3))),
            (newest, Some(V1Draft), none, Some(("https://a/2", V1Draft))),
            (newest, Some(V0_2), none, Some(("https://a/1", V0_2))),
            (newest, Some(V0_1), none, Some(("https://a/1", V0_1))),
            (older, none, none, Some(("https://a/2", V0_3))),
            (older, Some(V0_2), none, Some(("https://a/1", V0_2))),
            (older, Some(V1_0), none, None),
            (older, none, Some(V1_0), None),
            (older, none, Some(V0_3), Some(("https://a/2", V0_3))),
            (draft, none, none, Some(("https://a/1", V1Draft))),
            (draft, none, Some(V1_0), None),
            (draft, Some(V1_0), none, None),
            // There was no HTTP+JSON before 0.3, and no gRPC before 0.2.
            (&[("HTTP+JSON", "https://a/1", "0.2")], none, none, None),
            (&[("GRPC", "https://a/1", "0.2")], none, none, Some(("https://a/1", V0_2))),
            (&[("GRPC", "https://a/1", "0.1")], none, none, None),
            (&[("JSONRPC", "https://a/1", "")], none, none, None),
        ] {
            let preference = Preference::default().with_version(version).with_oldest(oldest);
            match (preference.select(&card(listed)), found) {
                (Ok(selected), Some((url, version))) => {
                    assert_eq!(urls(&selected), [url], "{listed:?} {preference:?}");
                    assert_eq!(selected[0].version, version, "{listed:?} {preference:?}");
                }
                (Err(DiscoveryError::NoCommonVersion(_)), None) => {}
                (other, _) => panic!("{listed:?} {preference:?}: {other:?}"),
            }
        }
    }

    #[test]
    fn interfaces_at_other_origins_are_excluded() {
        let card = card(&[
            ("GRPC", "b.example:443", "1.0"),
            ("JSONRPC", "https://a.example/rpc", "1.0"),
            ("HTTP+JSON", "https://b.example", "1.0"),
            ("HTTP+JSON", "https://c.example", "0.3"),
        ]);
        let at = |origins: &[&str]| {
            let origins: Vec<Origin> = origins.iter().map(|one| one.parse().unwrap()).collect();
            Preference::default().with_origins(origins).select(&card)
        };
        let all = ["b.example:443", "https://a.example/rpc", "https://b.example"];
        assert_eq!(urls(&at(&[]).unwrap()), all);
        assert_eq!(urls(&at(&["https://a.example"]).unwrap()), ["https://a.example/rpc"]);
        assert_eq!(urls(&at(&["https://a.example", "https://b.example"]).unwrap()), all);
        // Neither another port nor an older version is used instead.
        for origins in [&["https://a.example:8443"][..], &["https://c.example"]] {
            let Err(DiscoveryError::Credentials(CredentialError::CrossOrigin { card, interface })) =
                at(origins)
            else {
                panic!("{origins:?}");
            };
            assert_eq!(card, origins[0].parse().unwrap());
            assert_eq!(interface.to_string(), "https://b.example:443");
        }
    }

    #[test]
    fn plaintext_interface_is_exposed_unless_on_loopback() {
        for (binding, url, exposed) in [
            ("JSONRPC", "http://a.example", true),
            ("JSONRPC", "https://a.example", false),
            ("JSONRPC", "http://localhost:8080", false),
            ("HTTP+JSON", "http://127.0.0.1/x", false),
            ("GRPC", "grpc://a.example:1", true),
            ("GRPC", "grpc://[::1]:1", false),
            ("GRPC", "a.example:1", false),
            ("GRPC", "localhost:1", false),
        ] {
            let selected = Preference::default().select(&card(&[(binding, url, "1.0")])).unwrap();
            assert_eq!(selected[0].is_exposed(), exposed, "{url}");
        }
    }

    #[test]
    fn interface_url_must_be_absolute_with_a_scheme_of_the_binding() {
        for (binding, url, usable) in [
            ("JSONRPC", "http://localhost:1", true),
            ("JSONRPC", "/a2a", false),
            ("JSONRPC", "localhost:1", false),
            ("JSONRPC", "ftp://localhost", false),
            ("HTTP+JSON", "https://a.example/base/", true),
            ("GRPC", "localhost:1", true),
            ("GRPC", "a.example", true),
            ("GRPC", "[::1]:1", true),
            ("GRPC", "grpcs://a.example:1", true),
            ("GRPC", "https://a.example/a2a", true),
            ("GRPC", "/a2a", false),
            ("GRPC", "", false),
        ] {
            let result = Preference::default().select(&card(&[(binding, url, "1.0")]));
            match result {
                Ok(_) => assert!(usable, "{binding} {url}"),
                Err(DiscoveryError::Invalid(violations)) => {
                    assert!(!usable, "{binding} {url}");
                    assert_eq!(violations[0].field, "supportedInterfaces[0].url");
                }
                Err(other) => panic!("{binding} {url}: {other}"),
            }
        }
    }
}
