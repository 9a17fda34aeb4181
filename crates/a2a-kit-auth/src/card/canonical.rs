//! The canonical forms of a card that signatures cover.

use std::fmt;

use a2a_core::ParseError;
use serde_json::{Map, Value};

use super::schema::{self, Unknown, not_a_card};

/// A canonical form of a card that a signature covers. All forms are serialized according to
/// RFC 8785, without `signatures`.
///
/// A card may have members that a verifier does not know: those of older or later revisions. The
/// specification does not define whether a signature covers them. Hence there is more than one
/// form, and a signature only authenticates the members in its form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CanonicalForm {
    /// The members of 1.0 by the presence rules of spec §8.4.1, and no others. The default of
    /// [`JwsCardSigner`](super::JwsCardSigner), so that signatures stay valid when members of 0.3
    /// are added.
    Members,
    /// The members of 1.0 by the presence rules, and all others as received: for signers of later
    /// revisions, or that preserve unknown members.
    AllMembers,
    /// All members as received: for cards of 0.3, and for signers that don't know the proto.
    Received,
    /// Like [`Members`](Self::Members), but without empty strings, arrays and objects, even
    /// REQUIRED ones and those in `params`. Not the form of the specification, but the one that the
    /// official Python and JavaScript SDKs sign and verify. For cards without empty members, both
    /// are the same.
    ///
    /// It does not cover the presence of empty members, for example a security requirement of a
    /// scheme without scopes.
    WithoutEmpty,
}

impl CanonicalForm {
    /// The forms that are compatible with the specification, in the order of verification.
    pub(super) const SPECIFIED: [Self; 3] = [Self::Members, Self::AllMembers, Self::Received];

    /// Converts a card, given as JSON, to this form.
    ///
    /// # Errors
    ///
    /// [`ParseError`] for input that is not a JSON object, or has duplicate names or members of the
    /// wrong type.
    pub fn canonicalize(self, json: &[u8]) -> Result<Vec<u8>, ParseError> {
        self.write(&schema::read(json)?)
    }

    pub(super) fn write(self, card: &Map<String, Value>) -> Result<Vec<u8>, ParseError> {
        let written = serde_json_canonicalizer::to_vec(&self.members(card)?);
        written.map_err(not_a_card)
    }

    fn members(self, card: &Map<String, Value>) -> Result<Map<String, Value>, ParseError> {
        let mut members = match self {
            Self::Received => card.clone(),
            Self::AllMembers => schema::present(card, Unknown::Keep)?,
            Self::Members | Self::WithoutEmpty => schema::present(card, Unknown::Drop)?,
        };
        members.remove("signatures");
        if self == Self::WithoutEmpty {
            members = match without_empty(Value::Object(members)) {
                Some(Value::Object(members)) => members,
                _ => Map::new(),
            };
        }
        Ok(members)
    }

    /// Returns the part of a card that a signature over this form covers, as JSON, to use in place
    /// of the card.
    pub(super) fn covered(self, card: &Map<String, Value>) -> Result<Vec<u8>, ParseError> {
        match self {
            // Without empty REQUIRED members it would not be a valid card.
            Self::WithoutEmpty => Self::Members.write(card),
            _ => self.write(card),
        }
    }
}

fn without_empty(value: Value) -> Option<Value> {
    match value {
        Value::Null => None,
        Value::String(text) if text.is_empty() => None,
        Value::Array(elements) => {
            let elements: Vec<_> = elements.into_iter().filter_map(without_empty).collect();
            (!elements.is_empty()).then_some(Value::Array(elements))
        }
        Value::Object(members) => {
            let members: Map<_, _> = members
                .into_iter()
                .filter_map(|(name, value)| Some((name, without_empty(value)?)))
                .collect();
            (!members.is_empty()).then_some(Value::Object(members))
        }
        value => Some(value),
    }
}

