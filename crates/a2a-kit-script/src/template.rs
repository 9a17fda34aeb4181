//! Texts with placeholders, such as `chunk {number} of {count}`.

use std::fmt;

use serde::{Deserialize, Deserializer, de};

/// A text with placeholders: `{name}`, or `{name|default}` for a value that may be missing.
/// `{{` and `}}` are literal braces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Template(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Literal(String),
    Placeholder { name: String, default: Option<String> },
}

/// The placeholders besides `{1}`, `{metadata.NAME}` and `{env.NAME}`.
const NAMES: [&str; 10] = [
    "text",
    "argument",
    "name",
    "message.id",
    "task.id",
    "context.id",
    "extensions",
    "number",
    "count",
    "skills",
];

fn is_known(name: &str) -> bool {
    NAMES.contains(&name)
        || name.starts_with("metadata.")
        || name.starts_with("env.")
        || name.parse().is_ok_and(|word: usize| word > 0)
}

impl Template {
    /// Fills in the placeholders; a value that is missing is its default, else empty.
    pub(crate) fn render(&self, value: impl Fn(&str) -> Option<String>) -> String {
        let mut text = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Literal(literal) => text.push_str(literal),
                Piece::Placeholder { name, default } => match value(name) {
                    Some(value) => text.push_str(&value),
                    None => text.push_str(default.as_deref().unwrap_or_default()),
                },
            }
        }
        text
    }

    /// Returns the text with every default in its place; `None` where a placeholder has none.
    pub(crate) fn with_defaults(&self) -> Option<String> {
        let is_complete = self.0.iter().all(|piece| match piece {
            Piece::Literal(_) => true,
            Piece::Placeholder { default, .. } => default.is_some(),
        });
        is_complete.then(|| self.render(|_| None))
    }
}

impl std::str::FromStr for Template {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            literal.push_str(&rest[..at]);
            rest = &rest[at..];
            if let Some(brace) = ["{{", "}}"].iter().find(|brace| rest.starts_with(**brace)) {
                literal.push_str(&brace[..1]);
                rest = &rest[2..];
                continue;
            }
            let inner = rest.strip_prefix('{').and_then(|rest| rest.split_once('}'));
            let Some((inner, behind)) = inner else {
                return Err(format!("unpaired brace in {text:?}; a literal one is {{{{ or }}}}"));
            };
            let (name, default) = match inner.split_once('|') {
                Some((name, default)) => (name, Some(default.to_owned())),
                None => (inner, None),
            };
            if !literal.is_empty() {
                pieces.push(Piece::Literal(std::mem::take(&mut literal)));
            }
            if !is_known(name) {
                return Err(format!("unknown placeholder {{{name}}}"));
            }
            pieces.push(Piece::Placeholder { name: name.to_owned(), default });
            rest = behind;
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            pieces.push(Piece::Literal(literal));
        }
        Ok(Self(pieces))
    }
}

impl<'de> Deserialize<'de> for Template {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Visitor)
    }
}

/// Reads texts, and numbers where a count or a duration needs no placeholder.
struct Visitor;

impl de::Visitor<'_> for Visitor {
    type Value = Template;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string or a number")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Template, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Template, E> {
        Ok(Template(vec![Piece::Literal(number.to_string())]))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Template, E> {
        Ok(Template(vec![Piece::Literal(number.to_string())]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(text: &str) -> Template {
        text.parse().unwrap()
    }

    #[test]
    fn missing_values_are_replaced_by_defaults() {
        let values = |name: &str| match name {
            "text" => Some("hello".to_owned()),
            "1" => Some("7".to_owned()),
            _ => None,
        };
        for (text, rendered) in [
            ("plain", "plain"),
            ("", ""),
            ("say {text}!", "say hello!"),
            ("{1|5} {2|50ms}", "7 50ms"),
            ("[{metadata.delay}]", "[]"),
            ("{{\"a\": 1}}", "{\"a\": 1}"),
        ] {
            assert_eq!(template(text).render(values), rendered, "{text}");
        }
    }

    #[test]
    fn with_defaults_needs_a_default_for_every_placeholder() {
        assert_eq!(template("{1|5} and {2|6}").with_defaults().as_deref(), Some("5 and 6"));
        assert_eq!(template("{1|5} and {2}").with_defaults(), None);
    }

    #[test]
    fn unknown_placeholders_and_unpaired_braces_are_rejected() {
        for text in ["{nope}", "{0}", "{", "a}b", "{text", "{}"] {
            assert!(text.parse::<Template>().is_err(), "{text}");
        }
    }
}
