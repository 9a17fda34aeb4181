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
    let verdict = if report.is_conformant() { "conformant" } else { "not conformant" };
    let mut out = format!(
        "# A2A conformance of {}\n\n`{}` is **{verdict}** at level {}: {} passed, {} failed, \
         {} skipped, {} not measured.\n",
        cell(&report.agent),
        report.target.replace('`', "'"),
        report.level,
        summary.pass,
        summary.fail,
        summary.skip,
        summary.not_measured,
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
            result.place(),
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
            result.place(),
            result.outcome.name().replace('_', " "),
            cell(result.outcome.reason().unwrap_or_default())
        ));
    }
    out
}

/// Text of the agent without markup.
fn cell(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '|' | '<' | '>' | '*' | '[' | ']' | '#' | '\\' => {
                out.push('\\');
                out.push(c);
            }
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
    let lines: Vec<_> = text.lines().map(|line| format!("  {line}")).collect();
    format!("\n  {fence}text\n{}\n  {fence}\n", lines.join("\n"))
}
