//! The report of a run.

use std::{path::Path, time::Duration};

use a2a_kit_lint::{
    Finding, Findings, Severity, Summary, escape_markdown, junit, markdown, positions, results,
    sarif,
};
use serde_json::{Value, json};

use super::super::super::report_format::{ReportFormat, yaml};
use crate::{
    failure::Failure,
    output::{Output, Text},
};

/// The command that makes reports.
const TOOL: &str = "a2a card lint";

/// The report of a run.
#[derive(Debug)]
pub(super) struct Report {
    /// The reference of the card.
    reference: String,
    /// The card as received; null if it is not JSON.
    card: Value,
    findings: Vec<Finding>,
    omitted: usize,
    /// The number of findings that `--fix` fixed.
    pub(super) fixed: usize,
    /// The least severity that makes the card invalid.
    least: Severity,
    /// Whether the agent was called.
    is_live: bool,
}

impl Report {
    /// Creates a report; `json` is the card as received.
    pub(super) fn new(
        reference: &str,
        json: &[u8],
        findings: Findings,
        is_strict: bool,
        is_live: bool,
    ) -> Self {
        let (mut findings, omitted) = findings.into_sorted();
        if let Some(position) = std::str::from_utf8(json).ok().and_then(positions) {
            for finding in &mut findings {
                let (line, column) = position(finding.pointer.as_deref().unwrap_or_default());
                (finding.line, finding.column) = (Some(line), Some(column));
            }
        }
        Self {
            reference: reference.to_owned(),
            card: serde_json::from_slice(json).unwrap_or_default(),
            findings,
            omitted,
            fixed: 0,
            least: if is_strict { Severity::Warning } else { Severity::Error },
            is_live,
        }
    }

    /// Returns whether the card has no errors, and with `--strict` no warnings.
    pub(super) fn is_valid(&self) -> bool {
        self.omitted == 0 && self.findings.iter().all(|finding| finding.severity > self.least)
    }

    /// Prints the report.
    pub(super) fn print(&self, format: ReportFormat, output: Output) -> Result<(), Failure> {
        let results = results(&self.findings, self.is_live);
        match format {
            ReportFormat::Text => output.text(|text| self.write(text)),
            ReportFormat::Json => output.json(&self.json()),
            ReportFormat::Yaml => output.document(&yaml(&self.json())),
            ReportFormat::Sarif => {
                output.json(&sarif(TOOL, &artifact_uri(&self.reference), &results))
            }
            ReportFormat::Junit => {
                output.document(&junit(TOOL, &results, self.least, Duration::ZERO))
            }
            ReportFormat::Markdown => {
                let Summary { pass, fail, .. } = Summary::of(&results);
                let verdict = if self.is_valid() { "valid" } else { "not valid" };
                let reference = escape_markdown(&self.reference);
                let intro = format!(
                    "# Agent card {reference}\n\nThe card is **{verdict}**: {pass} rules passed, \
                     {fail} have findings.\n"
                );
                output.document(&markdown(&intro, &results))
            }
        }
    }

    fn json(&self) -> Value {
        json!({
            "reference": self.reference,
            "card": self.card,
            "valid": self.is_valid(),
            "findings": self.findings,
            "omitted": self.omitted,
            "fixed": self.fixed,
        })
    }

    fn write(&self, text: &mut Text) {
        for finding in &self.findings {
            let label = match finding.severity {
                Severity::Error => "Error",
                Severity::Warning => "Warning",
                Severity::Info => "Info",
            };
            text.line(label, finding.rule.id);
            let pointer = finding.pointer.as_deref().filter(|pointer| !pointer.is_empty());
            let pointer = pointer.unwrap_or("the card");
            match finding.line {
                Some(line) => text.line("At", &format!("{pointer} (line {line})")),
                None => text.line("At", pointer),
            }
            text.line("Message", &finding.message);
            text.line("Fix", finding.fix);
            text.empty_line();
        }
        if self.fixed > 0 {
            text.line("Fixed", &self.fixed.to_string());
        }
        if self.omitted > 0 {
            text.line("Omitted", &self.omitted.to_string());
        }
        for (label, severity) in [
            ("Errors", Severity::Error),
            ("Warnings", Severity::Warning),
            ("Advice", Severity::Info),
        ] {
            let count = self.findings.iter().filter(|one| one.severity == severity).count();
            text.line(label, &count.to_string());
        }
        text.yes_or_no("Valid", self.is_valid());
    }
}

/// The URI of the card; relative for a relative path, so that services find the file.
fn artifact_uri(reference: &str) -> String {
    if reference.contains("://") || !Path::new(reference).is_file() {
        return reference.to_owned();
    }
    let path = reference.strip_prefix("./").unwrap_or(reference).replace('\\', "/");
    path.replace('%', "%25").replace(' ', "%20")
}
