//! Which of a card's interfaces a client uses (spec §8.3.2).

use a2a_auth::client::{CredentialError, Origin};
use a2a_compat::card::DRAFT;
use a2a_core::{
    ProtocolVersion, Violation,
    host::is_loopback,
    v1::{AgentCard, AgentInterface},
};
use url::Url;

use crate::{DiscoveryError, Transport};

/// What a client wants of an interface. By default the card decides.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Preference {
    /// Bindings to try first, the most wanted in front; others follow in the order of the card.
    pub transports: Vec<Transport>,
    /// Use only the bindings in `transports`, and fail where the card has none of them.
    pub only: bool,
    /// Speak only this revision. Without one, it is the newest that the card has.
    pub version: Option<ProtocolVersion>,
    /// Speak no revision before this one.
    pub oldest: Option<ProtocolVersion>,
    /// Use only interfaces at these origins, which credentials are for: that of the card in
    /// front, and others that are named. Empty for any.
    pub origins: Vec<Origin>,
}

/// An interface that a client can use.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Selected {
    /// Its binding.
    pub transport: Transport,
    /// Its revision.
    pub version: ProtocolVersion,
    /// The entry of the card, as it stands there.
    pub interface: AgentInterface,
}

impl Selected {
    /// Returns whether what is sent to the interface can be read on the way: it is not encrypted,
    /// and not on this machine.
    pub fn is_exposed(&self) -> bool {
        match Url::parse(&self.interface.url) {
            Ok(url) => {
                matches!(url.scheme(), "http" | "grpc")
                    && url.host_str().is_some_and(|host| !is_loopback(host))
            }
            // A bare `host:port` of gRPC is TLS unless it is on this machine.
            _ => false,
        }
    }

    /// Returns why credentials that are for `origins` may not be sent to the interface; `None`
    /// where they may, as everywhere if there are no origins.
    pub(crate) fn is_beyond(&self, origins: &[Origin]) -> Option<CredentialError> {
        let card = origins.first()?.clone();
        match self.interface.url.parse::<Origin>() {
            Ok(interface) if origins.iter().any(|origin| origin.is_same_place(&interface)) => None,
            Ok(interface) => Some(CredentialError::Elsewhere { card, interface }),
            Err(unknown) => Some(unknown.into()),
        }
    }
}

impl Preference {
    /// Sets the bindings to try first, the most wanted in front.
    #[must_use]
    pub fn with_transports(mut self, transports: impl IntoIterator<Item = Transport>) -> Self {
        self.transports = transports.into_iter().collect();
        self
    }

    /// Sets whether the bindings to try first are the only ones.
    #[must_use]
    pub fn with_only(mut self, only: bool) -> Self {
        self.only = only;
        self
    }

    /// Sets the one revision to speak.
    #[must_use]
    pub fn with_version(mut self, version: impl Into<Option<ProtocolVersion>>) -> Self {
        self.version = version.into();
        self
    }

    /// Sets the oldest revision to speak where the card has nothing newer.
    #[must_use]
    pub fn with_oldest(mut self, version: impl Into<Option<ProtocolVersion>>) -> Self {
        self.oldest = version.into();
        self
    }

    /// Sets the only origins whose interfaces are used, that of the card in front.
    #[must_use]
    pub fn with_origins(mut self, origins: impl IntoIterator<Item = Origin>) -> Self {
        self.origins = origins.into_iter().collect();
        self
    }

