//! Agent cards: one version for all interfaces, and deprecated members of 0.3.

use std::collections::BTreeMap;

use a2a_core::{
    ProtocolVersion, Result,
    card::JSONRPC,
    v1::{self, AgentExtension, AgentProvider, SecurityRequirement, StringList},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::security;
use crate::common::{
    json::{read_result, write},
    member,
};

/// An agent card.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AgentCard {
    protocol_version: Option<String>,
    name: String,
    #[serde(default, deserialize_with = "member::or_default")]
    description: String,
    #[serde(default, deserialize_with = "member::or_default")]
    supported_interfaces: Vec<AgentInterface>,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    preferred_transport: Option<String>,
    #[serde(
        default,
        deserialize_with = "member::or_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    additional_interfaces: Vec<AgentInterface>,
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<AgentProvider>,
    #[serde(default, deserialize_with = "member::or_default")]
    version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    documentation_url: Option<String>,
    #[serde(default, deserialize_with = "member::or_default")]
    capabilities: AgentCapabilities,
    #[serde(
        default,
        deserialize_with = "member::or_default",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    security_schemes: BTreeMap<String, security::Scheme>,
    #[serde(
        default,
        deserialize_with = "member::or_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    security: Vec<Requirement>,
    default_input_modes: Option<Vec<String>>,
    default_output_modes: Option<Vec<String>>,
    #[serde(default, deserialize_with = "member::or_default")]
    skills: Vec<AgentSkill>,
    #[serde(alias = "supportsExtendedAgentCard", skip_serializing_if = "Option::is_none")]
    supports_authenticated_extended_card: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    icon_url: Option<String>,
}

/// An interface. In entries of 0.3, the binding is named `transport`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AgentInterface {
    url: String,
    #[serde(alias = "transport")]
    protocol_binding: String,
}

/// The capabilities of the agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AgentCapabilities {
    #[serde(skip_serializing_if = "Option::is_none")]
    streaming: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    push_notifications: Option<bool>,
    #[serde(
        default,
        deserialize_with = "member::or_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    extensions: Vec<AgentExtension>,
}

/// A skill of the agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AgentSkill {
    id: String,
    #[serde(default, deserialize_with = "member::or_default")]
    name: String,
    #[serde(default, deserialize_with = "member::or_default")]
    description: String,
    #[serde(default, deserialize_with = "member::or_default")]
    tags: Vec<String>,
    #[serde(
        default,
        deserialize_with = "member::or_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    examples: Vec<String>,
    #[serde(
        default,
        deserialize_with = "member::or_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    input_modes: Vec<String>,
    #[serde(
        default,
        deserialize_with = "member::or_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    output_modes: Vec<String>,
    #[serde(
        default,
        deserialize_with = "member::or_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    security: Vec<Requirement>,
}

/// A security requirement: schemes that are required together, with their scopes, in the nested
/// format of the proto or flat.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Requirement {
    Nested { schemes: BTreeMap<String, StringList> },
    Plain(BTreeMap<String, Vec<String>>),
}

/// Reads a card.
///
/// # Errors
///
/// [`InvalidAgentResponse`](a2a_core::ErrorKind::InvalidAgentResponse).
pub fn read_card(card: &Value) -> Result<v1::AgentCard> {
    read_result::<AgentCard>(card).map(AgentCard::into_v1)
}

/// Writes a card without its signatures, which apply to the card of 1.0.
pub fn write_card(card: &v1::AgentCard) -> Value {
    write(&AgentCard::from_v1(card))
}

