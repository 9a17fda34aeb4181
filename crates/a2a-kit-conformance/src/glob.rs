//! Patterns of check ids.

/// Returns whether `text` matches `pattern`, in which `*` stands for any characters and `?` for
/// one. Case is ignored.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    fn all(pattern: &[u8], text: &[u8]) -> bool {
        match (pattern, text) {
            ([b'*', rest @ ..], _) => (0..=text.len()).any(|start| all(rest, &text[start..])),
            ([b'?', rest @ ..], [_, text @ ..]) => all(rest, text),
            ([c, rest @ ..], [first, text @ ..]) => {
                c.eq_ignore_ascii_case(first) && all(rest, text)
            }
            (rest, text) => rest.is_empty() && text.is_empty(),
        }
    }
    all(pattern.trim().as_bytes(), text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_and_question_marks_match() {
        for (pattern, text, expected) in [
            ("R-052", "R-052", true),
            ("r-05?", "R-052", true),
            ("R-0*", "R-052", true),
            ("*2", "R-052", true),
            ("*", "R-052", true),
            ("R-*5*2", "R-052", true),
            ("R-053", "R-052", false),
            ("R-05", "R-052", false),
            ("*3", "R-052", false),
            ("", "R-052", false),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }
}