    /// Returns the usable interfaces of a card, the one to use in front. They are all of one
    /// revision: the newest that the card has at a binding that is spoken here, or the one that
    /// is set.
    ///
    /// Where a revision is set that the card does not list, its address is known all the same if
    /// the card lists what it shares one with: the draft is where 1.0 or 0.3 is, and 0.2 and 0.1
    /// are where 0.3 is.
    ///
    /// # Errors
    ///
    /// [`DiscoveryError::NoCommonBinding`] and [`DiscoveryError::NoCommonVersion`] where nothing
    /// fits, [`DiscoveryError::Invalid`] where something would fit but has no usable URL, and
    /// [`DiscoveryError::Credentials`] where all that fits is at other origins than those wanted.
    pub fn select(&self, card: &AgentCard) -> Result<Vec<Selected>, DiscoveryError> {
        let mut bindings_match = false;
        let mut candidates = Vec::new();
        for (index, interface) in card.supported_interfaces.iter().enumerate() {
            let Some(transport) = Transport::of_interface(&interface.protocol_binding) else {
                continue;
            };
            let is_wanted = !self.only || self.transports.contains(&transport);
            bindings_match |= is_wanted;
            if let Some(version) = listed_version(&interface.protocol_version)
                && transport.speaks(self.version.unwrap_or(version))
            {
                candidates.push(Candidate { index, transport, version, is_wanted });
            }
        }
        let version = self.agreed(&candidates);
        candidates.retain(|one| one.is_wanted && Some(one.version) == version);
        let mut unusable = Vec::new();
        let mut selected = Vec::new();
        for Candidate { index, transport, version, .. } in candidates {
            let interface = &card.supported_interfaces[index];
            if let Err(reason) = check_address(transport, &interface.url) {
                unusable.push(Violation::new(format!("supportedInterfaces[{index}].url"), reason));
                continue;
            }
            let version = self.version.unwrap_or(version);
            selected.push(Selected { transport, version, interface: interface.clone() });
        }
        if selected.is_empty() {
            return Err(match (bindings_match, unusable.is_empty()) {
                (_, false) => DiscoveryError::Invalid(unusable),
                (true, true) => DiscoveryError::NoCommonVersion(offered(card)),
                (false, true) => DiscoveryError::NoCommonBinding(offered(card)),
            });
        }
        let rank = |selected: &Selected| {
            let wanted = self.transports.iter().position(|wanted| *wanted == selected.transport);
            wanted.unwrap_or(self.transports.len())
        };
        // The sort is stable, so that the order of the card holds among equals.
        selected.sort_by_key(rank);
        // That comes last: where credentials may go is no reason to speak an older revision.
        let beyond = selected.iter().find_map(|one| one.is_beyond(&self.origins));
        selected.retain(|one| one.is_beyond(&self.origins).is_none());
        match beyond {
            Some(why) if selected.is_empty() => Err(DiscoveryError::Credentials(why)),
            _ => Ok(selected),
        }
    }

    /// The listed version whose interfaces are used. What is not wanted counts too: a binding
    /// that is asked for is no reason to go back to an older revision.
    fn agreed(&self, candidates: &[Candidate]) -> Option<ProtocolVersion> {
        let newest = || candidates.iter().map(|one| one.version).max();
        let listed = |version| candidates.iter().any(|one| one.is_wanted && one.version == version);
        let places = match self.version {
            None => return newest().filter(|newest| self.oldest.is_none_or(|old| old <= *newest)),
            Some(version @ ProtocolVersion::V1Draft) => {
                vec![version, ProtocolVersion::V1_0, ProtocolVersion::V0_3]
            }
            Some(version @ (ProtocolVersion::V0_1 | ProtocolVersion::V0_2)) => {
                vec![version, ProtocolVersion::V0_3]
            }
            Some(version) => vec![version],
        };
        places.into_iter().find(|version| listed(*version))
    }
}

/// An interface whose binding and version are spoken here.
struct Candidate {
    index: usize,
    transport: Transport,
    version: ProtocolVersion,
    is_wanted: bool,
}

fn listed_version(text: &str) -> Option<ProtocolVersion> {
    if text == DRAFT {
        return Some(ProtocolVersion::V1Draft);
    }
    // Empty stands for 0.3 in a header, and for nothing in a card.
    text.parse().ok().filter(|_| !text.trim().is_empty())
}

