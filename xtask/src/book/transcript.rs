//! The output of a command against that in a page.

/// Compares lines, where `…` stands for any text within a line, and alone for any lines.
///
/// # Errors
///
/// Returns the first line of the page that the output does not have.
pub(super) fn compare(expected: &str, output: &str) -> Result<(), String> {
    let expected: Vec<&str> = expected.trim_end().lines().map(str::trim_end).collect();
    let output: Vec<&str> = output.trim_end().lines().map(str::trim_end).collect();
    lines(&expected, &output)
}

fn lines(expected: &[&str], output: &[&str]) -> Result<(), String> {
    match (expected, output) {
        ([], []) => Ok(()),
        ([], [line, ..]) => Err(format!("the page ends before {line:?}")),
        (["…"], _) => Ok(()),
        (["…", rest @ ..], output) => (0..=output.len())
            .find(|&skipped| lines(rest, &output[skipped..]).is_ok())
            .map(drop)
            .ok_or_else(|| format!("no line is {:?}", rest[0])),
        ([line, ..], []) => Err(format!("the output ends before {line:?}")),
        ([first, expected @ ..], [line, output @ ..]) => {
            if !is_match(first, line) {
                return Err(format!("{first:?} is {line:?}"));
            }
            lines(expected, output)
        }
    }
}

fn is_match(pattern: &str, line: &str) -> bool {
    let mut pieces = pattern.split('…');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = line.strip_prefix(first) else { return false };
    let pieces: Vec<&str> = pieces.collect();
    let Some((last, middle)) = pieces.split_last() else { return rest.is_empty() };
    for piece in middle {
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
    }
    rest.ends_with(last)
}

/// What differs from run to run: `x` is a hexadecimal digit.
const MASKED: [&str; 2] = ["xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", "xxxx-xx-xxTxx:xx:xx.xxxZ"];

/// Replaces ids and times by `…`.
fn mask(output: &str) -> String {
    let is = |text: &str, pattern: &str| {
        let mut pairs = text.chars().zip(pattern.chars());
        text.len() >= pattern.len()
            && pairs.all(|(c, x)| if x == 'x' { c.is_ascii_hexdigit() } else { c == x })
    };
    let mut masked = String::with_capacity(output.len());
    let mut rest = output;
    while let Some(next) = rest.chars().next() {
        if let Some(pattern) = MASKED.iter().find(|pattern| is(rest, pattern)) {
            masked.push('…');
            rest = &rest[pattern.len()..];
        } else {
            masked.push(next);
            rest = &rest[next.len_utf8()..];
        }
    }
    masked
}

/// The text to put in the place of an outdated one: the output without ids and times. If the
/// outdated text ends with a line `…`, the new one ends at the same line in front of it.
pub(super) fn blessed(outdated: &str, output: &str) -> String {
    let output = mask(output);
    let mut outdated = outdated.trim_end().lines().rev();
    if outdated.next() != Some("…") {
        return output;
    }
    let Some(last) = outdated.next() else { return output };
    let lines: Vec<&str> = output.lines().collect();
    match lines.iter().position(|line| line.trim_end() == last) {
        Some(end) => format!("{}\n…\n", lines[..=end].join("\n")),
        None => output,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blessing_keeps_the_ellipsis_at_the_end() {
        assert_eq!(blessed("old\nAgent:\n…\n", "new\n\nAgent:\n  -a\n"), "new\n\nAgent:\n…\n");
        assert_eq!(blessed("old\nTask:\n…\n", "new\nAgent:\n"), "new\nAgent:\n");
        assert_eq!(blessed("…\n", "new\n"), "new\n");
        assert_eq!(blessed("old\n", "new\n"), "new\n");
    }

    #[test]
    fn ellipses_match_within_a_line_and_whole_lines() {
        assert_eq!(compare("id: …\n…\nlast\n", "id: 17\na\nb\nlast\n"), Ok(()));
        assert_eq!(compare("a … c … e", "a b c d e"), Ok(()));
        assert_eq!(compare("first\n…", "first"), Ok(()));
    }

    #[test]
    fn ids_and_times_are_masked() {
        let output = "ID: 01a1fcb3-5c1a-7445-be91-5c1630823ddf at 2026-11-23T22:28:57.539Z\n…";
        assert_eq!(mask(output), "ID: … at …\n…");
    }

    #[test]
    fn the_first_difference_is_named() {
        assert_eq!(compare("a\nb", "a\nc"), Err("\"b\" is \"c\"".to_owned()));
        assert!(compare("a", "a\nb").is_err());
        assert!(compare("a\nb", "a").is_err());
        assert!(compare("ab … ba", "aba").is_err());
    }
}
