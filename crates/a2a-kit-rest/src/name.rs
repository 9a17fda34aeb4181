//! Proto and JSON names of members.

use std::borrow::Cow;

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
