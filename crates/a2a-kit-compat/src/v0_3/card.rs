//! Agent cards of 0.2 and 0.3.

use a2a_core::{AgentCard, Error, ProtocolVersion, Result};
use serde_json::{Value, json};

use crate::common::{
    card::{self, add_schemes, interfaces, write_common},
    json::read_result,
    security::{SeveralFlows, write_flat, write_openapi},
};

/// Reads a card of 0.2 or 0.3.
///
/// Signatures are dropped: they apply to the original document.
///
/// # Errors
///
/// [`InvalidAgentResponse`](a2a_core::ErrorKind::InvalidAgentResponse) if the document is not such
/// a card.
pub fn read_card(document: Value) -> Result<AgentCard> {
    // A hybrid card is read as a card of 1.0, which has more information.
    if document.get("supportedInterfaces").is_some_and(|interfaces| {
        let interfaces = interfaces.as_array();
        interfaces.is_some_and(|all| all.iter().any(|one| one.get("protocolVersion").is_some()))
    }) {
        return read_result(&document);
    }
    let (mut card, mut older) = card::read(&document, SeveralFlows::Split)?;
    if older.url.as_deref().unwrap_or_default().is_empty() {
        return Err(Error::invalid_response("the response is not an agent card: url is missing"));
    }
    // Cards without a version are recognized by additions of 0.3.
    let has_additions = document.get("signatures").is_some_and(|member| !member.is_null())
        || card.skills.iter().any(|skill| !skill.security_requirements.is_empty());
    let revision = revision(older.protocol_version.as_deref(), has_additions);
    card.supported_interfaces = interfaces(older.older_interfaces(), &revision);
    Ok(card)
}

/// The revision of all interfaces, as `Major.Minor`. Cards have a version since 0.2.5.
fn revision(version: Option<&str>, has_additions: bool) -> String {
    let mut numbers = version.unwrap_or_default().trim().split('.');
    match (numbers.next(), numbers.next()) {
        (Some(major), Some(minor)) => format!("{major}.{minor}"),
        _ if has_additions => ProtocolVersion::V0_3.to_string(),
        _ => ProtocolVersion::V0_2.to_string(),
    }
}

/// Writes a card of 0.3, which clients of 0.2 can also read.
///
/// It has the interfaces of revisions before 1.0. Without any, `url` is empty and the card is
/// useless to older clients.
pub fn write_card(card: &AgentCard) -> Value {
    let mut interfaces: Vec<Value> = Vec::new();
    let mut newest = None;
    for interface in &card.supported_interfaces {
        let version = interface.protocol_version.parse::<ProtocolVersion>().ok();
        let is_older = version.is_some_and(|version| version < ProtocolVersion::V1Draft);
        let written = json!({"url": interface.url, "transport": interface.protocol_binding});
        if is_older && !interfaces.contains(&written) {
            interfaces.push(written);
            newest = newest.max(version);
        }
    }
    let version = match newest {
        Some(ProtocolVersion::V0_1) => "0.1.0",
        Some(ProtocolVersion::V0_2) => "0.2.6",
        _ => "0.3.0",
    };
    let mut written = write_common(card, write_flat);
    let schemes = card.security_schemes.iter();
    let schemes = schemes.filter_map(|(name, scheme)| Some((name.clone(), write_openapi(scheme)?)));
    add_schemes(&mut written, schemes.collect());
    written.insert("protocolVersion".into(), version.into());
    written.insert("url".into(), "".into());
    if let Some(main) = interfaces.first() {
        written.insert("url".into(), main["url"].clone());
        written.insert("preferredTransport".into(), main["transport"].clone());
    }
    // The specification recommends repeating the main interface among the additional ones.
    if interfaces.len() > 1 {
        written.insert("additionalInterfaces".into(), interfaces.into());
    }
    written.into()
}
