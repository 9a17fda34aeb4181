//! The two spellings of a member's name.

use std::borrow::Cow;

/// Spells a proto name as its JSON name; a JSON name stays as it is.
pub(crate) fn camel_case(name: Cow<'_, str>) -> Cow<'_, str> {
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