impl fmt::Display for CanonicalForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Members => "members of 1.0",
            Self::AllMembers => "all members",
            Self::Received => "as received",
            Self::WithoutEmpty => "members that are not empty",
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn canonical(form: CanonicalForm, card: &Value) -> String {
        String::from_utf8(form.canonicalize(card.to_string().as_bytes()).unwrap()).unwrap()
    }

    // covers: R-363, R-364, R-365, R-366, R-367, R-368
    #[test]
    fn specification_example_keeps_set_and_required_members() {
        let card = json!({
            "name": "A",
            "description": "",
            "capabilities": {"streaming": false, "pushNotifications": null, "extensions": []},
            "skills": [],
            "signatures": [{"protected": "x", "signature": "y"}],
        });
        let expected =
            r#"{"capabilities":{"streaming":false},"description":"","name":"A","skills":[]}"#;
        assert_eq!(canonical(CanonicalForm::Members, &card), expected);
        assert_eq!(canonical(CanonicalForm::AllMembers, &card), expected);
        assert_eq!(
            canonical(CanonicalForm::WithoutEmpty, &card),
            r#"{"capabilities":{"streaming":false},"name":"A"}"#
        );
    }

    // covers: R-364, R-365, R-366, R-367
    #[test]
    fn presence_rules_apply_at_every_depth() {
        let card = json!({
            "name": "",
            "iconUrl": "",
            "securityRequirements": [],
            "securitySchemes": {
                "mutual": {"mtlsSecurityScheme": {"description": ""}},
                "key": {"apiKeySecurityScheme": {"description": "", "location": "header", "name": ""}},
                "flow": {"oauth2SecurityScheme": {"flows": {"deviceCode": {
                    "deviceAuthorizationUrl": "u", "tokenUrl": "", "refreshUrl": "", "scopes": {},
                }}}},
            },
            "supportedInterfaces": [{"url": "", "tenant": "", "protocolBinding": "JSONRPC"}],
            "provider": {"url": "", "organization": ""},
            "capabilities": {"extensions": [
                {"uri": "", "required": false, "params": {"kept": "", "also": {}, "null": null}},
                {"uri": "u", "required": true, "params": {}},
            ]},
            "skills": [{"id": "s", "examples": [], "tags": [], "inputModes": [],
                "securityRequirements": [{"schemes": {"key": {"list": []}}}, {"schemes": {}}]}],
        });
        let expected = json!({
            "name": "",
            "iconUrl": "",
            "securitySchemes": {
                "mutual": {"mtlsSecurityScheme": {}},
                "key": {"apiKeySecurityScheme": {"location": "header", "name": ""}},
                "flow": {"oauth2SecurityScheme": {"flows": {"deviceCode": {
                    "deviceAuthorizationUrl": "u", "tokenUrl": "", "scopes": {},
                }}}},
            },
            "supportedInterfaces": [{"url": "", "protocolBinding": "JSONRPC"}],
            "provider": {"url": "", "organization": ""},
            "capabilities": {"extensions": [
                {"params": {"kept": "", "also": {}, "null": null}},
                {"uri": "u", "required": true, "params": {}},
            ]},
            "skills": [{"id": "s", "tags": [],
                "securityRequirements": [{"schemes": {"key": {}}}, {}]}],
        });
        let written: Value =
            serde_json::from_str(&canonical(CanonicalForm::Members, &card)).unwrap();
        assert_eq!(written, expected);
    }

    // covers: R-362
    #[test]
    fn names_numbers_and_strings_follow_rfc_8785() {
        // The order is that of UTF-16 code units (RFC 8785 §3.2.3), and numbers are those of
        // ECMAScript (appendix B).
        let params = json!({
            "\u{20ac}": 1, "\r": 2, "\u{fb33}": 3, "1": 4, "\u{1f600}": 5, "\u{80}": 6, "\u{f6}": 7,
            "numbers": [333_333_333.333_333_3, 1e30, 4.50, 2e-3, 1e-27, 0.0, -0.0, 1e21, 56.0,
                9_007_199_254_740_993_u64],
            "text": "\u{20ac}$\u{f}\nA'B\"\\\\\"/é",
        });
        let card = json!({"capabilities": {"extensions": [{"params": params}]}});
        let expected = concat!(
            r#"{"capabilities":{"extensions":[{"params":{"\r":2,"1":4,"#,
            r#""numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27,0,0,1e+21,56,9007199254740992],"#,
            r#""text":"€$\u000f\nA'B\"\\\\\"/é","#,
            "\"\u{80}\":6,\"\u{f6}\":7,\"\u{20ac}\":1,\"\u{1f600}\":5,\"\u{fb33}\":3}}]}}",
        );
        assert_eq!(canonical(CanonicalForm::Members, &card), expected);
    }

    #[test]
    fn unknown_members_are_kept_by_all_members_and_received() {
        let card = json!({
            "name": "A",
            "url": "https://a.example",
            "protocolVersion": "0.3.0",
            "documentation_url": "",
            "securitySchemes": {"key": {"apiKeySecurityScheme": {"name": "k"}, "type": "apiKey"}},
            "skills": [{"id": "s", "security": [{"key": []}], "tags": []}],
        });
        assert_eq!(
            canonical(CanonicalForm::Members, &card),
            concat!(
                r#"{"documentationUrl":"","name":"A","securitySchemes":{"key":"#,
                r#"{"apiKeySecurityScheme":{"name":"k"}}},"skills":[{"id":"s","tags":[]}]}"#
            )
        );
        let all: Value =
            serde_json::from_str(&canonical(CanonicalForm::AllMembers, &card)).unwrap();
        assert_eq!(all["url"], card["url"]);
        assert_eq!(all["skills"], card["skills"]);
        assert_eq!(all["documentationUrl"], "");
        let received: Value =
            serde_json::from_str(&canonical(CanonicalForm::Received, &card)).unwrap();
        assert_eq!(received, card);
    }

    #[test]
    fn members_of_the_wrong_type_are_rejected() {
        for card in [
            json!({"name": 1}),
            json!({"skills": {}}),
            json!({"skills": [1]}),
            json!({"securitySchemes": []}),
            json!({"provider": "x"}),
            json!({"capabilities": {"streaming": "yes"}}),
            json!({"iconUrl": "a", "icon_url": "b"}),
        ] {
            assert!(
                CanonicalForm::Members.canonicalize(card.to_string().as_bytes()).is_err(),
                "{card}"
            );
        }
    }
}
