//! Agent cards of 0.1: a single URL, and names of authentication schemes.

use a2a_core::{
    ProtocolVersion, Result,
    card::JSONRPC,
    v1::{
        self, AgentInterface, ApiKeySecurityScheme, HttpAuthSecurityScheme, OAuth2SecurityScheme,
        SecurityRequirement, SecurityScheme, StringList, security_scheme::Scheme,
    },
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::params::Authentication;
use crate::common::{
    json::{read_result, some, write},
    member,
};

/// An agent card.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AgentCard {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<AgentProvider>,
    #[serde(default, deserialize_with = "member::or_default")]
    version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    documentation_url: Option<String>,
    #[serde(default, deserialize_with = "member::or_default")]
    capabilities: AgentCapabilities,
    #[serde(skip_serializing_if = "Option::is_none")]
    authentication: Option<Authentication>,
    default_input_modes: Option<Vec<String>>,
    default_output_modes: Option<Vec<String>>,
    #[serde(default, deserialize_with = "member::or_default")]
    skills: Vec<AgentSkill>,
}

/// The provider of the agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct AgentProvider {
    organization: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
}

/// The capabilities of the agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AgentCapabilities {
    #[serde(default, deserialize_with = "member::or_default")]
    streaming: bool,
    #[serde(default, deserialize_with = "member::or_default")]
    push_notifications: bool,
}

/// A skill of the agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AgentSkill {
    id: String,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
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
}

/// Reads a card.
///
/// # Errors
///
/// [`InvalidAgentResponse`](a2a_core::ErrorKind::InvalidAgentResponse).
pub fn read_card(card: &Value) -> Result<v1::AgentCard> {
    read_result::<AgentCard>(card).map(AgentCard::into_v1)
}

/// Writes a card; `None` if it has no JSON-RPC interface older than 1.0.
pub fn write_card(card: &v1::AgentCard) -> Option<Value> {
    let version = |interface: &&AgentInterface| {
        let version = interface.protocol_version.parse::<ProtocolVersion>().ok();
        version.filter(|version| *version < ProtocolVersion::V1Draft)
    };
    let interfaces = || card.supported_interfaces.iter();
    let speaks = |interface: &&AgentInterface| {
        interface.protocol_binding == JSONRPC && version(interface).is_some()
    };
    let exact = interfaces().filter(speaks).find(|i| version(i) == Some(ProtocolVersion::V0_1));
    let interface = exact.or_else(|| interfaces().find(speaks))?;
    Some(write(&AgentCard::from_v1(card, &interface.url)))
}

impl AgentCard {
    fn into_v1(self) -> v1::AgentCard {
        let text = || vec!["text/plain".to_owned()];
        let schemes = self.authentication.map(|authentication| authentication.schemes);
        let schemes = schemes.unwrap_or_default();
        v1::AgentCard {
            name: self.name,
            description: self.description.unwrap_or_default(),
            supported_interfaces: vec![AgentInterface {
                url: self.url,
                protocol_binding: JSONRPC.to_owned(),
                protocol_version: ProtocolVersion::V0_1.to_string(),
                ..AgentInterface::default()
            }],
            provider: self.provider.map(|provider| v1::AgentProvider {
                url: provider.url.unwrap_or_default(),
                organization: provider.organization,
            }),
            version: self.version,
            documentation_url: self.documentation_url,
            capabilities: Some(v1::AgentCapabilities {
                streaming: Some(self.capabilities.streaming),
                push_notifications: Some(self.capabilities.push_notifications),
                ..v1::AgentCapabilities::default()
            }),
            // Any one of the schemes is sufficient.
            security_requirements: schemes
                .iter()
                .map(|name| SecurityRequirement {
                    schemes: [(name.clone(), StringList::default())].into(),
                })
                .collect(),
            security_schemes: schemes
                .into_iter()
                .map(|name| {
                    let scheme = SecurityScheme { scheme: Some(scheme(&name)) };
                    (name, scheme)
                })
                .collect(),
            default_input_modes: self.default_input_modes.unwrap_or_else(text),
            default_output_modes: self.default_output_modes.unwrap_or_else(text),
            skills: self.skills.into_iter().map(AgentSkill::into_v1).collect(),
            ..v1::AgentCard::default()
        }
    }

    fn from_v1(card: &v1::AgentCard, url: &str) -> Self {
        Self {
            name: card.name.clone(),
            description: some(&card.description),
            url: url.to_owned(),
            provider: card.provider.as_ref().map(|provider| AgentProvider {
                organization: provider.organization.clone(),
                url: some(&provider.url),
            }),
            version: card.version.clone(),
            documentation_url: card.documentation_url.clone(),
            capabilities: AgentCapabilities {
                streaming: card.can_stream(),
                push_notifications: card.can_push(),
            },
            authentication: authentication(card),
            default_input_modes: Some(card.default_input_modes.clone()),
            default_output_modes: Some(card.default_output_modes.clone()),
            skills: card.skills.iter().map(AgentSkill::from_v1).collect(),
        }
    }
}

impl AgentSkill {
    fn into_v1(self) -> v1::AgentSkill {
        v1::AgentSkill {
            id: self.id,
            name: self.name,
            description: self.description.unwrap_or_default(),
            tags: self.tags,
            examples: self.examples,
            input_modes: self.input_modes,
            output_modes: self.output_modes,
            security_requirements: Vec::new(),
        }
    }

    fn from_v1(skill: &v1::AgentSkill) -> Self {
        Self {
            id: skill.id.clone(),
            name: skill.name.clone(),
            description: some(&skill.description),
            tags: skill.tags.clone(),
            examples: skill.examples.clone(),
            input_modes: skill.input_modes.clone(),
            output_modes: skill.output_modes.clone(),
        }
    }
}

/// The scheme of a name; unknown names are treated as HTTP schemes.
fn scheme(name: &str) -> Scheme {
    match name.to_ascii_lowercase().as_str() {
        "oauth2" => Scheme::Oauth2SecurityScheme(OAuth2SecurityScheme::default()),
        "apikey" => Scheme::ApiKeySecurityScheme(ApiKeySecurityScheme::default()),
        _ => Scheme::HttpAuthSecurityScheme(HttpAuthSecurityScheme {
            scheme: name.to_owned(),
            ..HttpAuthSecurityScheme::default()
        }),
    }
}

/// The names of the required schemes, in order; `None` if there are none.
fn authentication(card: &v1::AgentCard) -> Option<Authentication> {
    let mut schemes = Vec::new();
    let required = card.security_requirements.iter().flat_map(|required| required.schemes.keys());
    for key in required {
        let name = match card.security_schemes.get(key).and_then(|scheme| scheme.scheme.as_ref()) {
            Some(Scheme::HttpAuthSecurityScheme(http)) => http.scheme.clone(),
            Some(Scheme::Oauth2SecurityScheme(_)) => "OAuth2".to_owned(),
            Some(Scheme::ApiKeySecurityScheme(_)) => "apiKey".to_owned(),
            Some(Scheme::OpenIdConnectSecurityScheme(_)) => "openIdConnect".to_owned(),
            Some(Scheme::MtlsSecurityScheme(_)) => "mutualTLS".to_owned(),
            None => key.clone(),
        };
        if !schemes.contains(&name) {
            schemes.push(name);
        }
    }
    (!schemes.is_empty()).then_some(Authentication { schemes, credentials: None })
}
