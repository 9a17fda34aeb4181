//! Agent cards.

use a2a_core::{
    ProtocolVersion,
    card::JSONRPC,
    v1::{self, AgentCapabilities},
};

use super::{
    AgentCapabilities as Capabilities, AgentCard, AgentInterface, AgentSkill, convert::convert,
};
use crate::common::json::some;

/// Converts a card to an older revision.
///
/// Signatures are dropped: they apply to the card of 1.0.
pub(crate) fn from_v1(card: v1::AgentCard, revision: ProtocolVersion) -> AgentCard {
    let capabilities = card.capabilities.unwrap_or_default();
    let (legacy, current): (Vec<_>, Vec<_>) =
        card.supported_interfaces.into_iter().partition(is_legacy);
    // If the card lists no older interfaces, they are assumed at the addresses of 1.0.
    let interfaces = if legacy.is_empty() { current } else { legacy };
    let mut interfaces: Vec<_> = interfaces
        .into_iter()
        .map(|interface| AgentInterface {
            url: interface.url,
            transport: interface.protocol_binding,
        })
        .collect();
    let mut legacy_card = AgentCard {
        name: card.name,
        description: card.description,
        provider: card.provider,
        version: card.version,
        documentation_url: card.documentation_url.unwrap_or_default(),
        security_schemes: convert_schemes(card.security_schemes),
        security: card.security_requirements,
        default_input_modes: card.default_input_modes,
        default_output_modes: card.default_output_modes,
        skills: card.skills.into_iter().map(Into::into).collect(),
        supports_authenticated_extended_card: capabilities.extended_agent_card(),
        icon_url: card.icon_url.unwrap_or_default(),
        capabilities: Some(Capabilities {
            streaming: capabilities.streaming(),
            push_notifications: capabilities.push_notifications(),
            extensions: capabilities.extensions,
            state_transition_history: None,
        }),
        ..AgentCard::default()
    };
    if revision >= ProtocolVersion::V1Draft {
        legacy_card.protocol_version = "1.0".into();
        legacy_card.supported_interfaces.clone_from(&interfaces);
    } else {
        legacy_card.protocol_version = "0.3.0".into();
    }
    if !interfaces.is_empty() {
        let main = interfaces.remove(0);
        legacy_card.url = main.url;
        legacy_card.preferred_transport = main.transport;
        legacy_card.additional_interfaces = interfaces;
    }
    legacy_card
}

/// Converts a card of an older revision to 1.0.
pub(crate) fn into_v1(card: AgentCard) -> v1::AgentCard {
    let capabilities = card.capabilities.unwrap_or_default();
    let version = minor_version(&card.protocol_version);
    let main = AgentInterface {
        url: card.url,
        transport: match card.preferred_transport {
            empty if empty.is_empty() => JSONRPC.to_owned(),
            transport => transport,
        },
    };
    let mut interfaces: Vec<AgentInterface> = Vec::new();
    let listed = card.supported_interfaces.into_iter().chain([main]);
    for interface in listed.chain(card.additional_interfaces) {
        if !interface.url.is_empty() && !interfaces.contains(&interface) {
            interfaces.push(interface);
        }
    }
    let interfaces = interfaces.into_iter().map(|interface| v1::AgentInterface {
        url: interface.url,
        protocol_binding: interface.transport,
        tenant: String::new(),
        protocol_version: version.clone(),
    });
    v1::AgentCard {
        name: card.name,
        description: card.description,
        supported_interfaces: interfaces.collect(),
        provider: card.provider,
        version: card.version,
        documentation_url: some(&card.documentation_url),
        capabilities: Some(AgentCapabilities {
            streaming: Some(capabilities.streaming),
            push_notifications: Some(capabilities.push_notifications),
            extensions: capabilities.extensions,
            extended_agent_card: Some(card.supports_authenticated_extended_card),
        }),
        security_schemes: convert_schemes(card.security_schemes),
        security_requirements: card.security,
        default_input_modes: card.default_input_modes,
        default_output_modes: card.default_output_modes,
        skills: card.skills.into_iter().map(Into::into).collect(),
        signatures: Vec::new(),
        icon_url: some(&card.icon_url),
    }
}

convert! {
    AgentSkill:
        same(id, name, description, tags, examples, input_modes, output_modes),
        optional(),
        lists(security = security_requirements);
}

type Map<T> = std::collections::BTreeMap<String, T>;

fn convert_schemes<A, B: From<A>>(schemes: Map<A>) -> Map<B> {
    schemes.into_iter().map(|(name, scheme)| (name, scheme.into())).collect()
}

fn is_legacy(interface: &v1::AgentInterface) -> bool {
    interface.protocol_version.starts_with("0.")
}

/// The version as `Major.Minor`. Cards have a version since 0.2.5.
fn minor_version(version: &str) -> String {
    if version.is_empty() {
        return "0.2".into();
    }
    version.splitn(3, '.').take(2).collect::<Vec<_>>().join(".")
}
