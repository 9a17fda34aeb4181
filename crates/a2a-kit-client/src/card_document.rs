//! An agent card document.

use std::{borrow::Cow, sync::Arc};

use a2a_core::{
    AgentCard, ProtocolVersion, Validate as _, Violation, json::response_text, v1::AgentInterface,
};
use a2a_kit_operations::CardSignature;
use bytes::Bytes;
use serde::Deserialize;

use crate::{
    DiscoveryError,
    older::{DRAFT, read_card},
};

/// An agent card with its source document.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Document {
    /// The parsed card.
    pub card: Arc<AgentCard>,
    /// The JSON as received, for signature verification and validation.
    pub json: Bytes,
    /// The protocol version of the document's schema.
    pub version: ProtocolVersion,
    /// Whether the card was found only at the well-known path of versions before 0.3.
    pub is_at_legacy_path: bool,
    /// The result of signature verification; `None` if signatures were not verified.
    pub signature: Option<CardSignature>,
}

impl Document {
    /// Parses a card of any protocol version. Unknown members are ignored.
    ///
    /// # Errors
    ///
    /// [`DiscoveryError::NotACard`] for malformed JSON or members of the wrong type.
    pub fn read(json: Bytes) -> Result<Self, DiscoveryError> {
        // Without a byte order mark, which other readers of the document do not expect.
        let json = match response_text(&json) {
            Cow::Borrowed(text) => json.slice_ref(text.as_bytes()),
            Cow::Owned(text) => Bytes::from(text),
        };
        let (mut card, version) = read_card(&json).map_err(DiscoveryError::NotACard)?;
        complete_versions(&mut card, version, &json);
        Ok(Self { card: Arc::new(card), json, version, is_at_legacy_path: false, signature: None })
    }

    /// Records the result of signature verification. If a signature is valid, the card is parsed
    /// again from the signed content, as unsigned members may have been added.
    ///
    /// # Errors
    ///
    /// [`DiscoveryError::NotACard`] if the signed content is not a card.
    pub(crate) fn with_signature(self, signature: CardSignature) -> Result<Self, DiscoveryError> {
        let mut document = match &signature {
            CardSignature::Verified { covered, .. } => {
                let signed = Self::read(covered.clone())?;
                let mut card = Arc::unwrap_or_clone(signed.card);
                card.signatures.clone_from(&self.card.signatures);
                Self { card: Arc::new(card), version: signed.version, ..self }
            }
            _ => self,
        };
        document.signature = Some(signature);
        Ok(document)
    }

    /// Returns every violation of the protocol. A card of an older protocol version is validated
    /// against that version.
    pub fn violations(&self) -> Vec<Violation> {
        let mut violations = self.card.violations();
        if self.card.supported_interfaces.is_empty()
            && !violations.iter().any(|violation| violation.field == "supportedInterfaces")
        {
            violations
                .push(Violation::new("supportedInterfaces", "must have at least one interface"));
        }
        if self.version == ProtocolVersion::V0_1 {
            violations.retain(|violation| !is_optional_in_v0_1(&violation.field));
        }
        violations
    }

    /// Returns the card if it is valid.
    ///
    /// # Errors
    ///
    /// [`DiscoveryError::Invalid`] with every violation.
    pub fn valid(self) -> Result<Arc<AgentCard>, DiscoveryError> {
        let violations = self.violations();
        if violations.is_empty() { Ok(self.card) } else { Err(DiscoveryError::Invalid(violations)) }
    }

    #[cfg(test)]
    pub(crate) fn for_tests(name: &str) -> Self {
        let card = AgentCard::new(name, "for tests");
        Self {
            card: Arc::new(card),
            json: Bytes::new(),
            version: ProtocolVersion::LATEST,
            is_at_legacy_path: false,
            signature: None,
        }
    }
}

/// Returns whether a member is optional in 0.1 but required by later versions.
fn is_optional_in_v0_1(field: &str) -> bool {
    let in_skill = field.strip_prefix("skills[").and_then(|rest| rest.split_once("]."));
    match in_skill {
        Some((_, member)) => matches!(member, "description" | "tags"),
        None => matches!(field, "description" | "defaultInputModes" | "defaultOutputModes"),
    }
}

/// Root members of cards before 1.0.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct LegacyMembers {
    url: serde_json::Value,
    preferred_transport: serde_json::Value,
    protocol_version: serde_json::Value,
}

impl LegacyMembers {
    fn read(json: &[u8]) -> Self {
        serde_json::from_slice(json).unwrap_or_default()
    }

    fn is_some(&self) -> bool {
        [&self.url, &self.preferred_transport, &self.protocol_version]
            .into_iter()
            .any(|member| !member.is_null())
    }
}