impl AgentCard {
    fn into_v1(self) -> v1::AgentCard {
        let version = self.protocol_version.as_deref();
        // Examples have the previous version.
        let version = version.and_then(|version| version.parse::<ProtocolVersion>().ok());
        let version = version.unwrap_or(ProtocolVersion::V1Draft).to_string();
        let mut interfaces: Vec<v1::AgentInterface> = Vec::new();
        let main = self.url.map(|url| AgentInterface {
            url,
            protocol_binding: self.preferred_transport.unwrap_or_else(|| JSONRPC.to_owned()),
        });
        let older = main.into_iter().chain(self.additional_interfaces);
        let offered: Vec<_> = if self.supported_interfaces.is_empty() {
            older.collect()
        } else {
            self.supported_interfaces
        };
        for interface in offered {
            let known = interfaces.iter().any(|known| {
                known.url == interface.url && known.protocol_binding == interface.protocol_binding
            });
            if !known {
                interfaces.push(v1::AgentInterface {
                    url: interface.url,
                    protocol_binding: interface.protocol_binding,
                    protocol_version: version.clone(),
                    ..v1::AgentInterface::default()
                });
            }
        }
        let text = || vec!["text/plain".to_owned()];
        let schemes = self.security_schemes.into_iter();
        v1::AgentCard {
            name: self.name,
            description: self.description,
            supported_interfaces: interfaces,
            provider: self.provider,
            version: self.version,
            documentation_url: self.documentation_url,
            capabilities: Some(v1::AgentCapabilities {
                streaming: self.capabilities.streaming,
                push_notifications: self.capabilities.push_notifications,
                extensions: self.capabilities.extensions,
                extended_agent_card: self.supports_authenticated_extended_card,
            }),
            security_schemes: schemes.map(|(name, scheme)| (name, scheme.0)).collect(),
            security_requirements: self.security.into_iter().map(Requirement::into_v1).collect(),
            default_input_modes: self.default_input_modes.unwrap_or_else(text),
            default_output_modes: self.default_output_modes.unwrap_or_else(text),
            skills: self.skills.into_iter().map(AgentSkill::into_v1).collect(),
            icon_url: self.icon_url,
            signatures: Vec::new(),
        }
    }

    fn from_v1(card: &v1::AgentCard) -> Self {
        let mut interfaces: Vec<AgentInterface> = Vec::new();
        for interface in &card.supported_interfaces {
            let interface = AgentInterface {
                url: interface.url.clone(),
                protocol_binding: interface.protocol_binding.clone(),
            };
            if !interfaces.contains(&interface) {
                interfaces.push(interface);
            }
        }
        let main = interfaces.first();
        let capabilities = card.capabilities.clone().unwrap_or_default();
        let schemes = card.security_schemes.iter();
        Self {
            protocol_version: Some(ProtocolVersion::V1Draft.to_string()),
            name: card.name.clone(),
            description: card.description.clone(),
            url: main.map(|main| main.url.clone()),
            preferred_transport: main.map(|main| main.protocol_binding.clone()),
            supported_interfaces: interfaces,
            additional_interfaces: Vec::new(),
            provider: card.provider.clone(),
            version: card.version.clone(),
            documentation_url: card.documentation_url.clone(),
            capabilities: AgentCapabilities {
                streaming: capabilities.streaming,
                push_notifications: capabilities.push_notifications,
                extensions: capabilities.extensions,
            },
            security_schemes: schemes
                .map(|(name, scheme)| (name.clone(), security::from_v1(scheme)))
                .collect(),
            security: card.security_requirements.iter().map(Requirement::from_v1).collect(),
            default_input_modes: Some(card.default_input_modes.clone()),
            default_output_modes: Some(card.default_output_modes.clone()),
            skills: card.skills.iter().map(AgentSkill::from_v1).collect(),
            supports_authenticated_extended_card: capabilities.extended_agent_card,
            icon_url: card.icon_url.clone(),
        }
    }
}

impl AgentSkill {
    fn into_v1(self) -> v1::AgentSkill {
        v1::AgentSkill {
            id: self.id,
            name: self.name,
            description: self.description,
            tags: self.tags,
            examples: self.examples,
            input_modes: self.input_modes,
            output_modes: self.output_modes,
            security_requirements: self.security.into_iter().map(Requirement::into_v1).collect(),
        }
    }

    fn from_v1(skill: &v1::AgentSkill) -> Self {
        Self {
            id: skill.id.clone(),
            name: skill.name.clone(),
            description: skill.description.clone(),
            tags: skill.tags.clone(),
            examples: skill.examples.clone(),
            input_modes: skill.input_modes.clone(),
            output_modes: skill.output_modes.clone(),
            security: skill.security_requirements.iter().map(Requirement::from_v1).collect(),
        }
    }
}

impl Requirement {
    fn into_v1(self) -> SecurityRequirement {
        let schemes = match self {
            Self::Nested { schemes } => schemes,
            Self::Plain(schemes) => {
                schemes.into_iter().map(|(name, list)| (name, StringList { list })).collect()
            }
        };
        SecurityRequirement { schemes }
    }

    fn from_v1(requirement: &SecurityRequirement) -> Self {
        Self::Nested { schemes: requirement.schemes.clone() }
    }
}
