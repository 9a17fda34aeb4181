//! The report of a run.

use a2a_kit_lint::{Finding, Findings, Severity, positions};
use clap::ValueEnum;
use serde_json::{Value, json};

use super::sarif;
use crate::{
    failure::Failure,
    output::{Output, Text},
};

/// How a report is printed: labelled lines, a JSON document, or SARIF 2.1.0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    Text,
    Json,
    Sarif,
}

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
    fixed: usize,
    is_strict: bool,
}

impl Report {
    /// Creates a report; `json` is the card as received.
    pub(super) fn new(reference: &str, json: &[u8], findings: Findings, is_strict: bool) -> Self {
        let (mut findings, omitted) = findings.into_sorted();
        if let Some(position) = std::str::from_utf8(json).ok().and_then(positions) {
            for finding in &mut findings {
                let (line, column) = position(&finding.pointer);
                (finding.line, finding.column) = (Some(line), Some(column));
            }
        }
        Self {
            reference: reference.to_owned(),
            card: serde_json::from_slice(json).unwrap_or_default(),
            findings,
            omitted,
            fixed: 0,
            is_strict,
        }
    }

    #[must_use]
    pub(super) fn with_fixed(mut self, fixed: usize) -> Self {
        self.fixed = fixed;
        self
    }

    /// Returns whether the card has no errors, and with `--strict` no warnings.
    pub(super) fn is_valid(&self) -> bool {
        let least = if self.is_strict { Severity::Warning } else { Severity::Error };
        self.omitted == 0 && self.findings.iter().all(|finding| finding.severity > least)
    }

    /// Prints the report.
    pub(super) fn print(&self, format: Format, output: Output) -> Result<(), Failure> {
        match format {
            Format::Text => output.text(&self.text()),
            Format::Json => output.json(&json!({
                "reference": self.reference,
                "card": self.card,
                "valid": self.is_valid(),
                "findings": self.findings,
                "omitted": self.omitted,
                "fixed": self.fixed,
            })),
            Format::Sarif => output.json(&sarif::log(&self.reference, &self.findings)),
        }
    }

    fn text(&self) -> Text {
        let mut text = Text::new();
        for finding in &self.findings {
            let label = match finding.severity {
                Severity::Error => "Error",
                Severity::Warning => "Warning",
                Severity::Info => "Info",
            };
            text.line(label, finding.rule.id);
            let pointer = if finding.pointer.is_empty() { "the card" } else { &finding.pointer };
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
        text.line("Valid", if self.is_valid() { "yes" } else { "no" });
        text
    }
}
