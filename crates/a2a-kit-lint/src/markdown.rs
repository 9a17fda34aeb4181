//! Reports in Markdown, for summaries of CI runs.

use crate::{CheckResult, Outcome};

/// Writes results as Markdown: findings with their evidence, then rules without a result.
///
/// `intro` is Markdown for the start.
pub fn markdown(intro: &str, results: &[CheckResult]) -> String {
    let mut out = intro.to_owned();
    if results.iter().any(|result| matches!(result.outcome, Outcome::Fail(_))) {
        out.push_str("\n## Failures\n");
    }
    for result in results.iter().filter(|result| !result.findings().is_empty()) {
        let rule = result.rule;
        let section = match rule.section {
            "" => String::new(),
            section => format!(", section {section}"),
        };
        let place = escape_markdown(&result.place);
        out.push_str(&format!(
            "\n### {} on {place}\n\n{} ({}{section}).\n",
            rule.id,
            rule.title,
            rule.level()
        ));
        for finding in result.findings() {
            out.push_str(&format!("\n- {}\n", escape_markdown(&finding.located())));
            if let Some(exchange) = &finding.exchange {
                out.push_str(&fenced(&format!("{}\n\n{}", exchange.request, exchange.response)));
            }
        }
    }
    let without: Vec<_> =
        results.iter().filter_map(|result| Some((result, result.outcome.reason()?))).collect();
    if !without.is_empty() {
        out.push_str("\n## Without a result\n\n| Check | Interface | Result | Because |\n|---|---|---|---|\n");
    }
    for (result, reason) in without {
        out.push_str(&format!(
            "| {} | {} | {} | {} |\n",
            result.rule.id,
            escape_markdown(&result.place),
            result.outcome.name().replace('_', " "),
            escape_markdown(reason)
        ));
    }
    out
}

/// Escapes a text: HTML as character references, which no parser of Markdown takes for tags, and all
/// other punctuation behind a backslash (CommonMark §2.4).
pub fn escape_markdown(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            c if "|*_[]()#`~!\\".contains(c) => out.extend(['\\', c]),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// A code block whose fence is longer than any in the text.
fn fenced(text: &str) -> String {
    let mut fence = "```".to_owned();
    while text.contains(&fence) {
        fence.push('`');
    }
    // Each ends a line of Markdown, and one without indent the block.
    let lines: Vec<_> = text.split(['\n', '\r']).map(|line| format!("  {line}")).collect();
    format!("\n  {fence}text\n{}\n  {fence}\n", lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_an_agent_has_no_html_and_no_markup() {
        for (text, shown) in [
            ("<img src=x onerror=a()>", "&lt;img src=x onerror=a\\(\\)&gt;"),
            ("<!-- <script>", "&lt;\\!-- &lt;script&gt;"),
            ("\\<b>", "\\\\&lt;b&gt;"),
            ("&lt;b&gt;", "&amp;lt;b&amp;gt;"),
            ("![x](https://a.b) _c_ `d`", "\\!\\[x\\]\\(https://a.b\\) \\_c\\_ \\`d\\`"),
            ("a\n# b\r|", "a \\# b \\|"),
        ] {
            assert_eq!(escape_markdown(text), shown, "{text:?}");
        }
    }

    #[test]
    fn code_block_ends_where_its_text_ends() {
        let block = fenced("a\r<img src=x>\n````\nb");
        assert!(block.contains("\n  `````text\n  a\n  <img src=x>\n  ````\n  b\n"), "{block}");
    }
}
