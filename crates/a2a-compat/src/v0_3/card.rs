//! Agent cards of 0.2 and 0.3.

use std::collections::BTreeMap;

use a2a_core::{
    Error, ErrorKind, ProtocolVersion, Result, card,
    v1::{self, AgentCard, AgentExtension, AgentInterface, AgentProvider, AgentSkill},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::security::{Requirement, Schemes, SecurityScheme, requirements};
use crate::common::{
    json::{read_result, write},
    member::{list, or_default},
};

/// Reads a card of 0.2 or 0.3.
///
/// Signatures are dropped: they apply to the original document.
///
/// # Errors
///
/// [`InvalidAgentResponse`](ErrorKind::InvalidAgentResponse) if the document is not such a card.
pub fn read_card(card: Value) -> Result<AgentCard> {
    // A hybrid card is read as a card of 1.0, which has more information.
    if card.get("supportedInterfaces").is_some_and(|interfaces| {
        let interfaces = interfaces.as_array();
        interfaces.is_some_and(|all| all.iter().any(|one| one.get("protocolVersion").is_some()))
    }) {
        return read_result(&card);
    }
    let card: Card = read_result(&card)?;
    if card.url.is_empty() {
        let message = "the response is not an agent card: url is missing";
        return Err(Error::new(ErrorKind::InvalidAgentResponse, message));
    }
    Ok(card.into())
}

/// Writes a card of 0.3, which clients of 0.2 can also read.
///
/// It has the interfaces of revisions before 1.0. Without any, `url` is empty and the card is
/// useless to older clients.
pub fn write_card(card: &AgentCard) -> Value {
    write(&Card::from(card.clone()))
}

/// An agent card.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Card {
    #[serde(deserialize_with = "or_default", skip_serializing_if = "String::is_empty")]
    protocol_version: String,
    #[serde(deserialize_with = "or_default")]
    name: String,
    #[serde(deserialize_with = "or_default")]
    description: String,
    #[serde(deserialize_with = "or_default")]
    url: String,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "String::is_empty")]
    preferred_transport: String,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    additional_interfaces: Vec<Interface>,
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<Provider>,
    #[serde(deserialize_with = "or_default")]
    version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    documentation_url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    icon_url: Option<String>,
    #[serde(deserialize_with = "or_default")]
    capabilities: Capabilities,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "BTreeMap::is_empty")]
    security_schemes: BTreeMap<String, Value>,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    security: Vec<Requirement>,
    /// The member of 0.1, which the documents of 0.2 still mention.
    #[serde(skip_serializing)]
    authentication: Option<Authentication>,
    default_input_modes: Option<Vec<String>>,
    default_output_modes: Option<Vec<String>>,
    #[serde(deserialize_with = "or_default")]
    skills: Vec<Skill>,
    #[serde(skip_serializing_if = "Option::is_none")]
    supports_authenticated_extended_card: Option<bool>,
    /// The name in late drafts.
    #[serde(skip_serializing)]
    supports_extended_agent_card: Option<bool>,
    /// Only read to distinguish 0.3 from 0.2.
    #[serde(skip_serializing)]
    signatures: Option<Value>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Interface {
    #[serde(deserialize_with = "or_default")]
    url: String,
    #[serde(deserialize_with = "or_default")]
    transport: String,
    /// The name of the transport in drafts.
    #[serde(skip_serializing)]
    protocol_binding: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Provider {
    #[serde(deserialize_with = "or_default")]
    organization: String,
    #[serde(deserialize_with = "or_default")]
    url: String,
}

/// `stateTransitionHistory` is ignored: it was never specified.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Capabilities {
    #[serde(skip_serializing_if = "Option::is_none")]
    streaming: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    push_notifications: Option<bool>,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    extensions: Vec<AgentExtension>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Authentication {
    #[serde(deserialize_with = "list")]
    schemes: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Skill {
    #[serde(deserialize_with = "or_default")]
    id: String,
    #[serde(deserialize_with = "or_default")]
    name: String,
    #[serde(deserialize_with = "or_default")]
    description: String,
    #[serde(deserialize_with = "or_default")]
    tags: Vec<String>,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    examples: Vec<String>,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    input_modes: Vec<String>,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    output_modes: Vec<String>,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    security: Vec<Requirement>,
}

impl Card {
    /// The revision of all interfaces, as `Major.Minor`.
    fn revision(&self) -> String {
        let mut numbers = self.protocol_version.trim().split('.');
        match (numbers.next(), numbers.next()) {
            (Some(major), Some(minor)) => format!("{major}.{minor}"),
            // 0.2.5 added the member; cards of 0.3 without it are recognized by other additions of
            // 0.3.
            _ if self.signatures.is_some()
                || self.skills.iter().any(|skill| !skill.security.is_empty()) =>
            {
                ProtocolVersion::V0_3.as_str().to_owned()
            }
            _ => ProtocolVersion::V0_2.as_str().to_owned(),
        }
    }

    /// The interfaces, with the preferred one first.
    fn interfaces(&self) -> Vec<AgentInterface> {
        let revision = self.revision();
        let preferred = match self.preferred_transport.as_str() {
            "" => card::JSONRPC,
            named => named,
        };
        let additional = self.additional_interfaces.iter().map(|one| {
            let binding = one.protocol_binding.as_ref().filter(|_| one.transport.is_empty());
            (&*one.url, binding.map_or(&*one.transport, String::as_str))
        });
        let mut interfaces: Vec<AgentInterface> = Vec::new();
        for (url, binding) in std::iter::once((&*self.url, preferred)).chain(additional) {
            let is_known = |one: &AgentInterface| one.url == url && one.protocol_binding == binding;
            if !url.is_empty() && !binding.is_empty() && !interfaces.iter().any(is_known) {
                interfaces.push(AgentInterface {
                    url: url.to_owned(),
                    protocol_binding: binding.to_owned(),
                    tenant: String::new(),
                    protocol_version: revision.clone(),
                });
            }
        }
        interfaces
    }
}

impl From<Card> for AgentCard {
    fn from(card: Card) -> Self {
        let supported_interfaces = card.interfaces();
        let mut schemes = Schemes::default();
        let mut security = card.security;
        for (name, scheme) in card.security_schemes {
            match read_scheme(scheme) {
                Ok(Either::Older(scheme)) => schemes.insert(name, scheme),
                Ok(Either::Current(scheme)) => drop(schemes.schemes.insert(name, scheme)),
                // Clients need not support all schemes.
                Err(error) => tracing::debug!(name, %error, "unknown security scheme ignored"),
            }
        }
        if let Some(authentication) = card.authentication
            && schemes.schemes.is_empty()
        {
            for name in authentication.schemes {
                schemes.insert(name.clone(), SecurityScheme::named(&name));
                security.push(Requirement::from([(name, Vec::new())]));
            }
        }
        let text = || vec!["text/plain".to_owned()];
        Self {
            name: card.name,
            description: card.description,
            supported_interfaces,
            provider: card.provider.map(|provider| AgentProvider {
                url: provider.url,
                organization: provider.organization,
            }),
            version: card.version,
            documentation_url: card.documentation_url,
            capabilities: Some(v1::AgentCapabilities {
                streaming: card.capabilities.streaming,
                push_notifications: card.capabilities.push_notifications,
                extensions: card.capabilities.extensions,
                extended_agent_card: card
                    .supports_authenticated_extended_card
                    .or(card.supports_extended_agent_card),
            }),
            security_requirements: schemes.requirements(security),
            default_input_modes: card.default_input_modes.unwrap_or_else(text),
            default_output_modes: card.default_output_modes.unwrap_or_else(text),
            skills: card.skills.into_iter().map(|skill| skill.into_v1(&schemes)).collect(),
            security_schemes: schemes.schemes,
            signatures: Vec::new(),
            icon_url: card.icon_url,
        }
    }
}

impl From<AgentCard> for Card {
    fn from(card: AgentCard) -> Self {
        let mut interfaces: Vec<Interface> = Vec::new();
        let mut newest = None;
        for interface in card.supported_interfaces {
            let version = interface.protocol_version.parse::<ProtocolVersion>().ok();
            let is_older = version.is_some_and(|version| version < ProtocolVersion::V1Draft);
            let interface = Interface {
                url: interface.url,
                transport: interface.protocol_binding,
                protocol_binding: None,
            };
            if is_older && !interfaces.contains(&interface) {
                interfaces.push(interface);
                newest = newest.max(version);
            }
        }
        let main = interfaces.first().cloned().unwrap_or_default();
        // The specification recommends repeating the main interface among the additional ones.
        let additional_interfaces = if interfaces.len() > 1 { interfaces } else { Vec::new() };
        let capabilities = card.capabilities.unwrap_or_default();
        let schemes = card.security_schemes.into_iter().filter_map(|(name, scheme)| {
            SecurityScheme::from_v1(scheme).map(|scheme| (name, write(&scheme)))
        });
        Self {
            protocol_version: match newest {
                Some(ProtocolVersion::V0_1) => "0.1.0".into(),
                Some(ProtocolVersion::V0_2) => "0.2.6".into(),
                _ => "0.3.0".into(),
            },
            name: card.name,
            description: card.description,
            url: main.url,
            preferred_transport: main.transport,
            additional_interfaces,
            provider: card.provider.map(|provider| Provider {
                organization: provider.organization,
                url: provider.url,
            }),
            version: card.version,
            documentation_url: card.documentation_url,
            icon_url: card.icon_url,
            capabilities: Capabilities {
                streaming: capabilities.streaming,
                push_notifications: capabilities.push_notifications,
                extensions: capabilities.extensions,
            },
            security_schemes: schemes.collect(),
            security: requirements(card.security_requirements),
            authentication: None,
            default_input_modes: Some(card.default_input_modes),
            default_output_modes: Some(card.default_output_modes),
            skills: card.skills.into_iter().map(Skill::from).collect(),
            supports_authenticated_extended_card: capabilities.extended_agent_card,
            supports_extended_agent_card: None,
            signatures: None,
        }
    }
}

impl Skill {
    fn into_v1(self, schemes: &Schemes) -> AgentSkill {
        AgentSkill {
            id: self.id,
            name: self.name,
            description: self.description,
            tags: self.tags,
            examples: self.examples,
            input_modes: self.input_modes,
            output_modes: self.output_modes,
            security_requirements: schemes.requirements(self.security),
        }
    }
}

impl From<AgentSkill> for Skill {
    fn from(skill: AgentSkill) -> Self {
        Self {
            id: skill.id,
            name: skill.name,
            description: skill.description,
            tags: skill.tags,
            examples: skill.examples,
            input_modes: skill.input_modes,
            output_modes: skill.output_modes,
            security: requirements(skill.security_requirements),
        }
    }
}

/// A scheme in either format: hybrid cards mix them.
enum Either {
    Older(SecurityScheme),
    Current(v1::SecurityScheme),
}

fn read_scheme(scheme: Value) -> Result<Either, serde_json::Error> {
    if scheme.get("type").is_some() {
        serde_json::from_value(scheme).map(Either::Older)
    } else {
        serde_json::from_value(scheme).map(Either::Current)
    }
}
