//! Walks through the texts of a card.

use serde_json::Value;

use crate::pointer::escape;

/// A text of a card.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text<'a> {
    pub(crate) pointer: &'a str,
    /// The name of the member that contains it, also through arrays.
    pub(crate) member: &'a str,
    pub(crate) text: &'a str,
}

/// Calls `visit` for every text of a document, unknown members included. Signatures are not texts.
pub(crate) fn each(json: &Value, visit: &mut impl FnMut(Text<'_>)) {
    walk(json, &mut String::new(), "", visit);
}

/// The recursion is bounded by the depth that the parser accepts.
fn walk(value: &Value, pointer: &mut String, member: &str, visit: &mut impl FnMut(Text<'_>)) {
    let length = pointer.len();
    match value {
        Value::String(text) => visit(Text { pointer, member, text }),
        Value::Array(list) => {
            for (index, element) in list.iter().enumerate() {
                pointer.push('/');
                pointer.push_str(&index.to_string());
                walk(element, pointer, member, visit);
                pointer.truncate(length);
            }
        }
        Value::Object(members) => {
            for (name, value) in members.iter().filter(|(name, _)| *name != "signatures") {
                pointer.push('/');
                pointer.push_str(&escape(name));
                walk(value, pointer, name, visit);
                pointer.truncate(length);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Quotes a text of a card for a message: at most 80 characters, invisible ones escaped.
pub fn quote(text: &str) -> String {
    const MAX: usize = 80;
    match text.char_indices().nth(MAX) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}
