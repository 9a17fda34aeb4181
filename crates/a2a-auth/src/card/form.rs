//! What a signature is over.

use std::fmt;

use serde_json::{Map, Value};

use super::{
    document::{self, NotACard},
    schema::{self, Unfit, Unknown},
};

/// The form of a card that a signature is over. Each is written by RFC 8785 and leaves out
/// `signatures`.
///
/// A card may have members that a reader does not know: those of older revisions beside those of
/// 1.0, or those of a later one. The specification does not say whether a signature covers them.
/// So there is more than one form, and what a signature vouches for is what is in its form, never
/// the rest of the card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Form {
    /// The members of 1.0 by the presence rules of spec §8.4.1, and no others. This is how cards
    /// are signed here, so that a card stays signed when members of 0.3 are put beside.
    Members,
    /// The members of 1.0 by the presence rules, and all others as they were received: how a
    /// later revision would sign, or an SDK that keeps what it does not know.
    AllMembers,
    /// Everything as it was received: how cards of 0.3 are signed, and by signers that don't know
    /// the proto.
    Received,
    /// As [`Members`](Self::Members), and without texts, lists and objects that are empty,
    /// REQUIRED ones and those in `params` too. It is not that of the specification: it is what
    /// the official Python and JavaScript SDKs sign and verify. For cards in which nothing is
    /// empty, both are the same.
    ///
    /// It does not cover whether something empty is there: a scheme without scopes among the
    /// requirements, for example.
    WithoutEmpty,
}

impl Form {
    /// Those that follow from the specification, in the order in which they are tried.
    pub(super) const SPECIFIED: [Self; 3] = [Self::Members, Self::AllMembers, Self::Received];

    /// Writes a card, given as JSON, in this form.
    ///
    /// # Errors
    ///
    /// [`NotACard`] for what is not a JSON object, has a name twice, or members of other types
    /// than those of a card.
    pub fn canonical(self, json: &[u8]) -> Result<Vec<u8>, NotACard> {
        let members = document::read(json)?;
        self.write(&members).map_err(|Unfit(reason)| NotACard(serde::de::Error::custom(reason)))
    }

    pub(super) fn write(self, card: &Map<String, Value>) -> Result<Vec<u8>, Unfit> {
        let written = serde_json_canonicalizer::to_vec(&self.members(card)?);
        written.map_err(|error| Unfit(error.to_string()))
    }

    fn members(self, card: &Map<String, Value>) -> Result<Map<String, Value>, Unfit> {
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

    /// The part of a card that a signature over this form vouches for, as JSON, to be read in
    /// place of the card.
    pub(super) fn covered(self, card: &Map<String, Value>) -> Result<Vec<u8>, Unfit> {
        match self {
            // Without what is REQUIRED and empty it would be no card.
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

impl fmt::Display for Form {
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

    fn canonical(form: Form, card: &Value) -> String {
        String::from_utf8(form.canonical(card.to_string().as_bytes()).unwrap()).unwrap()
    }

    // covers: R-363, R-364, R-365, R-366, R-367, R-368
    #[test]
    fn the_example_of_the_specification_keeps_what_was_set_and_what_is_required() {
        let card = json!({
            "name": "A",
            "description": "",
            "capabilities": {"streaming": false, "pushNotifications": null, "extensions": []},
            "skills": [],
            "signatures": [{"protected": "x", "signature": "y"}],
        });
        let expected =
            r#"{"capabilities":{"streaming":false},"description":"","name":"A","skills":[]}"#;
        assert_eq!(canonical(Form::Members, &card), expected);
        assert_eq!(canonical(Form::AllMembers, &card), expected);
        assert_eq!(
            canonical(Form::WithoutEmpty, &card),
            r#"{"capabilities":{"streaming":false},"name":"A"}"#
        );
    }

    // covers: R-364, R-365, R-366, R-367
    #[test]
    fn presence_is_a_matter_of_each_member_at_every_depth() {
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
        let written: Value = serde_json::from_str(&canonical(Form::Members, &card)).unwrap();
        assert_eq!(written, expected);
    }

    // covers: R-362
    #[test]
    fn names_numbers_and_texts_are_written_as_rfc_8785_says() {
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
        assert_eq!(canonical(Form::Members, &card), expected);
    }

    #[test]
    fn members_of_other_revisions_are_in_the_forms_that_keep_them() {
        let card = json!({
            "name": "A",
            "url": "https://a.example",
            "protocolVersion": "0.3.0",
            "documentation_url": "",
            "securitySchemes": {"key": {"apiKeySecurityScheme": {"name": "k"}, "type": "apiKey"}},
            "skills": [{"id": "s", "security": [{"key": []}], "tags": []}],
        });
        assert_eq!(
            canonical(Form::Members, &card),
            concat!(
                r#"{"documentationUrl":"","name":"A","securitySchemes":{"key":"#,
                r#"{"apiKeySecurityScheme":{"name":"k"}}},"skills":[{"id":"s","tags":[]}]}"#
            )
        );
        let all: Value = serde_json::from_str(&canonical(Form::AllMembers, &card)).unwrap();
        assert_eq!(all["url"], card["url"]);
        assert_eq!(all["skills"], card["skills"]);
        assert_eq!(all["documentationUrl"], "");
        let received: Value = serde_json::from_str(&canonical(Form::Received, &card)).unwrap();
        assert_eq!(received, card);
    }

    #[test]
    fn a_card_whose_members_are_of_other_types_has_no_form() {
        for card in [
            json!({"name": 1}),
            json!({"skills": {}}),
            json!({"skills": [1]}),
            json!({"securitySchemes": []}),
            json!({"provider": "x"}),
            json!({"capabilities": {"streaming": "yes"}}),
            json!({"iconUrl": "a", "icon_url": "b"}),
        ] {
            assert!(Form::Members.canonical(card.to_string().as_bytes()).is_err(), "{card}");
        }
    }
}