/// Sets missing interface versions, which examples of the specification omit: 0.3 for a card with
/// legacy members, else 1.0 (C-45). Interfaces of the draft, whose version number is also 1.0, are
/// marked as draft.
fn complete_versions(card: &mut AgentCard, version: ProtocolVersion, json: &[u8]) {
    if version == ProtocolVersion::V1Draft {
        for interface in &mut card.supported_interfaces {
            if interface.protocol_version == ProtocolVersion::V1Draft.as_str() {
                DRAFT.clone_into(&mut interface.protocol_version);
            }
        }
    }
    let lacks_version = |interface: &&mut AgentInterface| interface.protocol_version.is_empty();
    let mut incomplete = card.supported_interfaces.iter_mut().filter(lacks_version).peekable();
    if incomplete.peek().is_none() {
        return;
    }
    let version = if LegacyMembers::read(json).is_some() { "0.3" } else { "1.0" };
    for interface in incomplete {
        interface.protocol_version = version.to_owned();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Document {
        Document::read(Bytes::copy_from_slice(json.as_bytes())).unwrap()
    }

    #[test]
    fn unknown_members_are_ignored_and_missing_members_are_violations() {
        let document = read(
            r#"{"name": "a", "futureMember": {"x": 1}, "supportedInterfaces": [
                {"url": "", "protocolBinding": "JSONRPC", "protocolVersion": "1.0", "x": 1}],
                "skills": [{"id": "s"}]}"#,
        );
        let fields: Vec<_> =
            document.violations().into_iter().map(|violation| violation.field).collect();
        for field in ["version", "capabilities", "supportedInterfaces[0].url", "skills[0].name"] {
            assert!(fields.iter().any(|broken| broken == field), "{field} in {fields:?}");
        }
        assert!(matches!(document.valid(), Err(DiscoveryError::Invalid(_))));
    }

    #[test]
    fn missing_interface_version_follows_the_card_version() {
        let version = |json| read(json).card.supported_interfaces[0].protocol_version.clone();
        let plain = r#"{"supportedInterfaces": [{"url": "https://a", "protocolBinding": "GRPC"}]}"#;
        assert_eq!(version(plain), "1.0");
        let older = r#"{"url": "https://a", "supportedInterfaces": [{"url": "https://a"}]}"#;
        assert_eq!(version(older), "0.3");
    }

    #[test]
    fn cards_of_every_protocol_version_are_parsed_with_their_interfaces() {
        use ProtocolVersion::{V0_1, V0_2, V0_3, V1_0, V1Draft};
        let members = r#""name": "a", "description": "b", "version": "1",
            "capabilities": {"streaming": true}, "defaultInputModes": ["text/plain"],
            "defaultOutputModes": ["text/plain"],
            "skills": [{"id": "s", "name": "S", "description": "d", "tags": ["t"]}]"#;
        let url = "https://a.example/rpc";
        for (version, extra, interfaces) in [
            (
                V1_0,
                r#""supportedInterfaces": [{"url": "https://a.example/rpc",
                    "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]"#,
                vec![("JSONRPC", url, "1.0")],
            ),
            (
                V1Draft,
                r#""protocolVersion": "1.0", "supportedInterfaces": [
                    {"url": "https://a.example/rpc", "protocolBinding": "JSONRPC"}]"#,
                vec![("JSONRPC", url, "draft")],
            ),
            (
                V0_3,
                r#""protocolVersion": "0.3.0", "url": "https://a.example/rpc",
                    "preferredTransport": "JSONRPC", "additionalInterfaces": [
                    {"url": "https://a.example/rpc", "transport": "JSONRPC"},
                    {"url": "https://a.example/rest", "transport": "HTTP+JSON"}]"#,
                vec![("JSONRPC", url, "0.3"), ("HTTP+JSON", "https://a.example/rest", "0.3")],
            ),
            (
                V0_2,
                r#""protocolVersion": "0.2.6", "url": "https://a.example/rpc""#,
                vec![("JSONRPC", url, "0.2")],
            ),
            (
                V0_1,
                r#""url": "https://a.example/rpc", "authentication": {"schemes": ["Bearer"]}"#,
                vec![("JSONRPC", url, "0.1")],
            ),
        ] {
            let document = read(&format!("{{{members}, {extra}}}"));
            assert_eq!(document.version, version);
            let found: Vec<_> = document
                .card
                .supported_interfaces
                .iter()
                .map(|one| {
                    let binding = one.protocol_binding.as_str();
                    (binding, one.url.as_str(), one.protocol_version.as_str())
                })
                .collect();
            assert_eq!(found, interfaces, "{version:?}");
            assert!(document.card.can_stream(), "{version:?}");
            let card = document.valid().unwrap();
            let selected = crate::Preference::default().select(&card).unwrap();
            assert_eq!(selected[0].version, version);
        }
    }

    #[test]
    fn v0_1_card_without_later_required_members_is_valid() {
        let document = read(
            r#"{"name": "a", "url": "https://a", "version": "1", "capabilities": {},
                "authentication": {"schemes": []}, "skills": [{"id": "s", "name": "S"}]}"#,
        );
        assert_eq!(document.version, ProtocolVersion::V0_1);
        assert!(document.violations().is_empty(), "{:?}", document.violations());
    }

    #[test]
    fn malformed_document_is_not_reported_as_an_invalid_card() {
        for json in ["<html>", "", "[]", r#"{"name": 7}"#] {
            let error = Document::read(Bytes::from_static(json.as_bytes())).unwrap_err();
            assert!(matches!(error, DiscoveryError::NotACard(_)), "{json}: {error}");
        }
    }
}
