//! Escaping, so that agents can't send control sequences to the terminal.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Escapes control characters other than newline and tab, such as `\x1b`.
pub(crate) fn escape(text: &str) -> Cow<'_, str> {
    escape_if(text, |c| c.is_control() && c != '\n' && c != '\t')
}

/// Escapes newlines too, for text on one line.
pub(crate) fn escape_line(text: &str) -> Cow<'_, str> {
    escape_if(text, |c| c.is_control() && c != '\t')
}

fn escape_if(text: &str, escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&escaped) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if escaped(c) {
            let _infallible = write!(shown, "\\x{:02x}", u32::from(c));
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
    fn control_characters_are_escaped_except_newline_and_tab() {
        assert_eq!(escape("a\tb\n\u{1b}[31m\r\u{7f}\u{9b}"), "a\tb\n\\x1b[31m\\x0d\\x7f\\x9b");
        assert_eq!(escape_line("a\nb"), "a\\x0ab");
        assert!(matches!(escape("plain"), Cow::Borrowed(_)));
    }
}
