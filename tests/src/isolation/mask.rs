//! Responses without variable content.

use super::wire::Answer;

/// A response with its ids and times masked.
pub(super) fn masked(answer: &Answer) -> String {
    let text = format!("{answer:?}");
    let mut out = String::with_capacity(text.len());
    let mut left = text.as_str();
    while let Some(first) = left.chars().next() {
        if is_id(left) {
            out.push_str("<id>");
            left = &left[36..];
        } else if let Some(length) = time(left) {
            out.push_str("<time>");
            left = &left[length..];
        } else if left.starts_with("content-length: ") {
            out.push_str("<length>");
            left = left.split_once('\n').map_or("", |(_, rest)| rest);
        } else {
            out.push(first);
            left = &left[first.len_utf8()..];
        }
    }
    out
}

/// Whether a text begins with a generated id.
fn is_id(text: &str) -> bool {
    let Some(id) = text.as_bytes().get(..36) else { return false };
    id.iter().enumerate().all(|(index, byte)| match index {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    })
}

/// The length of the timestamp at the start of a text.
fn time(text: &str) -> Option<usize> {
    let bytes = text.as_bytes().get(..20)?;
    let looks = bytes[..4].iter().all(u8::is_ascii_digit)
        && (bytes[4], bytes[7], bytes[10]) == (b'-', b'-', b'T')
        && bytes[13] == b':';
    looks.then(|| text.find(['"', '\\'])).flatten()
}