fn offered(card: &AgentCard) -> Vec<String> {
    let name = |interface: &AgentInterface| {
        format!("{} {}", interface.protocol_binding, interface.protocol_version)
    };
    card.supported_interfaces.iter().map(name).collect()
}

/// Checks that an interface says where it is, and not only in relation to something else.
fn check_address(transport: Transport, address: &str) -> Result<(), String> {
    let grpc = transport == Transport::Grpc;
    let url = match Url::parse(address) {
        // `host:50051` reads as a URL whose scheme is `host`.
        Ok(url) if url.has_host() => url,
        // The parser passes over any number of slashes in front of a host.
        _ if grpc && !address.starts_with('/') => match Url::parse(&format!("https://{address}")) {
            Ok(url) if matches!(url.path(), "" | "/") => url,
            _ => return Err(format!("{address:?} is neither host:port nor an absolute URL")),
        },
        _ => return Err(format!("{address:?} is not an absolute URL")),
    };
    match url.scheme() {
        "http" | "https" => Ok(()),
        "grpc" | "grpcs" if grpc => Ok(()),
        other => Err(format!("{transport} is not spoken over {other:?}")),
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

    fn urls(selected: &[Selected]) -> Vec<&str> {
        selected.iter().map(|selected| selected.interface.url.as_str()).collect()
    }

    //
    #[test]
    fn the_first_entry_whose_binding_and_version_are_spoken_is_used() {
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
    fn wanted_bindings_come_first_and_alone_only_when_asked_for() {
        let card = card(&[
            ("JSONRPC", "https://a/1", "1.0"),
            ("HTTP+JSON", "https://a/2", "1.0"),
            ("GRPC", "https://a/3", "1.0"),
        ]);
        let mut preference =
            Preference { transports: vec![Transport::Grpc], ..Preference::default() };
        let order = ["https://a/3", "https://a/1", "https://a/2"];
        assert_eq!(urls(&preference.select(&card).unwrap()), order);
        preference.only = true;
        assert_eq!(urls(&preference.select(&card).unwrap()), ["https://a/3"]);
    }

    //
    #[test]
    fn a_pin_that_the_card_does_not_meet_is_an_error_and_never_a_fallback() {
        let card = card(&[("JSONRPC", "https://a/1", "1.0"), ("GRPC", "https://a/2", "0.3")]);
        let pinned = Preference {
            transports: vec![Transport::HttpJson],
            only: true,
            ..Preference::default()
        };
        assert!(matches!(pinned.select(&card), Err(DiscoveryError::NoCommonBinding(_))));
        let pinned = Preference {
            transports: vec![Transport::JsonRpc],
            only: true,
            version: Some(ProtocolVersion::V0_3),
            ..Preference::default()
        };
        assert!(matches!(pinned.select(&card), Err(DiscoveryError::NoCommonVersion(_))));
        let pinned =
            Preference { transports: vec![Transport::Grpc], only: true, ..Preference::default() };
        assert!(matches!(pinned.select(&card), Err(DiscoveryError::NoCommonVersion(_))));
    }

    #[test]
    fn the_newest_common_revision_is_used_and_none_before_the_oldest_that_is_wanted() {
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
    fn where_origins_are_wanted_interfaces_elsewhere_are_left_out() {
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
        // Neither another port is meant, nor an older revision.
        for origins in [&["https://a.example:8443"][..], &["https://c.example"]] {
            let Err(DiscoveryError::Credentials(CredentialError::Elsewhere { card, interface })) =
                at(origins)
            else {
                panic!("{origins:?}");
            };
            assert_eq!(card, origins[0].parse().unwrap());
            assert_eq!(interface.to_string(), "https://b.example:443");
        }
    }

    #[test]
    fn an_interface_in_clear_is_exposed_unless_it_is_on_this_machine() {
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
    fn an_address_is_absolute_and_of_a_scheme_that_the_binding_uses() {
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
