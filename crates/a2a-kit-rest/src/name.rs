//! Proto and JSON names of members, and their places in paths.

use std::borrow::Cow;

use a2a_core::{Error, Result};
use a2a_kit_http::uri;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// All but the unreserved characters of RFC 3986 §2.3. `:` is encoded because it would start a
/// verb.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Converts a proto name to its JSON name; leaves JSON names unchanged.
pub fn camel_case(name: Cow<'_, str>) -> Cow<'_, str> {
    if !name.contains('_') {
        return name;
    }
    let mut words = name.split('_');
    let mut camel = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut letters = word.chars();
        camel.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        camel.push_str(letters.as_str());
    }
    camel.into()
}

/// Fills the path of a route with its members, by proto name.
///
/// # Errors
///
/// [`InvalidParams`](a2a_core::ErrorKind::InvalidParams) for a member that is not allowed in a path.
pub fn fill_path<'a>(
    template: &'a str,
    mut variable: impl FnMut(&'a str) -> Option<String>,
) -> Result<String> {
    let mut path = String::new();
    for (index, piece) in template.split(['{', '}']).enumerate() {
        // Every second piece is a variable.
        if index % 2 == 0 {
            path.push_str(piece);
            continue;
        }
        let value = variable(piece).unwrap_or_default();
        if !uri::is_segment(&value) {
            let why = format!("must not be {value:?} in a URL path");
            return Err(Error::invalid_params(camel_case(piece.into()), why));
        }
        path.extend(utf8_percent_encode(&value, SEGMENT));
    }
    Ok(path)
}
