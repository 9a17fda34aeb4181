//! Agent cards of 0.1: a single URL, and names of authentication schemes.

use a2a_core::{
    AgentCard, ProtocolVersion, Result,
    card::JSONRPC,
    v1::{AgentInterface, security_scheme::Scheme},
};
use serde_json::{Value, json};

use crate::common::{
    card::{self, write_common},
    json::{Object, objects_in, require, unreadable},
    security::{SeveralFlows, write_flat},
};

/// Members that this revision does not have.
const LATER: [&str; 3] = ["security", "supportsAuthenticatedExtendedCard", "iconUrl"];

/// Reads a card.
///
/// # Errors
///
/// [`InvalidAgentResponse`](a2a_core::ErrorKind::InvalidAgentResponse).
pub fn read_card(document: &Value) -> Result<AgentCard> {
    let (mut card, older) = card::read(document, SeveralFlows::Split)?;
    let members = document.as_object();
    members.map_or(Ok(()), |members| require(members, "", &["name", "url"])).map_err(unreadable)?;
    card.supported_interfaces = vec![AgentInterface {
        url: older.url.unwrap_or_default(),
        protocol_binding: JSONRPC.to_owned(),
        protocol_version: ProtocolVersion::V0_1.to_string(),
        ..AgentInterface::default()
    }];
    let capabilities = card.capabilities.get_or_insert_default();
    capabilities.streaming.get_or_insert_default();
    capabilities.push_notifications.get_or_insert_default();
    Ok(card)
}

/// Writes a card; `None` if it has no JSON-RPC interface older than 1.0.
pub fn write_card(card: &AgentCard) -> Option<Value> {
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

    let mut written = write_common(card, write_flat);
    written.retain(|name, _| !LATER.contains(&name.as_str()));
    drop_if_empty(&mut written, "description");
    for skill in objects_in(&mut written, "skills") {
        skill.remove("security");
        drop_if_empty(skill, "description");
    }
    if let Some(provider) = written.get_mut("provider").and_then(Value::as_object_mut) {
        drop_if_empty(provider, "url");
    }
    written.insert("url".into(), interface.url.as_str().into());
    let capabilities =
        json!({"streaming": card.can_stream(), "pushNotifications": card.can_push()});
    written.insert("capabilities".into(), capabilities);
    let schemes = required_schemes(card);
    if !schemes.is_empty() {
        written.insert("authentication".into(), json!({"schemes": schemes}));
    }
    Some(written.into())
}

fn drop_if_empty(object: &mut Object, name: &str) {
    if object.get(name).is_some_and(|member| member == "") {
        object.remove(name);
    }
}

/// The names of the required schemes, in order.
fn required_schemes(card: &AgentCard) -> Vec<String> {
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
    schemes
}
