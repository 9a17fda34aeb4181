//! Agent cards that clients of every revision can read, and reading cards of any revision.

use a2a_core::{AgentCard, Error, ErrorKind, ProtocolVersion, Result, json};
use serde_json::{Map, Value, json};

use crate::{v0_1, v0_3, v1_draft};

/// Members of a 0.3 card that 1.0 does not have, and that clients of 1.0 ignore.
const OLDER_MEMBERS: [&str; 6] = [
    "url",
    "preferredTransport",
    "additionalInterfaces",
    "protocolVersion",
    "security",
    "supportsAuthenticatedExtendedCard",
];

/// The protocol version of interfaces of the draft, which has the version number of 1.0 and does
/// not write it into interfaces.
pub const DRAFT: &str = "draft";

/// Writes a card: in the format of the draft or of 0.1 if all its interfaces are of that revision,
/// otherwise as a hybrid for clients of every revision.
pub fn write(card: &AgentCard) -> Value {
    let interfaces = &card.supported_interfaces;
    let are_all = |version| interfaces.iter().all(|one| one.protocol_version == version);
    if interfaces.is_empty() {
        return write_hybrid(card);
    }
    if are_all(DRAFT) {
        return v1_draft::write_card(card);
    }
    if are_all(ProtocolVersion::V0_1.as_str())
        && let Some(Value::Object(mut oldest)) = v0_1::write_card(card)
    {
        // Clients distinguish 0.1 from 0.2 by this member.
        oldest.entry("authentication").or_insert_with(|| json!({"schemes": []}));
        return Value::Object(oldest);
    }
    write_hybrid(card)
}

/// Writes a card for clients of 1.0 and older revisions, in one document.
///
/// Interfaces of older revisions are also written as the root members that older clients read. A
/// card without any is written for clients of 1.0 only.
pub fn write_hybrid(card: &AgentCard) -> Value {
    let mut hybrid = serde_json::to_value(card).unwrap_or_default();
    let older = v0_3::write_card(card);
    let has_older = older.get("url").and_then(Value::as_str).is_some_and(|url| !url.is_empty());
    let Some(members) = hybrid.as_object_mut().filter(|_| has_older) else { return hybrid };
    for name in OLDER_MEMBERS {
        if let Some(value) = older.get(name) {
            members.insert(name.to_owned(), value.clone());
        }
    }
    if let (Some(Value::Object(schemes)), Some(Value::Object(older))) =
        (members.get_mut("securitySchemes"), older.get("securitySchemes"))
    {
        merge_schemes(schemes, older);
    }
    if let (Some(Value::Array(skills)), Some(Value::Array(older))) =
        (members.get_mut("skills"), older.get("skills"))
    {
        merge_skills(skills, older);
    }
    hybrid
}

/// Adds the security of skills in the format of 0.3.
fn merge_skills(skills: &mut [Value], older: &[Value]) {
    for (skill, older) in skills.iter_mut().zip(older) {
        if let (Value::Object(skill), Some(security)) = (skill, older.get("security")) {
            skill.insert("security".to_owned(), security.clone());
        }
    }
}

/// Adds the flat members of older security schemes to the nested ones of 1.0.
fn merge_schemes(schemes: &mut Map<String, Value>, older: &Map<String, Value>) {
    for (name, older) in older {
        match (schemes.get_mut(name), older) {
            (Some(Value::Object(scheme)), Value::Object(older)) => {
                for (member, value) in older {
                    scheme.entry(member).or_insert_with(|| value.clone());
                }
            }
            (Some(_), _) => {}
            (None, _) => drop(schemes.insert(name.clone(), older.clone())),
        }
    }
}

/// Reads a card of any revision.
///
/// # Errors
///
/// [`ErrorKind::ParseError`] and [`ErrorKind::InvalidParams`] if the document is not a card;
/// [`ErrorKind::InvalidAgentResponse`] if it is an invalid card of an older revision.
pub fn read(document: &[u8]) -> Result<AgentCard> {
    read_with_revision(document).map(|(card, _)| card)
}

