//! The card that is linted.

use std::borrow::Cow;

use a2a_core::{AgentCard, Error, ProtocolVersion, Validate as _, Violation, json};
use serde_json::Value;

use crate::{
    address::{Address, AddressScope},
    pointer,
};

/// A card with what is known about where it comes from.
#[derive(Clone, Debug)]
pub struct Subject<'a> {
    /// The card, with the members of older revisions converted.
    pub(crate) card: Cow<'a, AgentCard>,
    text: &'a [u8],
    /// The card as received.
    pub(crate) json: Value,
    pub(crate) version: ProtocolVersion,
    pub(crate) violations: Vec<Violation>,
    pub(crate) is_at_legacy_path: bool,
    /// The address of the card, if it comes from a server.
    pub(crate) source: Option<Address>,
}

impl<'a> Subject<'a> {
    /// Reads a card of the current protocol version; unknown members are ignored.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::ParseError`](a2a_core::ErrorKind::ParseError) and
    /// [`ErrorKind::InvalidParams`](a2a_core::ErrorKind::InvalidParams) if it is not a card.
    pub fn read(json: &'a [u8]) -> Result<Self, Error> {
        let card: AgentCard = json::from_slice(json)?;
        let violations = card.violations();
        Ok(Self { violations, ..Self::of(Cow::Owned(card), json) })
    }

    /// Creates a subject of a card of any protocol version, with the JSON that it was read from and
    /// its violations of that version.
    pub fn new(
        card: &'a AgentCard,
        json: &'a [u8],
        version: ProtocolVersion,
        violations: Vec<Violation>,
    ) -> Self {
        Self { version, violations, ..Self::of(Cow::Borrowed(card), json) }
    }

    fn of(card: Cow<'a, AgentCard>, text: &'a [u8]) -> Self {
        Self {
            card,
            text,
            json: serde_json::from_slice(text).unwrap_or_default(),
            version: ProtocolVersion::LATEST,
            violations: Vec::new(),
            is_at_legacy_path: false,
            source: None,
        }
    }

    /// Sets the URL of the card. Without one, as for a file, nothing is said about where the agent
    /// runs.
    #[must_use]
    pub fn with_url(mut self, url: &str) -> Self {
        self.source = Address::parse(url, false).ok();
        self
    }

    /// Sets whether the card is only at the well-known path of versions before 0.3.
    #[must_use]
    pub fn with_legacy_path(mut self, is_at_legacy_path: bool) -> Self {
        self.is_at_legacy_path = is_at_legacy_path;
        self
    }

    /// The text of the card as received.
    pub(crate) fn text(&self) -> Option<&str> {
        std::str::from_utf8(self.text).ok()
    }

    /// Whether the document has the members of the current revision.
    pub(crate) fn is_current(&self) -> bool {
        self.version == ProtocolVersion::LATEST
    }

    /// The scope of the address of the card, if it comes from a server.
    pub(crate) fn scope(&self) -> Option<AddressScope> {
        self.source.as_ref().map(Address::scope)
    }

    /// The pointer of a member of an interface, in cards of any revision.
    pub fn interface_pointer(&self, index: usize, member: &str) -> String {
        let list = format!("/supportedInterfaces/{index}");
        if self.json.pointer(&list).is_some() {
            return if member.is_empty() { list } else { format!("{list}/{member}") };
        }
        match (index, self.json.get("url"), self.json.get("additionalInterfaces")) {
            (0, Some(_), _) => "/url".to_owned(),
            (_, _, Some(_)) => "/additionalInterfaces".to_owned(),
            _ => String::new(),
        }
    }

    /// The pointer of a member of a security scheme.
    pub(crate) fn scheme_pointer(&self, name: &str, member: &str) -> String {
        let scheme = format!("/securitySchemes/{}", pointer::escape(name));
        let full = format!("{scheme}/{member}");
        // Schemes of older revisions have no nested object.
        if member.is_empty() || self.json.pointer(&full).is_none() { scheme } else { full }
    }
}
