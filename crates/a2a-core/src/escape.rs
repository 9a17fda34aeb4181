//! Escaping, so that peers can't control a terminal: their texts are printed and logged only through
//! one of these functions.

use std::{borrow::Cow, fmt::Write as _};

/// Returns whether a terminal executes a character, or shows the text around it in another order or
/// on another line: C0, DEL and C1, the controls of the writing direction (U+061C, U+200E, U+200F,
/// U+202A to U+202E, U+2066 to U+2069), U+2028 and U+2029.
pub fn is_terminal_control(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2066}'..='\u{2069}')
}

/// Returns whether people don't see a character, such as a zero-width one, a tag or a selector.
pub fn is_invisible(c: char) -> bool {
    matches!(u32::from(c),
        0x00AD
        | 0x034F
        | 0x115F
        | 0x1160
        | 0x17B4
        | 0x17B5
        | 0x180B..=0x180F
        | 0x200B..=0x200D
        | 0x2060..=0x2065
        | 0x206A..=0x206F
        | 0x3164
        | 0xFE00..=0xFE0F
        | 0xFEFF
        | 0xFFA0
        | 0xFFF9..=0xFFFB
        | 0x1D173..=0x1D17A
        | 0xE0000..=0xE0FFF)
}

/// Escapes terminal controls other than newline and tab, such as `\x1b` and `\u202e`.
pub fn escape(text: &str) -> Cow<'_, str> {
    escape_if(text, |c| is_terminal_control(c) && c != '\n' && c != '\t')
}

/// Escapes newlines too, for text on one line.
pub fn escape_line(text: &str) -> Cow<'_, str> {
    escape_if(text, |c| is_terminal_control(c) && c != '\t')
}

/// Escapes terminal controls in the strings of a JSON document, which stays the same document.
pub fn escape_json(json: &str) -> Cow<'_, str> {
    // The controls that JSON does not escape itself are only allowed in strings.
    replace_if(json, |c| is_terminal_control(c) && !c.is_ascii_whitespace(), json_escape)
}

/// Escapes all terminal controls, such as `\u001b`, for a line of a log; a JSON document without
/// white space around its values stays the same document.
pub fn escape_log(line: &str) -> Cow<'_, str> {
    replace_if(line, is_terminal_control, json_escape)
}

/// Escapes all that a person who decides by a line must not miss: terminal controls and invisible
/// characters. A JSON document without white space around its values stays the same document.
pub fn escape_hidden(line: &str) -> Cow<'_, str> {
    replace_if(line, |c| is_terminal_control(c) || is_invisible(c), json_escape)
}

fn escape_if(text: &str, escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    replace_if(text, escaped, |shown, c| match u32::from(c) {
        code @ ..=0xff => write!(shown, "\\x{code:02x}"),
        _ => json_escape(shown, c),
    })
}

fn json_escape(to: &mut String, c: char) -> std::fmt::Result {
    c.encode_utf16(&mut [0; 2]).iter().try_for_each(|unit| write!(to, "\\u{unit:04x}"))
}

fn replace_if(
    text: &str,
    is_replaced: impl Fn(char) -> bool,
    replace: impl Fn(&mut String, char) -> std::fmt::Result,
) -> Cow<'_, str> {
    if !text.contains(&is_replaced) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_replaced(c) {
            let _infallible = replace(&mut shown, c);
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_controls_are_escaped_except_newline_and_tab() {
        assert_eq!(escape("a\tb\n\u{1b}[31m\r\u{7f}\u{9b}"), "a\tb\n\\x1b[31m\\x0d\\x7f\\x9b");
        assert_eq!(escape_line("a\nb\u{2028}c"), "a\\x0ab\\u2028c");
        for c in "\u{61c}\u{200e}\u{200f}\u{2028}\u{2029}\u{202a}\u{202e}\u{2066}\u{2069}".chars() {
            assert_eq!(escape(&c.to_string()), format!("\\u{:04x}", u32::from(c)));
        }
        assert!(matches!(escape("plain שלום \u{200d}\u{2027}\u{2065}"), Cow::Borrowed(_)));
    }

    #[test]
    fn escaped_log_line_has_no_controls_and_json_stays_the_same_document() {
        assert_eq!(escape_log("a\tb\r\n\u{1b}[2J"), "a\\u0009b\\u000d\\u000a\\u001b[2J");
        assert!(matches!(escape_log("plain שלום \u{200d}"), Cow::Borrowed(_)));
        let value = serde_json::json!({"a\u{9b}": ["\u{202e}\u{2028}\u{2066}\u{61c}\u{200f}\n"]});
        let json = value.to_string();
        let escaped = escape_log(&json);
        assert!(!escaped.contains(is_terminal_control), "{escaped:?}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&escaped).unwrap(), value);
    }

    #[test]
    fn line_without_hidden_characters_is_the_same_document() {
        let value = serde_json::json!({"a": "\u{200b}\u{e0041}\u{202e}\u{1b}\u{fe0f}\u{3164}€"});
        let json = value.to_string();
        let escaped = escape_hidden(&json);
        assert_eq!(escaped, r#"{"a":"\u200b\udb40\udc41\u202e\u001b\ufe0f\u3164€"}"#);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&escaped).unwrap(), value);
    }

    #[test]
    fn escaped_json_is_the_same_document() {
        let value = serde_json::json!({"\u{9b}2J": ["\u{7f}\u{202e}\u{2028}\u{1b}", "plain"]});
        for json in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
            let escaped = escape_json(&json);
            assert!(escaped.contains("\\u009b2J"), "{escaped}");
            assert!(!escaped.contains(|c| is_terminal_control(c) && c != '\n'), "{escaped:?}");
            assert_eq!(serde_json::from_str::<serde_json::Value>(&escaped).unwrap(), value);
        }
    }
}
