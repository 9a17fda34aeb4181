//! Places in the text of a card.

use jsonc_parser::{
    CollectOptions, ParseOptions,
    ast::Value,
    common::{Range, Ranged as _},
    parse_to_ast,
};

use crate::pointer::steps;

/// The parser's options for JSON without extensions.
pub(crate) fn strict() -> ParseOptions {
    ParseOptions {
        allow_comments: false,
        allow_loose_object_property_names: false,
        allow_trailing_commas: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

/// Returns the positions of members in a text: line and column of the value at a pointer, or of its
/// nearest existing ancestor, both from 1; `None` if it is not JSON.
pub fn positions<'a>(text: &'a str) -> Option<impl Fn(&str) -> (usize, usize) + 'a> {
    let source = Source::parse(text)?;
    Some(move |pointer: &str| source.position(pointer))
}

/// The text of a card, for lines and columns.
#[derive(Debug)]
pub(crate) struct Source<'a> {
    text: &'a str,
    root: Value<'a>,
}

impl<'a> Source<'a> {
    /// Parses the text of a card; `None` if it is not JSON.
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        let parsed = parse_to_ast(text, &CollectOptions::default(), &strict()).ok()?;
        Some(Self { text, root: parsed.value? })
    }

    pub(crate) fn root(&self) -> &Value<'a> {
        &self.root
    }

    /// Line and column of the value at a pointer, or of its nearest existing ancestor; both from 1.
    pub(crate) fn position(&self, pointer: &str) -> (usize, usize) {
        let range = self.range(pointer);
        let before = self.text.get(..range.start).unwrap_or_default();
        let line_start = before.rfind('\n').map_or(0, |index| index + 1);
        let line = before.matches('\n').count() + 1;
        let column = before.get(line_start..).unwrap_or_default().chars().count() + 1;
        (line, column)
    }

    fn range(&self, pointer: &str) -> Range {
        let mut at = &self.root;
        let mut range = at.range();
        for step in steps(pointer) {
            let next = match at {
                Value::Object(object) => {
                    object.properties.iter().find(|one| one.name.as_str() == step).map(|one| {
                        range = one.range;
                        &one.value
                    })
                }
                Value::Array(list) => {
                    let index = step.parse::<usize>().ok();
                    index.and_then(|index| list.elements.get(index)).inspect(|element| {
                        range = element.range();
                    })
                }
                _ => None,
            };
            let Some(next) = next else { break };
            at = next;
        }
        range
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_those_of_the_member_or_of_its_parent() {
        let text = "{\n  \"ä\": [1,\n    {\"b\": 2}]\n}";
        let source = Source::parse(text).unwrap();
        for (pointer, position) in [
            ("", (1, 1)),
            ("/ä", (2, 3)),
            ("/ä/0", (2, 9)),
            ("/ä/1/b", (3, 6)),
            ("/ä/1/missing", (3, 5)),
            ("/missing/deep", (1, 1)),
        ] {
            assert_eq!(source.position(pointer), position, "{pointer}");
        }
        assert!(Source::parse("{a: 1}").is_none());
        assert!(Source::parse("{\"a\": 1,}").is_none());
    }
}
