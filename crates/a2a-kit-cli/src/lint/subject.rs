//! The card that is linted.

use a2a_core::{AgentCard, ProtocolVersion};
use a2a_kit_client::{CardReference, Document, credentials::Origin};
use serde_json::Value;

use super::{
    address::{self, Reach},
    pointer,
};

/// A card with the place that it comes from.
#[derive(Debug)]
pub(crate) struct Subject<'a> {
    document: &'a Document,
    json: Value,
    place: Place,
}

/// The place that a card comes from.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    /// A file, which says nothing about where the agent runs.
    File,
    /// A server.
    Server { origin: Origin, reach: Reach },
}

impl Place {
    /// The place of a reference; `None` if it is invalid.
    pub(crate) fn of(reference: &str) -> Option<Self> {
        match reference.parse().ok()? {
            CardReference::Url(url) => Some(Self::Server {
                origin: Origin::of(&url)?,
                reach: url.host().map_or(Reach::Public, address::reach),
            }),
            _ => Some(Self::File),
        }
    }
}

impl<'a> Subject<'a> {
    pub(crate) fn new(document: &'a Document, place: Place) -> Self {
        let json = serde_json::from_slice(&document.json).unwrap_or_default();
        Self { document, json, place }
    }

    pub(crate) fn document(&self) -> &Document {
        self.document
    }

    /// The card, with the members of older revisions converted.
    pub(crate) fn card(&self) -> &AgentCard {
        &self.document.card
    }

    /// The card as received.
    pub(crate) fn json(&self) -> &Value {
        &self.json
    }

    /// Whether the document has the members of the current revision.
    pub(super) fn is_current(&self) -> bool {
        self.document.version == ProtocolVersion::LATEST
    }

    pub(super) fn origin(&self) -> Option<&Origin> {
        match &self.place {
            Place::File => None,
            Place::Server { origin, .. } => Some(origin),
        }
    }

    /// From where the server of the card can be reached, if it comes from one.
    pub(super) fn reach(&self) -> Option<Reach> {
        match self.place {
            Place::File => None,
            Place::Server { reach, .. } => Some(reach),
        }
    }

    /// The pointer of a member of an interface, in cards of any revision.
    pub(super) fn interface_pointer(&self, index: usize, member: &str) -> String {
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
    pub(super) fn scheme_pointer(&self, name: &str, member: &str) -> String {
        let scheme = format!("/securitySchemes/{}", pointer::escape(name));
        let full = format!("{scheme}/{member}");
        // Schemes of older revisions have no nested object.
        if member.is_empty() || self.json.pointer(&full).is_none() { scheme } else { full }
    }
}
