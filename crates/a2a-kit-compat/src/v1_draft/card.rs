//! Agent cards: one version for all interfaces, and deprecated members of 0.3.

use a2a_core::{AgentCard, ProtocolVersion, Result};
use serde_json::{Value, json};

use crate::common::{
    card::{self, add_schemes, interfaces, write_common},
    json::{require, unreadable, write},
    security::{SeveralFlows, without_new_flows},
};

/// Reads a card.
///
/// # Errors
///
/// [`InvalidAgentResponse`](a2a_core::ErrorKind::InvalidAgentResponse).
pub fn read_card(document: &Value) -> Result<AgentCard> {
    let (mut card, mut older) = card::read(document, SeveralFlows::Prefer)?;
    let members = document.as_object();
    members.map_or(Ok(()), |members| require(members, "", &["name"])).map_err(unreadable)?;
    // Examples have the previous version.
    let version = older.protocol_version.as_deref();
    let version = version.and_then(|version| version.parse::<ProtocolVersion>().ok());
    let version = version.unwrap_or(ProtocolVersion::V1Draft);
    let supported = older.supported_interfaces.take().filter(|all| !all.is_empty());
    let offered = supported.unwrap_or_else(|| older.older_interfaces());
    card.supported_interfaces = interfaces(offered, &version.to_string());
    Ok(card)
}

/// Writes a card without its signatures, which apply to the card of 1.0.
pub fn write_card(card: &AgentCard) -> Value {
    let mut interfaces: Vec<Value> = Vec::new();
    for interface in &card.supported_interfaces {
        let written = json!({"url": interface.url, "protocolBinding": interface.protocol_binding});
        if !interfaces.contains(&written) {
            interfaces.push(written);
        }
    }
    let mut written = write_common(card, write);
    let schemes = card.security_schemes.iter();
    let schemes = schemes.map(|(name, scheme)| (name.clone(), write(&without_new_flows(scheme))));
    add_schemes(&mut written, schemes.collect());
    written.insert("protocolVersion".into(), ProtocolVersion::V1Draft.to_string().into());
    if let Some(main) = interfaces.first() {
        written.insert("url".into(), main["url"].clone());
        written.insert("preferredTransport".into(), main["protocolBinding"].clone());
    }
    written.insert("supportedInterfaces".into(), interfaces.into());
    written.into()
}
