//! Agent cards before 1.0: interfaces and security in other members.

use std::collections::BTreeMap;

use a2a_core::{
    AgentCard, Result,
    card::JSONRPC,
    v1::{AgentInterface, SecurityRequirement, StringList},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    json::{Object, object_in, objects_in, read_result, retain_camel_case, write, write_object},
    member,
    security::{Requirement, Schemes, SeveralFlows, named},
};

/// Members of 1.0 whose names older cards use for something else.
const OF_V1: [&str; 4] =
    ["supportedInterfaces", "securitySchemes", "securityRequirements", "signatures"];

/// Members of a card that 1.0 does not have, or has in another format.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OlderMembers {
    pub(crate) protocol_version: Option<String>,
    pub(crate) url: Option<String>,
    preferred_transport: Option<String>,
    pub(crate) supported_interfaces: Option<Vec<Interface>>,
    additional_interfaces: Option<Vec<Interface>>,
    security_schemes: Option<BTreeMap<String, Value>>,
    security: Option<Vec<Requirement>>,
    /// The member of 0.1, which the documents of 0.2 still mention.
    authentication: Option<Authentication>,
    default_input_modes: Option<Vec<String>>,
    default_output_modes: Option<Vec<String>>,
    skills: Option<Vec<Skill>>,
    supports_authenticated_extended_card: Option<bool>,
    /// The name in late drafts.
    supports_extended_agent_card: Option<bool>,
}

/// An interface. Its binding is named `transport`, or `protocolBinding` in drafts.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Interface {
    url: Option<String>,
    transport: Option<String>,
    protocol_binding: Option<String>,
}

/// The names of authentication schemes.
#[derive(Debug, Deserialize)]
struct Authentication {
    #[serde(default, deserialize_with = "member::list")]
    schemes: Vec<String>,
}

/// The security of a skill.
#[derive(Debug, Deserialize)]
struct Skill {
    security: Option<Vec<Requirement>>,
}

/// Reads a card without its interfaces, and its older members. Signatures are dropped: they apply
/// to the original document.
///
/// # Errors
///
/// [`InvalidAgentResponse`](a2a_core::ErrorKind::InvalidAgentResponse).
pub(crate) fn read(document: &Value, several: SeveralFlows) -> Result<(AgentCard, OlderMembers)> {
    let mut older: OlderMembers = read_result(document)?;
    let mut document = document.clone();
    if let Some(members) = document.as_object_mut() {
        retain_camel_case(members);
        members.retain(|name, _| !OF_V1.contains(&name.as_str()));
    }
    let mut card: AgentCard = read_result(&document)?;

    let mut schemes = Schemes::read(older.security_schemes.take().unwrap_or_default(), several);
    card.security_requirements = schemes.requirements(older.security.take().unwrap_or_default());
    if schemes.schemes.is_empty() {
        // Any one of these schemes is sufficient.
        for name in older.authentication.take().into_iter().flat_map(|older| older.schemes) {
            schemes.schemes.insert(name.clone(), named(&name));
            let required = [(name, StringList::default())].into();
            card.security_requirements.push(SecurityRequirement { schemes: required });
        }
    }
    for (skill, older) in card.skills.iter_mut().zip(older.skills.take().unwrap_or_default()) {
        skill.security_requirements = schemes.requirements(older.security.unwrap_or_default());
    }
    card.security_schemes = schemes.schemes;
    let text = || vec!["text/plain".to_owned()];
    card.default_input_modes = older.default_input_modes.take().unwrap_or_else(text);
    card.default_output_modes = older.default_output_modes.take().unwrap_or_else(text);
    card.capabilities.get_or_insert_default().extended_agent_card =
        older.supports_authenticated_extended_card.or(older.supports_extended_agent_card);
    Ok((card, older))
}

impl OlderMembers {
    /// The main interface, and the additional ones.
    pub(crate) fn older_interfaces(&mut self) -> Vec<Interface> {
        let transport = self.preferred_transport.take().filter(|name| !name.is_empty());
        let main = Interface {
            url: self.url.take(),
            transport: Some(transport.unwrap_or_else(|| JSONRPC.to_owned())),
            protocol_binding: None,
        };
        let additional = self.additional_interfaces.take().unwrap_or_default();
        std::iter::once(main).chain(additional).collect()
    }
}

/// Converts interfaces, without duplicates and incomplete ones.
pub(crate) fn interfaces(older: Vec<Interface>, version: &str) -> Vec<AgentInterface> {
    let mut interfaces: Vec<AgentInterface> = Vec::new();
    for Interface { url, transport, protocol_binding } in older {
        let binding = transport.filter(|name| !name.is_empty()).or(protocol_binding);
        let interface = AgentInterface {
            url: url.unwrap_or_default(),
            protocol_binding: binding.unwrap_or_default(),
            protocol_version: version.to_owned(),
            ..AgentInterface::default()
        };
        let is_complete = !interface.url.is_empty() && !interface.protocol_binding.is_empty();
        if is_complete && !interfaces.contains(&interface) {
            interfaces.push(interface);
        }
    }
    interfaces
}

/// Writes a card without its interfaces, security schemes and signatures, which apply to the card
/// of 1.0. `requirement` writes a security requirement.
pub(crate) fn write_common(
    card: &AgentCard,
    requirement: fn(&SecurityRequirement) -> Value,
) -> Object {
    let requirements = |all: &[SecurityRequirement]| -> Option<(String, Value)> {
        let written = all.iter().map(requirement).collect();
        (!all.is_empty()).then(|| ("security".to_owned(), written))
    };
    let mut members = write_object(card);
    members.retain(|name, _| !OF_V1.contains(&name.as_str()));
    members.extend(requirements(&card.security_requirements));
    for (written, skill) in objects_in(&mut members, "skills").zip(&card.skills) {
        written.remove("securityRequirements");
        written.extend(requirements(&skill.security_requirements));
    }
    members.entry("capabilities").or_insert_with(|| json!({}));
    let extended = object_in(&mut members, "capabilities")
        .and_then(|capabilities| capabilities.remove("extendedAgentCard"));
    members.extend(extended.map(|flag| ("supportsAuthenticatedExtendedCard".to_owned(), flag)));
    members
}

/// Adds security schemes, unless there are none.
pub(crate) fn add_schemes(card: &mut Object, schemes: BTreeMap<String, Value>) {
    if !schemes.is_empty() {
        card.insert("securitySchemes".into(), write(&schemes));
    }
}
