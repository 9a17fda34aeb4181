//! The interfaces that a run checks.

use a2a_core::{AgentCard, ProtocolVersion};
use a2a_kit_client::Transport;

/// One interface of the agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Interface {
    pub(crate) binding: Transport,
    pub(crate) version: ProtocolVersion,
    pub(crate) url: String,
    pub(crate) tenant: String,
}

impl Interface {
    /// Binding, revision and URL.
    pub(crate) fn name(&self) -> String {
        format!("{} {} at {}", self.binding, version_name(self.version), self.url)
    }
}

/// The name of a revision; that of the draft is not its number, which is 1.0 as well.
pub(crate) const fn version_name(version: ProtocolVersion) -> &'static str {
    match version {
        ProtocolVersion::V1Draft => "draft",
        other => other.as_str(),
    }
}

/// The interfaces of a card whose bindings and revisions are known.
pub(crate) fn of_card(card: &AgentCard) -> Vec<Interface> {
    let mut interfaces = Vec::new();
    for entry in &card.supported_interfaces {
        let version = match entry.protocol_version.trim() {
            "draft" => Some(ProtocolVersion::V1Draft),
            other => other.parse().ok(),
        };
        let (Ok(binding), Some(version)) = (entry.protocol_binding.parse(), version) else {
            continue;
        };
        let interface =
            Interface { binding, version, url: entry.url.clone(), tenant: entry.tenant.clone() };
        if !interfaces.contains(&interface) {
            interfaces.push(interface);
        }
    }
    interfaces
}

/// The interfaces with these bindings and revisions; a revision that none has is tried at the URLs
/// of the others.
pub(crate) fn selected(
    all: &[Interface],
    bindings: &[Transport],
    versions: &[ProtocolVersion],
) -> Vec<Interface> {
    let of_binding: Vec<_> = all
        .iter()
        .filter(|one| bindings.is_empty() || bindings.contains(&one.binding))
        .cloned()
        .collect();
    if versions.is_empty() {
        return of_binding;
    }
    let mut selected = Vec::new();
    for version in versions {
        let listed: Vec<_> =
            of_binding.iter().filter(|one| one.version == *version).cloned().collect();
        if !listed.is_empty() {
            selected.extend(listed);
            continue;
        }
        for interface in of_binding.iter().filter(|one| has_binding(*version, one.binding)) {
            let interface = Interface { version: *version, ..interface.clone() };
            if !selected.contains(&interface) {
                selected.push(interface);
            }
        }
    }
    selected
}

/// Returns whether the checks know a revision on a binding.
fn has_binding(version: ProtocolVersion, binding: Transport) -> bool {
    match version {
        ProtocolVersion::V0_1 | ProtocolVersion::V0_2 => binding == Transport::JsonRpc,
        ProtocolVersion::V1Draft => binding != Transport::Grpc,
        ProtocolVersion::V0_3 | ProtocolVersion::V1_0 => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interface(binding: Transport, version: ProtocolVersion) -> Interface {
        Interface { binding, version, url: "http://a".into(), tenant: String::new() }
    }

    #[test]
    fn revision_that_the_card_lacks_is_tried_at_its_urls() {
        let all = [
            interface(Transport::JsonRpc, ProtocolVersion::V1_0),
            interface(Transport::Grpc, ProtocolVersion::V1_0),
        ];
        let selected = selected(&all, &[], &[ProtocolVersion::V0_2]);
        assert_eq!(selected, [interface(Transport::JsonRpc, ProtocolVersion::V0_2)]);
    }
}