/// Reads a card of any revision, and returns the revision of its format. A hybrid card has the
/// format of 1.0.
///
/// # Errors
///
/// As for [`read`].
pub fn read_with_revision(document: &[u8]) -> Result<(AgentCard, ProtocolVersion)> {
    let document = json::response_text(document);
    let value: Value = json::from_slice(document.as_bytes()).map_err(|error| {
        let message = format!("{}: {}", error.message(), json::quote(&document));
        error.with_message(message)
    })?;
    let document = document.as_bytes();
    if !value.is_object() {
        return Err(Error::new(ErrorKind::ParseError, "the card is not a JSON object"));
    }
    let current = || json::from_slice(document).map(|card| (card, ProtocolVersion::V1_0));
    let interfaces = value.get("supportedInterfaces").and_then(Value::as_array);
    let has_versions = |interfaces: &Vec<Value>| {
        interfaces.iter().any(|interface| {
            interface.get("protocolVersion").or_else(|| interface.get("protocol_version")).is_some()
        })
    };
    match interfaces {
        Some(interfaces) if has_versions(interfaces) => current(),
        Some(_) if value.get("protocolVersion").is_some() => {
            Ok((v1_draft::read_card(&value)?, ProtocolVersion::V1Draft))
        }
        Some(_) => current(),
        None if value.pointer("/authentication/schemes").is_some()
            && value.get("protocolVersion").is_none()
            && value.get("preferredTransport").is_none() =>
        {
            Ok((v0_1::read_card(&value)?, ProtocolVersion::V0_1))
        }
        None if value.get("url").is_some() => {
            let card = v0_3::read_card(value)?;
            let mut versions = card.supported_interfaces.iter();
            let version = versions.find_map(|one| one.protocol_version.parse().ok());
            Ok((card, version.unwrap_or(ProtocolVersion::V0_3)))
        }
        None => current(),
    }
}

#[cfg(test)]
mod tests {
    use a2a_core::v1::{AgentInterface, AgentSkill, SecurityRequirement, StringList};

    use super::*;

    fn requirement(scheme: &str, scope: &str) -> SecurityRequirement {
        let list = StringList { list: vec![scope.to_owned()] };
        SecurityRequirement { schemes: [(scheme.to_owned(), list)].into() }
    }

    #[test]
    fn skill_security_is_written_in_both_formats() {
        let mut card = AgentCard::new("A", "b").with_interface("JSONRPC", "https://a.example");
        card.supported_interfaces.push(AgentInterface {
            protocol_version: "0.3".into(),
            ..card.supported_interfaces[0].clone()
        });
        let secured = AgentSkill {
            id: "s".into(),
            security_requirements: vec![requirement("oauth", "read")],
            ..AgentSkill::default()
        };
        card.skills = vec![AgentSkill { id: "open".into(), ..AgentSkill::default() }, secured];
        let hybrid = write_hybrid(&card);
        assert_eq!(hybrid["skills"][0].get("security"), None);
        let [older, current] =
            ["security", "securityRequirements"].map(|m| &hybrid["skills"][1][m]);
        assert_eq!(*older, json!([{"oauth": ["read"]}]));
        assert_eq!(*current, json!([{"schemes": {"oauth": {"list": ["read"]}}}]));
        let read = read(hybrid.to_string().as_bytes()).unwrap();
        assert_eq!(read.skills, card.skills);
    }

    #[test]
    fn card_of_only_the_draft_or_0_1_has_the_format_of_that_revision() {
        for (version, format) in [
            (DRAFT, ProtocolVersion::V1Draft),
            ("0.1", ProtocolVersion::V0_1),
            ("0.2", ProtocolVersion::V1_0),
            ("1.0", ProtocolVersion::V1_0),
        ] {
            let mut card = AgentCard::new("A", "b").with_interface("JSONRPC", "https://a.example");
            version.clone_into(&mut card.supported_interfaces[0].protocol_version);
            let (read, found) = read_with_revision(write(&card).to_string().as_bytes()).unwrap();
            assert_eq!(found, format, "{version}");
            assert_eq!(read.supported_interfaces[0].url, "https://a.example", "{version}");
        }
    }
}
