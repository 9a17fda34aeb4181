//! Text with placeholders for ids and times.
//!
//! `{{id}}` is a UUID, `{{time}}` a timestamp with milliseconds and `Z`, `{{number}}` digits,
//! `{{any}}` text without quotes and line breaks. `{{id:task}}` also stores the matched text, and
//! `{{task}}` stands for it, also in later requests.

use std::collections::BTreeMap;

/// The matched texts by name.
pub(crate) type Bindings = BTreeMap<String, String>;

/// Substitutes stored texts in a request. `{{repeat x 3}}` is `xxx`.
pub(crate) fn fill(template: &str, bindings: &Bindings) -> String {
    let mut filled = String::new();
    for piece in pieces(template) {
        match piece {
            Piece::Text(text) => filled.push_str(text),
            Piece::Placeholder(name) => match name.split(' ').collect::<Vec<_>>()[..] {
                ["repeat", text, count] => {
                    filled.push_str(&text.repeat(count.parse().expect("a count")));
                }
                _ => filled.push_str(bindings.get(name).unwrap_or_else(|| panic!("no {name:?}"))),
            },
        }
    }
    filled
}

/// Compares, and stores the texts of named placeholders.
pub(crate) fn check(expected: &str, actual: &str, bindings: &mut Bindings) -> Result<(), String> {
    let mut rest = actual;
    for piece in pieces(expected) {
        let length = match piece {
            Piece::Text(text) => rest.starts_with(text).then_some(text.len()),
            Piece::Placeholder(name) => {
                let (kind, name) = name.split_once(':').unwrap_or((name, ""));
                let known = bindings.get(if name.is_empty() { kind } else { name });
                match known {
                    Some(text) => rest.starts_with(text.as_str()).then_some(text.len()),
                    None => {
                        let length = length_of(kind, rest);
                        if let Some(length) = length
                            && !name.is_empty()
                        {
                            bindings.insert(name.to_owned(), rest[..length].to_owned());
                        }
                        length
                    }
                }
            }
        };
        match length {
            Some(length) => rest = &rest[length..],
            None => {
                let mut wanted = match piece {
                    Piece::Text(text) => text.to_owned(),
                    Piece::Placeholder(name) => format!("{{{{{name}}}}}"),
                };
                let same = wanted.chars().zip(rest.chars()).take_while(|(a, b)| a == b);
                let same: usize = same.map(|(letter, _)| letter.len_utf8()).sum();
                wanted = wanted[same..].chars().take(60).collect();
                rest = &rest[same..];
                let at = actual.len() - rest.len();
                let found: String = rest.chars().take(60).collect();
                return Err(format!(
                    "at byte {at}: expected {wanted:?}, found {found:?}\n  expected: {expected}\n  \
                     actual:   {actual}"
                ));
            }
        }
    }
    if rest.is_empty() {
        Ok(())
    } else {
        Err(format!("more than expected: {rest:?}\n  expected: {expected}\n  actual:   {actual}"))
    }
}

/// The length of the text that matches the placeholder.
fn length_of(kind: &str, text: &str) -> Option<usize> {
    let shaped = |shape: &str| {
        let fits = |(wanted, found): (u8, u8)| match wanted {
            b'x' => found.is_ascii_digit() || (b'a'..=b'f').contains(&found),
            b'0' => found.is_ascii_digit(),
            literal => literal == found,
        };
        let long_enough = text.len() >= shape.len();
        (long_enough && shape.bytes().zip(text.bytes()).all(fits)).then_some(shape.len())
    };
    let run = |is_in: fn(&char) -> bool| {
        let length: usize = text.chars().take_while(is_in).map(char::len_utf8).sum();
        (length > 0).then_some(length)
    };
    match kind {
        "id" => shaped("xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"),
        "time" => shaped("0000-00-00T00:00:00.000Z"),
        "number" => run(char::is_ascii_digit),
        "any" => {
            // Up to a quote that is not escaped.
            let mut escaped = false;
            let ends = |byte: u8| {
                let ends = !escaped && matches!(byte, b'"' | b'\n');
                escaped = !escaped && byte == b'\\';
                ends
            };
            let length = text.bytes().position(ends).unwrap_or(text.len());
            (length > 0).then_some(length)
        }
        _ => panic!("nothing is known as {kind:?}"),
    }
}

enum Piece<'a> {
    Text(&'a str),
    Placeholder(&'a str),
}

fn pieces(mut text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    // JSON contains `{{` and `}}` too: only valid placeholders are substituted.
    let mut from = 0;
    while let Some(start) = text[from..].find("{{").map(|start| start + from) {
        let is_name = |letter: char| letter.is_alphanumeric() || " :[]".contains(letter);
        let inner = &text[start + 2..];
        match inner.find("}}") {
            Some(end)
                if end > 0 && inner[..end].chars().all(is_name) && !inner.starts_with('{') =>
            {
                pieces.push(Piece::Text(&text[..start]));
                pieces.push(Piece::Placeholder(&inner[..end]));
                text = &inner[end + 2..];
                from = 0;
            }
            _ => from = start + 1,
        }
    }
    pieces.push(Piece::Text(text));
    pieces
}

#[test]
fn placeholder_matches_its_kind_and_repeats() {
    let mut bindings = Bindings::new();
    let id = "0198a0b0-0000-7000-8000-0123456789ab";
    let expected = r#"{"a":{"id":"{{id:task}}","at":"{{time}}"}}"#;
    let actual = format!(r#"{{"a":{{"id":"{id}","at":"2026-01-02T03:04:05.678Z"}}}}"#);
    assert_eq!(check(expected, &actual, &mut bindings), Ok(()));
    assert_eq!(fill("/tasks/{{task}}{{repeat [ 3}}", &bindings), format!("/tasks/{id}[[["));
    assert_eq!(check("{{id:task}}", id, &mut bindings), Ok(()));
    for (expected, actual) in [
        ("{{id:task}}", "0198a0b0-0000-7000-8000-0123456789ac"),
        ("{{id}}", "0198A0B0-0000-7000-8000-0123456789AB"),
        ("{{time}}", "2026-01-02T03:04:05Z"),
        ("{{time}}", "2026-01-02T03:04:05.678+00:00"),
        ("{{any}}", ""),
        ("a", "ab"),
        ("ab", "a"),
    ] {
        assert!(check(expected, actual, &mut bindings).is_err(), "{expected} {actual}");
    }
}
