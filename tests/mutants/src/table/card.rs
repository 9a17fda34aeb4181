//! Faults of the card, and of the negotiation of versions.

use http::{HeaderValue, header::Entry, request};
use serde_json::Value;

use crate::{Fault, Interface, Mutant};

const ALL_1_0: &[Interface] = &[Interface::JSONRPC, Interface::REST, Interface::GRPC];
const VERSION: &str = "a2a-version";

pub(super) const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "card-without-version",
        requirement: "R-338",
        also: &[],
        fault: Fault::Card(without_version),
    },
    Mutant {
        name: "unknown-version-is-accepted",
        requirement: "R-142",
        also: &["R-155"],
        fault: Fault::Request(ALL_1_0, any_version_is_1_0),
    },
];

fn without_version(card: &mut Value) {
    if let Some(card) = card.as_object_mut() {
        card.remove("version");
    }
}

fn any_version_is_1_0(head: &mut request::Parts) {
    if let Entry::Occupied(mut version) = head.headers.entry(VERSION)
        && version.get() != "0.3"
    {
        version.insert(HeaderValue::from_static("1.0"));
    }
}
