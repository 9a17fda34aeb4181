//! The report as Markdown, for summaries of CI runs.

use super::model::Report;
use crate::outcome::Outcome;

impl Report {
    /// The report as Markdown.
    pub fn to_markdown(&self) -> String {
        write(self)
    }
}

fn write(report: &Report) -> String {
    let summary = report.summary();
    let mut out = format!(
        "# A2A conformance of {}\n\n`{}` is **{}** at level {}: {} passed, {} failed, \
         {} skipped, {} not measured, {} known.\n",
        cell(&report.agent),
        report.target.replace('`', "'"),
        report.verdict(),
        report.level,
        summary.pass,
        summary.fail,
        summary.skip,
        summary.not_measured,
        summary.known,
    );
    for why in &report.unreachable {
        out.push_str(&format!("\n**Unreachable**: {}\n", cell(why)));
    }
    if summary.fail > 0 {
        out.push_str("\n## Failures\n");
    }
    for result in report.failures() {
        out.push_str(&format!(
            "\n### {} on {}\n\n{} ({}, section {}).\n",
            result.id,
            cell(result.place()),
            result.title,
            result.level,
            result.section
        ));
        let Outcome::Fail(findings) = &result.outcome else { continue };
        for finding in findings {
            out.push_str(&format!("\n- {}\n", cell(&finding.message)));
            if let Some(exchange) = &finding.exchange {
                out.push_str(&fenced(&format!("{}\n\n{}", exchange.request, exchange.response)));
            }
        }
    }
    let without: Vec<_> =
        report.results.iter().filter(|result| result.outcome.reason().is_some()).collect();
    if !without.is_empty() {
        out.push_str("\n## Without a result\n\n| Check | Interface | Result | Because |\n|---|---|---|---|\n");
    }
    for result in without {
        out.push_str(&format!(
            "| {} | {} | {} | {} |\n",
            result.id,
            cell(result.place()),
            result.outcome.name().replace('_', " "),
            cell(result.outcome.reason().unwrap_or_default())
        ));
    }
    out
}

/// Text of the agent without markup: HTML as character references, which no parser of Markdown takes
/// for tags, and all other punctuation behind a backslash (CommonMark §2.4).
fn cell(text: &str) -> String {
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
            assert_eq!(cell(text), shown, "{text:?}");
        }
    }

    #[test]
    fn code_block_ends_where_its_text_ends() {
        let block = fenced("a\r<img src=x>\n````\nb");
        assert!(block.contains("\n  `````text\n  a\n  <img src=x>\n  ````\n  b\n"), "{block}");
    }
}
