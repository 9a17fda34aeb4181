//! Patterns of check ids.

/// Returns whether `text` matches `pattern`, in which `*` stands for any characters and `?` for
/// one. Case is ignored.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let pattern: Vec<_> = pattern.trim().to_ascii_lowercase().chars().collect();
    let text: Vec<_> = text.to_ascii_lowercase().chars().collect();
    // The position behind the last `*`, and the text position from which it is retried.
    let mut star = None;
    let (mut at, mut in_text) = (0, 0);
    while in_text < text.len() {
        match pattern.get(at) {
            Some('*') => {
                at += 1;
                star = Some((at, in_text));
            }
            Some(c) if *c == '?' || *c == text[in_text] => {
                at += 1;
                in_text += 1;
            }
            _ => match star {
                Some((behind, from)) => {
                    star = Some((behind, from + 1));
                    at = behind;
                    in_text = from + 1;
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|c| *c == '*')
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
