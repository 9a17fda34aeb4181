//! The cards, each for one possible difference between signers.

use a2a_core::AgentCard;
use serde_json::{Value, json};

/// One card.
pub(crate) struct Case {
    /// The row of the matrix.
    pub(crate) name: &'static str,
    /// The signed card.
    pub(crate) card: Value,
    /// Whether it is signed without empty members.
    pub(crate) is_without_empty: bool,
    /// Unsigned additions to the document.
    beside: Option<fn(&mut Value)>,
}

impl Case {
    fn new(name: &'static str, change: impl FnOnce(&mut Value)) -> Self {
        let mut card = full();
        change(&mut card);
        Self { name, card, is_without_empty: false, beside: None }
    }

    /// The served card, without a signature.
    pub(crate) fn document(&self) -> Value {
        let mut card = self.card.clone();
        self.finish(&mut card);
        card
    }

    /// Adds the unsigned additions.
    pub(crate) fn finish(&self, card: &mut Value) {
        if let Some(beside) = self.beside {
            beside(card);
        }
    }
}

/// A card with a non-default value in every member.
fn full() -> Value {
    json!({
        "name": "Interop", "description": "Is signed", "version": "1.2.3",
        "provider": {"organization": "Example", "url": "https://example.com"},
        "documentationUrl": "https://example.com/docs",
        "iconUrl": "https://example.com/icon.png",
        "supportedInterfaces": [
            {"url": "https://a.example/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0",
                "tenant": "acme"},
            {"url": "https://a.example/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "0.3"},
        ],
        "capabilities": {"streaming": true, "pushNotifications": true, "extendedAgentCard": true,
            "extensions": [{"uri": "urn:example:one", "description": "One", "required": true,
                "params": {"b": "2", "a": {"nested": [true, "x"]}}}]},
        "securitySchemes": {
            "key": {"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}},
            "oauth": {"oauth2SecurityScheme": {"flows": {"clientCredentials": {
                "tokenUrl": "https://a.example/token", "scopes": {"read": "Reads"}}}}},
        },
        "securityRequirements": [{"schemes": {"oauth": {"list": ["read"]}}}],
        "defaultInputModes": ["text/plain", "application/json"],
        "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "s", "name": "Skill", "description": "Does it", "tags": ["t", "a"],
            "examples": ["do it"], "inputModes": ["text/plain"], "outputModes": ["image/png"],
            "securityRequirements": [{"schemes": {"oauth": {"list": ["read"]}}}]}],
    })
}

fn remove(card: &mut Value, names: &[&str]) {
    if let Some(members) = card.as_object_mut() {
        members.retain(|name, _| !names.contains(&name.as_str()));
    }
}

/// All cards, in the order of the rows.
pub(crate) fn cases() -> Vec<Case> {
    let mut cases = vec![
        Case::new("card-full", |_| {}),
        Case::new("card-unset", |card| {
            remove(
                card,
                &[
                    "provider",
                    "documentationUrl",
                    "iconUrl",
                    "securitySchemes",
                    "securityRequirements",
                ],
            );
            card["capabilities"] = json!({"streaming": true});
        }),
        Case::new("card-false", |card| {
            card["capabilities"] =
                json!({"streaming": false, "pushNotifications": false, "extendedAgentCard": false});
        }),
        Case::new("card-text", |card| {
            card["name"] = json!("Zürich 🦀 \u{7f}\u{80}\u{2028}");
            card["description"] = json!("\"quoted\" \\ / \t\r\n\u{1}\u{1f} é e\u{301} \u{fb33} 语");
            // In UTF-16, the crab is before U+FB33.
            card["capabilities"]["extensions"][0]["params"] =
                json!({"🦀": "1", "\u{fb33}": "2", "é": "3", "a": "4", "A": "5", "": "6"});
        }),
        Case::new("card-numbers", |card| {
            card["capabilities"]["extensions"][0]["params"] = json!({"n": [
                0, 1, -1, 1.5, 56.0, 1e21, 1e20, 0.002, 1e-7, 333_333_333.333_333_3,
                9_007_199_254_740_991_u64, 5e-324, 1.797_693_134_862_315_7e308,
            ]});
        }),
        Case::new("card-header", |_| {}),
        Case::new("card-rotation", |_| {}),
    ];
    let mut hybrid = Case::new("card-hybrid", |_| {});
    hybrid.beside = Some(put_older_beside);
    cases.push(hybrid);
    let mut unknown = Case::new("card-unknown", |_| {});
    unknown.beside = Some(|card| {
        card["futureMember"] = json!({"x": 1});
        card["skills"][0]["future"] = json!("y");
    });
    cases.push(unknown);
    for (name, without_empty, change) in EMPTY {
        cases.push(Case::new(name, change));
        cases.push(Case { is_without_empty: true, ..Case::new(without_empty, change) });
    }
    cases
}

type Change = fn(&mut Value);

/// Empty members that the specification includes, signed with and without them.
const EMPTY: [(&str, &str, Change); 3] = [
    ("card-empty-required", "card-empty-required-left-out", |card| {
        card["description"] = json!("");
        card["skills"][0]["tags"] = json!([]);
        card["defaultOutputModes"] = json!([]);
    }),
    ("card-empty-optional", "card-empty-optional-left-out", |card| {
        card["documentationUrl"] = json!("");
        card["iconUrl"] = json!("");
    }),
    ("card-empty-objects", "card-empty-objects-left-out", |card| {
        card["securityRequirements"] = json!([{"schemes": {"key": {}}}]);
        card["securitySchemes"]["mutual"] = json!({"mtlsSecurityScheme": {}});
        card["capabilities"]["extensions"][0]["params"] = json!({"empty": "", "list": []});
    }),
];

/// Adds the members of 0.3, as our servers do.
fn put_older_beside(card: &mut Value) {
    let Ok(read) = serde_json::from_value::<AgentCard>(card.clone()) else { return };
    let mut hybrid = a2a_kit_compat::card::write(&read);
    if let Some(signatures) = card.get("signatures") {
        hybrid["signatures"] = signatures.clone();
    }
    *card = hybrid;
}
